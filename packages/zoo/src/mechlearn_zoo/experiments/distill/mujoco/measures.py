"""What is measured of each body: ratios of errors, gaps, growth with depth, the printed setting's place in its grid."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from claimlab import Measurement, Row, Rows, bootstrap, number
from mechlearn_zoo.experiments.distill.bodies import PRINTED
from mechlearn_zoo.experiments.distill.measured import best_of_seeds, pairs, ratio


def finals(rows: Rows, environment: str, method: str) -> Rows:
    """Return the final rows of a method's settings on a body."""
    return rows.where(kind="final", environment=environment, method=method)


@dataclass(frozen=True)
class Least:
    """A measure for `Claim`: a method's least test error over settings, times and seeds, as table 7 is printed."""

    environment: str
    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the least error, its interval over seeds, or None where the method was not run."""
        found = best_of_seeds(finals(rows, self.environment, self.method), "as_printed")
        return bootstrap(found["as_printed"], np.min) if found else None


@dataclass(frozen=True)
class GapDifference:
    """A measure for `Claim`: LDT's generalisation gap minus another student's, the median over seeds."""

    environment: str
    over: str = "no-teacher"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the difference of test minus training errors, each at the time selected on held-out examples."""
        ours, theirs = (best_of_seeds(finals(rows, self.environment, m), "selection") for m in ("ldt", self.over))
        found = [mine - other for mine, other in pairs(ours, theirs, "gap")]
        return bootstrap(found) if found else None


@dataclass(frozen=True)
class GapAtEqualFit:
    """A measure for `Claim`: LDT's generalisation gap minus another student's at LDT's training error; the median over seeds.

    LDT's is that at the time selected on held-out examples; the other's, of the setting selected on them, stands between two
    looks at its training, by the training errors there. A student that hardly fits has a small gap, whatever taught it.
    """

    environment: str
    over: str = "no-teacher"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the difference, or None where a method was not run."""
        ours, theirs = (best_of_seeds(finals(rows, self.environment, m), "selection") for m in ("ldt", self.over))
        other = {row["seed"]: row for row in theirs}
        both = [(row, _by_fit(rows, other[row["seed"]])) for row in ours if row["seed"] in other and _by_fit(rows, row)]
        found = [number(row, "gap") - _gap_at(looks, number(row, "training")) for row, looks in both if looks]
        return bootstrap(found) if found else None


def _by_fit(rows: Rows, final: Row) -> list[Row]:
    """The looks at a run, by training error; none at one that was lost before the first."""
    same = {key: final[key] for key in ("environment", "method", "place", "seed")}
    return sorted(rows.where(kind="curve", **same), key=lambda row: number(row, "training"))


def _gap_at(looks: Sequence[Row], training: float) -> float:
    """The gap of a run where its training error was that; of its nearest look where it never was."""
    errors = [number(row, "training") for row in looks]
    return float(np.interp(training, errors, [number(row, "test") - number(row, "training") for row in looks]))


@dataclass(frozen=True)
class Over:
    """A measure for `Claim`: one method's error divided by another's, the median over seeds.

    Attributes:
        environment: which body.
        method: whose error.
        over: the other method.
        key: "selected" and "training", test and training error at the setting and time chosen on held-out examples;
            "as_printed", test error at those chosen on test error.
    """

    environment: str
    method: str
    over: str
    key: Literal["selected", "training", "as_printed"] = "selected"

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where a method was not run."""
        by = "as_printed" if self.key == "as_printed" else "selection"
        ours, theirs = (best_of_seeds(finals(rows, self.environment, m), by) for m in (self.method, self.over))
        return ratio(ours, theirs, self.key)


@dataclass(frozen=True)
class Growth:
    """A measure for `Claim`: how much faster than ignorance a model's error grows with depth, the median over seeds.

    The test error of the sixteenth observation over the first's, both over that of the training examples' mean: 1 for a model
    that always predicts this mean. Of the setting that is selected on held-out examples, at the end of its training.
    """

    environment: str
    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where the method was not run."""
        found = [errors[max(errors)] / errors[1] for errors in _by_depth(rows, self.environment, self.method)]
        return bootstrap(found) if found else None


@dataclass(frozen=True)
class Deepest:
    """A measure for `Claim`: a model's error at the deepest observation over ignorance's, the median over seeds.

    The test error of the sixteenth observation over that of the training examples' mean: 1 for a model that always predicts
    this mean. Of the setting that is selected on held-out examples, at the end of its training.
    """

    environment: str
    method: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, or None where the method was not run."""
        found = [errors[max(errors)] for errors in _by_depth(rows, self.environment, self.method)]
        return bootstrap(found) if found else None


def _by_depth(rows: Rows, environment: str, method: str) -> list[dict[float, float]]:
    """For each seed the relative test error at each depth, of the setting that is selected on held-out examples."""
    found: list[dict[float, float]] = []
    for final in best_of_seeds(finals(rows, environment, method), "selection"):
        depths = rows.where(kind="depth", environment=environment, method=method, place=final["place"], seed=final["seed"])
        if depths:
            found.append({number(row, "depth"): number(row, "relative_error") for row in depths})
    return found


@dataclass(frozen=True)
class PrintedPlace:
    """A measure for `Claim`: the selected test error of LDT's printed setting over that of its grid's best, over seeds.

    Both as they are selected on held-out examples, the printed one within the same grid.
    """

    environment: str

    def __call__(self, rows: Rows) -> Measurement | None:
        """Return the ratio, at least about 1, or None where the grid was not run."""
        found = finals(rows, self.environment, "ldt-grid")
        printed = PRINTED[self.environment]  # pyright: ignore[reportArgumentType]  # one of the four
        same = found.where(inner_lr=1e-2, **printed._asdict())
        return ratio(best_of_seeds(same, "selection"), best_of_seeds(found, "selection"), "selected")
