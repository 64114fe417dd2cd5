import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from craik.estimators import AgreementClassifier, AgreementRegressor
from site_tables import regression, shortcut

TABLE = shortcut(sites=4, rows=40, strength=3.0, turned=2)


@pytest.fixture
def routing():
    sklearn.set_config(enable_metadata_routing=True)
    yield
    sklearn.set_config(enable_metadata_routing=False)


@pytest.mark.filterwarnings("ignore:fit() was given no groups")
@parametrize_with_checks([AgreementClassifier(steps=25), AgreementRegressor(steps=25)])
def test_scikit_learns_checks(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check(estimator)


def test_groups_decide_what_is_learned():
    """A column that two sites use oppositely, more strongly at one: the pool relies on it, agreement does not."""
    table = shortcut(sites=2, rows=150, strength=0)
    x = table.x.copy()
    x[:, 10] += (table.y - 0.5) * np.where(table.site == 0, 4.0, -1.0)
    with pytest.warns(UserWarning, match="no groups"):
        pooled = AgreementClassifier().fit(x, table.y)
    agreed = AgreementClassifier().fit(x, table.y, groups=table.site)
    assert abs(pooled.coef_[1, 10]) > 0.1
    assert abs(agreed.coef_[1, 10]) < 0.05 * abs(pooled.coef_[1, 10])
    assert abs(agreed.coef_[1, 0]) > 0.3 * abs(pooled.coef_[1, 0])


def test_numbers_too():
    table = regression(sites=2, rows=100, turned=1)
    x = table.x.copy()
    x[table.site == 0, 2] *= 0.2
    with pytest.warns(UserWarning, match="no groups"):
        pooled = AgreementRegressor().fit(x, table.y)
    agreed = AgreementRegressor().fit(x, table.y, groups=table.site)
    assert abs(pooled.coef_[0, 2]) > 0.05
    assert abs(agreed.coef_[0, 2]) < 0.05 * abs(pooled.coef_[0, 2])
    np.testing.assert_allclose(agreed.predict(x), x @ agreed.coef_[0] + agreed.intercept_[0], atol=1e-9)


@pytest.mark.parametrize("kind", [AgreementClassifier, AgreementRegressor])
def test_numbers_whose_squares_cannot_be_added_up_are_refused(kind):
    x = TABLE.x.copy()
    x[5, 2] = 1e200
    model = kind(steps=5, random_state=0)
    with pytest.raises(ValueError, match=r"rows of 'x2', first 1e\+200 in data row 6 of 160"):
        model.fit(x, TABLE.y, groups=TABLE.site)
    model.fit(TABLE.x, TABLE.y, groups=TABLE.site)
    with pytest.raises(ValueError, match=r"rows of 'x2', first 1e\+200 in data row 6 of 160"):
        model.predict(x)
    if kind is AgreementRegressor:
        with pytest.raises(ValueError, match="rows of 'y'"):
            model.fit(TABLE.x, TABLE.x[:, 0] * 1e200, groups=TABLE.site)


def test_what_a_fit_leaves():
    model = AgreementClassifier(random_state=0).fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert model.sites_ == ("0", "1", "2", "3")
    assert set(model.score_by_group_) == set(model.sites_)
    assert model.threshold_ in (0.8, 1.0)
    assert [feature.column for feature in model.disagreeing_features_] == ["x10"]
    assert set(model.agreement_["features"]) == {f"x{j}" for j in range(11)}
    assert model.agreement_["parameters"]["0.weight"].shape == (2, 11)
    assert len(model.history_) >= 1
    assert len(pickle.dumps(model)) < 20_000
    assert np.allclose(pickle.loads(pickle.dumps(model)).predict_proba(TABLE.x), model.predict_proba(TABLE.x))


def test_groups_may_be_strings_with_holes_and_small_ones_are_pooled():
    names = np.array([f"site {site}" for site in TABLE.site], dtype=object)
    names[:40] = None
    assert AgreementClassifier(steps=5).fit(TABLE.x, TABLE.y, groups=names).sites_[0] == "(missing)"
    names[40:70] = [f"few {i % 3}" for i in range(30)]
    with pytest.warns(UserWarning, match="fewer than 20 rows"):
        assert "(small sites)" in AgreementClassifier(steps=5).fit(TABLE.x, TABLE.y, groups=names).sites_


def test_weights_are_repetitions_site_by_site():
    weights = np.random.default_rng(0).integers(0, 3, size=len(TABLE.y))
    index = np.repeat(np.arange(len(TABLE.y)), weights)
    settings = {"random_state": 0, "audit_features": False, "steps": 30}
    one = AgreementClassifier(**settings).fit(TABLE.x, TABLE.y, groups=TABLE.site, sample_weight=weights)
    two = AgreementClassifier(**settings).fit(TABLE.x[index], TABLE.y[index], groups=TABLE.site[index])
    np.testing.assert_allclose(one.decision_function(TABLE.x), two.decision_function(TABLE.x), rtol=1e-7)


def test_rows_of_no_weight_do_not_keep_a_site_from_being_pooled():
    settings = {"random_state": 0, "audit_features": False, "steps": 10}
    first, others = np.flatnonzero(TABLE.site == 0), np.flatnonzero(TABLE.site != 0)
    kept = np.sort(np.concatenate((first[:5], others)))
    weights = np.zeros(len(TABLE.y))
    weights[kept] = 1.0
    with pytest.warns(UserWarning, match="fewer than 20 rows"):
        one = AgreementClassifier(**settings).fit(TABLE.x, TABLE.y, groups=TABLE.site, sample_weight=weights)
    with pytest.warns(UserWarning, match="fewer than 20 rows"):
        two = AgreementClassifier(**settings).fit(TABLE.x[kept], TABLE.y[kept], groups=TABLE.site[kept])
    assert one.sites_ == two.sites_
    assert "(small sites)" in one.sites_
    assert np.array_equal(one.decision_function(TABLE.x), two.decision_function(TABLE.x))


def test_a_hidden_layer_batches_and_progress(capsys):
    model = AgreementClassifier(hidden=8, batch_size=16, steps=20, verbose=1, random_state=0, audit_features=False)
    model.fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert "step 20 of 20" in capsys.readouterr().out
    assert model.predict_proba(TABLE.x).shape == (160, 2)
    assert not hasattr(model, "coef_")
    again = AgreementClassifier(hidden=8, batch_size=16, steps=20, random_state=0, audit_features=False)
    assert np.array_equal(
        again.fit(TABLE.x, TABLE.y, groups=TABLE.site).decision_function(TABLE.x), model.decision_function(TABLE.x)
    )


def test_routing_takes_sites_through_pipelines_and_searches(routing):
    model = AgreementClassifier(steps=10, audit_features=False).set_fit_request(groups=True)
    line = make_pipeline(StandardScaler(), model)
    found = cross_validate(line, TABLE.x, TABLE.y, params={"groups": TABLE.site}, cv=LeaveOneGroupOut(), return_estimator=True)
    assert [len(one[-1].sites_) for one in found["estimator"]] == [3] * 4
    search = GridSearchCV(line, {"agreementclassifier__threshold": [0.8, 1.0]}, cv=LeaveOneGroupOut())
    search.fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert len(search.best_estimator_[-1].sites_) == 4


def test_without_routing_fit_says_that_it_had_no_groups():
    with pytest.warns(UserWarning, match="set_fit_request"):
        cross_validate(AgreementClassifier(steps=5), TABLE.x, TABLE.y, groups=TABLE.site, cv=LeaveOneGroupOut())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"steps": 0}, "steps"),
        ({"threshold": 1.5}, "threshold"),
        ({"learning_rate": -1.0}, "learning_rate"),
        ({"weight_decay": -1.0}, "weight_decay"),
        ({"batch_size": 0}, "rows_per_site"),
    ],
)
def test_settings_that_cannot_be(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        AgreementClassifier(**settings).fit(TABLE.x, TABLE.y, groups=TABLE.site)


def test_groups_of_another_length():
    with pytest.raises(ValueError, match="one value for each of the 160 rows"):
        AgreementClassifier().fit(TABLE.x, TABLE.y, groups=TABLE.site[:5])
