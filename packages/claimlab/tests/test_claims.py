import itertools
import json
from dataclasses import asdict

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from claimlab.claims import Claim, EachSeed, Measurement, OverSeeds, Paired, bootstrap, both_stopped, judge, where_stopped
from claimlab.conditions import condition
from claimlab.errors import LabError
from claimlab.rows import Rows

FINITE = st.floats(-1e6, 1e6, allow_subnormal=False)


def claim(**changes) -> Claim:
    fields = {
        "id": "toy.high",
        "text": "It is high.",
        "source": "figure 1",
        "printed": "1",
        "measure": lambda rows: bootstrap(rows["value"]),
        "condition": condition("median above 0.5"),
        "tried": "Harder.",
    }
    return Claim(**{**fields, **changes})


def rows(*values: float):
    return [{"seed": seed, "value": value} for seed, value in enumerate(values)]


def test_bootstrap_agrees_with_the_enumeration_of_all_resamples():
    values = [0.13, 0.4, 0.47, 0.5, 0.61, 0.9]  # 6**6 equally likely resamples: their quantiles are the interval's limit
    medians = np.median(np.array(list(itertools.product(values, repeat=6))), axis=1)
    found = bootstrap(values, np.median, level=0.9, resamples=200_000)
    assert found.value == pytest.approx(np.median(values))
    assert found.low == pytest.approx(np.quantile(medians, 0.05), abs=1e-2)
    assert found.high == pytest.approx(np.quantile(medians, 0.95), abs=1e-2)
    assert found.n == 6


def test_the_interval_of_a_mean_is_students():
    values = [0.13, 0.4, 0.47, 0.5, 0.61, 0.9]
    found = bootstrap(values, np.mean)
    low, high = scipy.stats.t.interval(0.95, 5, loc=np.mean(values), scale=scipy.stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.parametrize("statistic", [np.mean, np.median, np.min])
def test_the_ends_of_few_seeds_are_what_single_seeds_say(statistic):
    values = [-0.01, 0.5, 0.5, 0.5, 0.7]
    found = bootstrap(values, statistic)
    assert found == Measurement(float(statistic(values)), -0.01, 0.7, 5)  # a mean's bootstrap would leave out the negative seed
    assert bootstrap([*values, 0.5], np.median).low > 0


def test_bootstrap_agrees_with_a_loop_over_the_same_draws():
    values, rng = [3.0, 1.0, 2.0, 8.0, 5.0, 9.0], np.random.default_rng(7)
    medians = [np.median([values[i] for i in rng.integers(0, 6, size=6)]) for _ in range(300)]
    found = bootstrap(values, resamples=300, seed=7)
    assert (found.low, found.high) == tuple(np.quantile(medians, [0.025, 0.975]))


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    intervals = [bootstrap(rng.normal(size=6).tolist(), np.mean, 0.9) for _ in range(2000)]
    covered = np.mean([found.low <= 0 <= found.high for found in intervals])
    assert 0.88 < covered < 0.92  # also for six seeds


@given(st.lists(FINITE, min_size=1, max_size=9))
def test_bootstrap_stays_within_the_values_and_repeats_itself(values):
    found = bootstrap(values, resamples=50)
    assert min(values) <= found.low <= found.high <= max(values)
    assert found == bootstrap(values, resamples=50)


@given(FINITE)
def test_one_value_has_no_spread(value):
    assert bootstrap([value]) == Measurement(value, value, value, 1)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_bootstrap_refuses_what_it_cannot_measure(values):
    with pytest.raises(ValueError, match="`values` should"):
        bootstrap(values)


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0])
def test_bootstrap_refuses_a_level_that_is_no_share(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        bootstrap([1.0], level=level)


@pytest.mark.parametrize("numbers", [(float("nan"), 0, 1, 1), (0.5, 1, 0, 1), (0.5, 0, 1, 0)])
def test_measurement_refuses_nonsense(numbers):
    with pytest.raises(ValueError, match="measurement"):
        Measurement(*numbers)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((0.9, 0.8), "holds so far"),
        ((0.1, 0.2), "does not hold so far"),
        ((0.9, 0.8, 0.7, 0.9, 0.9), "holds"),
        ((0.1, 0.2, 0.1, 0.2, 0.3), "does not hold"),
    ],
)
def test_the_verdict_follows_the_rows(values, verdict):
    judged = judge(claim(), rows(*values), "quick")
    assert judged.verdict == verdict
    assert judged.measured == pytest.approx(np.median(values))
    assert min(values) <= judged.low <= judged.high <= max(values)
    assert (judged.n, judged.kind, judged.condition) == (len(values), "claim", "median above 0.5")


@pytest.mark.parametrize(
    ("changes", "recorded", "verdict"),
    [
        ({"measure": lambda rows: None}, rows(1.0), "not measurable here"),
        ({"condition": condition("above 0.5").at("paper")}, rows(1.0), "not measurable here"),
        ({}, [], "not measured"),
    ],
)
def test_what_was_not_measured_neither_holds_nor_fails(changes, recorded, verdict):
    judged = judge(claim(**changes), recorded, "quick")
    assert (judged.verdict, judged.measured, judged.low, judged.high, judged.n) == (verdict, None, None, None, 0)


def test_a_number_of_each_seed_is_averaged_over_the_seeds_that_have_it():
    rows = Rows([{"seed": 0, "a": 1.0}, {"seed": 0, "a": 3.0}, {"seed": 1, "a": 5.0}, {"seed": 2, "a": -1.0}])
    measure = EachSeed(lambda some: max(some["a"]) if max(some["a"]) > 0 else None)
    assert measure(rows) == bootstrap([3.0, 5.0], np.mean)
    assert measure(rows.where(seed=2)) is None
    assert measure(rows.where(seed=9)) is None


def test_a_number_beside_another_of_the_same_seed():
    methods = {0: {"ours": 3.0, "plain": 1.0}, 1: {"plain": 2.0, "ours": 8.0}, 2: {"ours": 9.0}}
    rows = Rows([{"seed": seed, "method": name, "a": a} for seed, ends in methods.items() for name, a in ends.items()])
    ours, plain = {"method": "ours"}, {"method": "plain"}
    assert Paired("a", ours, plain)(rows) == bootstrap([2.0, 6.0])
    assert Paired("a", plain, ours, np.mean)(rows) == bootstrap([-2.0, -6.0], np.mean)
    assert Paired("a", ours, plain, over=True)(rows) == bootstrap([3.0, 4.0])
    assert Paired("a", ours, plain)(rows.where(seed=2)) is None
    assert Paired("a", ours, plain)(Rows()) is None


def test_two_rows_of_a_seed_are_refused():
    rows = Rows([{"seed": 0, "m": "one", "a": 1.0}, {"seed": 0, "m": "one", "a": 2.0}, {"seed": 0, "m": "other", "a": 1.0}])
    for measure in (OverSeeds("a", {"m": "one"}), Paired("a", {"m": "one"}, {"m": "other"})):
        with pytest.raises(ValueError, match=r"one row per seed\. Found 2 with a"):
            measure(rows)
    assert OverSeeds("a", {"m": "other"})(rows) == bootstrap([1.0])


def test_a_judged_claim_is_json():
    judged = judge(claim(), rows(0.9), "quick")
    assert json.loads(json.dumps(asdict(judged), allow_nan=False))["verdict"] == "holds so far"


def test_a_claim_that_cannot_be_measured_names_itself():
    with pytest.raises(LabError, match=r"toy\.high.*KeyError.*'value'"):
        judge(claim(), [{"seed": 0}], "quick")


def raising(error):
    def _raising(rows):
        raise error

    return _raising


@pytest.mark.parametrize(
    ("measure", "found"),
    [
        (lambda rows: 0.5, "TypeError: a measure gives a Measurement or None, not a float"),
        (lambda rows: next(iter([])), "StopIteration"),
        (raising(OverflowError("too large")), "OverflowError: too large"),
        (raising(AssertionError("no")), "AssertionError: no"),
        (lambda rows: rows.nothing, "AttributeError"),
    ],
)
def test_whatever_a_measure_does_wrong_is_the_claim_s(measure, found):
    with pytest.raises(LabError, match=f"The claim toy.high should be measurable on the recorded rows. Found {found}"):
        judge(claim(measure=measure), rows(1.0), "quick")


def test_numbers_of_numpy_are_written_as_python_s():
    found = judge(claim(measure=lambda rows: Measurement(np.float32(0.75), np.int64(0), 1, np.int64(2))), rows(1.0), "quick")
    numbers = (found.measured, found.low, found.high, found.n)
    assert (numbers, [type(one) for one in numbers]) == ((0.75, 0.0, 1, 2), [float, float, int, int])
    assert json.dumps(asdict(found))


def test_of_several_numbers_all_stand_and_the_first_that_fails_decides():
    found = {"here": Measurement(0.2, 0.1, 0.3, 6), "there": Measurement(0.1, -0.1, 0.4, 5), "far": Measurement(0, -1, 1, 7)}
    measures = {words: lambda rows, one=one: one for words, one in found.items()}
    judged = judge(claim(measure=measures, condition=condition("above 0 with its whole interval")), rows(1.0), "quick")
    assert (judged.measured, judged.low, judged.high, judged.n, judged.verdict) == (0.1, -0.1, 0.4, 5, "does not hold")
    assert [(one.words, one.measured, one.n) for one in judged.parts] == [("here", 0.2, 6), ("there", 0.1, 5), ("far", 0.0, 7)]
    judged = judge(claim(measure=measures, condition=condition("above -2 with its whole interval")), rows(1.0), "quick")
    assert (judged.measured, judged.verdict) == (0.2, "holds")
    silent = {"here": measures["here"], "there": lambda rows: None}
    assert (
        judge(claim(measure=silent, condition=condition("above 0 with its whole interval")), rows(1.0), "quick").verdict
        == "not measurable here"
    )


LEAD = Paired("accuracy", {"method": "ours"}, {"method": "mean"})


def stopped_rows(ours, mean, stopped_ours, stopped_mean):
    return [
        {"seed": 0, "method": "ours", "accuracy": ours, "stopped_accuracy": stopped_ours, "stopped_at": 0.5},
        {"seed": 0, "method": "mean", "accuracy": mean, "stopped_accuracy": stopped_mean, "stopped_at": 0.5},
    ]


def asked(rows, stopped=None, unlooked=()):
    measure = both_stopped(LEAD, stopped)
    ends = claim(measure=measure, condition=condition("lead above 0.25 with its whole interval").at("other"), unlooked=unlooked)
    judged = judge(ends, rows, "other")
    return judged.measured, judged.verdict, [one.measured for one in judged.parts]


def test_a_number_less_another_of_the_same_row():
    rows = Rows(
        [{"seed": 0, "m": "one", "a": 3.0, "b": 1.0}, {"seed": 1, "m": "one", "a": 5.0, "b": 4.5}, {"seed": 1, "m": "two"}]
    )
    assert OverSeeds("a", {"m": "one"}, less="b")(rows) == bootstrap([2.0, 0.5], np.median)
    assert OverSeeds("a", {"m": "none"}, less="b")(rows) is None


def test_a_lead_is_asked_at_the_ends_and_where_validation_stops():
    assert asked(stopped_rows(1.0, 0.5, 1.0, 0.875)) == (0.125, "does not hold so far", [0.5, 0.125])
    assert asked(stopped_rows(1.0, 0.5, 1.0, 0.25)) == (0.5, "holds so far", [0.5, 0.75])
    own = OverSeeds("stopped_accuracy", {"method": "mean"})
    assert asked(stopped_rows(1.0, 0.5, 1.0, 0.375), stopped=own) == (0.5, "holds so far", [0.5, 0.375])


def test_rows_without_looks_say_nothing_of_stopping():
    curve = {"seed": 0, "method": "mean"}  # has no such columns
    assert where_stopped(LEAD)(Rows([*stopped_rows(1.0, 0.5, 1.0, 0.25), curve])).value == 0.75
    before = [{key: row[key] for key in ("seed", "method", "accuracy")} for row in stopped_rows(1.0, 0.5, 0.0, 0.0)[:2]]
    assert where_stopped(LEAD)(Rows(before)) is None
    assert where_stopped(lambda rows: Measurement(0, 0, 0, 1))(Rows(before)) is None
    assert asked(before) == (None, "not measurable here", [])
    assert asked(before, unlooked=("other",)) == (0.5, "holds so far", [0.5])
