"""How variants (decay, rescaling, scale, the setting printed as best) and needs are measured; medians over seeds."""

import numpy as np

from claimlab import Measurement, OverSeeds, Rows, bootstrap, number
from mechlearn_zoo.experiments.spirals.sensitivity import needs
from mechlearn_zoo.experiments.spirals.sensitivity.run import READINGS, TOGETHER


def ends(variant: str) -> OverSeeds:
    """Return the measure of a variant's test accuracy at its ends."""
    return OverSeeds("test_accuracy", {"variant": variant})


def best_reading(rows: Rows) -> str | None:
    """Return the reading of the printed best setting with the highest median validation accuracy over seeds."""
    found = {name: rows.where(variant=name)["validation_accuracy"] for name in READINGS if name != TOGETHER}
    medians = {name: float(np.median(values)) for name, values in found.items() if len(values)}
    return max(medians, key=lambda name: medians[name]) if medians else None


def printed_best(rows: Rows) -> Measurement | None:
    """Return the test accuracy of the best reading."""
    name = best_reading(rows)
    return bootstrap(rows.where(variant=name)["test_accuracy"]) if name else None


def of_needs(key: str, method: str) -> OverSeeds:
    """Return the measure of a number at the end of one way to train."""
    return OverSeeds(key, {"kind": "final", "method": method})


def lead(rows: Rows) -> float:
    """Return by how much one seed's whole method is above the best of those that lack a part."""
    ends = {str(row["method"]): number(row, "accuracy") for row in rows.where(kind="final")}
    return ends["as the texts"] - max(ends[name] for name in ("no L2", "AdamW 1e-5", "AdamW 0.01", "AdamW 1", "rotated"))


def best_decoupled(rows: Rows) -> float:
    """Return one seed's best accuracy over AdamW's decays: chosen on the test set, in AdamW's favour."""
    names = [name for name, variant in needs.VARIANTS.items() if variant.decoupled]
    return max(rows.where(kind="final", method=name)["accuracy"][0] for name in names)
