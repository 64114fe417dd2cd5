"""How fast the AND-mask silences pure noise: the squared norm of averaged and masked random gradients.

If the environments' gradients are independent noise there is nothing to agree on. Averaging d of them shrinks the squared
norm like 1/d; the AND-mask shrinks it exponentially in d.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from matplotlib.figure import Figure

from craik.agreement import AndMask, Mean, Rule, combine
from craik.lab.claims import Claim, Measurement, Row, bootstrap
from craik.lab.columns import by_seed, curves, number, numbers, where
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import at_least, between, not_empty
from craik.surfaces import proposition_2_bound

REPRODUCES = "thesis section 3.2.3, figure 3.4, proposition 2; paper section 2.3, figure 4"


@dataclass(frozen=True)
class Config:
    """Settings of the simulation."""

    seed: int = 0
    """First seed: of the random gradients."""
    components: int = 3000
    """n, the number of parameters."""
    share: float = 0.8
    """t / d: the share of signs that must be equal for a component to survive."""
    counts: tuple[int, ...] = (2, 4, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200, 300)
    """d, the numbers of environments."""
    repeats: int = 20
    """Independent draws averaged for each number of environments."""

    def __post_init__(self) -> None:
        between(self, 0.5, 1, "share", why="fewer equal signs than half do not exist")
        not_empty(self, "counts")
        at_least(self, 1, "counts", "components", "repeats")


PRESETS = {"quick": Config(), "paper": Config(repeats=200)}
SEEDS = {"quick": 3, "paper": 10}


def least_equal_signs(d: int, share: float) -> int:
    """t, the least number of equal signs that lets a component through."""
    return math.ceil(Fraction(str(share)) * d)


def mean_square(rule: Rule, d: int, config: Config, generator: torch.Generator) -> float:
    """Return the combined gradient's mean square a component, over all repeats."""
    total = 0.0
    for _ in range(config.repeats):
        noise = torch.randn(d, config.components, dtype=torch.float64, generator=generator)
        total += float(combine(rule, noise).gradient.square().mean())
    return total / config.repeats


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each number of environments: measured mean squares and the bounds."""
    generator = torch.Generator().manual_seed(config.seed)
    for d in config.counts:
        t = least_equal_signs(d, config.share)
        # t equal signs of d make a sign sum of 2 t - d; written as this one division, tau compares exactly with counts.
        yield {
            "d": d,
            "t": t,
            "mean": mean_square(Mean(), d, config, generator),
            "masked": mean_square(AndMask(max(0, 2 * t - d) / d), d, config, generator),
            "printed_bound": proposition_2_bound(d, t, "printed"),
            "corrected_bound": proposition_2_bound(d, t),
        }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (config.counts.index(int(number(row, "d"))) + 1) / len(config.counts), f"d = {row['d']}"


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw mean squares against the number of environments (figure 3.4), with 1/d and the corrected bound."""
    figure, (axes,) = panels(
        caption="Mean square of a component against the number of environments d, for gradients that are pure noise "
        "(t = 0.8 d). Where no component survived in any draw there is nothing to plot on a logarithmic axis."
    )
    for key, role, label in (("mean", "baseline", "averaging"), ("masked", "ours", "AND-mask")):
        d, lines = curves(rows, "d", key)
        positive = np.where(np.asarray(lines) > 0, lines, np.nan)
        seen = ~np.isnan(positive).all(axis=0)
        band(axes, np.asarray(d)[seen], positive[:, seen], label, COLOURS[role])
    d, bounds = curves(rows, "d", "corrected_bound")
    axes.plot(d, [1 / count for count in d], ":", color=COLOURS["reference"], label="1 / d")
    axes.plot(d, bounds[0], "--", color=COLOURS["reference"], label="proposition 2, corrected")
    axes.set(xlabel="environments d", ylabel="mean square of a component", yscale="log", ylim=(1e-9, 3))
    axes.legend()
    return {"magnitude": figure}


def slope(rows: Sequence[Row], x: str, y: str, log_x: bool) -> Measurement | None:
    """Fit log(y) against x or log(x) for each seed and return the median slope over seeds."""
    slopes = [_slope(group, x, y, log_x) for group in by_seed(rows).values()]
    found = [value for value in slopes if value is not None]
    return bootstrap(found) if found else None


def _slope(rows: Sequence[Row], x: str, y: str, log_x: bool) -> float | None:
    some = [row for row in rows if number(row, y) > 0]
    if len(some) < 3:
        return None
    positions = np.log(numbers(some, x)) if log_x else np.asarray(numbers(some, x))
    return float(np.polyfit(positions, np.log(numbers(some, y)), 1)[0])


def largest_excess(rows: Sequence[Row], bound: str) -> Measurement | None:
    """Return the largest ratio over d of the masked mean square to a bound where that is not 0, median over seeds."""
    ratios = [
        max(number(row, "masked") / number(row, bound) for row in group if number(row, bound) > 0)
        for group in by_seed(rows).values()
    ]
    return bootstrap(ratios) if ratios else None


def at_full_agreement(rows: Sequence[Row]) -> Measurement | None:
    """Return the masked mean square at the largest d where t = d, where the printed bound is 0."""
    full = [row for row in rows if row["t"] == row["d"]]
    if not full:
        return None
    largest = max(number(row, "d") for row in full)
    return bootstrap(numbers(where(full, d=largest), "masked"))


CLAIMS = (
    Claim(
        id="random-gradients.mean-rate",
        text="For random gradients the squared norm of the average falls like n / d.",
        source="thesis proposition 2 and figure 3.4",
        printed="d^-1",
        measure=lambda rows: slope(rows, "d", "mean", log_x=True),
        holds=lambda measured: abs(measured.value + 1) <= 0.05,
        condition="slope of log mean square against log d within 0.05 of -1",
    ),
    Claim(
        id="random-gradients.masked-rate",
        text="With the AND-mask it falls exponentially in d: like c^-d with 1 < c <= 2.",
        source="thesis proposition 2 and figure 3.4",
        printed="1 < c <= 2",
        measure=lambda rows: _as_rate(slope(rows, "d", "masked", log_x=False)),
        holds=lambda measured: measured.low > 1 and measured.high <= 2,
        condition="c fitted where anything survives, its interval inside (1, 2]",
    ),
    Claim(
        id="random-gradients.nothing-survives",
        text="For more than 100 random gradients nothing survived the mask.",
        source="caption of figure 3.4, thesis section 3.2.3",
        printed="0",
        measure=lambda rows: _largest_masked(rows, above=100),
        holds=lambda measured: measured.value == 0,
        condition="masked mean square exactly 0 for every d > 100",
    ),
    Claim(
        id="random-gradients.printed-bound",
        text="Proposition 2's printed bound, (d - t) C(d, t) / 2^(d - 1) a component, holds at t = d.",
        source="thesis appendix B.1.4, last line of the proof",
        printed="0",
        measure=at_full_agreement,
        holds=lambda measured: measured.value <= 0,
        condition="masked mean square at the largest d with t = d at most the printed bound, which is 0 there",
        tried="The last sum has d - t + 1 terms, not d - t: an erratum (docs/deviations.md).",
    ),
    Claim(
        id="random-gradients.corrected-bound",
        text="With d - t + 1 terms in its last sum, proposition 2's bound holds for every d.",
        source="erratum to thesis appendix B.1.4",
        printed=None,
        measure=lambda rows: largest_excess(rows, "corrected_bound"),
        holds=lambda measured: measured.high <= 1,
        condition="largest ratio of masked mean square to the corrected bound at most 1",
    ),
)


def _as_rate(fitted: Measurement | None) -> Measurement | None:
    if fitted is None:
        return None
    return Measurement(math.exp(-fitted.value), math.exp(-fitted.high), math.exp(-fitted.low), fitted.n)


def _largest_masked(rows: Sequence[Row], above: int) -> Measurement | None:
    some = [row for row in rows if number(row, "d") > above]
    largest = [max(numbers(group, "masked")) for group in by_seed(some).values()]
    return bootstrap(largest) if largest else None
