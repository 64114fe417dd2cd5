"""What is claimed of the linear unit tests; written before any recorded run.

That validation also chooses a trial's time was asked afterwards, see each claim's earlier condition.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from claimlab import (
    EARLY_STOPPING,
    Claim,
    Condition,
    Greatest,
    Least,
    Measure,
    Measurement,
    Rows,
    above,
    below,
    bootstrap,
    high_at_most,
    low_above,
)
from mechlearn_zoo.experiments.own_data.linear_units.run import CELLS

PRINTED = "arXiv:2102.10867; its published results by number of environments, test error averaged over environments"
OURS = "ours; issue 'Does it help anyone?'"
PENALTIES = ("IRM", "IGA", "V-REx", "Fishr")
PASSED = 0.05
"""Test error below which examples 2 and 3 count as passed; the oracle's is 0 and 0.013."""

Cell = tuple[str, bool, int]
"""Example, whether scrambled, number of environments."""


Chosen = Callable[[str], Measure]
"""From how a trial is chosen, "within" at its end or "stopped_within" at any look, to a measure."""


def by_seed(rows: Rows, cell: Cell, method: str, chosen: str = "within") -> list[float]:
    """Return the test error of a method's chosen trial, a number a seed; none where rows lack it."""
    example, scrambled, environments = cell
    found = rows.where(kind="final", example=example, scrambled=scrambled, environments=environments, method=method)
    return [float(group[chosen][0]) for group in found.where(lambda row: chosen in row).by("seed").values()]


def error(cell: Cell, method: str) -> Chosen:
    """Return a measure: a method's test error, mean over seeds as in the paper."""

    def measure(rows: Rows, chosen: str) -> Measurement | None:
        found = by_seed(rows, cell, method, chosen)
        return bootstrap(found, np.mean) if found else None

    return lambda chosen: lambda rows: measure(rows, chosen)


def extreme(
    pick: Callable[[Sequence[Measurement]], Measurement],
    cells: Sequence[Cell],
    methods: Sequence[str],
    statistic: Callable[..., Any] = np.median,
) -> Chosen:
    """Return a measure: of all pairs of cells and methods the one picked, a statistic of its test errors over seeds."""

    def measure(rows: Rows, chosen: str) -> Measurement | None:
        every = [by_seed(rows, cell, method, chosen) for cell in cells for method in methods]
        found = [bootstrap(values, statistic) for values in every if values]
        return pick(found) if found else None

    return lambda chosen: lambda rows: measure(rows, chosen)


def least(found: Sequence[Measurement]) -> Measurement:
    """Return the measurement with the smallest value."""
    return min(found, key=lambda one: one.value)


def largest(found: Sequence[Measurement]) -> Measurement:
    """Return the measurement with the largest value."""
    return max(found, key=lambda one: one.value)


def over_oracle(chosen: str) -> Measure:
    """Return a measure: the published AND-mask's error on example 1 with three environments over the oracle's, median."""
    cell = ("regression", False, 3)

    def measure(rows: Rows) -> Measurement | None:
        pairs = zip(*(by_seed(rows, cell, method, chosen) for method in ("AND-mask, published", "oracle")), strict=True)
        found = [ours / best for ours, best in pairs]
        return bootstrap(found) if found else None

    return measure


def lesser(measure: Chosen) -> Least:
    """Return a measure: the lesser of that of trials at their ends and that of trials whose time is chosen, too."""
    return Least((measure("within"), measure("stopped_within")))


def greater(measure: Chosen) -> Greatest:
    """Return a measure: the greater of both."""
    return Greatest((measure("within"), measure("stopped_within")))


def asked(ask: Callable[..., Condition], bound: float, of: str, measure: Chosen, which: str = "greater") -> Condition:
    """Return a condition on both, the "lesser" or "greater" of them, with the earlier one, on trials at their ends."""
    both = f"{of} the {which} of that at the ends and that where validation chooses the time, too,"
    return ask(bound, of=both).instead_of(ask(bound, of=of), EARLY_STOPPING, measure("within"))


def same(rows: Rows) -> Measurement | None:
    """Return the largest difference from the published step, over seeds."""
    found = rows.where(kind="same")["difference"]
    return bootstrap(found, np.max) if found else None


def cells(examples: Sequence[str], scrambled: bool, environments: Sequence[int] = (3, 8)) -> tuple[Cell, ...]:
    """Return cells of the grid."""
    return tuple((one, scrambled, count) for one in examples for count in environments if (one, scrambled) in CELLS)


CLASSES = ("cows", "margin")
_ONE = over_oracle
_TWO = extreme(least, cells(("cows",), False), ("AND-mask, published",))
_THREE = extreme(largest, cells(("margin",), False, (8,)), ("AND-mask, published",))
_FEW = error(("margin", False, 3), "AND-mask, published")
_SCRAMBLED = error(("margin", True, 8), "AND-mask, published")
_ERM = extreme(least, (*cells(CLASSES, False), *cells(CLASSES, True)), ("ERM",))
_PENALTIES = extreme(least, cells(CLASSES, False, (3,)), PENALTIES)
_COCHRAN = extreme(largest, cells(CLASSES, False), ("Cochran",), np.mean)
_TURNED = extreme(least, cells(CLASSES, True), ("Cochran",))

CLAIMS = (
    Claim(
        id="own-data-linear-units.same",
        text="With gradients of the weights normalised our AND-mask's step is the published one's.",
        source="the published code of arXiv:2102.10867",
        measure=same,
        condition=high_at_most(1e-9, of="largest difference after 200 steps, over the largest weight,"),
        kind="control",
    ),
    Claim(
        id="own-data-linear-units.one",
        text="On example 1 with three environments the published AND-mask comes within a tenth of the oracle.",
        source=PRINTED,
        measure=greater(_ONE),
        condition=asked(high_at_most, 1.1, "error over the oracle's, median over seeds,", _ONE),
        printed="10.6, oracle 10.4, ERM 13.4",
    ),
    Claim(
        id="own-data-linear-units.two",
        text="On example 2 it fails with three environments and with eight.",
        source=PRINTED,
        measure=lesser(_TWO),
        condition=asked(
            above, 0.3, "test error with that number of environments whose median over seeds is smaller,", _TWO, "lesser"
        ),
        printed="0.44 and 0.40",
    ),
    Claim(
        id="own-data-linear-units.three",
        text="It solves example 3 with eight environments.",
        source=PRINTED,
        measure=greater(_THREE),
        condition=asked(below, PASSED, "test error, median over seeds,", _THREE),
        printed="0.03 (mean)",
    ),
    Claim(
        id="own-data-linear-units.three-few",
        text="With three it does not.",
        source=PRINTED,
        measure=lesser(_FEW),
        condition=asked(low_above, 0.1, "test error, mean over seeds,", _FEW, "lesser"),
        printed="0.34",
    ),
    Claim(
        id="own-data-linear-units.three-scrambled",
        text="Nor where inputs are rotated, with eight.",
        source=PRINTED,
        measure=lesser(_SCRAMBLED),
        condition=asked(low_above, 0.1, "test error, mean over seeds,", _SCRAMBLED, "lesser"),
        printed="0.50",
    ),
    Claim(
        id="own-data-linear-units.erm",
        text="Pooled training passes neither example 2 nor 3, scrambled or not.",
        source=PRINTED,
        measure=lesser(_ERM),
        condition=asked(
            above, PASSED, "test error in that one of the eight cells whose median over seeds is smallest,", _ERM, "lesser"
        ),
        printed="0.42 to 0.49 with three, 0.23 to 0.47 with eight environments",
    ),
    Claim(
        id="own-data-linear-units.penalties",
        text="With three environments no penalty passes either: IRM, IGA, V-REx, Fishr.",
        source=f"{PRINTED}, of IRM and IGA; the others ours",
        measure=lesser(_PENALTIES),
        condition=asked(
            above,
            PASSED,
            "test error of the penalty and on the example whose median over seeds is smallest,",
            _PENALTIES,
            "lesser",
        ),
        printed="0.45 to 0.49",
    ),
    Claim(
        id="own-data-linear-units.cochran",
        text="Cochran's test as a mask, letting go of what it masks, passes examples 2 and 3 with three environments and 8.",
        source=OURS,
        measure=greater(_COCHRAN),
        condition=high_at_most(
            PASSED,
            of="test error in that one of the four cells whose mean over seeds is largest, the greater of that at the ends and "
            "that where validation chooses the time, too,",
        ).instead_of(
            high_at_most(PASSED, of="test error in that one of the four cells whose mean over seeds is largest,").instead_of(
                high_at_most(PASSED, of="test error in that one of the four cells whose median over seeds is largest,"),
                "The paper reports means over seeds; a median does not see the one seed of eight that fails in either cows "
                "cell.",
                extreme(largest, cells(CLASSES, False), ("Cochran",))("within"),
            ),
            EARLY_STOPPING,
            _COCHRAN("within"),
        ),
        kind="ours",
        tried="At ends one of eight seeds fails on cows with three environments (.22) and another with eight (.08); the others "
        "are at 0 to .002 there, and all eight at .010 to .037 on margins. With the time chosen, too, the same two fail (.22 "
        "and .09), and on margins with three environments three (.05, .13 and .41).",
    ),
    Claim(
        id="own-data-linear-units.cochran-scrambled",
        text="Where inputs are rotated it passes none of them.",
        source=OURS,
        measure=lesser(_TURNED),
        condition=asked(
            above, PASSED, "test error in that one of the four cells whose median over seeds is smallest,", _TURNED, "lesser"
        ),
        kind="control",
    ),
)


def worst(example: str, method: str) -> Measure:
    """Return a measure: a method's largest test error at one setting over the numbers of environments, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        groups = rows.where(kind="final", example=example, method=method).by("seed").values()
        found = [max(group["test_error"]) for group in groups]
        return bootstrap(found) if found else None

    return measure


UNITS = (
    Claim(
        id="conflict-units.decay",
        text="Without decay it fails there.",
        source="ours; issue 'rules that test for conflict'",
        measure=worst("margin", "homogeneous"),
        condition=above(0.1, of="larger test error without decay, median over seeds,").at("units", "units-paper"),
        kind="control",
    ).also_stopped(Least, trainings="it"),
)
