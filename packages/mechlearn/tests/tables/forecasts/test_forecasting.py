import pickle
from dataclasses import replace

import numpy as np
import pytest

from mechlearn.tables.forecasts import forecasting
from mechlearn.tables.forecasts.forecasting import Budget, Tried, compare_forecasters
from mechlearn.tables.verdict import Verdict

QUICK = Budget(steps=3, evaluations=16, hidden=4)


def swinging(count=24, length=9):
    angle = np.linspace(0, 6, count)[:, None] + np.arange(length) * 2 * np.pi / 20
    return list(np.stack([np.cos(angle), np.sin(angle)], -1))


def test_every_candidate_is_tried_with_as_many_evaluations():
    found = compare_forecasters(swinging(), budget=QUICK)
    assert found.ahead == 8
    assert found.counts == (12, 5, 7)
    assert [one.name for one in found.tried] == [*forecasting.SIMPLE, *forecasting.ADAPTIVE]
    for one in found.tried[3:]:
        assert one.model.evaluations_ == pytest.approx(3 * 16, rel=0.6)
        assert one.errors.shape == (7,)
        assert one.evaluations == max(1, round(8 / one.skip))
    assert found.sentence in str(found)


def test_errors_are_those_of_a_loop():
    data = swinging(3, 14)
    scale = np.array([1.0, 2.0])
    found = forecasting._of_each(lambda frames, last: frames + 0.1, data, 8, scale)
    for one, error in zip(data, found, strict=True):
        squared = [np.mean(((one[start] + 0.1 - one[start + 8]) / scale) ** 2) for start in (1, 5)]
        assert error == pytest.approx(np.sqrt(np.mean(squared)))


def test_the_same_again():
    first, second = (compare_forecasters(swinging(), budget=QUICK, random_state=3) for _ in range(2))
    assert first.verdict == second.verdict


def test_every_network_stops_where_it_was_best_on_the_trajectories_that_settings_are_chosen_on():
    seen = {}
    budget = Budget(steps=4, evaluations=16, hidden=4)

    def watch(share, one):
        seen.setdefault(one[:2], []).append(float(np.mean(one.errors)))

    found = compare_forecasters(swinging(), 2, budget, watch=watch)
    scale = np.concatenate(forecasting._split(swinging(), 0)[0]).std(0)
    chosen_on = forecasting._split(swinging(), 0)[1]
    assert len(seen) == 5
    for one in found.tried[3:]:
        assert len(seen[one[:2]]) == 4
        assert np.mean(one.judged(chosen_on, 2, scale).errors) == min(seen[one[:2]])


def test_ridge_on_the_state_and_its_last_difference_follows_a_straight_line():
    """Without the difference nobody knows which way it goes."""
    random = np.random.default_rng(0)
    data = [random.normal(size=2) + np.arange(9)[:, None] * random.normal(size=2) for _ in range(40)]
    found = compare_forecasters(data, 4, QUICK)
    errors = {one.name: np.mean(one.errors) for one in found.tried}
    assert errors[forecasting.MOVING] < 0.7 * min(errors[forecasting.RIDGE], errors[forecasting.STILL])
    assert found.verdict.against.startswith(forecasting.MOVING)
    assert found.chosen != forecasting.MOVING  # what is kept steps from one state


def test_a_difference_is_said_by_its_size():
    for gain, side in ((1.6, "lower"), (-1.6, "higher")):
        for word in ("as good", "cannot tell"):
            said = forecasting.sentence(replace(named(word), gain=gain), 8, 20)
            assert f"is {side} than that of fixed steps (k = 1) by 1.6 per cent (95 % interval" in said
            assert "-1.6 per cent" not in said


def test_one_training_is_watched():
    shares = []
    found = compare_forecasters(swinging(), 2, replace(QUICK, steps=4), watch=lambda share, one: shares.append(share))
    assert shares == [0.25, 0.5, 0.75, 1.0] * 5
    model = pickle.loads(pickle.dumps(found.tried[3].model))  # whoever watched is gone
    model.fit(swinging()[:2])
    assert len(shares) == 20


@pytest.mark.parametrize(
    ("ours", "theirs", "word"),
    [
        ([0.5, 0.6, 0.5, 0.4] * 5, [1.0] * 20, "helps"),
        ([1.0] * 20, [0.5, 0.6, 0.5, 0.4] * 5, "harms"),
        ([1.0, 1.001] * 10, [1.001, 1.0] * 10, "as good"),
        ([0.2, 1.8] * 10, [1.8, 0.2] * 10, "cannot tell"),
        ([0.995] * 20, [1.0] * 20, "as good"),  # surely lower, and by less than a per cent
    ],
)
def test_words(ours, theirs, word):
    names = [*forecasting.SIMPLE, *forecasting.ADAPTIVE]
    errors = {"fixed steps": theirs, "adaptive skips": ours}
    tried = [Tried(name, "k", np.array(errors.get(name, [9.0] * 20)), 1.0, 1, None) for name in names]
    verdict = forecasting._verdict(tried, {name: 0.0 if name in errors else 1.0 for name in names}, 0, draws=500)
    assert verdict.word == word
    assert verdict.against == "fixed steps (k)"
    assert verdict.method in forecasting.sentence(verdict, 8, 20)


def named(word):
    return Verdict(word, "adaptive skips (H = 2)", "fixed steps (k = 1)", 5.0, 2.0, 8.0, 0.01, (0.1,))


@pytest.mark.parametrize("word", ["helps", "as good", "harms", "cannot tell"])
def test_below_ten_judged_trajectories_nothing_is_told(word):
    verdict = forecasting._told(named(word), 9)
    assert verdict.word == "cannot tell"
    assert verdict.untold == "9 trajectories are too few to judge on: more would settle it, 32 in all at least."
    assert forecasting._told(named(word), 10) == named(word)


def test_few_trajectories_are_said_to_be_few():
    found = compare_forecasters(swinging(), budget=QUICK)
    assert found.verdict.word == "cannot tell"
    assert found.sentence.endswith("more would settle it, 32 in all at least.")
    data = [np.zeros((1, 1))] * 200
    for count in range(forecasting.FEWEST, 200):
        judged = forecasting._split(data[:count], 0)[2]
        assert (len(judged) >= forecasting.JUDGED) == (count >= forecasting.SETTLING)


def test_steps_that_all_arrive():
    for ahead in range(2, 40):
        plan = forecasting._plan(ahead)
        fixed = [own["horizon"] for _, own in plan["fixed steps"]]
        assert all(ahead % k == 0 and k < ahead for k in fixed)
        assert fixed[0] == 1
        assert all(len(settings) <= forecasting.SETTINGS for settings in plan.values())


@pytest.mark.parametrize(
    ("data", "ahead", "words"),
    [
        (swinging(19), None, "at least 20 trajectories"),
        (swinging(), 9, "more than 9 frames"),
        (swinging(length=2), None, "at least 3 frames"),
        ([*swinging(), np.ones((9, 3))], None, "as many features"),
        ([*swinging(), np.full((9, 2), np.nan)], None, "finite"),
    ],
)
def test_refusals(data, ahead, words):
    with pytest.raises(ValueError, match=words):
        compare_forecasters(data, ahead, QUICK)


def test_a_budget_checks_itself():
    with pytest.raises(ValueError, match="steps"):
        Budget(steps=0)
    with pytest.raises(TypeError, match="ahead"):
        compare_forecasters(swinging(), 2.5, QUICK)
