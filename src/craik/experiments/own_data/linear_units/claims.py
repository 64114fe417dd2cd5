"""What is claimed of the linear unit tests; written before any recorded run."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from craik.experiments.own_data.linear_units.run import CELLS
from craik.lab import Claim, Measurement, Rows, above, below, bootstrap, high_at_most, low_above, number

PRINTED = "arXiv:2102.10867; its published results by number of environments, test error averaged over environments"
OURS = "ours; issue 'Does it help anyone?'"
PENALTIES = ("IRM", "IGA", "V-REx", "Fishr")
MASKS = ("AND-mask", "geometric mean", "Gail-Simon")
PASSED = 0.05
"""Test error below which examples 2 and 3 count as passed; the oracle's is 0 and 0.013."""

Cell = tuple[str, bool, int]
"""Example, whether scrambled, number of environments."""


def by_seed(rows: Rows, cell: Cell, method: str, chosen: str = "within") -> list[float]:
    """Return the test error of a method's chosen trial, a number a seed."""
    example, scrambled, environments = cell
    found = rows.where(kind="final", example=example, scrambled=scrambled, environments=environments, method=method)
    return [float(group[chosen][0]) for group in found.by("seed").values()]


def error(cell: Cell, method: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: a method's test error, mean over seeds as in the paper."""

    def measure(rows: Rows) -> Measurement | None:
        found = by_seed(rows, cell, method)
        return bootstrap(found, np.mean) if found else None

    return measure


def extreme(
    pick: Callable[[Sequence[Measurement]], Measurement],
    cells: Sequence[Cell],
    methods: Sequence[str],
    statistic: Callable[..., Any] = np.median,
) -> Callable[[Rows], Measurement | None]:
    """Return a measure: of all pairs of cells and methods the one picked, a statistic of its test errors over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        every = [by_seed(rows, cell, method) for cell in cells for method in methods]
        found = [bootstrap(values, statistic) for values in every if values]
        return pick(found) if found else None

    return measure


def least(found: Sequence[Measurement]) -> Measurement:
    """Return the measurement with the smallest value."""
    return min(found, key=lambda one: one.value)


def largest(found: Sequence[Measurement]) -> Measurement:
    """Return the measurement with the largest value."""
    return max(found, key=lambda one: one.value)


def over_oracle(rows: Rows) -> Measurement | None:
    """Return the published AND-mask's error on example 1 with three environments over the oracle's, median over seeds."""
    cell = ("regression", False, 3)
    pairs = zip(by_seed(rows, cell, "AND-mask, published"), by_seed(rows, cell, "oracle"), strict=True)
    found = [ours / best for ours, best in pairs]
    return bootstrap(found) if found else None


def worse_within(rows: Rows) -> Measurement | None:
    """Return by how much the error of trials chosen within exceeds that of trials chosen across, over all classifications."""
    found: dict[object, list[float]] = {}
    for seed, group in rows.where(kind="final").by("seed").items():
        judged = [row for row in group if row["example"] != "regression" and row["method"] != "oracle"]
        found[seed] = [number(row, "within") - number(row, "across") for row in judged]
    return bootstrap([float(np.mean(one)) for one in found.values()], np.mean) if any(found.values()) else None


def same(rows: Rows) -> Measurement | None:
    """Return the largest difference from the published step, over seeds."""
    found = rows.where(kind="same")["difference"]
    return bootstrap(found, np.max) if found else None


def cells(examples: Sequence[str], scrambled: bool, environments: Sequence[int] = (3, 8)) -> tuple[Cell, ...]:
    """Return cells of the grid."""
    return tuple((one, scrambled, count) for one in examples for count in environments if (one, scrambled) in CELLS)


CLASSES = ("cows", "margin")
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
        measure=over_oracle,
        condition=high_at_most(1.1, of="error over the oracle's, median over seeds,"),
        printed="10.6, oracle 10.4, ERM 13.4",
    ),
    Claim(
        id="own-data-linear-units.two",
        text="On example 2 it fails with three environments and with eight.",
        source=PRINTED,
        measure=extreme(least, cells(("cows",), False), ("AND-mask, published",)),
        condition=above(0.3, of="test error with that number of environments whose median over seeds is smaller,"),
        printed="0.44 and 0.40",
    ),
    Claim(
        id="own-data-linear-units.three",
        text="It solves example 3 with eight environments.",
        source=PRINTED,
        measure=extreme(largest, cells(("margin",), False, (8,)), ("AND-mask, published",)),
        condition=below(PASSED, of="test error, median over seeds,"),
        printed="0.03 (mean)",
    ),
    Claim(
        id="own-data-linear-units.three-few",
        text="With three it does not.",
        source=PRINTED,
        measure=error(("margin", False, 3), "AND-mask, published"),
        condition=low_above(0.1, of="test error, mean over seeds,"),
        printed="0.34",
    ),
    Claim(
        id="own-data-linear-units.three-scrambled",
        text="Nor where inputs are rotated, with eight.",
        source=PRINTED,
        measure=error(("margin", True, 8), "AND-mask, published"),
        condition=low_above(0.1, of="test error, mean over seeds,"),
        printed="0.50",
    ),
    Claim(
        id="own-data-linear-units.erm",
        text="Pooled training passes neither example 2 nor 3, scrambled or not.",
        source=PRINTED,
        measure=extreme(least, (*cells(CLASSES, False), *cells(CLASSES, True)), ("ERM",)),
        condition=above(PASSED, of="test error in that one of the eight cells whose median over seeds is smallest,"),
        printed="0.42 to 0.49 with three, 0.23 to 0.47 with eight environments",
    ),
    Claim(
        id="own-data-linear-units.penalties",
        text="With three environments no penalty passes either: IRM, IGA, V-REx, Fishr.",
        source=f"{PRINTED}, of IRM and IGA; the others ours",
        measure=extreme(least, cells(CLASSES, False, (3,)), PENALTIES),
        condition=above(PASSED, of="test error of the penalty and on the example whose median over seeds is smallest,"),
        printed="0.45 to 0.49",
    ),
    Claim(
        id="own-data-linear-units.iga",
        text="With eight IGA passes example 2.",
        source=PRINTED,
        measure=error(("cows", False, 8), "IGA"),
        condition=below(PASSED, of="test error, mean over seeds,").at("paper"),
        printed="0.04",
    ),
    Claim(
        id="own-data-linear-units.irm",
        text="With eight IRM passes example 3 where inputs are rotated, which masks cannot.",
        source=PRINTED,
        measure=error(("margin", True, 8), "IRM"),
        condition=below(PASSED, of="test error, mean over seeds,").at("paper"),
        printed="0.03",
    ),
    Claim(
        id="own-data-linear-units.masks",
        text="With Adam and not normalised the AND-mask, the geometric mean and Gail-Simon's rule solve example 3 as well.",
        source=OURS,
        measure=extreme(largest, cells(("margin",), False, (8,)), MASKS),
        condition=below(
            PASSED, of="test error of that one of the three whose median over seeds is largest, with eight environments,"
        ),
        kind="ours",
    ),
    Claim(
        id="own-data-linear-units.cochran",
        text="Cochran's test as a mask, letting go of what it masks, passes examples 2 and 3 with three environments and 8.",
        source=OURS,
        measure=extreme(largest, cells(CLASSES, False), ("Cochran",), np.mean),
        condition=high_at_most(
            PASSED, of="test error in that one of the four cells whose mean over seeds is largest,"
        ).instead_of(
            high_at_most(PASSED, of="test error in that one of the four cells whose median over seeds is largest,"),
            "The paper reports means over seeds; a median does not see the one seed of eight that fails in either cows cell.",
            extreme(largest, cells(CLASSES, False), ("Cochran",)),
        ),
        kind="ours",
        tried="Of eight seeds one fails on cows with three environments (.22) and another with eight (.08); the others are "
        "at 0 to .002 there, and all eight at .010 to .037 on margins.",
    ),
    Claim(
        id="own-data-linear-units.cochran-scrambled",
        text="Where inputs are rotated it passes none of them.",
        source=OURS,
        measure=extreme(least, cells(CLASSES, True), ("Cochran",)),
        condition=above(PASSED, of="test error in that one of the four cells whose median over seeds is smallest,"),
        kind="control",
    ),
    Claim(
        id="own-data-linear-units.across",
        text="Trials chosen by environments left out are better than those chosen within the environments trained on.",
        source=OURS,
        measure=worse_within,
        condition=low_above(0.0, of="test error within less across, all methods and classifications, mean over seeds,"),
        kind="ours",
        tried="Three folds alone: where all trials of a method pass or all fail, as in most cells, there is nothing to choose.",
    ),
)
