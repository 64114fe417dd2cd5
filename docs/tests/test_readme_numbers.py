"""The numbers under "What we measured" are those of the records: value, ends, seeds, and whether rows were found again."""

from pathlib import Path

import pytest

from craik.experiments.skips.accuracy.claims import FIXED, advantage, stopped_advantage
from craik.experiments.skips.comparing.outcomes import LEARNT
from craik.lab import Measurement, bootstrap
from craik.lab.claims import RANGE_BELOW
from craik.lab.running.run import Run
from recorded import records

ROOT = Path(__file__).parents[2]
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
RUNS = {(run.recipe.name, run.recipe.label): run for run in records()}

NUMBERS = [
    ("spirals", "paper", "spirals.and-mask-accuracy", ""),
    ("spirals", "paper, epochs 186", "spirals.and-mask-accuracy", ""),
    ("spirals", "paper, l2 0.0001, batch 128", "spirals.and-mask-accuracy", ""),
    ("spirals", "paper, l2 0.0001, batch 128, epochs 372", "spirals.and-mask-accuracy", ""),
    ("spirals", "paper, methods mean, stop_as_printed false", "spirals.pooled-accuracy", ""),
    ("spirals", "quick", "spirals.and-mask-accuracy", ""),
    ("spirals", "quick", "spirals.pooled-accuracy", ""),
    ("skips-accuracy", "epochs", "skips-accuracy.level", ""),
    ("skips-perturbation", "control", "skips-perturbation.asi-holds", ""),
    ("skips-perturbation", "control", "skips-perturbation.fixed-loses", ""),
    ("distill-xor", "quick", "distill-xor.ldt-above-no-teacher", "+"),
    ("distill-mujoco", "faithful-swimmer, nonfinite zero", "distill-mujoco.swimmer-below-no-teacher", ""),
    ("distill-mujoco", "faithful-swimmer, nonfinite zero", "distill-mujoco.swimmer-below-auxiliary", ""),
    ("distill-mujoco", "faithful-walker2d", "distill-mujoco.walker2d-below-no-teacher", ""),
    ("distill-mujoco", "faithful-walker2d", "distill-mujoco.walker2d-below-auxiliary", ""),
    ("distill-mujoco", "faithful-hopper, nonfinite zero", "distill-mujoco.hopper-below-no-teacher", ""),
    ("distill-mujoco", "faithful-hopper, nonfinite zero", "distill-mujoco.hopper-below-auxiliary", ""),
    ("distill-mujoco", "faithful-halfcheetah, nonfinite zero", "distill-mujoco.halfcheetah-below-no-teacher", ""),
    ("distill-mujoco", "faithful-halfcheetah, nonfinite zero", "distill-mujoco.halfcheetah-below-auxiliary", ""),
]
"""Experiment, run, claim, and how its number's sign is written."""

LEADS = [
    ("epochs", "asi", ("fixed-1",)),
    ("epochs", "asi", ("fixed-2",)),
    ("epochs", "asi", ("fixed-3",)),
    ("quick", "asi", ("fixed-1",)),
    ("quick", "asi", ("fixed-2",)),
    ("quick", "asi", ("fixed-3",)),
    ("quick, seed 200", "asi", ("fixed-3",)),
    ("shares", "asi", ("fixed-3",)),
    ("room-runner", "asi", FIXED),
    ("room-runner", "asi-no-exploration", FIXED),
    ("room-runner", "asi", ("asi-no-exploration",)),
    ("half", "asi", ("fixed-2",)),
    ("half", "asi", ("fixed-3",)),
]
"""Runs of skips-accuracy, a method and others, over the one of which its lead is least; claims have the lesser of both."""

TABLED = (
    {run[:2] for run in NUMBERS}
    | {("skips-accuracy", label) for label, *_ in LEADS}
    | {("skips-accuracy", "epochs, methods asi,fixed-4,fixed-8,fixed-16")}
)
"""The runs that the tables quote."""


def said(found: Measurement, sign: str = "") -> str:
    low, high = f"{found.low:.3f}", f"{found.high:.3f}"
    return f"{found.value:{sign}.3f} " + (f"[{low}, {high}]" if found.n >= RANGE_BELOW else f"({low} to {high})")


def quoted(found: Measurement, run: Run, sign: str = "") -> str:
    """What the README says; a dagger where no witness has found the record's rows again."""
    again = bool(run.confirmed) and run.confirmed[-1].outcome != "differs"
    return said(found, sign) + ("" if again else "†")


def judged(run: Run, claim: str) -> Measurement:
    found = next(one for one in run.claims if one.id == claim)
    return Measurement(found.measured, found.low, found.high, found.n)


@pytest.mark.parametrize(("experiment", "label", "claim", "sign"), NUMBERS)
def test_a_number_of_the_readme_is_a_record_s(experiment, label, claim, sign):
    run = RUNS[experiment, label]
    words = quoted(judged(run, claim), run, sign)
    assert words in README
    if not words.endswith("†"):
        assert f"{words}†" not in README


def test_averaging_as_the_texts_stop_it():
    run = RUNS["spirals", "paper"]
    ends = run.rows().where(kind="final", method="mean")
    assert all("below 60 %" in row["stopped"] for row in ends)
    assert "averaging, stopped by the texts' rule" in README
    assert quoted(bootstrap(ends["test_accuracy"]), run) in README


@pytest.mark.parametrize(("label", "method", "others"), LEADS)
@pytest.mark.parametrize("compare", [advantage, stopped_advantage])
def test_a_lead_at_the_ends_and_where_validation_stops_each(compare, label, method, others):
    run = RUNS["skips-accuracy", label]
    leads = [compare(run.rows(), method, other) for other in others]
    assert quoted(min(leads, key=lambda one: one.low), run, "+") in README


@pytest.mark.parametrize("method", ["fixed-1", "fixed-2"])
def test_steps_that_have_hardly_begun_to_learn(method):
    """No claim counts them as opponents; the README says what they are."""
    rows = RUNS["skips-accuracy", "quick"].rows().where(kind="final", method=method)
    assert "have hardly begun to learn" in README
    assert max(bootstrap(rows[key]).value for key in ("test_accuracy", "stopped_test_accuracy")) < LEARNT


@pytest.mark.parametrize("method", ["asi", "fixed-3"])
@pytest.mark.parametrize("key", ["test_accuracy", "stopped_test_accuracy"])
def test_accuracies_after_as_many_epochs(method, key):
    run = RUNS["skips-accuracy", "epochs"]
    ends = {name: bootstrap(run.rows().where(kind="final", method=name)[key]) for name in ("asi", *FIXED)}
    assert quoted(ends[method], run) in README
    assert max(FIXED, key=lambda name: ends[name].value) == "fixed-3"


def test_steps_of_8_are_level_after_as_many_epochs():
    run = RUNS["skips-accuracy", "epochs, methods asi,fixed-4,fixed-8,fixed-16"]
    rows = run.rows().where(kind="final")
    asi, eight = ({row["seed"]: row["test_accuracy"] for row in rows.where(method=name)} for name in ("asi", "fixed-8"))
    assert quoted(bootstrap(list(asi.values())), run) in README
    assert quoted(bootstrap(list(eight.values())), run) in README
    assert quoted(bootstrap([asi[seed] - eight[seed] for seed in asi]), run, "+") in README


def least_share(runs) -> float:
    """The least share of the rows of its seeds that the newest witness of a run compared, of those that found them again."""
    found = [[one.rows for one in run.confirmed if one.outcome != "differs"] for run in runs]
    return min(compared / recorded for compared, recorded in (rows[-1] for rows in found if rows))


def test_how_much_of_a_first_seed_was_made_again():
    """Bounds, as what a witness covers grows when it looks again."""
    assert "its first rows, from a twentieth of them on (of other records from a hundredth on)" in README
    assert least_share(RUNS[run] for run in TABLED) >= 1 / 20
    assert least_share(records()) >= 1 / 100
