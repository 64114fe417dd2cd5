"""How long a step should be: the error that accumulates in a frame, against the number of frames a prediction skips, by state.

For each skip a network of its own learns to predict where the ball will be, from position, change and layout as numbers. Its
error, divided by the skip, is the rate at which error accumulates. If there is a best skip, it lies inside; and it may be
another one for a ball that falls than for one that bounces in a funnel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float
from matplotlib.figure import Figure
from torch import Tensor, nn

from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import curves, number, numbers, where
from craik.harness.figures import COLOURS, band, panels
from craik.networks import mlp
from craik.tasks import caching, funnel_board
from craik.tasks.funnel_board import FunnelBoards

REPRODUCES = "thesis figure 2.1, a hypothesis there, and section 2.3.1"

STATES = {"slow": "bouncing and rolling", "fast": "falling"}
_ROLES = {"slow": "baseline", "fast": "ours"}


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 0
    """First seed: of the boards, the initial weights and the batches."""
    skips: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 11, 15, 20)
    """Frames ahead, each with a network of its own."""
    size: str = "small"
    """Named settings of the Funnel board."""
    episodes: int = 600
    """Boards to train on."""
    test_episodes: int = 200
    """Boards on which errors are measured."""
    hidden: int = 128
    """Units in each of the two hidden layers."""
    steps: int = 1500
    """Training steps of each network."""
    batch: int = 256
    """Transitions of a step."""
    learning_rate: float = 2e-3
    """Adam's, falling to 0 along a cosine."""
    cache: str = ""
    """Folder that keeps the boards; craik's folder in the user's cache if empty."""

    def __post_init__(self) -> None:
        if self.size not in funnel_board.PRESETS:
            raise ValueError(f"size should be one of {', '.join(funnel_board.PRESETS)}. Found {self.size}.")
        if min(self.skips, default=0) < 1:
            raise ValueError(f"skips should be positive numbers of frames. Found {self.skips}.")
        for name in ("episodes", "test_episodes", "hidden", "steps", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} should be at least 1. Found {getattr(self, name)}.")


PRESETS = {"quick": Config(), "paper": Config(size="published", episodes=5000, test_episodes=500, hidden=256, steps=20_000)}
SEEDS = {"quick": 5, "paper": 8}


def run(config: Config) -> Iterator[Row]:
    """Train a network for each skip; yield its error a frame, by state."""
    settings, folder = funnel_board.PRESETS[config.size], Path(config.cache) if config.cache else caching.default_folder()
    boards, test = (
        funnel_board.generate(count, 2 * config.seed + offset, settings, cache=folder)
        for offset, count in enumerate((config.episodes, config.test_episodes))
    )
    for skip in config.skips:
        model, scale = train(config, boards, skip)
        x, change, slow = transitions(test, skip)
        with torch.no_grad():
            error = (model(x / scale[0]) * scale[1] - change).norm(dim=1)
        for state, some in (("slow", slow), ("fast", ~slow)):
            mean = float(error[some].mean())
            yield {"skip": skip, "state": state, "error": mean, "rate": mean / skip, "transitions": int(some.sum())}


def train(config: Config, boards: FunnelBoards, skip: int) -> tuple[nn.Module, tuple[Tensor, Tensor]]:
    """Train a network to predict the change of position over a skip; return it with the scales of its input and output."""
    generator = torch.Generator().manual_seed(config.seed + 1000 * skip)
    x, change, _ = transitions(boards, skip)
    scale = x.std(dim=0) + 1e-3, change.std(dim=0) + 1e-3
    model = mlp(x.shape[1], 2, generator, config.hidden, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    for _ in range(config.steps):
        rows = torch.randint(len(x), (config.batch,), generator=generator)
        optimizer.zero_grad()
        (model(x[rows] / scale[0]) - change[rows] / scale[1]).square().mean().backward()
        optimizer.step()
        scheduler.step()
    return model, scale


def transitions(boards: FunnelBoards, skip: int) -> tuple[Float[Tensor, "n state"], Float[Tensor, "n 2"], Bool[Tensor, " n"]]:
    """Return states, the change of position over a skip, and whether the ball is slow: below a ball radius a frame."""
    before: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    for index, path in enumerate(boards.paths):
        if len(path) > skip + 1:  # the first frame has no change before it
            before.append(boards.states(index)[1:-skip])
            changes.append(path[1 + skip :] - path[1:-skip])
    x, change = torch.from_numpy(np.concatenate(before)), torch.from_numpy(np.concatenate(changes))
    return x, change, x[:, 2:4].norm(dim=1) < boards.settings.ball_radius


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (config.skips.index(int(number(row, "skip"))) + 1) / len(config.skips), f"skip {row['skip']}"


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the rate of error against the skip (figure 2.1), for slow and for fast states."""
    figure, (axes,) = panels(
        caption="Mean error of the predicted position divided by the frames skipped, on test boards, for states in which the "
        "ball moves less (bouncing and rolling) or more (falling) than its radius in a frame. Median over seeds, with the "
        "band from the lowest to the highest seed; circles mark the least.",
        height=3.2,
    )
    for state, label in STATES.items():
        skips, lines = curves(where(rows, state=state), "skip", "rate")
        band(axes, skips, lines, label, COLOURS[_ROLES[state]])
        middle = np.median(lines, axis=0)
        least = int(middle.argmin())
        axes.plot(skips[least], middle[least], "o", color=COLOURS[_ROLES[state]], markersize=8, markerfacecolor="white")
    axes.set(xlabel="frames skipped", ylabel="error a frame, world units", xscale="log", ylim=(0, None))
    ticks = sorted({int(number(row, "skip")) for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.legend()
    return {"rate": figure}


def best_skips(rows: Sequence[Row], state: str) -> list[int]:
    """Return, for each seed, the skip with the least rate of error."""
    best: list[int] = []
    for seed in sorted({int(number(row, "seed")) for row in rows}):
        some = where(rows, state=state, seed=seed)
        best.append(int(number(min(some, key=lambda row: number(row, "rate")), "skip")))
    return best


def _inside(rows: Sequence[Row]) -> Measurement | None:
    """How much lower the least rate is than at the nearer end, in shares: the state in which that is less."""
    if not rows:
        return None
    gains: list[list[float]] = []
    for state in STATES:
        found: list[float] = []
        for seed in sorted({int(number(row, "seed")) for row in rows}):
            rates = numbers(where(rows, state=state, seed=seed), "rate")
            found.append(1 - min(rates) / min(rates[0], rates[-1]))
        gains.append(found)
    return bootstrap(min(gains, key=lambda each: float(np.median(each))))


def _ratio(rows: Sequence[Row]) -> Measurement | None:
    if not rows:
        return None
    pairs = zip(best_skips(rows, "slow"), best_skips(rows, "fast"), strict=True)
    return bootstrap([slow / fast for slow, fast in pairs])


_TRIED = "The figure is a hypothesis in the thesis, drawn by hand; see docs/skips-experiments.md."

CLAIMS = (
    Claim(
        id="skips-curve.inside",
        text="The rate at which error accumulates has its minimum between the shortest and the longest skip.",
        source="thesis figure 2.1",
        printed=None,
        measure=_inside,
        holds=lambda measured: measured.low > 0.02,
        condition="in both states, the least rate below both ends by more than 2 %, interval over seeds",
        tried=_TRIED,
    ),
    Claim(
        id="skips-curve.depends-on-state",
        text="The best skip depends on the state: it is longer where the ball bounces than where it falls.",
        source="thesis figure 2.1, caption",
        printed=None,
        measure=_ratio,
        holds=lambda measured: measured.low > 1,
        condition="best skip of slow states over that of fast ones, median over seeds, its interval above 1",
        tried=_TRIED,
    ),
)
