"""The searches that experiments made themselves are sweeps: the same ranges, equal budgets, and their records stay readable."""

from pathlib import Path

import pytest

from claimlab import judge
from claimlab.experiment import load
from claimlab.running.runfiles import find_runs
from claimlab.sweeping.plan import sweep
from mechlearn_zoo.experiments.skips.accuracy.run import RANGES as ACCURACY
from mechlearn_zoo.experiments.skips.search import run as skips_search
from mechlearn_zoo.experiments.spirals.baselines import search as spirals_search
from mechlearn_zoo.experiments.spirals.mechanism.run import RANGES as SPIRALS

PACKAGE = "mechlearn_zoo.experiments"
RESULTS = Path(__file__).parents[3] / "results"

SEARCHES = {
    "spirals-baselines, search": ("spirals", "spirals/baselines"),
    "skips-search": ("skips-accuracy", "skips/search"),
    "spirals-baselines": ("spirals-baselines", "spirals/baselines"),
    "coinrun": ("coinrun", "agreement/coinrun"),
}
"""By the experiment that searched: the sweep in its place, and its records."""


@pytest.mark.parametrize("size", ["quick", "paper"])
def test_a_skips_search_s_ranges_are_the_sweep_s(size):
    assert {name: tuple(one.grid()) for name, one in ACCURACY[size].of.items()} == skips_search.RANGES[size]


def test_a_spirals_search_s_ranges_are_the_sweep_s():
    table = SPIRALS["quick"].of
    for name, values in {
        "optimizer": spirals_search.OPTIMIZERS,
        "learning_rate": spirals_search.LEARNING_RATES,
        "batch": spirals_search.BATCHES,
        "init": spirals_search.INITS,
    }.items():
        assert tuple(table[name].grid()) == values
    penalties = [table["penalty"].fields("penalty", name) for name in table["penalty"].grid()]
    assert {one["l1"] for one in penalties} == {0.0, *spirals_search.L1}
    assert {one["l2"] for one in penalties} == {0.0, *spirals_search.L2}
    assert not any(one["l1"] and one["l2"] for one in penalties)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_every_method_of_a_sweep_has_the_same_number_of_trials_and_validation_rows_alone(search, preset):
    planned = sweep(load(SEARCHES[search][0], PACKAGE), preset, 7, {}, ("tpe", "median"), PACKAGE)
    assert len(planned.methods) >= 2
    assert planned.trials == 7
    assert not any("test" in column for column in planned.ranges.objective.columns)
    for method in planned.methods:
        first = {name: one.grid()[0] for name, one in planned.ranges.drawn(method).items()}
        assert planned.values(method, first)["seed"] == planned.config.seed < 100


@pytest.mark.parametrize("search", SEARCHES)
def test_recorded_rows_of_a_search_are_readable_and_their_claims_are_judged_as_ever(search):
    experiment = load(search.partition(",")[0], PACKAGE)
    runs = [run for run in find_runs(RESULTS / SEARCHES[search][1]) if not run.is_older]
    assert runs
    for run in runs:
        rows, recorded = run.rows(), {claim.id: claim for claim in run.claims}
        for claim in experiment.part_of(run.recipe.preset).claims:
            found = judge(claim, rows, run.recipe.preset)
            assert (found.verdict, found.measured) == (recorded[claim.id].verdict, recorded[claim.id].measured)
