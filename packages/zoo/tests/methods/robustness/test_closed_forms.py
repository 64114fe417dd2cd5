import warnings

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from mechlearn_zoo.methods.robustness.closed_forms import as_target, as_torch
from mechlearn_zoo.methods.robustness.evasion import logits_of


def data(classes=3, n=120):
    x, y = load_digits(return_X_y=True)
    some = y < classes
    return x[some][:n] / 16, np.array(["zero", "one", "two"])[y[some][:n]]


LINEAR = (LogisticRegression(), LinearSVC(), RidgeClassifier(), SGDClassifier(random_state=0), Perceptron(random_state=0))
KERNELS = [SVC(kernel=kernel, gamma=0.3, coef0=0.4) for kernel in ("linear", "rbf", "poly", "sigmoid")] + [SVC()]
KERNELS += [NuSVC(nu=0.1), NuSVC(nu=0.1, kernel="linear")]


class OwnSVC(SVC):
    """A kernel machine by another name."""


class PairsOnly(LogisticRegression):
    """A linear model with a row for each pair of classes."""

    def fit(self, x, y):
        super().fit(x, y)
        self.coef_, self.classes_ = np.zeros((6, x.shape[1])), np.arange(4)
        return self


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("estimator", LINEAR, ids=lambda one: type(one).__name__)
def test_linear_decisions_are_the_estimators(estimator, classes):
    x, y = data(classes)
    fitted = estimator.fit(x, y)
    found = as_torch(fitted)(torch.tensor(x))
    np.testing.assert_allclose(found.numpy(), fitted.decision_function(x), atol=1e-12)


@pytest.mark.parametrize("estimator", KERNELS, ids=lambda one: f"{type(one).__name__}-{one.kernel}")
def test_kernel_decisions_are_the_estimators(estimator):
    x, y = data(2)
    fitted = estimator.fit(x, y)
    model = as_torch(fitted)
    np.testing.assert_allclose(model(torch.tensor(x)).numpy(), fitted.decision_function(x), atol=1e-9)
    leaf = torch.tensor(fitted.support_vectors_[:2], requires_grad=True)
    model(leaf).sum().backward()
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_perceptrons_are_the_estimators(activation, classes):
    x, y = data(classes)
    fitted = MLPClassifier((7, 5), activation=activation, max_iter=5, random_state=0).fit(x, y)
    found = logits_of(as_torch(fitted), torch.tensor(x)).softmax(1)
    np.testing.assert_allclose(found.numpy(), fitted.predict_proba(x), atol=1e-10)


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), StandardScaler(with_mean=False), MinMaxScaler(), MaxAbsScaler(), RobustScaler()], ids=str
)
def test_pipelines_of_scalers_are_the_estimators(scaler):
    x, y = data()
    fitted = make_pipeline(scaler, "passthrough", LogisticRegression()).fit(x, y)
    np.testing.assert_allclose(as_torch(fitted)(torch.tensor(x)).numpy(), fitted.decision_function(x), atol=1e-9)


def test_labels_become_places_and_predictions_agree():
    x, y = data()
    fitted = LogisticRegression().fit(x, y)
    model = as_torch(fitted)
    assert model.classes.tolist() == ["one", "two", "zero"]
    assert model.encode(["zero", "one"]).tolist() == [2, 0]
    assert torch.equal(model(torch.tensor(x)).argmax(1), model.encode(fitted.predict(x)))


def test_a_forest_is_a_target():
    x, y = data()
    fitted = RandomForestClassifier(5, random_state=0).fit(x, y)
    model = as_target(fitted)
    assert torch.equal(model(torch.tensor(x)).argmax(1).cpu(), model.encode(fitted.predict(x)))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda x, y: as_torch(RandomForestClassifier(2).fit(x, y)), "as a target only"),
        (lambda x, y: as_torch(KNeighborsClassifier().fit(x, y)), "KNeighborsClassifier"),
        (lambda x, y: as_torch(LogisticRegression()), "fitted"),
        (lambda x, y: as_torch(SVC().fit(x, y)), "two classes"),
        (lambda x, y: as_torch(NuSVC(nu=0.1, kernel="linear").fit(x, y)), "two classes"),
        (lambda x, y: as_torch(OwnSVC(kernel="linear").fit(x, y)), "two classes"),
        (lambda x, y: as_torch(PairsOnly().fit(x, y)), "a row of coef_ for each class.*Found 6 of 4 classes"),
        (lambda x, y: as_torch(SVC(kernel=lambda a, b: a @ b.T).fit(x[y != "two"], y[y != "two"])), "kernels"),
        (lambda x, y: as_torch(make_pipeline(PolynomialFeatures(), LogisticRegression()).fit(x, y)), "polynomialfeatures"),
        (lambda x, y: as_torch(torch.nn.Linear(2, 2)), "needs no conversion"),
        (lambda x, y: as_target(3), "a scikit-learn classifier"),
        (lambda x, y: as_torch(LogisticRegression().fit(x, y)).encode(["nine"]), "nine"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        make(*data())


@pytest.mark.parametrize(
    "estimator", [LINEAR[0], SVC(), MLPClassifier((4,), max_iter=5, random_state=0), make_pipeline(StandardScaler(), LINEAR[0])]
)
def test_inputs_in_float32_are_computed_in_float64(estimator):
    x, y = data(2, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = as_torch(estimator.fit(x, y))
    x = torch.tensor(x, dtype=torch.float32, requires_grad=True)
    found = model(x)
    assert torch.equal(found, model(x.double()))
    found.sum().backward()
    assert x.grad.dtype == torch.float32
