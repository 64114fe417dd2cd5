"""What is claimed of entropy; written before any recorded run."""

import numpy as np

from claimlab import Claim, Measurement, Rows, bootstrap, high_below, low_above

_SOURCE = "Ahmed et al. 2019, by the reading digest; grid and numbers ours"
RATE = 10.0
"""The learning rate at which traps are counted, as in the presets."""


def trapped(rows: Rows) -> Measurement | None:
    """Return the share of starts that plain ascent leaves below 0.95 of the best, mean over seeds."""
    found = [1 - one["share"][0] for one in rows.where(kind="share", world="trap", tau=0.0, rate=RATE).by("seed").values()]
    return bootstrap(found, np.mean) if found else None


def helps(rows: Rows) -> Measurement | None:
    """Return the share of starts at the optimum with the best tau above 0 less that without entropy, mean over seeds."""
    found: list[float] = []
    for group in rows.where(kind="share", world="trap", rate=RATE).by("seed").values():
        with_entropy = [share for share, tau in zip(group["share"], group["tau"], strict=True) if tau > 0]
        found.append(max(with_entropy) - group.where(tau=0.0)["share"][0])
    return bootstrap(found, np.mean) if found else None


def longer_steps(world: str, rows: Rows) -> Measurement | None:
    """Return log10 of how much larger a rate solves every start with the best tau above 0 than without, median over seeds.

    Where no rate does without entropy, a tenth of the least rate stands in.
    """
    found: list[float] = []
    for group in rows.where(kind="share", world=world).by("seed").values():
        least = min(group["rate"]) / 10
        solved = group.where(share=1.0)
        largest = {tau: max(solved.where(tau=tau)["rate"], default=least) for tau in set(group["tau"])}
        found.append(float(np.log10(max(rate for tau, rate in largest.items() if tau > 0) / largest[0.0])))
    return bootstrap(found) if found else None


def connects(rows: Rows) -> Measurement | None:
    """Return the mean barrier at the least tau above 0 as a share of that without entropy, median over seeds."""
    found: list[float] = []
    for group in rows.where(kind="barrier").by("seed").values():
        without, *others = group["barrier"]
        found += [others[0] / without] if without > 0 else []
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="entropy-landscape.traps",
        text="With exact gradients, too, ascent ends in local optima: the difficulty is not noise.",
        source=_SOURCE,
        measure=trapped,
        condition=low_above(
            0.0, of="share of starts below 0.95 of the best without entropy at learning rate 10, mean over seeds,"
        ),
        tried="At the best of the five rates, each seed's own, 0.858 of the starts end so.",
    ),
    Claim(
        id="entropy-landscape.helps",
        text="Entropy helps although there is no noise that it could reduce.",
        source=_SOURCE,
        measure=helps,
        condition=low_above(
            0.0, of="share of starts at the optimum at learning rate 10, best tau above 0 less tau = 0, mean over seeds,"
        ),
        tried="With the best tau every start ends at the optimum here, so that this is the number of entropy-landscape.traps: "
        "what is trapped without entropy is freed with it. With the best rate for either it is 0.858.",
    ),
    Claim(
        id="entropy-landscape.steps",
        text="Entropy allows larger steps: the largest learning rate that solves every start is larger.",
        source=_SOURCE,
        measure=lambda rows: longer_steps("trap", rows),
        condition=low_above(
            0.0,
            of="log10 of the ratio of the largest rates, best tau above 0 over tau = 0 (a tenth of the least rate where none "
            "does), median over seeds,",
        ),
        tried="Without entropy no rate from 3 to 300 solves every start here, so that a tenth of the least rate, 0.3, stands "
        "in for it: that the number is 2 is of that choice; with entropy the largest rate is 30 on every seed.",
    ),
    Claim(
        id="entropy-landscape.steps-plain",
        text="It does so where there is no trap, too.",
        source="ours; the fair comparison of step sizes",
        measure=lambda rows: longer_steps("plain", rows),
        condition=low_above(
            0.0,
            of="log10 of the ratio of the largest rates (300 is the largest that was tried) without the near reward, median "
            "over seeds,",
        ),
        kind="ours",
        tried="On seed 1000 it is the reverse, too: without entropy far larger rates still solve every start. A"
        " large step towards entropy overshoots, one towards reward only saturates the softmax. On every recorded seed the "
        "largest rate that was tried, 300, solves every start without entropy: the number cannot be above 0 on these rates, "
        "and may be lower than it shows.",
    ),
    Claim(
        id="entropy-landscape.connects",
        text="Entropy connects local optima: along the segment to a global solution the barrier falls as tau grows.",
        source=_SOURCE,
        measure=connects,
        condition=high_below(0.5, of="mean barrier at the least tau above 0 over that without entropy, median over seeds,"),
        tried="First as Spearman's rho over all tau; but from 0.1 on the barrier is 0, and ties decide the "
        "rank. Barriers are small in any case.",
    ),
)
