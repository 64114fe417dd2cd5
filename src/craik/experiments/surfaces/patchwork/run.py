"""A patchwork: two sigmoids sewn together, one for each environment, and how easy the result is to vary.

A network with two hidden units fits a staircase on [0, 1]. Environment A sees the left half, B the right. The second step is
made by a unit that A never notices: change it, and A's loss stays while B's grows without limit.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from craik.lab import Claim, Measurement, OverSeeds, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import at_least

REPRODUCES = "thesis appendix B.1.1, figure B.1; paper, the same appendix, figure 11"

PRINTED = (100.0, -50.0, 100.0, -75.0, 1.0, 1.0)
"""theta* as printed. Its first step is at x = 0.5, the staircase's rises from 0.4 to 0.5."""

CENTRED = (100.0, -45.0, 100.0, -75.0, 1.0, 1.0)
"""The same with the first step in the middle of the staircase's, at x = 0.45."""

GRID = 201
"""Points at which functions are recorded for the figure."""


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    seed: int = 0
    """First seed: of the points in each environment."""
    examples: int = 2000
    """Points drawn uniformly in each environment."""
    changed: tuple[float, ...] = (1.0, 0.5, 0.0, -0.5, -1.0, -2.0, -4.0, -8.0)
    """Values of the second output weight, theta_6; the texts show 1 and -0.5."""

    def __post_init__(self) -> None:
        at_least(self, 2, "examples")
        if 1.0 not in self.changed or -0.5 not in self.changed:
            raise ValueError(f"changed should contain 1 and -0.5, the texts' values. Found {self.changed}.")


PRESETS = {"quick": Config(), "paper": Config(examples=100_000)}
SEEDS = {"quick": 3, "paper": 10}


def staircase(x: Float[Tensor, "*x"]) -> Float[Tensor, "*x"]:
    """Return the target f*: 0, a rise over [0.4, 0.5] to 1, a rise over [0.7, 0.8] to 2."""
    return (10 * (x - 0.4)).clamp(0, 1) + (10 * (x - 0.7)).clamp(0, 1)


def network(theta: Sequence[float], x: Float[Tensor, " x"]) -> Float[Tensor, " x"]:
    """Return theta_5 sigma(theta_1 x + theta_2) + theta_6 sigma(theta_3 x + theta_4) (thesis equation B.1)."""
    return theta[4] * torch.sigmoid(theta[0] * x + theta[1]) + theta[5] * torch.sigmoid(theta[2] * x + theta[3])


def run(config: Config) -> Iterator[Row]:
    """Yield each environment's loss for both versions of theta* and every value of theta_6, then functions to draw."""
    generator = torch.Generator().manual_seed(config.seed)
    points = torch.rand(2, config.examples, dtype=torch.float64, generator=generator) / 2 + torch.tensor([[0.0], [0.5]])
    target = staircase(points)
    spread = target.var(dim=1, correction=0)
    for version, theta in (("printed", PRINTED), ("centred", CENTRED)):
        for last in config.changed:
            losses = torch.stack(
                [(network((*theta[:5], last), x) - f).square().mean() for x, f in zip(points, target, strict=True)]
            )
            yield {
                "kind": "loss",
                "version": version,
                "theta_6": last,
                "loss_a": float(losses[0]),
                "loss_b": float(losses[1]),
                "unexplained_a": float(losses[0] / spread[0]),
                "unexplained_b": float(losses[1] / spread[1]),
            }
    x = torch.linspace(0, 1, GRID, dtype=torch.float64)
    for name, values in (
        ("target", staircase(x)),
        *((f"printed {last:g}", network((*PRINTED[:5], last), x)) for last in (1.0, -0.5)),
        ("centred 1", network(CENTRED, x)),
    ):
        yield {"kind": "function", "name": name, "values": " ".join(f"{value:.4f}" for value in values.tolist())}


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the fit and the changed fit (figure B.1), and both losses against theta_6."""
    figure, (left, middle, right) = panels(
        3,
        caption="Left: the staircase and the patchwork theta*, as printed and with its first step centred. Middle: theta_6 = "
        "-0.5 changes nothing that environment A sees (x up to 0.5). Right: loss of each environment against theta_6, for the "
        "printed theta*.",
        height=2.9,
    )
    x = np.linspace(0, 1, GRID)

    def values(name: str) -> list[float]:
        return [float(value) for value in str(rows.where(kind="function", name=name)[0]["values"]).split()]

    for axes, shown in ((left, ("printed 1", "centred 1")), (middle, ("printed -0.5",))):
        axes.axvspan(0, 0.5, color="#eef3f6", linewidth=0)
        axes.plot(x, values("target"), color=COLOURS["reference"], linewidth=3, label="f*")
        for name, role, style in zip(shown, ("baseline", "ours"), ("-", "--"), strict=False):
            axes.plot(x, values(name), style, color=COLOURS[role], label=name.split()[0] if shown[1:] else None)
        axes.set(xlabel="x", ylim=(-0.7, 2.2))
    left.set_title("theta*")
    left.legend()
    middle.set_title("theta_6 = -0.5")
    some = rows.where(kind="loss", version="printed")
    for key, role, label in (("loss_a", "ours", "A"), ("loss_b", "baseline", "B")):
        band(right, *some.curves("theta_6", key), label, COLOURS[role])
    right.set(title="loss", xlabel="theta_6", yscale="log")
    right.legend()
    return {"patchwork": figure}


def inconsistency(rows: Rows) -> Measurement | None:
    """Return abs(L_B - L_A) at theta_6 = -0.5, a lower bound of J: that point lies in A's set for a tiny epsilon."""
    found = rows.where(kind="loss", version="printed", theta_6=-0.5)
    return bootstrap([abs(number(row, "loss_b") - number(row, "loss_a")) for row in found]) if found else None


def change_in_a(rows: Rows) -> Measurement | None:
    """Return the largest change of A's loss over all values of theta_6, median over seeds."""
    groups = rows.where(kind="loss", version="printed").by("seed")
    losses = [[number(row, "loss_a") for row in group] for group in groups.values()]
    return bootstrap([max(group) - min(group) for group in losses]) if losses else None


def _unexplained(environment: str, version: str) -> OverSeeds:
    return OverSeeds(f"unexplained_{environment}", (("kind", "loss"), ("version", version), ("theta_6", 1.0)))


_GOOD = "mean squared error at most 0.1 of the target's variance in that environment"

CLAIMS = (
    Claim(
        id="patchwork.fits-a",
        text="theta* = (100, -50, 100, -75, 1, 1) provides a good fit for environment A.",
        source="thesis appendix B.1.1, figure B.1; paper, the same appendix",
        printed="small",
        measure=_unexplained("a", "printed"),
        holds=lambda measured: measured.value <= 0.1,
        condition=_GOOD,
        tried="The printed first step is at x = 0.5, where the staircase's rise from 0.4 to 0.5 is over, so that environment "
        "A, x < 0.5, hardly sees it. With theta_2 = -45 it is centred: patchwork.fits-a-centred.",
    ),
    Claim(
        id="patchwork.fits-a-centred",
        text="With theta_2 = -45 instead of -50 it does.",
        source="our reading of thesis appendix B.1.1",
        printed=None,
        measure=_unexplained("a", "centred"),
        holds=lambda measured: measured.value <= 0.1,
        condition=_GOOD,
    ),
    Claim(
        id="patchwork.fits-b",
        text="theta* provides a good fit for environment B.",
        source="thesis appendix B.1.1, figure B.1; paper, the same appendix",
        printed="small",
        measure=_unexplained("b", "printed"),
        holds=lambda measured: measured.value <= 0.1,
        condition=_GOOD,
    ),
    Claim(
        id="patchwork.a-unchanged",
        text="Changing theta_6 leaves the loss of environment A almost unchanged.",
        source="thesis appendix B.1.1, figure B.1; paper, the same appendix",
        printed="about 0",
        measure=change_in_a,
        holds=lambda measured: measured.high <= 1e-6,
        condition="loss A changes by at most 1e-6 over every theta_6 from 1 to -8",
    ),
    Claim(
        id="patchwork.inconsistent",
        text="With theta_6 = -0.5 the loss of environment B is large, so theta* has a low consistency score.",
        source="thesis appendix B.1.1, equation 3.1; paper, the same appendix",
        printed="large",
        measure=inconsistency,
        holds=lambda measured: measured.low >= 0.5,
        condition="abs(L_B - L_A) there, a lower bound of the inconsistency, at least 0.5: a quarter of the target's range",
    ),
)
