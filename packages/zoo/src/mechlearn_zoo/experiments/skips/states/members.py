"""Many small models of one world, trained side by side: each follows trajectories its own way and learns from its own pairs.

A pair is a state and the frame that its prediction was matched with. All members learn from equally many pairs a step; what
they evaluate to find pairs is counted for none. Index conventions: m a member of M, r a trajectory of R, t a frame of T, d a
number of a state, k an offset of at most H.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn

from mechlearn.nn.perceptrons import linear
from mechlearn.nn.stacks import Stack, StackedAdam
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.streams import same_stream

Family = Literal["fixed", "direct", "asi", "asi-exploration", "relative"]


class Member(NamedTuple):
    """One trial.

    Attributes:
        family: how frames are matched.
        reach: k of a fixed step, or the horizon H.
        rate: Adam's learning rate, which falls in a line to a fiftieth over the last three tenths of the steps.
        start: which initial weights.
    """

    family: Family
    reach: int
    rate: float
    start: int = 0


class Pairs(NamedTuple):
    """What trajectories gave: states (M, P, d), the frames matched with their predictions, and which of the P there are."""

    inputs: Float[Tensor, "m p d"]
    targets: Float[Tensor, "m p d"]
    there: Bool[Tensor, "m p"]
    skips: Int[Tensor, "m p"]


class Share(NamedTuple):
    """Probabilities of a moment in training: to go on from the true frame, and to take any frame of the window."""

    forcing: float
    exploring: float


class Budget(NamedTuple):
    """What every member of every family has.

    Attributes:
        steps: of Adam.
        pairs: that a step's loss is a mean of.
        rows: trajectories that are followed at a time.
        every: steps until that is done again.
        hidden: units of each of the two hidden layers.
    """

    steps: int
    pairs: int
    rows: int
    every: int
    hidden: int


class Models(nn.Module):
    """x + net(x), for every member."""

    def __init__(self, members: Sequence[Member], size: int, hidden: int, seed: int) -> None:
        super().__init__()
        self.members = tuple(members)
        self.net = Stack([network(size, hidden, Generator().manual_seed(seed + 2**20 * one.start)) for one in members])

    def forward(self, states: Float[Tensor, "m *n d"]) -> Float[Tensor, "m *n d"]:
        """Return the coming states."""
        return states + self.net(states)


class Alone(nn.Module):
    """One of the models by itself."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, states: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        """Return the coming states."""
        return states + self.net(states)


def network(size: int, hidden: int, generator: Generator) -> nn.Sequential:
    """Return two hidden layers of SiLU units."""
    sizes = (size, hidden, hidden, size)
    layers = [linear(one, two, "default", generator) for one, two in pairwise(sizes)]
    return nn.Sequential(layers[0], nn.SiLU(), layers[1], nn.SiLU(), layers[2])


def squares(frames: Float[Tensor, "r t d"], reach: int) -> Float[Tensor, " h"]:
    """Return the mean squared displacement by offset, 1 to ``reach``."""
    return torch.stack([(frames[:, k:] - frames[:, :-k]).square().mean() for k in range(1, reach + 1)])


@torch.no_grad()
def follow(
    models: Models, frames: Float[Tensor, "m r t d"], scale: Float[Tensor, " h"], share: Share, generator: Generator
) -> Pairs:
    """Go through trajectories, each member by its own skips (thesis algorithm 1, `mechlearn.skips.Greedy`, `Fixed`).

    Args:
        models: of M members.
        frames: the trajectories that each is given.
        scale: what a relative member divides errors by, for offsets of 1 to the longest reach.
        share: of true frames and of exploration.
        generator: of both, and of what is explored.
    """
    members, last = models.members, frames.shape[2] - 1
    reach = torch.tensor([one.reach for one in members])[:, None]
    fixed, explores, relative = (
        torch.tensor([one.family in some for one in members])[:, None]
        for some in (("fixed", "direct"), ("asi-exploration",), ("relative",))
    )
    offsets = torch.arange(1, int(reach.max()) + 1)
    weights = torch.where(relative, scale[: len(offsets)].reciprocal(), 1.0)[:, None]  # (M, 1, H)
    at = torch.zeros(frames.shape[:2], dtype=torch.long)
    state, found = frames[:, :, 0], list[tuple[Tensor, Tensor, Tensor, Tensor]]()
    while bool((going := at < last).any()):
        predicted, left = models(state), last - at
        step = reach.expand_as(at)
        if not bool(fixed.all()):
            index = (at[..., None] + offsets).clamp(max=last)
            window = _at(frames, index.flatten(1)).view(*index.shape, -1)
            errors = (predicted[:, :, None] - window).square().mean(-1) * weights
            errors.masked_fill_(offsets > torch.minimum(reach, left)[..., None], torch.inf)
            any_of = (torch.rand(at.shape, generator=generator) * torch.minimum(reach, left)).long() + 1
            taken = explores & (torch.rand(at.shape, generator=generator) < share.exploring)
            step = torch.where(fixed, step, torch.where(taken, any_of, errors.argmin(-1) + 1))
        going = going & (step <= left)
        after = torch.where(going, at + step, last)
        true = _at(frames, after)
        found.append((state, true, going, step))
        forced = torch.rand(at.shape, generator=generator) < share.forcing
        state, at = torch.where(forced[..., None], true, predicted), after
    return Pairs(*(torch.cat(parts, 1) for parts in zip(*found, strict=True)))


def _at(frames: Tensor, index: Tensor) -> Tensor:
    """Return frames (M, n, d) at (M, n) times, n a multiple of R: so many in a row of each trajectory."""
    members, rows, _, size = frames.shape
    each = index.view(members, rows, -1)
    return frames.gather(2, each[..., None].expand(*each.shape, size)).flatten(1, 2)


Watch = Callable[[Models, float], None]
"""What looks at models after a share of their training, and changes nothing of it."""


def train(
    members: Sequence[Member],
    frames: Float[Tensor, "r t d"],
    scale: Float[Tensor, " h"],
    budget: Budget,
    seed: int,
    watch: Watch | None = None,
) -> Models:
    """Train members on the same trajectories, each on its own budget.

    True frames are fed less and less over the first seven tenths of the steps, and exploration ends after four tenths.

    Args:
        members: M.
        frames: standardised.
        scale: as of `follow`.
        budget: of each.
        seed: of initial weights, which trajectories are followed, and what is drawn.
        watch: called after each step.
    """
    models, generator = Models(members, frames.shape[-1], budget.hidden, seed), same_stream(seed)
    rates = torch.tensor([one.rate for one in members], dtype=torch.float64)
    optimizer = StackedAdam(models.parameters(), rates)
    pairs: Pairs | None = None
    for step in range(budget.steps):
        done = step / budget.steps
        if pairs is None or step % budget.every == 0:
            rows = torch.randint(len(frames), (len(members), budget.rows), generator=generator)
            pairs = follow(models, frames[rows], scale, Share(max(0.0, 1 - done / 0.7), max(0.0, 1 - done / 0.4)), generator)
        some = torch.multinomial(pairs.there.float(), budget.pairs, replacement=True, generator=generator)[..., None]
        inputs, targets = (part.gather(1, some.expand(-1, -1, part.shape[-1])) for part in (pairs.inputs, pairs.targets))
        for group in optimizer.param_groups:
            group["lr"] = rates * min(1.0, 0.02 + 0.98 * (1 - done) / 0.3)
        descend(optimizer, (models(inputs) - targets).square().mean((1, 2)).sum())
        if watch is not None:
            watch(models, (step + 1) / budget.steps)
    return models


def mean_skips(models: Models, frames: Float[Tensor, "r t d"], scale: Float[Tensor, " h"]) -> list[float]:
    """Return each member's mean skip where it goes on from its own predictions."""
    every = frames.expand(len(models.members), *frames.shape)
    pairs = follow(models, every, scale, Share(0.0, 0.0), Generator())
    return ((pairs.skips * pairs.there).sum(1) / pairs.there.sum(1)).tolist()


@torch.no_grad()
def last_errors(models: Models, frames: Float[Tensor, "r t d"], evaluations: Sequence[int]) -> list[float]:
    """Return each member's mean squared error at the end of roll-outs of so many evaluations."""
    counts = torch.tensor(evaluations)
    state = frames[:, 0].expand(len(counts), *frames[:, 0].shape)
    for step in range(max(evaluations)):
        state = torch.where((step < counts)[:, None, None], models(state), state)
    return (state - frames[:, -1]).square().mean((1, 2)).tolist()
