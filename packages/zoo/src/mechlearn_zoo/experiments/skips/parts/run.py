"""Two balls on one board, matched as one frame or each at its own distances, by the same network on equal budgets.

The network moves one ball. Matched as one frame it is applied to both balls and both predictions are compared with one frame;
matched as parts each ball's prediction is compared with frames of its own. Nothing else differs: a ball's evaluation counts as
one.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_args

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed, number
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.nn.perceptrons import mlp
from mechlearn.schedules import Linear
from mechlearn.skips import Cumulants, Dynamics, Part, Parts, match, match_parts, rollout, rollout_parts
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, falling, matching_at
from mechlearn_zoo.experiments.skips.parts.two_balls import Falls, World, draw
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.funnel_board.places import Places, Reader
from mechlearn_zoo.tasks.streams import stream

Method = Literal["parts", "whole", "fixed-6"]
BALLS = ("first", "second")
LOOKS = 10
"""How often a training is looked at: on as many validation boards as test boards."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the initial weights, the batches and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("parts", "whole", "fixed-6")
    """What to compare; fixed steps are of the whole frame, which for them is the same."""
    steps: Annotated[int, Ge(1)] = 500
    """Gradient steps of about `evaluations` each."""
    evaluations: Annotated[int, Ge(1)] = 256
    """Evaluations of the network, one a ball, of a gradient step, on average."""
    horizon: Annotated[int, Ge(1)] = 20
    """H of ASI."""
    exploration: Share = 0.4
    """Share of the evaluations in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0, for every method."""
    hidden: Annotated[int, Ge(1)] = 128
    """Units in each of the two hidden layers."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the logits, gain * (x - 1/2)."""
    clock: Annotated[float, Ge(0)] = 1e-3
    """Weight of the squared error of the predicted skip, in frames squared, beside the cross-entropy."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    episodes: Annotated[int, Ge(1)] = 1000
    """Boards to train on."""
    test_episodes: Annotated[int, Ge(1)] = 300
    """Boards that roll-outs are scored on."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(steps=5000), seeds=8)}


class Network(nn.Module):
    """One ball's codes and the layout to logits of its codes and to how many frames later that is."""

    def __init__(self, codes: int, layout: int, config: Config, generator: Generator) -> None:
        super().__init__()
        self.codes, self.gain = codes, config.gain
        self.net = mlp(codes + layout, codes + 1, generator, config.hidden, 2, init="default")

    def forward(self, frames: Tensor, layouts: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits and durations."""
        out = self.net(torch.cat([frames, layouts], dim=1))
        return out[:, :-1] + self.gain * (frames - 0.5), 1 + out[:, -1].abs()

    def both(self, frames: Tensor, layouts: Tensor) -> tuple[Tensor, Tensor]:
        """Return the same of frames of two balls; one duration, the mean of theirs."""
        made, durations = self(torch.cat(frames.split(self.codes, dim=1)), layouts.repeat(2, 1))
        return torch.cat(made.chunk(2), dim=1), torch.stack(durations.chunk(2)).mean(0)


class Matches(NamedTuple):
    """What a training step needs of a match."""

    loss: Tensor
    evaluations: int
    skip: float


def run(config: Config) -> Iterator[Row]:
    """Train every method in both worlds and yield how its roll-outs end."""
    board = funnel_board.PRESETS["small"]
    for world in get_args(World):
        seed, apart = 80_000 + 2 * config.seed, stream(config.seed, "validation").initial_seed()
        wanted = ((config.episodes, seed), (config.test_episodes, apart), (config.test_episodes, seed + 1))
        train, *judged = (draw(board, world, count, own) for count, own in wanted)
        reads = Reader(Places.of(board), train.floor + 0.3, board.geometry.platforms)
        for method in config.methods:
            found = computed(f"{world}, {method}", _compared, config, method, train, judged, reads)
            yield {"world": world, "method": method} | found


def _compared(config: Config, method: Method, train: Falls, judged: list[Falls], reads: Reader) -> Row:
    stopping, (validation, test) = EarlyStopping(LOOKS), judged

    def look(share: float, network: Network) -> None:
        if stopping.due(share):
            right = number(_scores(method, network, validation, reads), "accuracy")
            stopping.look(min(share, 1.0), right, _scores(method, network, test, reads))

    network, report = _trained(config, method, train, look)
    joined: Row = {"joined": _joined(network, test, reads)} if method == "parts" else {}
    return {**report, **_scores(method, network, test, reads), **joined, **stopping.row}


def _parts(network: Network, layouts: Tensor, cumulants: Cumulants) -> Parts:
    dynamics = Dynamics(network, BinaryCrossEntropyWithLogits(), layouts, cumulants=cumulants)
    return Parts({ball: Part(range(k * network.codes, (k + 1) * network.codes), dynamics) for k, ball in enumerate(BALLS)})


def _matched(config: Config, method: Method, network: Network, data: Falls, share: float, generator: Generator) -> Matches:
    clock = Cumulants.clock(data.frames, config.clock)
    # A ball at rest: the first of equals would be the next frame.
    matching = matching_at(method, share, config.horizon, config.exploration, ties="last")
    forcing = falling(share, config.sampling)
    if method == "parts":
        parts = _parts(network, data.layouts, clock)
        found = match_parts(parts, data.frames, matching, teacher_forcing=forcing, generator=generator, average="steps")
        skips = [each.mean_skip for each in found.parts.values()]
        return Matches(found.loss, found.evaluations, sum(skips) / len(skips))
    whole = Dynamics(network.both, BinaryCrossEntropyWithLogits(), data.layouts, cumulants=clock)
    one = match(whole, data.frames, matching, teacher_forcing=forcing, generator=generator, average="steps")
    return Matches(one.loss, 2 * one.evaluations, one.mean_skip)


def _trained(config: Config, method: Method, train: Falls, look: Callable[[float, Network], None]) -> tuple[Network, Row]:
    """Train until the budget is spent, with a look after each step; a batch has as many episodes as its evaluations allow."""
    generator = Generator().manual_seed(config.seed)
    network = Network(train.frames.frame_shape[0] // 2, train.layouts.shape[1], config, generator)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    guess = 2 * float(train.frames.lengths.float().mean())
    spending, skip = Spending(config.steps * config.evaluations, config.evaluations, guess), 0.0
    rate = Linear(round(0.3 * spending.budget), start=1.0, end=0.02)
    while spending.goes_on:
        rows = spending.draw(len(train.layouts), generator)
        batch = Falls(train.frames[rows], train.layouts[rows], train.labels[rows], train.floor)
        matched = _matched(config, method, network, batch, spending.share, generator)
        optimizer.param_groups[0]["lr"] = config.learning_rate * rate(max(0, spending.spent - round(0.7 * spending.budget)))
        descend(optimizer, matched.loss, clip=1.0)
        spending.add(matched.evaluations, rows)
        skip = matched.skip
        look(spending.share, network)
    return network, {"spent": spending.spent, "steps": spending.steps, "skip": skip}


def _scores(method: Method, network: Network, test: Falls, reads: Reader) -> Row:
    """Roll out until both balls have landed, as the method matched them; an episode is right where both balls land right."""
    first, codes, steps = test.frames.first(), network.codes, test.frames.time
    if method == "parts":
        dynamics = Dynamics(network, BinaryCrossEntropyWithLogits(), test.layouts, cumulants=Cumulants(None))
        rolls = [rollout(dynamics, each, max_steps=steps, stop=reads.landed) for each in first.split(codes, dim=1)]
        shown = [_shown(each.trajectories, reads) for each in rolls]
        evaluations = sum(each.evaluations for each in rolls)
    else:
        whole = Dynamics(network.both, BinaryCrossEntropyWithLogits(), test.layouts, cumulants=Cumulants(None))
        rolled = rollout(whole, first, max_steps=steps, stop=lambda frames: _all_landed(frames, codes, reads))
        balls = rolled.trajectories.frames.split(codes, dim=2)
        shown = [_shown(Trajectories(each, rolled.trajectories.lengths), reads) for each in balls]
        evaluations = 2 * rolled.evaluations
    return _right(shown, test) | {"rollout": evaluations / len(first)}


def _joined(network: Network, test: Falls, reads: Reader) -> float:
    """Return how often whole frames, joined from parts by their clocks, show both outcomes."""
    parts = _parts(network, test.layouts, Cumulants(None))
    joined = rollout_parts(parts, test.frames.first(), frames=test.frames.time, between="hold").trajectories
    shown = [_shown(Trajectories(each, joined.lengths), reads) for each in joined.frames.split(network.codes, dim=2)]
    return number(_right(shown, test), "accuracy")


def _all_landed(frames: Tensor, codes: int, reads: Reader) -> Tensor:
    return torch.stack([reads.landed(each) for each in frames.split(codes, dim=1)]).all(0)


def _shown(rolled: Trajectories, reads: Reader) -> Tensor:
    """Return the platform below the first frame in which each ball has landed; -1 where it never does."""
    landed = reads.landed(rolled.frames.flatten(0, 1)).reshape(rolled.frames.shape[:2]) & rolled.mask
    at = landed.int().argmax(1)
    platforms = reads.platform(rolled.frames[torch.arange(len(rolled)), at])
    return torch.where(landed.any(1), platforms, -1)


def _right(shown: list[Tensor], test: Falls) -> Row:
    both = torch.stack(shown, dim=1)
    right, landed = (both == test.labels).all(1), (both >= 0).all(1)
    return {"accuracy": float(right.double().mean()), "landed": float(landed.double().mean())}
