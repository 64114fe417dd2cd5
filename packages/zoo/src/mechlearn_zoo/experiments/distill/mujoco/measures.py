"""What is measured of each body: ratios of errors, gaps, error with depth, the printed setting's place in its grid."""

from collections.abc import Sequence

import numpy as np

from claimlab import Measure, Measurement, Row, Rows, bootstrap, number
from mechlearn_zoo.experiments.distill.bodies import PRINTED
from mechlearn_zoo.experiments.distill.measured import best_of_seeds, ratio


def finals(rows: Rows, environment: str, method: str) -> Rows:
    """Return the final rows of a method's settings on a body."""
    return rows.where(kind="final", environment=environment, method=method)


def least_error(environment: str, method: str) -> Measure:
    """Return a measure: a method's least test error over settings, times and seeds, as table 7 is printed."""

    def measured(rows: Rows) -> Measurement | None:
        found = best_of_seeds(finals(rows, environment, method), "as_printed")
        return bootstrap(found["as_printed"], np.min) if found else None

    return measured


def over(environment: str, method: str, other: str, key: str = "selected") -> Measure:
    """Return a measure: one method's error on a body divided by another's, the median over seeds.

    Args:
        environment: which body.
        method: whose error.
        other: the other method.
        key: "selected" and "training", test and training error at the setting and time chosen on held-out examples;
            "as_printed", test error at those chosen on test error.
    """
    by = "as_printed" if key == "as_printed" else "selection"

    def measured(rows: Rows) -> Measurement | None:
        ours, theirs = (best_of_seeds(finals(rows, environment, one), by) for one in (method, other))
        return ratio(ours, theirs, key)

    return measured


def gap_at_equal_fit(environment: str, other: str = "no-teacher") -> Measure:
    """Return a measure: LDT's generalisation gap minus another student's at LDT's training error; the median over seeds.

    LDT's is that at the time selected on held-out examples; the other's, of the setting selected on them, stands between two
    looks at its training, by the training errors there. A student that hardly fits has a small gap, whatever taught it.
    """

    def measured(rows: Rows) -> Measurement | None:
        ours, theirs = (best_of_seeds(finals(rows, environment, one), "selection") for one in ("ldt", other))
        others = {row["seed"]: row for row in theirs}
        both = [(row, _by_fit(rows, others[row["seed"]])) for row in ours if row["seed"] in others and _by_fit(rows, row)]
        found = [number(row, "gap") - _gap_at(looks, number(row, "training")) for row, looks in both if looks]
        return bootstrap(found) if found else None

    return measured


def _by_fit(rows: Rows, final: Row) -> list[Row]:
    """The looks at a run, by training error; none at one that was lost before the first."""
    same = {key: final[key] for key in ("environment", "method", "place", "seed")}
    return sorted(rows.where(kind="curve", **same), key=lambda row: number(row, "training"))


def _gap_at(looks: Sequence[Row], training: float) -> float:
    """The gap of a run where its training error was that; of its nearest look where it never was."""
    errors = [number(row, "training") for row in looks]
    return float(np.interp(training, errors, [number(row, "test") - number(row, "training") for row in looks]))


def deepest(environment: str, method: str) -> Measure:
    """Return a measure: a model's test error at the deepest observation over the mean observation's; the median over seeds.

    That is 1 for a model that always predicts the training examples' mean. Of the setting that is selected on held-out
    examples, at the end of its training.
    """

    def measured(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for final in best_of_seeds(finals(rows, environment, method), "selection"):
            same = {key: final[key] for key in ("environment", "method", "place", "seed")}
            depths = rows.where(kind="depth", **same)
            if depths:
                found.append(number(max(depths, key=lambda row: number(row, "depth")), "relative_error"))
        return bootstrap(found) if found else None

    return measured


def printed_place(environment: str) -> Measure:
    """Return a measure: the selected test error of LDT's printed setting over that of its grid's best; the median over seeds.

    Both as they are selected on held-out examples, the printed one within the same grid.
    """
    printed = PRINTED[environment]  # pyright: ignore[reportArgumentType]  # one of the four

    def measured(rows: Rows) -> Measurement | None:
        found = finals(rows, environment, "ldt-grid")
        same = found.where(inner_lr=1e-2, **printed._asdict())
        return ratio(best_of_seeds(same, "selection"), best_of_seeds(found, "selection"), "selected")

    return measured
