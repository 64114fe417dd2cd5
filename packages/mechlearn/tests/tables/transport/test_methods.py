import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression, Ridge

from mechlearn.tables import transport
from mechlearn.tables.transport.methods import SiteLinear, method


def levels(seed=0, count=5, rows=40, classes=False):
    """A column that goes with the sites' levels, and against the target within them."""
    rng = np.random.default_rng(seed)
    level = 2.0 * rng.normal(size=(count, 1))
    x = rng.normal(size=(count, rows, 2))
    x[..., 0] += level
    y = -0.5 * x[..., 0] + 2 * level + 0.5 * rng.normal(size=(count, rows))
    group = np.repeat(np.arange(count), rows)
    return x.reshape(-1, 2), (y > 0).astype(int).ravel() if classes else y.ravel(), group


def test_a_site_informed_model_has_the_slope_within_sites():
    x, y, group = levels()
    pooled = Ridge(alpha=1.0).fit(x, y).coef_[0]
    model = SiteLinear("regression").fit(x, y, group)
    assert pooled > 0 > model.coef_[0, 0]
    within = x - np.stack([x[group == one].mean(0) for one in range(5)])[group]
    literal = np.linalg.lstsq(within, y - np.array([y[group == one].mean() for one in range(5)])[group], rcond=None)[0]
    assert model.coef_[0] / model.scaling_.spread == pytest.approx(literal, abs=0.06)
    assert model.predict(x).mean() == pytest.approx(y.mean(), abs=0.05)


@pytest.mark.parametrize("name", ["site-informed linear", "screening", "AND-mask", "IRM"])
def test_every_candidate_by_name_predicts_classes_and_numbers(name):
    x, y, group = levels(rows=25)
    for task, labels in (("classification", np.digitize(y, [-1.0, 1.0])), ("regression", y)):
        model = method(name, task, 0).fit(x[group < 4], labels[group < 4], groups=group[group < 4])
        if task == "regression":
            assert model.predict(x[group == 4]).shape == (25,)
        else:
            said = model.predict_proba(x[group == 4])
            assert said.shape == (25, 3)
            assert said.sum(1) == pytest.approx(1, abs=1e-5)


def test_a_candidate_by_name_is_held_against_the_best_simple_one():
    x, y, group = levels(seed=1)
    found = transport(x, y, group, {"site-informed linear": None}, simple=("constant", "linear"))
    assert found.own == ("site-informed linear",)
    assert "than the best simple candidate" in found.verdict


def test_a_mixed_model_needs_statsmodels_and_says_so():
    try:
        import statsmodels  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match=r"The mixed model needs statsmodels\. Found none\. pip install statsmodels"):
            method("mixed model", "regression", 0)
        return
    for classes in (False, True):
        x, y, group = levels(classes=classes)
        task = "classification" if classes else "regression"
        model = method("mixed model", task, 0).fit(x, y, group)
        assert model.coef_[1] < 0


class Told(BaseEstimator):
    """Keeps what it was told."""

    seen: list = []  # noqa: RUF012

    def fit(self, x, y, groups=None):
        Told.seen.append((type(x).__name__, np.unique(groups).tolist()))
        self.model_ = LogisticRegression().fit(np.asarray(x), y)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, x):
        return self.model_.predict_proba(np.asarray(x))


def test_what_fits_with_groups_is_told_the_training_sites():
    x, y, group = levels(classes=True)
    Told.seen.clear()
    transport(x, y, group, {"mine": Told()}, simple=("constant",))
    assert ("ndarray", [1, 2, 3, 4]) in Told.seen


def test_a_data_frame_is_what_ones_own_pipeline_sees():
    pandas = pytest.importorskip("pandas")
    x, y, group = levels(classes=True)
    mixed = np.random.default_rng(0).permutation(len(y))  # rows lie in any order
    frame = pandas.DataFrame(x[mixed], columns=["a", "b"])
    Told.seen.clear()
    one = transport(frame, y[mixed], group[mixed], {"mine": Told()}, simple=("constant",))
    assert {kind for kind, _ in Told.seen} == {"DataFrame"}
    other = transport(x, y, group, {"mine": Told()}, simple=("constant",))
    assert one.candidates["mine"].scores == pytest.approx(other.candidates["mine"].scores)
