import json

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.svm import SVC

from mechlearn.tables import Transport, transport
from mechlearn.tables.reading_in import prepare
from mechlearn.tables.transport import Effort, learners
from mechlearn.tables.transport.evaluation import Trials, on_sites
from mechlearn.tables.transport.learners import SIMPLE, Fit, Learner, predicted, simple_learners
from mechlearn.tables.transport.plans import FEWER, FULL, LEAST, ONE, affordable, planned
from mechlearn.tables.transport.scored import scored

LINEAR = ("constant", "linear")


@pytest.fixture
def few_trees(monkeypatch):
    """Stages of boosting are compared alike, whatever their numbers of trees."""
    monkeypatch.setattr(learners, "TREES", (2, 4, 8))


def wards(seed=0, count=5, rows=40, code=0.0):
    """Two sound columns, and one whose meaning is a site's own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=(count, rows))
    turn = rng.choice([-1.0, 1.0], size=(count, 1))
    x = rng.normal(size=(count, rows, 3))
    x[..., 0] += y
    x[..., 2] += code * turn * (2 * y - 1)
    return x.reshape(-1, 3), y.ravel(), np.repeat([f"ward {chr(65 + place)}" for place in range(count)], rows)


def numbers(seed=0, count=5, rows=30):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count * rows, 3))
    return x, x[:, 0] + 0.5 * rng.normal(size=count * rows), np.repeat(np.arange(count), rows)


class Fails(LogisticRegression):
    """Cannot be fitted where column 0 is not as large as it is at one site."""

    def fit(self, x, y):
        if x[:, 0].max() < 90:
            raise RuntimeError("too small\nand more")
        return super().fit(x, y)


def test_every_candidate_has_its_numbers_and_the_same_seed_the_same_ones(few_trees):
    x, y, group = wards(count=4, rows=20)
    found = transport(x, y, group, {"mine": LogisticRegression()}, random_state=3)
    assert isinstance(found, Transport)
    assert list(found.candidates) == ["best simple", "mine", "constant", "linear", "boosting"]
    assert found.sites == tuple(f"ward {letter}" for letter in "ABCD")
    assert set(found.candidates["constant"].scores.values()) == {0.5}
    assert found.candidates["linear"].mean > 0.6
    content = json.dumps(found.as_dict(), allow_nan=False)
    assert json.loads(content)["candidates"]["mine"]["next_site"]["method"] == "Student t, assumes sites alike"
    again = transport(x, y, group, {"mine": LogisticRegression()}, random_state=3)
    assert json.dumps(again.as_dict()) == content


def test_a_model_of_ones_own_is_what_its_own_folds_make_it():
    x, y, group = numbers()
    found = transport(x, y, group, {"mine": LinearRegression()}, simple=LINEAR)
    for site in range(5):
        out = group == site
        said = LinearRegression().fit(x[~out], y[~out]).predict(x[out])
        assert found.candidates["mine"].errors[str(site)] == pytest.approx(np.sqrt(np.mean((said - y[out]) ** 2)))
    assert "of mine at the next site" in found.verdict
    assert f" Its RMSE will be {found.candidates['mine'].error:.3g} [" in found.verdict


def test_the_verdict_says_gap_worst_site_and_room():
    x, y, group = wards(seed=1, count=10, rows=60, code=1.0)
    found = transport(x, y, group, simple=LINEAR)
    one = found.candidates["best simple"]
    assert one.gap == pytest.approx(one.random - one.mean)
    site, worst = min(one.scores.items(), key=lambda pair: pair[1])
    assert one.worst[0] == (site, worst)
    assert f"The worst site is {site} ({worst:.2f})." in found.verdict
    assert found.verdict.startswith(f"Expect an AUC of {one.mean:.2f} [{one.next_site.low:.2f}, {one.next_site.high:.2f}]")
    assert "There is something to win (room +" in found.verdict
    assert str(found).startswith(found.verdict)


def test_where_sites_are_alike_there_is_nothing_to_win():
    found = transport(*wards(seed=2, count=6, rows=250), simple=LINEAR)
    assert "There is nothing to win by training differently (room " in found.verdict
    assert ", where random folds say " in found.verdict


def test_the_yardstick_is_not_chosen_on_the_site_left_out():
    """At the last site only a constant is right; the yardstick cannot know."""
    x, y, group = numbers(count=6)
    y[group == 5] = -y[group == 5]
    found = transport(x, y, group, simple=LINEAR)
    assert found.chosen == {"linear": 6}
    assert found.candidates["best simple"].scores == found.candidates["linear"].scores
    assert found.candidates["best simple"].scores["5"] < found.candidates["constant"].scores["5"]
    assert ("An R squared below 0 is worse than" in found.verdict) == (found.candidates["best simple"].mean < 0)


def test_more_than_25_sites_are_left_out_in_ten_folds_and_each_has_its_score():
    told = []
    found = transport(*numbers(count=30, rows=20), simple=("linear",), effort=Effort(progress=lambda *one: told.append(one)))
    assert len(found.sites) == len(found.candidates["linear"].scores) == 30
    assert found.chosen == {"linear": 10}
    assert len(found.room.gains) == 20
    assert told[-1] == (284, 284)  # 4 settings, 3 validation folds, 5 + 2 blocks; 10 + 10 folds; 20 sites, 3 weights, 3 folds


def test_the_next_site_is_within_the_interval_nine_times_of_ten():
    rng, inside = np.random.default_rng(0), []
    ridge, rows = Learner("linear", (Ridge(alpha=1.0),)), 25
    for _ in range(150):
        x = rng.normal(size=(10, rows, 2))
        y = x[..., 0] + rng.uniform(0.3, 1.5, size=(10, 1)) * rng.normal(size=(10, rows))
        table = prepare(x[:9].reshape(-1, 2), y[:9].ravel(), np.repeat(np.arange(9), rows))
        trials = Trials(table, [ridge], [], np.random.default_rng(0), lambda: None)
        said = on_sites(trials, [[place] for place in range(9)]).predictions["linear"]
        interval = scored(table, range(9), said, said).next_error
        model = Ridge(alpha=1.0).fit(table.x, table.labels)
        error = np.sqrt(np.mean((model.predict(x[9]) - y[9]) ** 2))
        inside.append(interval.low <= error <= interval.high)
    assert 0.85 <= np.mean(inside) <= 0.95


def test_a_site_of_one_class_has_a_log_loss_only_and_that_is_said():
    x, y, group = wards()
    y[group == "ward C"] = 1
    found = transport(x, y, group, simple=LINEAR)
    assert found.candidates["linear"].scores["ward C"] is None
    assert found.candidates["linear"].errors["ward C"] > 0
    assert "Site ward C holds one class: its AUC is undefined, and its log loss is what is known of it." in found.notes
    assert not any("not judged" in note for note in found.notes)
    assert "ward C" not in found.room.gains


def test_two_sites_have_no_interval_and_that_is_said():
    found = transport(*wards(count=2), simple=LINEAR)
    assert found.candidates["best simple"].next_site is None
    assert "There is no interval, as 2 sites say nothing of the next one." in found.verdict
    assert "One cannot tell whether there is anything to win" in found.verdict
    assert found.notes[0].startswith("With two sites, one is left to train on")


def test_sites_of_three_rows_are_trained_on_only():
    x, y, group = wards()
    small = np.concatenate([group, ["tiny"] * 3, ["small"] * 3])
    found = transport(np.concatenate([x, x[:6]]), np.concatenate([y, y[:6]]), small, simple=LINEAR)
    assert found.sites == tuple(f"ward {letter}" for letter in "ABCDE")
    assert any(note.startswith("2 of 7 sites have fewer than 20 rows") for note in found.notes)


def test_a_pipeline_that_fails_on_a_fold_is_told_and_the_others_go_on():
    x, y, group = wards()
    x[group == "ward D", 0] = np.where(np.arange(40) == 0, 99, x[group == "ward D", 0])
    found = transport(x, y, group, {"mine": Fails()}, simple=LINEAR)
    on_sites = [str(one) for one in found.failures if "site" in one.fold]
    assert on_sites == ["mine failed without site ward D: RuntimeError: too small"]
    assert found.candidates["mine"].scores["ward D"] is None
    assert found.candidates["linear"].scores["ward D"] is not None
    assert np.isfinite(found.candidates["mine"].mean)
    json.dumps(found.as_dict(), allow_nan=False)


def test_a_pipeline_that_always_fails_leaves_the_others():
    x, y, group = wards()
    found = transport(x, y, group, {"mine": Fails()}, simple=LINEAR)
    assert found.verdict.startswith("Nothing can be said of mine, as it has no AUC at any site.")
    assert len(found.failures) == 10
    json.dumps(found.as_dict(), allow_nan=False)


def test_an_open_random_state_is_set():
    trees = {"mine": ExtraTreesRegressor(n_estimators=3)}
    one, other = (transport(*numbers(), trees, simple=("constant",)) for _ in range(2))
    assert one.as_dict() == other.as_dict()


def test_missing_numbers_and_texts_are_inputs(few_trees):
    x, y, group = wards(count=2)
    columns = {"a": np.where(np.arange(len(x)) % 7 == 0, np.nan, x[:, 0]), "kind": np.where(x[:, 1] > 0, "p", "q")}
    found = transport(columns, y, group, simple=tuple(SIMPLE))
    assert all(np.isfinite(one.mean) for one in found.candidates.values())
    assert not found.failures


def test_three_classes():
    x, _, group = wards()
    y = np.digitize(x[:, 0], [0.0, 1.0])
    assert transport(x, y, group, simple=LINEAR).candidates["linear"].mean > 0.9


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.ones(200)}, "The target should take two values or more"),
        ({"groups": np.repeat("one", 200)}, "there should be at least two of 20 rows"),
        ({"simple": ()}, "`simple` should name a candidate"),
        ({"simple": ("tree",)}, "simple"),
        ({"candidates": {"linear": LogisticRegression()}}, "Found 'linear', a simple one"),
        ({"candidates": {"mine": SVC()}}, "without predict_proba"),
        ({"candidates": {"mine": LogisticRegression}}, "without fit"),
        ({"random_state": -1}, "random_state"),
        ({"effort": Effort(0.0)}, "budget"),
        ({"candidates": {"mine": None}}, "A candidate by name should be one of site-informed linear"),
    ],
)
def test_what_cannot_be_asked_is_a_sentence(change, sentence):
    x, y, group = wards()
    with pytest.raises((TypeError, ValueError), match=sentence):
        transport(**{"X": x, "y": y, "groups": group, **change})


def test_groups_that_determine_the_target_are_a_sentence():
    x, _, group = numbers()
    with pytest.raises(ValueError, match="site and target say the same"):
        transport(x, group + 0.5, group, task="regression")
    with pytest.raises(ValueError, match="one class in every site"):
        transport(x, group % 2, group)


def test_a_site_whose_target_is_constant_has_an_error_only():
    x, y, group = numbers()
    y[group == 2] = 1.25
    found = transport(x, y, group, {"mine": DummyRegressor()}, simple=LINEAR)
    assert found.candidates["mine"].scores["2"] is None
    assert (
        "Site 2 holds one value of the target: its R squared is undefined, and its RMSE is what is known of it." in found.notes
    )


@pytest.mark.parametrize("count", [5, 12])
def test_labels_of_a_left_out_site_change_nothing_that_predicts_it(count, few_trees):
    """From nine folds on settings are chosen once a block: nothing of the site has a part in that, either."""
    x, y, group = wards(seed=4, count=count, rows=30, code=1.0)
    said, shuffled = [], np.random.default_rng(0)
    for labels in (y, np.where(group == "ward B", shuffled.permutation(y), y)):
        table = prepare(x, labels, group)
        trials = Trials(table, simple_learners(("linear", "boosting"), table.task, 0), [], np.random.default_rng(1), int)
        found = on_sites(trials, [[place] for place in range(count)]).predictions
        said.append({name: one[table.site == 1] for name, one in found.items()})
        assert table.sites[1] == "ward B"
    assert not np.array_equal(y, labels)
    assert all(np.array_equal(said[0][name], said[1][name]) for name in ("best simple", "linear", "boosting"))


def test_a_stage_of_boosting_is_a_fit_with_as_many_trees(few_trees):
    x, y, group = numbers()
    table, (boosting,) = prepare(x, y, group), simple_learners(("boosting",), "regression", 0)
    train, asked = np.arange(100), np.arange(100, 150)
    stages = predicted(table, Fit(boosting.settings[1], train, asked, boosting.stages))
    for place in range(len(boosting.stages)):
        assert np.array_equal(stages[place], predicted(table, Fit(boosting.setting(1, place), train, asked))[0])


def test_processes_beside_each_other_change_nothing():
    one, two = (transport(*numbers(), simple=LINEAR, effort=Effort(jobs=jobs)) for jobs in (1, 2))
    assert one.as_dict() == two.as_dict()


def test_a_short_budget_shrinks_grids_first_then_folds_and_says_so():
    simple = simple_learners(LINEAR, "regression", 0)
    seconds = {"constant": 0.0, "linear": 1.0}
    plans = [planned(simple, [], 30, seconds, budget)[0] for budget in (1000.0, 230.0, 100.0, 1.0)]
    assert plans == [FULL, ONE, FEWER, LEAST]
    assert plans[0].fits(simple[1], 30, True) == 3 * 4 * 7 + 20
    found = transport(*numbers(count=30, rows=20), simple=LINEAR, effort=Effort(1e-6))
    assert found.notes[0].startswith("A budget of ")
    assert "candidates have one setting each, with five folds of sites" in found.notes[0]
    assert sum(found.chosen.values()) == 5
    assert len(found.candidates["linear"].scores) == 30


def test_what_the_least_plan_has_no_time_for_is_left_out_and_said():
    simple = simple_learners(("constant", "linear", "boosting"), "regression", 0)
    seconds = {"constant": 0.001, "linear": 0.01, "boosting": 3.0}
    assert affordable(simple, [], 30, seconds, 1e4) == (simple, [])
    kept, (said,) = affordable(simple, [], 30, seconds, 60.0)
    assert [one.name for one in kept] == ["constant", "linear"]
    assert said == "boosting is left out: one fit takes 3 seconds, and the budget is 60 for all. --budget gives more."
    assert len(affordable(simple, [], 30, seconds, 1e-9)[0]) == 2
    found = transport(*numbers(), effort=Effort(1e-6))
    assert "boosting" not in found.candidates
    assert any(note.startswith(("boosting is left out", "linear is left out")) for note in found.notes)


def test_a_score_too_good_to_be_true_is_said():
    x, y, group = numbers(count=3)
    assert transport(x, y, group, simple=LINEAR).notes == ()
    leak = np.column_stack([x, y - x[:, 1], x[:, 1]])  # of two columns, neither of which tells alone
    first = transport(leak, y, group, simple=LINEAR).notes[0]
    assert first.endswith(
        "at sites not seen is too good to be true, perhaps: look whether an input is known only when the target is."
    )
