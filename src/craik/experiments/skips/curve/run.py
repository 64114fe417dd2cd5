"""How long a step should be: the error that accumulates until a fixed time, against the length of a step, by state.

For each step length a network of its own learns where the ball will be that many frames later, from how it moves and from a
view of the board around it. Applied again and again, all reach the same time ahead: with many short steps, each of which adds
its error, or with few long ones, each of which is harder to predict. If there is a best length, it lies inside; and it may be
another one for a ball that falls than for one that bounces in a funnel.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from craik.experiments.skips.curve.ball_motion import Step, inputs, padded_obstacles, transitions
from craik.lab import Claim, Measurement, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, band, panels
from craik.lab.limits import at_least, not_empty, one_of, positive
from craik.nn.perceptrons import mlp
from craik.tasks import caching
from craik.tasks.frames import funnel_board
from craik.tasks.frames.episodes import Episodes
from craik.tasks.frames.funnel_board import FunnelBoardSettings

REPRODUCES = "thesis figure 2.1, a hypothesis there, and section 2.3.1"

STATES = {"slow": "bouncing and rolling", "fast": "falling"}
_ROLES = {"slow": "baseline", "fast": "ours"}


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
        one_of(self, tuple(funnel_board.PRESETS), "size")
        not_empty(self, "skips")
        at_least(self, 1, "skips", "ahead", "episodes", "test_episodes", "hidden", "steps", "batch")
        if any(self.ahead % skip for skip in self.skips):
            raise ValueError(f"skips should divide the {self.ahead} frames ahead. Found {self.skips}.")
        positive(self, "learning_rate")


PRESETS = {"quick": Config(), "paper": Config(size="published", episodes=5000, test_episodes=500, hidden=256, steps=20_000)}
SEEDS = {"quick": 3, "paper": 8}


def run(config: Config) -> Iterator[Row]:
    """Train a network for each step length; yield its error after one step and at the same time ahead, by state."""
    settings, folder = funnel_board.PRESETS[config.size], Path(config.cache) if config.cache else caching.default_folder()
    boards, test = (
        funnel_board.generate(count, 1000 + 2 * config.seed + offset, settings, cache=folder)
        for offset, count in enumerate((config.episodes, config.test_episodes))
    )
    for skip in config.skips:
        step = train(config, boards, skip)
        once, ahead = (errors(step, test, skip, times) for times in (1, config.ahead // skip))
        for state in STATES:
            mean = float(ahead[state].mean())
            row: Row = {"skip": skip, "state": state, "error": mean, "rate": mean / config.ahead, "starts": len(ahead[state])}
            yield row | {"step_rate": float(once[state].mean()) / skip}


def errors(step: Step, boards: Episodes[FunnelBoardSettings], skip: int, times: int) -> dict[str, Float[Tensor, " starts"]]:
    """Return how far off a ball is predicted after some steps, in world units, by the state that it starts from."""
    settings = boards.settings
    start, end = transitions(boards, skip * times)
    motion, obstacles = start, padded_obstacles(boards)
    for _ in range(times):
        motion = step(obstacles, motion)
    error = (motion.position - end.position).norm(dim=1) / settings.pixels_per_unit
    slow = start.change.norm(dim=1) < settings.ball_radius * settings.pixels_per_unit
    return {"slow": error[slow], "fast": error[~slow]}


def train(config: Config, boards: Episodes[FunnelBoardSettings], skip: int) -> Step:
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


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (config.skips.index(int(number(row, "skip"))) + 1) / len(config.skips), f"skip {row['skip']}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw the rate at which error accumulates against the step length (figure 2.1), for slow and for fast states."""
    figure, (left, right) = panels(
        2,
        caption="Mean error of the predicted position on test boards, divided by the time predicted: after one step (left, the "
        "axis of figure 2.1) and after as many steps as reach a fixed time ahead (right). The ball moves less (bouncing and "
        "rolling) or more (falling) than its radius in the frame at the start. Median over seeds, band from the lowest to the "
        "highest seed; circles mark the least.",
        height=3.2,
    )
    for axes, column, title in ((left, "step_rate", "after one step"), (right, "rate", "at a fixed time ahead")):
        _draw(axes, rows, column)
        axes.set(title=title, xlabel="frames in a step")
    left.set_ylabel("error a frame, world units")
    right.legend()
    return {"rate": figure}


def _draw(axes: Axes, rows: Rows, column: str) -> None:
    for state, label in STATES.items():
        skips, lines = rows.where(state=state).curves("skip", column)
        band(axes, skips, lines, label, COLOURS[_ROLES[state]])
        middle = np.median(lines, axis=0)
        least = int(middle.argmin())
        axes.plot(skips[least], middle[least], "o", color=COLOURS[_ROLES[state]], markersize=8, markerfacecolor="white")
    axes.set(xscale="log", ylim=(0, None))
    ticks = sorted({int(number(row, "skip")) for row in rows})
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()


def best_skips(rows: Rows, state: str) -> list[int]:
    """Return, for each seed, the skip with the least rate of error."""
    best: list[int] = []
    for seed in sorted({int(number(row, "seed")) for row in rows}):
        some = rows.where(state=state, seed=seed)
        best.append(int(number(min(some, key=lambda row: number(row, "rate")), "skip")))
    return best


def _inside(rows: Rows) -> Measurement | None:
    """How much lower the least rate is than at the nearer end, in shares: the state in which that is less."""
    if not rows:
        return None
    gains: list[list[float]] = []
    for state in STATES:
        found: list[float] = []
        for seed in sorted({int(number(row, "seed")) for row in rows}):
            rates = rows.where(state=state, seed=seed)["rate"]
            found.append(1 - min(rates) / min(rates[0], rates[-1]))
        gains.append(found)
    return bootstrap(min(gains, key=lambda each: float(np.median(each))))


def _ratio(rows: Rows) -> Measurement | None:
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
