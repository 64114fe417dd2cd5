"""How long a step should be: the error that accumulates until a fixed time, against the length of a step, by state.

For each step length a network of its own learns where the ball will be that many frames later, from how it moves and from a
view of the board around it. Applied again and again, all reach the same time ahead: with many short steps, each of which adds
its error, or with few long ones, each of which is harder to predict. If there is a best length, it lies inside; and it may be
another one for a ball that falls than for one that bounces in a funnel.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from matplotlib.figure import Figure
from torch import Tensor, nn

from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import curves, number, numbers, where
from craik.harness.figures import COLOURS, band, panels
from craik.networks import mlp
from craik.tasks import caching, funnel_board
from craik.tasks.funnel_board import FunnelBoards
from craik.tasks.funnel_board.rendering import to_pixels

REPRODUCES = "thesis figure 2.1, a hypothesis there, and section 2.3.1"

STATES = {"slow": "bouncing and rolling", "fast": "falling"}
_ROLES = {"slow": "baseline", "fast": "ours"}

VIEW = (6, 14, 8)
"""Pixels of the board that a network sees above, below and to either side of the ball."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 0
    """First seed: of the boards, the initial weights and the batches."""
    skips: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 24)
    """Frames in a step, each with a network of its own."""
    ahead: int = 24
    """The time at which errors are measured, in frames; every step length divides it."""
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
        if min(self.skips, default=0) < 1 or any(self.ahead % skip for skip in self.skips):
            raise ValueError(f"skips should be positive and divide the {self.ahead} frames ahead. Found {self.skips}.")
        for name in ("episodes", "test_episodes", "hidden", "steps", "batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} should be at least 1. Found {getattr(self, name)}.")


PRESETS = {"quick": Config(), "paper": Config(size="published", episodes=5000, test_episodes=500, hidden=256, steps=20_000)}
SEEDS = {"quick": 3, "paper": 8}


class Motion(NamedTuple):
    """Balls n, each on its board: where they are and how far they moved in the last frame, in pixels."""

    boards: Int[Tensor, " n"]
    position: Float[Tensor, "n 2"]
    change: Float[Tensor, "n 2"]


def run(config: Config) -> Iterator[Row]:
    """Train a network for each step length; yield the error at the same time ahead, by the state at the start."""
    settings, folder = funnel_board.PRESETS[config.size], Path(config.cache) if config.cache else caching.default_folder()
    boards, test = (
        funnel_board.generate(count, 1000 + 2 * config.seed + offset, settings, cache=folder)
        for offset, count in enumerate((config.episodes, config.test_episodes))
    )
    start, end = transitions(test, config.ahead)
    slow = start.change.norm(dim=1) < settings.ball_radius * settings.pixels_per_unit
    obstacles = padded_obstacles(test)
    for skip in config.skips:
        step, motion = train(config, boards, skip), start
        for _ in range(config.ahead // skip):
            motion = step(obstacles, motion)
        error = (motion.position - end.position).norm(dim=1) / settings.pixels_per_unit
        for state, some in (("slow", slow), ("fast", ~slow)):
            mean = float(error[some].mean())
            yield {"skip": skip, "state": state, "error": mean, "rate": mean / config.ahead, "starts": int(some.sum())}


def train(config: Config, boards: FunnelBoards, skip: int) -> "Step":
    """Train a network to predict a ball's motion a step later."""
    generator = torch.Generator().manual_seed(config.seed + 1000 * skip)
    before, after = transitions(boards, skip)
    obstacles = padded_obstacles(boards)
    target = torch.cat([after.position - before.position, after.change], dim=1)
    step = Step(mlp(inputs(obstacles, before, slice(0, 1)).shape[1], 4, generator, config.hidden, 2), target.std(dim=0) + 1e-3)
    optimizer = torch.optim.Adam(step.network.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    for _ in range(config.steps):
        rows = torch.randint(len(target), (config.batch,), generator=generator)
        optimizer.zero_grad()
        predicted = step.network(inputs(obstacles, before, rows))
        (predicted - target[rows] / step.scale).square().mean().backward()
        optimizer.step()
        scheduler.step()
    return step


@dataclass(frozen=True, eq=False)
class Step:
    """A trained network and the scale of what it predicts: the change of position, and the last frame's change."""

    network: nn.Module
    scale: Float[Tensor, " 4"]

    @torch.no_grad()
    def __call__(self, obstacles: Float[Tensor, "boards height width"], motion: Motion) -> Motion:
        """Return the motion a step later."""
        predicted = self.network(inputs(obstacles, motion, slice(None))) * self.scale
        return Motion(motion.boards, motion.position + predicted[:, :2], predicted[:, 2:])


def padded_obstacles(boards: FunnelBoards) -> Float[Tensor, "boards height width"]:
    """Return how dark each pixel of the boards is, with as much white around them as a view may reach."""
    dark = 1 - torch.from_numpy(boards.images).float().mean(dim=1) / 255
    above, below, beside = VIEW
    return nn.functional.pad(dark, (beside, beside, above, below))


def inputs(
    obstacles: Float[Tensor, "boards height width"], motion: Motion, rows: slice | Int[Tensor, " b"]
) -> Float[Tensor, "b inputs"]:
    """Return what a network sees: the board around the ball, the ball's place within its pixel, and its last change."""
    position, change, boards = motion.position[rows], motion.change[rows], motion.boards[rows]
    above, below, beside = VIEW
    height, width = obstacles.shape[1] - above - below, obstacles.shape[2] - 2 * beside
    column = position[:, 0].floor().clamp(0, width - 1)
    row = position[:, 1].floor().clamp(0, height - 1)
    y = row.long()[:, None, None] + torch.arange(above + below + 1)[:, None]
    x = column.long()[:, None, None] + torch.arange(2 * beside + 1)
    seen = obstacles[boards[:, None, None], y, x].flatten(1)
    within = position - torch.stack([column, row], dim=1)
    return torch.cat([seen, within, change / 2], dim=1)


def transitions(boards: FunnelBoards, skip: int) -> tuple[Motion, Motion]:
    """Return the motions before and after a step, for every frame but the first that has a frame so far ahead."""
    before, after = [list[tuple[np.ndarray, ...]](), list[tuple[np.ndarray, ...]]()]
    for index, path in enumerate(boards.paths):
        where = to_pixels(boards.settings, path)
        change = np.diff(where, axis=0, prepend=where[:1])
        count = max(0, len(path) - 1 - skip)
        at = np.full(count, index)
        before.append((at, where[1 : 1 + count], change[1 : 1 + count]))
        after.append((at, where[1 + skip :], change[1 + skip :]))
    return _stacked(before), _stacked(after)


def _stacked(parts: list[tuple[np.ndarray, ...]]) -> Motion:
    boards, position, change = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Motion(torch.from_numpy(boards), torch.from_numpy(position).float(), torch.from_numpy(change).float())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (config.skips.index(int(number(row, "skip"))) + 1) / len(config.skips), f"skip {row['skip']}"


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the rate at which error accumulates against the step length (figure 2.1), for slow and for fast states."""
    figure, (axes,) = panels(
        caption="Mean error of the predicted position at a fixed time ahead, divided by it, against the frames in a step, "
        "on test boards. The ball moves less (bouncing and rolling) or more (falling) than its radius in the frame at the "
        "start. Median over seeds, with the band from the lowest to the highest seed; circles mark the least.",
        height=3.2,
    )
    for state, label in STATES.items():
        skips, lines = curves(where(rows, state=state), "skip", "rate")
        band(axes, skips, lines, label, COLOURS[_ROLES[state]])
        middle = np.median(lines, axis=0)
        least = int(middle.argmin())
        axes.plot(skips[least], middle[least], "o", color=COLOURS[_ROLES[state]], markersize=8, markerfacecolor="white")
    axes.set(xlabel="frames in a step", ylabel="error a frame, world units", xscale="log", ylim=(0, None))
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
