"""What is claimed of descent on two loss surfaces, and how it is measured."""

import numpy as np

from claimlab import Claim, Measurement, OverSeeds, Rows, at_least, at_most, between, bootstrap, high_below, low_above
from mechlearn_zoo.experiments.surfaces.landscapes.run import BOX, CLOSE


def either_alone(rows: Rows) -> Measurement | None:
    """Return the larger share of starts, of A alone and B alone, that ends in the patchwork minimum; median over seeds."""
    groups = rows.where(lambda row: row.get("method") in ("A alone", "B alone"), kind="outcome").by("seed")
    return bootstrap([max(group["patchwork"]) for group in groups.values()]) if groups else None


def each_alone(rows: Rows) -> Measurement | None:
    """Return the lesser share of starts, of A alone and B alone, that ends in the consistent minimum; median over seeds."""
    groups = rows.where(lambda row: row.get("method") in ("A alone", "B alone"), kind="outcome").by("seed")
    return bootstrap([min(group["consistent"]) for group in groups.values()]) if groups else None


def more_consistent(rows: Rows) -> Measurement | None:
    """Return the share of starts that end in the consistent minimum, the lesser of both rules', less the mean's; by seed."""
    found: list[float] = []
    for group in rows.where(kind="outcome").by("seed").values():
        ours = [group.where(method=method)["consistent"] for method in ("geometric mean", "AND-mask")]
        mean = group.where(method="mean")["consistent"]
        if all(ours) and mean:
            found.append(min(shares[0] for shares in ours) - mean[0])
    return bootstrap(found) if found else None


def _fade(rows: Rows) -> Measurement | None:
    groups = rows.where(kind="fading").by("seed").values()
    steps = [np.diff([ratio for _, ratio in sorted(zip(group["k"], group["ratio"], strict=True))]) for group in groups]
    return bootstrap([float(step.max()) for step in steps if step.size]) if groups else None


_SOURCE = "thesis section 3.1 and figure 3.1; paper section 1 and figure 1"
_ALONE = (
    f"share of random starts that end within {CLOSE:g} of it, the larger of A and B (a valley's floor passes through the "
    f"minimum, and {2 * CLOSE / (BOX[1] - BOX[0]):.1%} of starts lie so near by chance),"
)
_NEITHER = (
    "A rule that never moves would pass: at `paper` 0.263 of starts end in the consistent minimum under either rule, and the "
    "others in neither. What is gained there `landscapes.attraction-consistent` asks."
)

CLAIMS = (
    Claim(
        id="landscapes.alone",
        text="From either environment's loss alone, the probability of finding the inconsistent minimum is zero.",
        source=_SOURCE,
        printed="0",
        measure=either_alone,
        condition=at_most(0.02, of=_ALONE),
    ),
    Claim(
        id="landscapes.mean",
        text="From the averaged loss, descent converges to either minimum, and the loss does not tell them apart.",
        source=_SOURCE,
        measure=OverSeeds("patchwork", {"kind": "outcome", "method": "mean"}),
        condition=between(0.2, 0.8, of="share of random starts that end in the inconsistent minimum"),
    ),
    Claim(
        id="landscapes.shared",
        text="The consistent minimum can be reached by training on one environment only, A or B.",
        source=_SOURCE,
        measure=each_alone,
        condition=at_least(0.1, of="share of random starts that reach it, the lesser of A alone and B alone").instead_of(
            at_least(0.1, of="share of random starts that reach it on environment A alone"),
            "The text says it of either environment.",
            OverSeeds("consistent", {"kind": "outcome", "method": "A alone"}),
        ),
    ),
    Claim(
        id="landscapes.attraction",
        text="Following the gradient from the logical AND of landscapes reduces the attraction of the inconsistent minimum.",
        source="paper section 2.2; thesis section 3.2.2",
        measure=OverSeeds("patchwork", {"kind": "outcome", "method": "geometric mean"}),
        condition=at_most(0.1, of="share of random starts that end in it with the geometric mean"),
        tried=_NEITHER,
    ),
    Claim(
        id="landscapes.attraction-masked",
        text="So does the AND-mask.",
        source="thesis section 3.2.3; paper section 2.3",
        measure=OverSeeds("patchwork", {"kind": "outcome", "method": "AND-mask"}),
        condition=at_most(0.1, of="share of random starts that end in it with the AND-mask"),
        tried=_NEITHER,
    ),
    Claim(
        id="landscapes.attraction-consistent",
        text="And the consistent minimum attracts more starts with either rule than with the mean.",
        source="ours; a rule that never moves leaves the inconsistent minimum alone, too",
        measure=more_consistent,
        condition=low_above(
            0, of="share of random starts that end in it, the lesser of both rules', less the mean's, median over seeds,"
        ),
        kind="ours",
        tried="Asked with these rows known: most starts end in neither minimum, where the environments' gradients disagree.",
    ),
    Claim(
        id="landscapes.fading",
        text="While the arithmetic mean stays the same, the geometric mean has weaker and weaker gradients the more "
        "inconsistent the two surfaces become.",
        source="thesis section 3.2.2 and figure B.2",
        measure=_fade,
        condition=high_below(0, of="largest change of the ratio of the gradients at a step of growing inconsistency"),
    ),
)
