"""What is claimed of bonuses in the maze; written before any recorded run."""

from collections.abc import Callable

import numpy as np

from craik.lab import Claim, Measurement, Rows, above, bootstrap, high_below, low_above, within

_BURDA, _SAVINOV = "Burda et al. 2018", "Savinov et al. 2019"


def last(rows: Rows, method: str, tv: bool, key: str = "coverage") -> list[float]:
    """Return a number's mean over the last fifth of the roll-outs, by seed."""
    some = rows.where(kind="curve", method=method, tv=tv, last=True)
    return [float(np.mean(group[key])) for group in some.by("seed").values()]


def ratio(one: tuple[str, bool], other: tuple[str, bool]) -> Callable[[Rows], Measurement | None]:
    """Return a measure: coverage of one method and set over that of another, median over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        above_, below_ = last(rows, *one), last(rows, *other)
        return bootstrap(np.divide(above_, below_).tolist()) if above_ and below_ else None

    return measure


def presses(rows: Rows) -> Measurement | None:
    """Return the share of presses of random-feature curiosity with the set on, median over seeds."""
    found = last(rows, "random", True, "presses")
    return bootstrap(found) if found else None


def ranking(rows: Rows) -> Measurement | None:
    """Return the lesser of random and inverse features' coverage less that of pixels, median over seeds."""
    found = [last(rows, method, False) for method in ("random", "inverse", "pixels")]
    return bootstrap(np.subtract(np.minimum(found[0], found[1]), found[2]).tolist()) if all(found) else None


def separates(rows: Rows) -> Measurement | None:
    """Return the area under ROC of the reachability network with the set on, median over seeds."""
    found = rows.where(kind="network", method="reachability", tv=True)
    return bootstrap(found["separation"]) if found else None


CLAIMS = (
    Claim(
        id="curiosity-tv.explores",
        text="Without a television, curiosity in random features covers more of the maze than no bonus.",
        source=_BURDA,
        measure=ratio(("random", False), ("none", False)),
        condition=low_above(1.3, of="its coverage of an episode over that of no bonus, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.couch-potato",
        text="With one it presses the button most of the time.",
        source=f"{_BURDA}, section 4.2: the noisy television",
        measure=presses,
        condition=low_above(0.5, of="share of presses, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.stops",
        text="And covers less than half of what it covers without.",
        source=f"{_BURDA}, section 4.2",
        measure=ratio(("random", True), ("random", False)),
        condition=high_below(0.5, of="coverage with the set on over that with it off, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.random-features",
        text="Random features explore about as well as those of inverse dynamics.",
        source=f"{_BURDA}, section 3.1",
        measure=ratio(("random", False), ("inverse", False)),
        condition=within(0.1, 1, of="coverage of random over that of inverse features, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.pixels",
        text="Both explore better than pixels.",
        source=f"{_BURDA}, section 3.1",
        printed="random features better than pixels in most of 54 games (from memory, unchecked)",
        measure=ranking,
        condition=low_above(0, of="coverage of the lesser of both less that of pixels, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.reachability-separates",
        text="The reachability network tells near from far.",
        source=f"{_SAVINOV}, section 2.1",
        measure=separates,
        condition=low_above(0.9, of="area under ROC, at most 2 steps apart against at least 6, set on, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.reachability-tv",
        text="With a television, reachability covers more than curiosity.",
        source=f"{_SAVINOV}, section 4.2",
        measure=ratio(("reachability", True), ("random", True)),
        condition=low_above(1.5, of="coverage of reachability over that of curiosity, set on, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.reachability-still",
        text="The television does not change what reachability covers.",
        source=f"{_SAVINOV}, section 4.2",
        measure=ratio(("reachability", True), ("reachability", False)),
        condition=within(0.15, 1, of="its coverage with the set on over that with it off, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.reachability-none",
        text="Without one it covers more than no bonus.",
        source=f"{_SAVINOV}, section 4.1",
        measure=ratio(("reachability", False), ("none", False)),
        condition=low_above(1.5, of="its coverage over that of no bonus, set off, median over seeds,"),
    ),
    Claim(
        id="curiosity-tv.loiters",
        text="The paper's continuous bonus covers less than no bonus here: it is earned by staying where nothing is stored.",
        source="ours, against Savinov et al. 2019, equation 3",
        measure=ratio(("none", False), ("continuous", False)),
        condition=above(1, of="coverage of no bonus over that of the continuous one, set off, median over seeds,"),
        kind="ours",
    ),
)
