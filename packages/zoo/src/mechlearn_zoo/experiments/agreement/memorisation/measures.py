"""How memorising random labels, and learning true ones, is measured under the AND-mask."""

import numpy as np

from claimlab import EachSeed, Measure, OverSeeds, Row, Rows, number
from mechlearn_zoo.experiments.agreement.memorisation.run import Labels

LEARNT = 0.3
"""With a training accuracy below this nothing is learnt, of ten classes, and there is no gap to speak of."""


def unregularised(measure: Measure) -> Measure:
    """Return a measure that leaves out what was trained with L2 or dropout beside the mask."""
    return lambda rows: measure(rows.where(lambda row: row.get("regulariser", "none") == "none"))


def final(labels: Labels, threshold: float, key: str) -> Measure:
    """Return the measure of a final accuracy, median over seeds."""
    return unregularised(OverSeeds(key, {"kind": "final", "labels": labels, "threshold": threshold}))


def _by_threshold(rows: Rows) -> dict[float, Row]:
    return {number(row, "threshold"): row for row in rows.where(kind="final", labels="true")}


def _gap(row: Row) -> float:
    return number(row, "train_accuracy") - number(row, "test_accuracy")


def _learnt(rows: Rows) -> dict[float, Row]:
    return {at: row for at, row in _by_threshold(rows).items() if number(row, "train_accuracy") >= LEARNT}


def cost_on_test(rows: Rows) -> float | None:
    """Return by how much threshold 0.2 lowers test accuracy with true labels, of one seed."""
    found = _by_threshold(rows)
    return number(found[0.0], "test_accuracy") - number(found[0.2], "test_accuracy") if {0.0, 0.2} <= found.keys() else None


def worst_kept(rows: Rows) -> float | None:
    """Return the least test accuracy over thresholds as a share of that at threshold 0, with true labels, of one seed."""
    found = {at: number(row, "test_accuracy") for at, row in _by_threshold(rows).items()}
    return min(found.values()) / found[0.0] if found.get(0.0) else None


def closing(rows: Rows) -> float | None:
    """Return by how much the gap of training over test accuracy shrinks from threshold 0 to the largest that still learns.

    With true labels, of one seed.
    """
    found = _learnt(rows)
    return _gap(found[0.0]) - _gap(found[max(found)]) if 0.0 in found and len(found) > 1 else None


def meeting(rows: Rows) -> float | None:
    """Return the gap of training over test accuracy at the largest threshold that still learns, of one seed's true labels."""
    found = _learnt(rows)
    return _gap(found[max(found)]) if found else None


def gap(rows: Rows) -> float | None:
    """Return by how much training accuracy lies above test accuracy without a mask, of one seed's true labels."""
    found = _by_threshold(rows)
    return _gap(found[0.0]) if 0.0 in found else None


def felt(regulariser: str) -> EachSeed:
    """Return a measure: training accuracy on random labels without a regulariser less with it, mean over curve and seeds."""

    def slower(rows: Rows) -> float | None:
        with_, without = (rows.where(labels="random", regulariser=name)["train_accuracy"] for name in (regulariser, "none"))
        return float(np.mean(without) - np.mean(with_)) if with_ and without else None

    return EachSeed(slower)
