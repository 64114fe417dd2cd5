import pickle
import warnings

import numpy as np
import pytest
import sklearn
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mechlearn.tables import DistilledClassifier, DistilledRegressor
from mechlearn.tables.distilling.distilled import _explained
from network_checks import check_network

QUICK = {"steps": 16, "random_state": 0}


@parametrize_with_checks([DistilledRegressor(), DistilledClassifier()])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_scikit_learns_checks_of_a_network():
    check_network(DistilledClassifier(teacher="auxiliary", **QUICK))


def mediated(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 20))
    z = x @ rng.normal(size=(20, 3)) / np.sqrt(20) + 0.3 * rng.normal(size=(rows, 3))
    return x, z @ np.array([1.0, -1.0, 1.0]) + 2 * rng.normal(size=rows), z


TEACHERS = ("vote", "kernel-vote", "chain", "ridge-soft-targets", "kernel-bottleneck")
NETWORKS = ("auxiliary", "soft-targets", "bottleneck", "ldt")


@pytest.mark.parametrize("teacher", [*TEACHERS, *NETWORKS])
def test_every_teacher_predicts_from_x_alone_and_has_the_untaught_vote_beside_it(teacher):
    x, y, z = mediated()
    model = DistilledRegressor(teacher=teacher, **QUICK).fit(x, y, privileged=z)
    assert model.predict(x).shape == (60,)
    assert {"vote", "without privileged"} <= set(model.report_)
    assert "without privileged columns" in model.sentence()
    assert len(pickle.dumps(model)) < 80_000
    again = DistilledRegressor(teacher=teacher, **QUICK).fit(x, y, privileged=z)
    np.testing.assert_array_equal(model.predict(x), again.predict(x))


@pytest.mark.parametrize("teacher", NETWORKS)
@pytest.mark.parametrize("classes", [2, 3])
def test_networks_take_classes_and_steps_in_time(teacher, classes):
    x, y, z = mediated()
    labels = np.array(["a", "b", "c"])[np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))]
    model = DistilledClassifier(teacher=teacher, **QUICK).fit(x, labels, privileged=np.stack([z, z + 1], 1))
    assert set(model.predict(x)) <= set(labels)
    assert model.decision_function(x).shape == ((60,) if classes == 2 else (60, 3))
    said = model.predict_proba(x)
    np.testing.assert_allclose(said.sum(1), 1)
    np.testing.assert_array_equal(model.classes_[said.argmax(1)], model.predict(x))
    assert len(model.history_)
    assert model.chosen_
    assert "stopped its training" in model.sentence()


def test_nothing_of_another_teacher_is_left_by_another_fit():
    x, y, z = mediated(30)
    model = DistilledRegressor(**QUICK).fit(x, y, privileged=z)
    for teacher in ("auxiliary", "kernel-vote", "vote"):
        again = model.set_params(teacher=teacher).fit(x, y, privileged=z)
        first = DistilledRegressor(teacher=teacher, **QUICK).fit(x, y, privileged=z)
        assert set(vars(again)) == set(vars(first))


def test_votes_have_scores_and_no_probabilities():
    model = DistilledClassifier()
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError) as found:
        model.predict_proba  # noqa: B018
    assert "'vote' is a vote by squared error" in str(found.value.__cause__)


def test_a_network_in_the_targets_own_unit():
    x, y, z = mediated(rows=200)
    model = DistilledRegressor(teacher="bottleneck", steps=60, random_state=0).fit(x, 1000 + 50 * y, privileged=z)
    assert np.corrcoef(model.predict(x), y)[0, 1] > 0.5
    assert 900 < model.predict(x).mean() < 1100
    assert model.report_["bottleneck"] < 0.9
    assert not hasattr(model, "coef_")


def test_the_share_explained_of_a_constant_is_what_scikit_learn_says():
    constant, off = np.ones((4, 1)), np.array([[1.0], [1.0], [2.0], [1.0]])
    for found in (constant, off):
        assert _explained(found, constant) == r2_score(constant, found)
    assert _explained(constant, off) == pytest.approx(r2_score(off, constant))


def test_without_privileged_columns_a_network_is_alone():
    x, y, _ = mediated()
    predictions = [DistilledRegressor(teacher=name, **QUICK).fit(x, y).predict(x) for name in NETWORKS]
    for other in predictions[1:]:
        np.testing.assert_array_equal(predictions[0], other)


def test_threads_are_given_back():
    x, y, _ = mediated()
    before = torch.get_num_threads()
    DistilledRegressor(n_jobs=-1).fit(x, y)
    assert torch.get_num_threads() == before
    with pytest.raises(ValueError, match="-1 for all cores"):
        DistilledRegressor(n_jobs=0).fit(x, y)
    with pytest.raises(TypeError, match="n_jobs"):
        DistilledRegressor(n_jobs=1.5).fit(x, y)


def test_without_privileged_columns_it_is_the_untaught_vote():
    x, y, z = mediated()
    alone = DistilledRegressor(random_state=0).fit(x, y)
    assert alone.taught_ is alone.untaught_
    beside = DistilledRegressor(random_state=0).fit(x, y, privileged=z).untaught_
    np.testing.assert_array_equal(alone.predict(x), beside.predict(x)[:, 0])


def test_classes_on_a_real_table_with_few_rows():
    """Breast cancer: from the mean cells, with the worst cells known in training."""
    table, y = load_breast_cancer(return_X_y=True)
    noise = np.random.default_rng(0).normal(size=(len(y), 10)) * table[:, :10].std(0)
    x, privileged = table[:, :10] + noise, table[:, 20:]
    rows = np.random.default_rng(1).permutation(len(y))
    train, test = rows[:100], rows[100:]
    model = DistilledClassifier(random_state=0).fit(x[train], y[train], privileged=privileged[train])
    ridge = make_pipeline(StandardScaler(), RidgeClassifierCV(np.logspace(-1, 4, 13))).fit(x[train], y[train])
    assert model.score(x[test], y[test]) > ridge.score(x[test], y[test]) - 0.02


def test_routing_takes_privileged_columns_through_a_pipeline():
    x, y, z = mediated()
    sklearn.set_config(enable_metadata_routing=True)
    try:
        line = make_pipeline(StandardScaler(), DistilledRegressor(random_state=0).set_fit_request(privileged=True))
        found = cross_validate(line, x, y, params={"privileged": z}, return_estimator=True)
    finally:
        sklearn.set_config(enable_metadata_routing=False)
    assert all("C" in one[-1].report_ for one in found["estimator"])


def test_a_sentence_when_asked(capsys):
    x, y, z = mediated()
    DistilledRegressor(verbose=1).fit(x, y, privileged=z)
    assert "votes" in capsys.readouterr().out


def test_one_privileged_column_may_have_one_dimension():
    x, y, z = mediated()
    found = [DistilledRegressor(**QUICK).fit(x, y, privileged=one).predict(x) for one in (z[:, 0], z[:, :1])]
    np.testing.assert_array_equal(*found)


def test_refusals():
    x, y, z = mediated()
    with pytest.raises(ValueError, match='"vote"'):
        DistilledRegressor(teacher="magic").fit(x, y)
    with pytest.raises(TypeError, match="steps"):
        DistilledRegressor(teacher="ldt", steps=2.5).fit(x, y)
    with pytest.raises(ValueError, match="handicap"):
        DistilledRegressor(handicap=-1).fit(x, y)
    with pytest.raises(ValueError, match="inconsistent"):
        DistilledRegressor().fit(x, y, privileged=z[:5])
    for device in ("gpu", "nonsense:0", 3.5):
        with pytest.raises(ValueError, match=r"`device` should be one that torch finds here\. Found"):
            DistilledRegressor(device=device).fit(x, y)
    with pytest.raises(ValueError, match=r"or \(n, T, Q\) of T steps in time\. Found \(60, 1, 1, 3\)"):
        DistilledRegressor(teacher="auxiliary", **QUICK).fit(x, y, privileged=z[:, None, None])
    with pytest.raises(ValueError, match=r"`groups` should hold one label for each of the 60 rows\. Found 3\. Take"):
        DistilledRegressor().fit(x, y, groups=np.zeros(3))
    with pytest.raises(ValueError, match="features"):
        DistilledRegressor().fit(x, y, privileged=z).predict(np.column_stack([x, z]))


@pytest.mark.parametrize("teacher", ["vote", "kernel-vote", "auxiliary"])
def test_groups_choose_by_groups(teacher):
    random = np.random.default_rng(0)
    x, whose = random.normal(size=(30, 40)), np.repeat(np.arange(30), 4)
    y = x[:, 0] + 2 * random.normal(size=30)
    model = DistilledRegressor(teacher=teacher, steps=80, random_state=0)
    by_rows = model.fit(x[whose], y[whose], x[whose, :2]).report_
    by_groups = model.fit(x[whose], y[whose], x[whose, :2], groups=whose).report_
    key = "vote" if "vote" in teacher else teacher
    assert by_groups[key] < by_rows[key] - 0.2
    labels = [None, *(str(one) for one in whose[1:])]
    assert model.fit(x[whose], y[whose], x[whose, :2], groups=labels).report_[key] < by_rows[key] - 0.2
    with pytest.raises(ValueError, match="`groups`"):
        model.fit(x, y, x[:, :2], groups=whose)


@pytest.mark.parametrize("teacher", ["vote", "chain", "ridge-soft-targets", "kernel-bottleneck"])
def test_a_recipe_alone_has_its_gain_over_the_vote_without_privileged_columns(teacher):
    x, y, z = mediated()
    model = DistilledRegressor(teacher=teacher, random_state=0).fit(x, y, privileged=z)
    gain = model.report_["vote"] - model.report_["without privileged"]
    assert model.gain_[0] == pytest.approx(gain, abs=0.01 if teacher == "vote" else 1e-12)  # its two votes were drawn apart
    assert model.gain_[1] > 0
    assert model.fit(x, y).gain_ == (0.0, 0.0)


@pytest.mark.parametrize("estimator", [DistilledRegressor, DistilledClassifier])
def test_what_was_fitted_predicts_whatever_is_named_since(estimator):
    x, y, z = mediated()
    y = y if estimator is DistilledRegressor else (y > 0).astype(int)
    model = estimator(teacher="auxiliary", **QUICK).fit(x, y, privileged=z)
    found, sentence = model.predict(x), model.sentence()
    model.set_params(teacher="vote")
    np.testing.assert_array_equal(model.predict(x), found)
    assert (model.sentence(), model.teacher_) == (sentence, "auxiliary")
    assert hasattr(model, "predict_proba") == (estimator is DistilledClassifier)
    for name in ("teacher_", "_constant"):  # as a file of an earlier version has it
        del model.__dict__[name]
    np.testing.assert_array_equal(model.set_params(teacher="auxiliary").predict(x), found)


def test_an_input_that_was_constant_in_training_says_nothing_to_kernels():
    x, y, z = mediated()
    x[:, 2] = 7
    model = DistilledRegressor(teacher="kernel-vote", random_state=0).fit(x, y, privileged=z)
    new = x.copy()
    new[:, 2] = 12
    np.testing.assert_array_equal(model.predict(new), model.predict(x))
