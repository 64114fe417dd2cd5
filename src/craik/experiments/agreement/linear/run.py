"""Linear regression with one easy weight for each environment and one hard weight for all.

Each of four environments is a single datapoint with a strong signal of its own and a weak one that all share. Averaging
finds a patchwork of the strong ones, another for every choice of environments; rules that ask for agreement find the shared
one whichever environments they see. After the notebook in the authors' published code.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Tensor

from craik.agreement import AndMask, GeometricMean, Mean, Rule, combine
from craik.lab import Claim, Measurement, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import at_least, positive
from craik.tasks.boards.linear_units import linear_units

REPRODUCES = "the published code's notebook, linear_regression_ilc; an example of thesis section 3.2.3"

RULES: dict[str, Rule] = {"mean": Mean(), "and-mask": AndMask(1.0), "geometric-mean": GeometricMean(1.0)}
SUBSETS = {"all": slice(0, 4), "first two": slice(0, 2), "last two": slice(2, 4)}
INVARIANT = (0.0, 0.0, 0.0, 0.0, 3.0)
"""The solution that any two environments show; without weight decay it would be 10 / 3 in the last place."""

REPORTS = 25


@dataclass(frozen=True)
class Config:
    """Settings of the descent; the defaults are the notebook's."""

    seed: int = 0
    """First seed: of the initial weights and the noise."""
    learning_rate: float = 0.3
    """Initial step size."""
    decay: float = 0.9995
    """Factor of the step size at each step."""
    weight_decay: float = 0.01
    """Decoupled, applied after the rule and to every weight."""
    steps: int = 1001
    """Steps of gradient descent."""
    init_scale: float = 0.1
    """Standard deviation of the initial weights."""
    noise: float = 0.0
    """Half-width of uniform noise on the environments' own inputs; the notebook suggests 0.001."""

    def __post_init__(self) -> None:
        at_least(self, 1, "steps")
        positive(self, "learning_rate", "decay")
        at_least(self, 0, "weight_decay", "init_scale", "noise")


# After the notebook's 1001 steps the shared weight is still on its way to 3, further off on some seeds than five can tell.
PRESETS = {"quick": Config(steps=3001), "paper": Config()}
SEEDS = {"quick": 5, "paper": 50}


def losses(theta: Float[Tensor, " d"], x: Float[Tensor, "e d"]) -> Float[Tensor, " e"]:
    """Return each environment's loss, (x theta - 1)^2 / 2."""
    return (x @ theta - 1).square() / 2


def descend(rule: Rule, theta: Float[Tensor, " d"], x: Float[Tensor, "e d"], config: Config) -> Iterator[Tensor]:
    """Yield the weights step by step, the initial ones first."""
    rate = config.learning_rate
    yield theta
    for _ in range(config.steps):
        rate *= config.decay
        gradients = (x @ theta - 1)[:, None] * x
        theta = theta - rate * combine(rule, gradients).gradient
        theta = theta - config.weight_decay * rate * theta
        yield theta


def run(config: Config) -> Iterator[Row]:
    """Yield the weights on their way and at the end, for every rule and choice of training environments."""
    generator = torch.Generator().manual_seed(config.seed)
    x = linear_units(config.noise, generator)
    initial = config.init_scale * torch.randn(5, dtype=torch.float64, generator=generator)
    for name, rule in RULES.items():
        for subset, chosen in SUBSETS.items():
            held_out = torch.ones(4, dtype=torch.bool)
            held_out[chosen] = False
            for step, theta in enumerate(descend(rule, initial, x[chosen], config)):
                last = step == config.steps
                if step % max(1, config.steps // REPORTS) == 0 or last:
                    yield {
                        "kind": "final" if last else "curve",
                        "method": name,
                        "trained_on": subset,
                        "step": step,
                        **{f"theta_{index}": value for index, value in enumerate(theta.tolist(), start=1)},
                        "train_loss": float(losses(theta, x[chosen]).mean()),
                        "test_loss": float(losses(theta, x[held_out]).mean()) if held_out.any() else None,
                    }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    place = list(RULES).index(str(row["method"])) * len(SUBSETS) + list(SUBSETS).index(str(row["trained_on"]))
    done = place + number(row, "step") / config.steps
    return done / (len(RULES) * len(SUBSETS)), f"{row['method']}, {row['trained_on']}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw every weight's way for every rule and choice of environments, as the notebook does."""
    figure, all_axes = panels(
        5,
        3,
        caption="Weights while training (columns) by rule (rows), on all four environments and on the first or last two; "
        "median over seeds with their range. Averaging ends in three different patchworks, the others in one solution.",
        height=5.0,
    )
    roles = {"all": "ours", "first two": "baseline", "last two": "fourth"}
    for (method, weight), axes in zip(((m, w) for m in RULES for w in range(1, 6)), all_axes, strict=True):
        for subset, role in roles.items():
            steps, lines = rows.where(method=method, trained_on=subset).curves("step", f"theta_{weight}")
            band(axes, steps, lines, subset, COLOURS[role])
            axes.collections[-1].set_rasterized(True)  # 45 bands of some hundred corners each
        axes.set_ylim((-0.3, 3.4) if weight == 5 else (-0.3, 0.6))
        if method == "mean":
            axes.set_title("shared" if weight == 5 else f"weight {weight}")
        if weight == 1:
            axes.set_ylabel(method)
        if method != "geometric-mean":
            axes.set_xticklabels([])
    all_axes[4].legend(loc="center right", fontsize=7)
    return {"weights": figure}


def _thetas(group: Sequence[Row], method: str) -> dict[str, np.ndarray]:
    finals = group.where(kind="final", method=method)
    return {str(row["trained_on"]): np.array([number(row, f"theta_{i}") for i in range(1, 6)]) for row in finals}


def nearest_pair(rows: Rows) -> Measurement | None:
    """Return the least distance between averaging's three solutions, median over seeds."""
    distances: list[float] = []
    for group in rows.where(kind="final", method="mean").by("seed").values():
        pairs = combinations(_thetas(group, "mean").values(), 2)
        distances.append(min(float(np.linalg.norm(a - b)) for a, b in pairs))
    return bootstrap(distances) if distances else None


def off_invariant(method: str, rows: Rows) -> Measurement | None:
    """Return the largest deviation of any weight from the invariant solution over the three choices of environments."""
    groups = rows.where(kind="final", method=method).by("seed").values()
    largest = [max(float(abs(theta - INVARIANT).max()) for theta in _thetas(group, method).values()) for group in groups]
    return bootstrap(largest) if largest else None


def held_out_loss(method: str, rows: Rows, pick: str) -> Measurement | None:
    """Return the least or the largest loss on held-out environments, over training on the first and the last two."""
    groups = Rows([row for row in rows.where(kind="final", method=method) if row["test_loss"] is not None]).by("seed").values()
    found = [(min if pick == "min" else max)(number(row, "test_loss") for row in group) for group in groups]
    return bootstrap(found) if found else None


_SOURCE = "published code, notebook linear_regression_ilc"
_PACE = (
    "After the notebook's 1001 steps the shared weight is still on its way to 3, as far as the other four have yet to fall. "
    "With five of the preset's fifty seeds the interval reaches 0.15, and the notebook's own printed run ends 0.16 off."
)

CLAIMS = (
    Claim(
        id="linear.patchworks",
        text="Average gradients converge to three distinct solutions: on all environments, on the first two, on the last two.",
        source=_SOURCE,
        printed=None,
        measure=nearest_pair,
        holds=lambda measured: measured.low >= 0.3,
        condition="least distance between two of them at least 0.3; a patch's weight is about 0.33",
    ),
    Claim(
        id="linear.patchworks-fail",
        text="They have a high loss on the environments that were left out.",
        source=_SOURCE,
        printed="high",
        measure=lambda rows: held_out_loss("mean", rows, "min"),
        holds=lambda measured: measured.low >= 0.25,
        condition="at least 0.25, half of what predicting 0 would cost",
    ),
    Claim(
        id="linear.and-mask",
        text="The AND-mask converges to the only solution that any two environments show, approximately (0, 0, 0, 0, 3).",
        source=_SOURCE,
        printed="(0, 0, 0, 0, 3)",
        measure=lambda rows: off_invariant("and-mask", rows),
        holds=lambda measured: measured.high <= 0.1,
        condition="no weight further than 0.1 from it, on all, the first two and the last two environments, interval too",
        tried=_PACE,
    ),
    Claim(
        id="linear.geometric-mean",
        text="So does the geometric mean.",
        source=_SOURCE,
        printed="(0, 0, 0, 0, 3)",
        measure=lambda rows: off_invariant("geometric-mean", rows),
        holds=lambda measured: measured.high <= 0.1,
        condition="no weight further than 0.1 from it, on all, the first two and the last two environments, interval too",
        tried=_PACE,
    ),
    Claim(
        id="linear.generalises",
        text="With the AND-mask the loss on left-out environments is low.",
        source=_SOURCE,
        printed="low",
        measure=lambda rows: held_out_loss("and-mask", rows, "max"),
        holds=lambda measured: measured.high <= 0.02,
        condition="at most 0.02; predicting 0 costs 0.5",
    ),
)
