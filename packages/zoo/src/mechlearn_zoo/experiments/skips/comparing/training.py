"""What the experiments on adaptive skip intervals share: the worlds as trajectories, the training loop, label accuracy."""

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
import torch
from annotated_types import Ge
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from claimlab import Positive, Saved, check_limits
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.schedules import Linear, StepDecay
from mechlearn.skips import Dynamics, Fixed, Greedy, Matched, displacement, match
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.networks import Architecture, frame_network
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.frames import funnel_board, room_runner
from mechlearn_zoo.tasks.frames.episodes import Episodes
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.room_runner import RoomRunnerSettings
from mechlearn_zoo.tasks.generation import progress_bar
from mechlearn_zoo.tasks.streams import same_stream

Task = Literal["funnel-board", "room-runner"]
Size = Literal["small", "half", "published"]
View = Literal["moving", "pixels"]
Split = Literal["train", "validation", "test"]
Method = Literal[
    "asi", "asi-no-exploration", "relative", "fixed-1", "fixed-2", "fixed-3", "fixed-4", "fixed-8", "fixed-16", "direct"
]
Unit = Literal["evaluations", "episodes"]
"""What a training may spend: model evaluations, or episodes looked at."""
Scale = Float[Tensor, " horizon"] | None


@dataclass(frozen=True)
class Settings:
    """What the experiments have in common: the world, the network and the training. `Config`s add to it."""

    seed: int = 0
    """First seed: of the episodes, the initial weights, the batches and the matching."""
    task: Task = "funnel-board"
    """Which world."""
    size: Size = "small"
    """Published pictures (126 x 75 and 64 x 64), the same worlds at half of the pixels (63 x 38 and 32 x 32), or small worlds
    (36 x 40 and 40 x 40)."""
    view: View = "moving"
    """Frames of what moves, with the rest given beside them; or of everything, in RGB, as in the thesis."""
    episodes: Annotated[int, Ge(1)] = 1000
    """Episodes to train on; the thesis has 500."""
    validation_episodes: Annotated[int, Ge(1)] = 100
    """Episodes for selecting settings and for the curves; the thesis has 500."""
    architecture: Architecture = "half"
    """The dynamics model: a cheap one, or the thesis's in its three variants."""
    kernels: Annotated[int, Ge(1)] = 32
    """Channels of the convolutions in between; the thesis has 32 or 48."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2): the model starts as the identity. The thesis has 0."""
    learning_rate: Positive = 3e-3
    """Adam's, for every method."""
    decay_steps: Annotated[int, Ge(1)] | None = None
    """Training steps after which the learning rate falls to a fifth, once; None never. The thesis has 7500 to 15,000."""
    decay_evaluations: Annotated[int, Ge(1)] | None = None
    """The same in model evaluations, for comparisons at equal evaluations, in which methods take different numbers of steps."""
    horizon: Annotated[int, Ge(1)] = 20
    """H: how many frames ahead ASI may match."""
    exploration_steps: Annotated[int, Ge(0)] = 600
    """K: training steps in which the probability of a random match falls from 1 to 0; 0 for no exploration."""
    sampling_steps: Annotated[int, Ge(1)] = 1200
    """Training steps in which the probability of feeding true frames falls from 1 to 0; the same for every method."""
    sampling_evaluations: Annotated[int, Ge(1)] | None = None
    """The same in model evaluations, in the place of steps: as large a share of every method's evaluations."""
    batch: Annotated[int, Ge(1)] = 2
    """Episodes of a training step."""
    clip: Positive = 1.0
    """Largest norm of a gradient; longer ones are shortened."""
    max_steps: Annotated[int, Ge(1)] = 100
    """Roll-outs that show no label by then count as wrong; no less than the longest episode, or short steps cannot arrive."""
    device: str = "cpu"
    """Where the model is trained: cpu, cuda, cuda:1, ...; random numbers are the CPU's everywhere."""
    cache: str = ""
    """Folder that keeps the episodes; mechlearn's folder in the user's cache if empty."""

    def __post_init__(self) -> None:
        check_limits(self)
        _check_device(self.device)
        if self.size != "small" and self.max_steps < 250:
            why = "an episode of the published size may have 251 frames, at half of the pixels, too"
            raise ValueError(f"max_steps should be at least 250: {why}. Found {self.max_steps}.")
        if self.batch > self.episodes:
            raise ValueError(f"batch should be at most {self.episodes}: it comes from the episodes. Found {self.batch}.")


def _check_device(name: str) -> None:
    try:
        torch.empty(0, device=name)
    except (AssertionError, RuntimeError) as error:
        raise ValueError(
            f"device should be one that this PyTorch can use. Found {name!r}. Take cpu, or a PyTorch built for the device."
        ) from error


PUBLISHED = Settings(
    size="published",
    view="pixels",
    episodes=500,
    validation_episodes=500,
    architecture="simple",
    kernels=48,
    learning_rate=5e-4,
    decay_steps=15_000,
    horizon=21,
    exploration_steps=15_000,
    sampling_steps=15_000,
    max_steps=251,
)
"""Thesis section 2.3.2 and appendix A: RGB, 500 episodes, seven convolutions."""


class World(NamedTuple):
    """Episodes as a model sees them: frames in bytes, what stands still beside them (or None), and the outcomes."""

    frames: Trajectories
    context: Float[Tensor, "n channels height width"] | None
    episodes: Episodes[FunnelBoardSettings] | Episodes[RoomRunnerSettings]

    def __len__(self) -> int:
        return len(self.frames)

    def context_of(self, rows: Int[Tensor, " b"]) -> Float[Tensor, "b channels height width"] | None:
        """Return what stands still beside some episodes."""
        return None if self.context is None else self.context[rows]


WorldAt = Callable[[int], World]


class Report(NamedTuple):
    """How far a training is, with averages since the last report."""

    evaluations: int
    steps: int
    epochs: float
    loss: float
    skip: float


@runtime_checkable
class Watch(Protocol):
    """What looks at a model while it trains, changes nothing of the training, and is kept with it."""

    def __call__(self, model: nn.Module, spent: int) -> None:
        """Look, if it is time, after so many model evaluations, or episodes."""
        ...

    def state_dict(self) -> dict[str, Any]: ...  # noqa: D102  # as modules have it
    def load_state_dict(self, state: Mapping[str, Any], /) -> None: ...  # noqa: D102


def make_world(settings: Settings, split: Split, count: int, perturbed: bool = False) -> World:
    """Draw episodes of a settings' seed, or read them from the cache, and picture them.

    Frames are of what moves, with the rest, 1 - colour, as context; or RGB of everything.

    Args:
        settings: of the experiment.
        split: which episodes: those of no two splits or seeds are the same.
        count: number of episodes.
        perturbed: the Funnel board without bounce.
    """
    folder = Path(settings.cache) if settings.cache else caching.default_folder()
    # Seeds below 3000 are left to those who look for settings.
    seed = 3000 + 3 * settings.seed + ("train", "validation", "test").index(split)
    bar = progress_bar(f"simulating {settings.task}, {split}") if sys.stderr.isatty() else None
    if settings.task == "funnel-board":
        board = funnel_board.PRESETS[settings.size]
        episodes = funnel_board.generate(count, seed, board.perturbed() if perturbed else board, cache=folder, on_progress=bar)
    else:
        episodes = room_runner.generate(count, seed, room_runner.PRESETS[settings.size], cache=folder, on_progress=bar)
    draw = episodes.moving if settings.view == "moving" else episodes.pixels
    frames = Trajectories.from_list([draw(index) for index in range(count)], scale=1 / 255).to(settings.device)
    context = 1 - torch.from_numpy(episodes.images).float() / 255 if settings.view == "moving" else None
    return World(frames, None if context is None else context.to(settings.device), episodes)


def make_model(settings: Settings, world: World) -> nn.Module:
    """Return the model with the initial weights of a settings' seed."""
    context = 0 if world.context is None else world.context.shape[1]
    generator = torch.Generator().manual_seed(settings.seed)
    channels = world.frames.frame_shape[0]
    network = frame_network(settings.architecture, channels, settings.kernels, settings.gain, context, generator)
    return network.to(settings.device)


WHOLE = 2**20
"""A step longer than any episode: it is matched with the last frame."""


def matching_of(settings: Settings, method: Method, step: int, scale: Scale = None) -> Greedy | Fixed:
    """Return how a method matches predictions at a training step; the scale is that of relative skips."""
    if method == "direct":
        return Fixed(WHOLE)
    if method.startswith("fixed"):
        return Fixed(int(method.removeprefix("fixed-")))
    explores = method != "asi-no-exploration" and settings.exploration_steps > 0
    return Greedy(settings.horizon, Linear(settings.exploration_steps)(step) if explores else 0.0, scale)


def scale_of(settings: Settings, method: Method, world: World) -> Scale:
    """Return how far frames lie apart by their distance in time, in the training episodes, for relative skips alone."""
    return displacement(world.frames, settings.horizon) if method == "relative" else None


def learning_rate_of(settings: Settings, step: int, spent: int) -> float:
    """Return the learning rate at a training step, before which so many model evaluations were spent."""
    rate = settings.learning_rate
    for after, found in ((settings.decay_steps, step), (settings.decay_evaluations, spent)):
        rate = rate if after is None else StepDecay(rate, after)(found)
    return rate


def teacher_forcing_of(settings: Settings, step: int, spent: int) -> float:
    """Return the probability of feeding true frames at a training step, before which so many model evaluations were spent."""
    if settings.sampling_evaluations is not None:
        return Linear(settings.sampling_evaluations)(spent)
    return Linear(settings.sampling_steps)(step)


class Batches(Iterator[Int[Tensor, " b"]]):
    """Positions of the episodes of each batch, without end, each epoch in a fresh order."""

    def __init__(self, count: int, batch: int, generator: Generator) -> None:
        self._count, self._batch, self._generator = count, batch, generator
        self._order = torch.zeros(0, dtype=torch.long)

    def __next__(self) -> Int[Tensor, " b"]:
        """Return the next step's."""
        if len(self._order) < self._batch:
            self._order = torch.randperm(self._count, generator=self._generator)
        rows, self._order = self._order[: self._batch], self._order[self._batch :]
        return rows

    def state_dict(self) -> dict[str, Tensor]:
        """Return what is left of the epoch."""
        return {"order": self._order}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on where `state_dict` was taken."""
        self._order = state["order"].clone()


def train(
    settings: Settings, method: Method, model: nn.Module, worlds: WorldAt, every: int, unit: Unit = "evaluations",
    saved: Saved | None = None, watch: Watch | None = None,
) -> Iterator[Report]:  # fmt: skip
    """Train a model in place, without end; report whenever so many model evaluations, or episodes, more have been spent.

    Args:
        settings: of the experiment.
        method: how predictions are matched.
        model: the model.
        worlds: from what has been spent, in that unit, to the world to train on, of as many episodes each.
        every: evaluations, or episodes, between reports.
        unit: which of the two.
        saved: where it goes on, in steps; the caller keeps its reports.
        watch: called after each step.
    """
    saved = saved or Saved()
    generator = same_stream(settings.seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    loss = BinaryCrossEntropyWithLogits()
    scale = scale_of(settings, method, worlds(0))
    order = Batches(settings.episodes, settings.batch, generator)
    saved.restore(model, optimizer, generator, order, counts := [0, 0], window := list[tuple[float, float]]())
    if watch is not None:
        saved.restore(watch)
    spent, seen = counts
    for step, rows in enumerate(order, start=saved.done):
        world = worlds(spent if unit == "evaluations" else seen)
        optimizer.param_groups[0]["lr"] = learning_rate_of(settings, step, spent)
        matched = match(
            Dynamics(model, loss, world.context_of(rows)),
            world.frames[rows],
            matching_of(settings, method, step, scale),
            teacher_forcing=teacher_forcing_of(settings, step, spent),
            generator=generator,
        )
        descend(optimizer, matched.loss, clip=settings.clip)
        window.append((float(matched.loss.detach()), mean_skip(matched)))
        before = spent if unit == "evaluations" else seen
        spent, seen = spent + matched.evaluations, seen + len(rows)
        counts[:] = spent, seen
        if watch is not None:
            watch(model, spent if unit == "evaluations" else seen)
        if (spent if unit == "evaluations" else seen) // every > before // every:
            mean = np.mean(window, axis=0)
            window.clear()
            yield Report(spent, step + 1, seen / settings.episodes, float(mean[0]), float(mean[1]))
        else:
            saved.keep(step + 1)


def mean_skip(matched: Matched) -> float:
    """Return how many frames a prediction skipped ahead on average."""
    return float(matched.skips.sum() / matched.steps.sum())
