import pickle

import numpy as np
import pytest

from mechlearn.tables.forecasts import forecasting
from mechlearn.tables.forecasts.forecasting import Budget, Tried, compare_forecasters
from mechlearn.tables.forecasts.watched import Watched
from mechlearn.tables.verdict import Verdict

QUICK = Budget(steps=3, evaluations=16, hidden=4)


def swinging(count=24, length=9):
    angle = np.linspace(0, 6, count)[:, None] + np.arange(length) * 2 * np.pi / 20
    return list(np.stack([np.cos(angle), np.sin(angle)], -1))


def test_every_candidate_is_tried_with_as_many_evaluations():
    found = compare_forecasters(swinging(), budget=QUICK)
    assert found.ahead == 8
    assert found.counts == (12, 5, 7)
    assert [one.name for one in found.tried] == ["standing still", *forecasting.FIXED, *forecasting.ADAPTIVE]
    for one in found.tried[1:]:
        assert one.model.evaluations_ == pytest.approx(3 * 16, rel=0.6)
        assert one.errors.shape == (7,)
        assert one.evaluations == max(1, round(8 / one.skip))
    assert found.sentence in str(found)


def test_errors_are_those_of_a_loop():
    data = swinging(3, 14)
    scale = np.array([1.0, 2.0])
    found = forecasting._of_each(lambda frames: frames + 0.1, data, 8, scale)
    for one, error in zip(data, found, strict=True):
        squared = [np.mean(((one[start] + 0.1 - one[start + 8]) / scale) ** 2) for start in (0, 4)]
        assert error == pytest.approx(np.sqrt(np.mean(squared)))


def test_the_same_again():
    first, second = (compare_forecasters(swinging(), budget=QUICK, random_state=3) for _ in range(2))
    assert first.verdict == second.verdict


def test_who_watches_sees_every_network_as_it_is_at_the_end_last_and_changes_nothing():
    seen = {}
    budget = Budget(steps=2, evaluations=16, hidden=4)

    def watch(share, one):
        seen.setdefault(one[:2], []).append((share, one))

    found = compare_forecasters(swinging(), 2, budget, watch=watch)
    alone = compare_forecasters(swinging(), 2, budget)
    assert (found.verdict, found.chosen, found.settings) == (alone.verdict, alone.chosen, alone.settings)
    assert all((one.errors == other.errors).all() for one, other in zip(found.tried, alone.tried, strict=True))
    assert len(seen) == 5
    for looks in seen.values():
        assert [share for share, _ in looks] == [0.5, 1.0]
        assert (looks[0][1].errors != looks[1][1].errors).any()
    for one in found.tried[1:]:
        last = seen[one[:2]][-1][1]
        assert last.errors.shape == (5,)
        assert (last.skip, last.evaluations, last.model) == (one.skip, one.evaluations, one.model)


def test_one_training_is_watched():
    shares = []
    model = Watched(steps=4, hidden=4)
    for times in (1, 2):
        model.watched_by(lambda share, one: shares.append(share)).fit(swinging()[:2])
        assert shares == [0.25, 0.5, 0.75, 1.0] * times
        model.fit(swinging()[:2])
        assert len(shares) == 4 * times
    assert pickle.loads(pickle.dumps(model)).steps == 4  # whoever watched is gone


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
    names = [*forecasting.FIXED, *forecasting.ADAPTIVE]
    errors = {"fixed steps": theirs, "adaptive skips": ours}
    tried = [Tried(name, "k", np.array(errors.get(name, [9.0] * 20)), 1.0, 1, None) for name in names]
    kept = {name: (0.0 if name in errors else 1.0, {}) for name in names}
    verdict = forecasting._verdict(tried, kept, 0, draws=500)
    assert verdict.word == word
    assert verdict.against == "fixed steps (k)"
    assert verdict.method in forecasting.sentence(verdict, 8, 20)


def named(word):
    return Verdict(word, "adaptive skips (H = 2)", "fixed steps (k = 1)", 5.0, 2.0, 8.0, 0.01, (0.1,))


@pytest.mark.parametrize("word", ["helps", "as good", "harms", "cannot tell"])
def test_below_ten_judged_trajectories_nothing_is_told(word):
    kept = {name: (0.5, {}) for name in forecasting.ADAPTIVE} | {forecasting.STILL: (1.0, None)}
    verdict, untold = forecasting._told(named(word), kept, 9)
    assert verdict.word == "cannot tell"
    assert untold == "9 trajectories are too few to judge on: more would settle it, 32 in all at least."
    assert forecasting._told(named(word), kept, 10) == (named(word), "")


def test_skips_that_do_not_beat_standing_still_are_no_help():
    kept = {name: (1.0, {}) for name in forecasting.ADAPTIVE} | {forecasting.STILL: (0.9, None)}
    verdict, untold = forecasting._told(named("helps"), kept, 12)
    assert verdict.word == "cannot tell"
    assert "stands still did as well" in untold
    assert forecasting._told(named("harms"), kept, 12)[0].word == "harms"


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
