"""What is claimed of slices; written before any recorded run."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy.stats import kendalltau  # pyright: ignore[reportMissingTypeStubs]

from claimlab import Claim, Measurement, Paired, Rows, above, bootstrap, high_at_most, high_below, low_above, low_at_least

_SOURCE = "Li et al. 2018"
_EXACT = 1e-9
_STREAMS = (
    "Of a record before, in which directions and batches came of the initial weights' stream of random numbers, {} on the same "
    "seeds."
)


def change(normalise: str, rescaled: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: how far a curve moves when the same network is written with other weights, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        found = rows.where(kind="rescaling", normalise=normalise, rescaled=rescaled)["change"]
        return bootstrap(found) if found else None

    return measure


def left(normalise: str, rescaled: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: the same change as a share of that of the raw curve, median over seeds."""
    one, raw = ({"kind": "rescaling", "normalise": name, "rescaled": rescaled} for name in (normalise, "none"))
    return Paired("change", one, raw, over=True)


def flip(rows: Rows) -> Measurement | None:
    """Return by how much weight decay changes the raw slice's comparison, in logs of widths, median over seeds.

    log(small batch's width / large batch's) without weight decay, less the same with it.
    """
    differences = [without - with_decay for without, with_decay in _compared(rows)]
    return bootstrap(differences) if differences else None


def turned(rows: Rows) -> Measurement | None:
    """Return log(small batch's raw width / large batch's) with weight decay, counted along its sign without, median over seeds.

    It is below 0 where weight decay turns the comparison round, and not where it only brings the two closer.
    """
    found = [with_decay * float(np.sign(without)) for without, with_decay in _compared(rows)]
    return bootstrap(found) if found else None


def _compared(rows: Rows) -> list[tuple[float, float]]:
    """The log of the small over the large batch's raw width, without weight decay and with it, by seed."""
    found: list[tuple[float, float]] = []
    for group in rows.where(kind="width", normalise="none").by("seed").values():
        widths = {(row["batch"], row["decay"]): float(str(row["width"])) for row in group}
        small, large = sorted({int(str(batch)) for batch, _ in widths})
        none, some = sorted({float(str(decay)) for _, decay in widths})
        logs = [np.log(widths[small, decay] / widths[large, decay]) for decay in (none, some)]
        found.append((float(logs[0]), float(logs[1])))
    return found


def rank(normalise: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: Kendall's tau between sharpness (1 / width) and test error over the four networks, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        taus: list[float] = []
        for group in rows.by("seed").values():
            ends = {(row["batch"], row["decay"]): float(str(row["test_error"])) for row in group.where(kind="network")}
            widths = {(row["batch"], row["decay"]): row["width"] for row in group.where(kind="width", normalise=normalise)}
            if ends and widths:
                sharpness = [-float(str(widths[key])) for key in ends]
                tau = float(cast(Any, kendalltau(sharpness, list(ends.values()))).statistic)
                taus.append(0.0 if np.isnan(tau) else tau)
        return bootstrap(taus, np.mean) if taus else None

    return measure


CONVEXITY = Paired("share", {"kind": "convexity", "shortcuts": False}, {"kind": "convexity", "shortcuts": True})
"""The share of the plane where the least curvature is no small part of the largest: without less with shortcuts."""

CONVEX = 0.5
"""Below this share of the plane a surface counts as convex: over most of it curvature is upward in all but small parts."""


def convex_with(rows: Rows) -> Measurement | None:
    """Return the lesser of two margins: `CONVEXITY`, and by how much the share with shortcuts is below `CONVEX`, by seed."""
    found: list[float] = []
    for group in rows.where(kind="convexity").by("seed").values():
        shares = [group.where(shortcuts=shortcuts)["share"] for shortcuts in (False, True)]
        if all(shares):
            (without,), (with_shortcuts,) = shares
            found.append(min(without - with_shortcuts, CONVEX - with_shortcuts))
    return bootstrap(found) if found else None


def path(key: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: the share of a path's variance in two directions, or that less a random walk's.

    The mean over a seed's networks, then the median over seeds.
    """

    def measure(rows: Rows) -> Measurement | None:
        found: list[float] = []
        for group in rows.where(kind="path").by("seed").values():
            shares = {name: np.mean(np.add(group[f"{name}1"], group[f"{name}2"])) for name in ("path", "walk")}
            found.append(float(shares["path"] - (shares["walk"] if key == "beyond" else 0.0)))
        return bootstrap(found) if found else None

    return measure


CLAIMS = (
    Claim(
        id="loss-surface.layer-invariance",
        text="Filter-normalised slices do not depend on the scale of a layer.",
        source=f"{_SOURCE}, section 4",
        printed="invariant",
        measure=change("filter", "layers"),
        condition=high_at_most(_EXACT, of="largest change of the curve when a layer is scaled by 10 and the next by 1/10"),
    ),
    Claim(
        id="loss-surface.unit-invariance",
        text="Nor on the scale of units: filter normalisation removes the rescaling that ReLU networks are invariant to.",
        source=f"{_SOURCE}, section 4, read as said of filters",
        printed="invariant",
        measure=change("filter", "units"),
        condition=high_at_most(_EXACT, of="largest change of the curve when each unit has a factor of its own"),
        tried="Expected not to hold: a factor on one unit mixes into the norms of the next layer's filters. "
        "Seen in float64 by a prototype before this experiment was written. " + _STREAMS.format("18.6 [14.3, 42.0]"),
    ),
    Claim(
        id="loss-surface.unit-invariance-raw",
        text="Filter normalisation leaves a share of what rescaled units do to a raw slice that a reader would see.",
        source="ours; erratum to filter normalisation",
        measure=left("filter", "units"),
        condition=low_above(
            0.01, of="largest change of the filter-normalised curve when units are rescaled, as a share of the raw curve's,"
        ).instead_of(
            low_above(1e-3, of="largest change of the filter-normalised curve when units are rescaled, in nats,"),
            "It was unit-invariance's number, asked the other way round.",
            change("filter", "units"),
        ),
        kind="erratum",
        tried="The share was asked for after the rows of the record before had been recorded. "
        + _STREAMS.format("0.156 [0.123, 0.265]"),
    ),
    Claim(
        id="loss-surface.raw-misleads",
        text="Raw slices compare batches by the scale of their weights: weight decay turns the comparison round.",
        source=f"{_SOURCE}, figures 2 and 3",
        printed="flips",
        measure=turned,
        condition=high_below(
            0.0,
            of="log of small over large batch's raw width with weight decay, counted along its sign without, median over "
            "seeds,",
        ).instead_of(
            low_above(0.0, of="log of small over large batch's raw width, without weight decay less with, median over seeds,"),
            "It held where weight decay brings the two closer: on every seed the small batch's slice is the wider one with it, "
            "too, by a factor of 1.2 to 1.5 in place of 1.9 to 2.7.",
            flip,
        ),
        tried="Changed with the rows of the record before known. " + _STREAMS.format("0.300 [0.271, 0.343]"),
    ),
    Claim(
        id="loss-surface.normalised-agrees",
        text="Filter-normalised sharpness agrees with test error.",
        source=f"{_SOURCE}, section 5 and figure 4",
        measure=rank("filter"),
        condition=low_above(0.0, of="Kendall's tau of sharpness and test error over four networks, mean over seeds,"),
        tried=_STREAMS.format("0.389 [0.333, 0.500]"),
    ),
    Claim(
        id="loss-surface.raw-disagrees",
        text="Raw sharpness does not.",
        source=f"{_SOURCE}, section 4",
        measure=rank("none"),
        condition=high_below(0.34, of="Kendall's tau of raw sharpness and test error over four networks, mean over seeds,"),
        tried="Four networks of one size: two batches, with and without weight decay, one setting each, not "
        "searched. Raw sharpness ranks them as test error does, on five seeds of six better than the normalised one. "
        + _STREAMS.format("0.611 [0.500, 0.667]"),
    ),
    Claim(
        id="loss-surface.skips-convex",
        text="Without shortcuts deep networks' surfaces are not convex where with them they are.",
        source=f"{_SOURCE}, sections 6 and figure 7",
        measure=convex_with,
        condition=low_above(
            0.0,
            of="of the share of the plane with a ratio of curvatures above 0.1, the lesser of without less with shortcuts and "
            f"{CONVEX:g} less with, median over seeds,",
        ).instead_of(
            low_above(
                0.0,
                of="share of the plane with a ratio of curvatures above 0.1, without less with shortcuts, median over seeds,",
            ),
            "It held where both are far from convex: with shortcuts it is 52 to 80 % of the plane.",
            CONVEXITY,
        ),
        tried=f"The bound of {CONVEX:g} is ours, asked with the rows of the record before known; one small network, with and "
        "without shortcuts. " + _STREAMS.format("-0.120 [-0.280, -0.060]"),
    ),
    Claim(
        id="loss-surface.low-dimensional-path",
        text="Two directions hold 40 to 90 % of a path's variance.",
        source=f"{_SOURCE}, section 7 and figure 9",
        printed="40-90 %; unchecked",
        measure=path("share"),
        condition=(
            low_at_least(0.4, of="share of the path's variance in two directions, mean over four networks, median over seeds,")
            & high_at_most(0.9)
        ).instead_of(
            low_at_least(0.4, of="share of the path's variance in two directions, mean over four networks, median over seeds,"),
            "The text has an upper end, too.",
        ),
        tried="The upper end was asked for with the rows of the record before known. Paths are of 40 epochs. "
        + _STREAMS.format("0.945 [0.941, 0.947]"),
    ),
    Claim(
        id="loss-surface.path-beyond-a-walk",
        text="That is more than a random walk of the same steps shows.",
        source="Antognini and Sohl-Dickstein 2018; the control that the figure lacks",
        measure=path("beyond"),
        condition=above(
            0.05, of="share in two directions, the path's less the random walk's, mean over four networks, median over seeds,"
        ),
        tried=_STREAMS.format("0.084 [0.079, 0.086]"),
        kind="control",
    ),
)
