"""What is claimed of empowerment; written before any recorded run."""

import numpy as np

from claimlab import Claim, Measurement, Paired, Rows, bootstrap, high_below, low_above

_SOURCE = "Klyubin, Polani and Nehaniv 2005, by the reading digest; numbers ours"


def largest(rows: Rows, kind: str, key: str) -> Measurement | None:
    """Return the largest number of a kind in each seed, median over seeds."""
    found = [max(group[key]) for group in rows.where(kind=kind).by("seed").values()]
    return bootstrap(found) if found else None


def centrality(rows: Rows) -> Measurement | None:
    """Return rho at the longest horizon, median over seeds."""
    groups = rows.where(kind="centrality").by("seed").values()
    return bootstrap([group["rho"][-1] for group in groups]) if groups else None


def by_box(name: str) -> Paired:
    """Return a measure: the bits that a box adds to the cells around it, mean over seeds."""
    return Paired("bits", {"kind": "box", "box": name}, {"kind": "box", "box": "none"}, np.mean)


def steepest_rise(rows: Rows) -> Measurement | None:
    """Return the largest change of mean empowerment from one level of noise to the next, median over seeds."""
    groups = rows.where(kind="sensor").by("seed").values()
    found = [max(np.diff(group["bits"])) for group in groups if len(group) > 1]
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="empowerment-maze.formula",
        text="On an open grid empowerment is log2(2 n^2 + 2 n + 1) in the middle and log2((n + 1)(n + 2) / 2) in a corner.",
        source="counting; " + _SOURCE,
        measure=lambda rows: largest(rows, "formula", "error"),
        condition=high_below(1e-9, of="largest error over n = 1 to 4, bits, median over seeds,"),
        kind="control",
    ),
    Claim(
        id="empowerment-maze.centrality",
        text="In a maze empowerment follows how central a place is.",
        source=_SOURCE,
        measure=centrality,
        condition=low_above(0.5, of="Spearman's rho with closeness centrality over cells, 8 steps ahead, median over seeds,"),
        tried="On ten seeds from 1000 on, two, five and eight steps ahead: rho rises with the horizon, as what "
        "a few steps reach is local.",
    ),
    Claim(
        id="empowerment-maze.box-pushable",
        text="A box that can be pushed raises empowerment around it.",
        source=_SOURCE + "; box world from memory, unchecked",
        measure=by_box("pushable"),
        condition=low_above(0.0, of="bits within two moves of the box less those without it, mean over seeds,"),
    ),
    Claim(
        id="empowerment-maze.box-fixed",
        text="A box that cannot be pushed lowers it.",
        source=_SOURCE + "; box world from memory, unchecked",
        measure=by_box("fixed"),
        condition=high_below(0.0, of="bits within two moves of the box less those without it, mean over seeds,"),
    ),
    Claim(
        id="empowerment-maze.sensor",
        text="It is influence on what is sensed: worse sensors lower it at every step.",
        source=_SOURCE,
        measure=steepest_rise,
        condition=high_below(-1e-6, of="largest change of mean bits from one level of noise to the next, median over seeds,"),
    ),
)
