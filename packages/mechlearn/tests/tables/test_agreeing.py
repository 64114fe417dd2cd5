import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from mechlearn.tables import AgreementClassifier, AgreementRegressor, agreeing
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
    agreed = AgreementClassifier(early_stopping=False).fit(x, table.y, groups=table.site)
    assert abs(pooled.coef_[1, 10]) > 0.1
    assert abs(agreed.coef_[1, 10]) < 0.05 * abs(pooled.coef_[1, 10])
    assert abs(agreed.coef_[1, 0]) > 0.3 * abs(pooled.coef_[1, 0])


def test_numbers_too():
    table = regression(sites=2, rows=100, turned=1)
    x = table.x.copy()
    x[table.site == 0, 2] *= 0.2
    with pytest.warns(UserWarning, match="no groups"):
        pooled = AgreementRegressor().fit(x, table.y)
    agreed = AgreementRegressor(early_stopping=False).fit(x, table.y, groups=table.site)
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


def warned(caught):
    return [str(one.message) for one in caught]


def test_groups_may_be_strings_with_holes_and_small_ones_are_pooled():
    names = np.array([f"site {site}" for site in TABLE.site], dtype=object)
    names[:40] = None
    with pytest.warns(UserWarning, match="name no group") as caught:
        assert AgreementClassifier(steps=5).fit(TABLE.x, TABLE.y, groups=names).sites_[0] == "(missing)"
    (said,) = warned(caught)
    assert said.startswith("40 of 160 rows name no group: they are taken as one more, '(missing)'.")
    names[:40] = "site 0"
    names[40:70] = [f"few {i % 3}" for i in range(30)]
    with pytest.warns(UserWarning, match="fewer than 20 rows"):
        model = AgreementClassifier(steps=5).fit(TABLE.x, TABLE.y, groups=names)
    assert model.sites_[0] == "(small sites)"
    assert set(model.score_by_group_) == set(model.sites_[1:])


@pytest.mark.parametrize("kind", [AgreementClassifier, AgreementRegressor])
def test_where_nothing_was_held_out_there_is_no_score(kind):
    """Noise: what a model says of rows that it was trained on is no score of a site that it had not seen."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(120, 40)), rng.integers(2, size=120)
    settings = {"steps": 10, "audit_features": False, "random_state": 0}
    with pytest.warns(UserWarning, match="Early stopping") as caught:
        two = kind(**settings).fit(x, y, groups=np.arange(120) % 2)
    (said,) = warned(caught)
    assert said.startswith("Early stopping holds groups out, so there should be 3 or more. Found 0, 1: none is held out")
    asked = [kind(early_stopping=False, **settings).fit(x, y, groups=np.arange(120) % count) for count in (2, 3)]
    assert [model.score_by_group_ for model in (two, *asked)] == [{}] * 3
    assert set(kind(**settings).fit(x, y, groups=np.arange(120) % 3).score_by_group_) == {"0", "1", "2"}


@pytest.mark.parametrize(
    ("groups", "found"), [(["A"] * 160, "Found one: "), ([*range(16)] * 10, "Found 16, all below 20 rows")]
)
def test_one_group_is_a_pool_and_said_to_be(groups, found):
    with pytest.warns(UserWarning, match="two or more") as caught:
        model = AgreementClassifier(steps=5).fit(TABLE.x, TABLE.y, groups=groups)
    (said,) = warned(caught)
    assert said.startswith("Groups are compared, so there should be two or more of 20 rows.")
    assert found in said
    assert model.score_by_group_ == {}


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


@pytest.mark.parametrize("kind", [AgreementClassifier, AgreementRegressor])
def test_nothing_of_a_linear_model_is_left_by_another_fit(kind):
    model = kind(hidden=0, steps=2, random_state=0, audit_features=False).fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert model.coef_.shape[1] == TABLE.x.shape[1]
    model.set_params(hidden=8).fit(TABLE.x, TABLE.y, groups=TABLE.site)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "intercept_")


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
        ({"threshold": []}, "`threshold` should be a share from 0 to 1, or several to choose from. Found none"),
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


def test_from_five_thousand_rows_on_every_step_draws_some_of_every_site(monkeypatch):
    rows, fitted = [], agreeing.fit
    monkeypatch.setattr(
        agreeing,
        "fit",
        lambda sites, c, own, training, *rest: rows.append(training.rows_per_site) or fitted(sites, c, own, training, *rest),
    )
    rng = np.random.default_rng(0)
    for count in (4992, 5120):
        x = rng.normal(size=(count, 2))
        y = x[:, 0] > 0
        model = AgreementClassifier(hidden=0, steps=30, random_state=0, audit_features=False).fit(
            x, y, groups=np.arange(count) % 4
        )
        assert model.score(x, y) > 0.9
    assert rows == [None, 512]
