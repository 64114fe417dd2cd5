"""The value of a ball's start, read off roll-outs that skip, off roll-outs of fixed steps, and regressed without a model.

The ball gains a number when it lands, by the platform, and what comes later is worth less. All methods may evaluate their
network equally often. A model's second output is the discounted sum over its skip and the skip's own discount; the
regression's is the return.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from jaxtyping import Float
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.nn.perceptrons import mlp
from mechlearn.schedules import Linear
from mechlearn.skips import Cumulants, Dynamics, match, rollout
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.skips.comparing.boards import clean, small_boards
from mechlearn_zoo.experiments.skips.comparing.budgets import Spending, matching_at, rate_at
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.frames.funnel_board.places import Boards, Reader

Method = Literal["asi", "fixed-3", "fixed-6", "regression"]
Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the initial weights, the batches and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("asi", "fixed-3", "fixed-6", "regression")
    """What to compare."""
    discount: Share = 0.97
    """Gamma, for each frame."""
    weight: Annotated[float, Ge(0)] = 1.0
    """Of the squared error of sums and discounts beside the cross-entropy of frames."""
    steps: Count = 500
    """Gradient steps of about `evaluations` each."""
    evaluations: Count = 128
    """Model evaluations of a gradient step, on average; what a method may spend is this times the steps."""
    horizon: Count = 20
    """H of ASI."""
    exploration: Share = 0.4
    """Share of the evaluations in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0."""
    hidden: Count = 128
    """Units in each of the two hidden layers of every network."""
    learning_rate: Positive = 3e-3
    """Adam's, falling linearly to a fiftieth over the last three tenths of the evaluations."""
    episodes: Count = 1000
    """Boards to train on."""
    test_episodes: Count = 300
    """Boards whose starts are valued."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(steps=5000), seeds=8)}


class Data(NamedTuple):
    """Episodes with their layouts, what is gained at each transition, and the return from each frame but the last."""

    frames: Trajectories
    layouts: Float[Tensor, "batch layout"]
    rewards: Trajectories
    returns: Trajectories

    def some(self, rows: Tensor) -> "Data":
        """Return some episodes."""
        return Data(self.frames[rows], self.layouts[rows], self.rewards[rows], self.returns[rows])


Valuing = Callable[[Data], tuple[Tensor, float]]
"""From episodes to the values of their starts, and to the share of roll-outs that landed."""

Look = Callable[[float, Valuing], None]
"""Called at each step of a training with the share that is over and the values so far."""


class Drawn(NamedTuple):
    """Episodes to train on, to stop by and to test on."""

    train: Data
    validation: Data
    test: Data


class Simulator(nn.Module):
    """Codes and layout to logits of codes, and, by a network of its own, to the sum over the skip and its discount."""

    def __init__(self, codes: int, layout: int, config: Config, generator: Generator) -> None:
        super().__init__()
        self.frames = mlp(codes + layout, codes, generator, config.hidden, 2, init="default")
        self.gains = mlp(codes + layout, 2, generator, config.hidden, 2, init="default")

    def forward(self, frames: Tensor, layouts: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits, and sums and discounts, which lie in [0, 1] here."""
        seen = torch.cat([frames, layouts], dim=1)
        return self.frames(seen) + 6.0 * (frames - 0.5), self.gains(seen).sigmoid()


def run(config: Config) -> Iterator[Row]:
    """Train every method and yield how well it values the starts of test episodes."""
    *drawn, reads = small_boards(100_000, config.seed, config.episodes, config.test_episodes, config.cache)
    data = Drawn(*(valued(boards, reads, config.discount) for boards in drawn))
    for method in config.methods:
        yield {"method": method} | computed(method, _compared, config, method, data, reads)


def _compared(config: Config, method: Method, data: Drawn, reads: Reader) -> Row:
    stopping = EarlyStopping(best="lowest")

    def look(share: float, valuing: Valuing) -> None:
        if stopping.due(share):
            stopping.look(min(share, 1.0), error(valuing, data.validation), {"error": error(valuing, data.test)})

    if method == "regression":
        valuing, report = _regressed(config, data.train, look)
    else:
        valuing, report = _rolled(config, method, data.train, reads, look)
    return {"error": error(valuing, data.test), **report, "landed": valuing(data.test)[1], **stopping.row}


def error(valuing: Valuing, data: Data) -> float:
    """Return the mean squared error of starts' values over the variance of the true ones."""
    true = data.returns.first().double()
    return float((valuing(data)[0].double() - true).square().mean() / true.var(unbiased=False))


def valued(boards: Boards, reads: Reader, discount: float) -> Data:
    """Return episodes that end where the ball is first read as landed, with the platform's share gained on the way there."""
    episodes = clean(boards, reads)
    frames: list[Tensor] = []
    rewards: list[Tensor] = []
    returns: list[Tensor] = []
    for own, label in zip(episodes.frames, boards.labels.tolist(), strict=True):
        frames.append(own[: int(reads.landed(own).int().argmax()) + 1])
        gained = torch.zeros(len(frames[-1]) - 1)
        gained[-1] = (label + 1) / reads.platforms
        rewards.append(gained)
        returns.append(gained[-1] * discount ** torch.arange(len(gained) - 1, -1, -1))
    return Data(
        Trajectories.from_list(frames), episodes.layouts, Trajectories.from_list(rewards), Trajectories.from_list(returns)
    )


def _rolled(config: Config, method: Method, train: Data, reads: Reader, look: Look) -> tuple[Valuing, Row]:
    """Train a model of frames and cumulants, and return what says what its roll-outs from first frames gain."""
    generator = Generator().manual_seed(config.seed)
    model = Simulator(train.frames.frame_shape[0], train.layouts.shape[1], config, generator)
    optimizer, loss = torch.optim.Adam(model.parameters(), lr=config.learning_rate), BinaryCrossEntropyWithLogits()
    guess = float(train.frames.lengths.float().mean())
    spending, skip = Spending(config.steps * config.evaluations, config.evaluations, guess), 0.0
    forcing = Linear(max(1, round(config.sampling * spending.budget)))

    def valuing(data: Data) -> tuple[Tensor, float]:
        dynamics = Dynamics(model, loss, data.layouts, cumulants=Cumulants(None, config.discount))
        found = rollout(dynamics, data.frames.first(), max_steps=data.frames.time, stop=reads.landed)
        assert found.gained is not None  # the dynamics have cumulants
        return found.gained.sums[:, -1], float(found.stopped.double().mean())

    while spending.goes_on:
        rows, share = spending.draw(len(train.layouts), generator), spending.share
        batch = train.some(rows)
        cumulants = Cumulants(batch.rewards, config.discount, weight=config.weight)
        matched = match(
            Dynamics(model, loss, batch.layouts, cumulants=cumulants),
            batch.frames,
            matching_at(method, share, config.horizon, config.exploration),
            teacher_forcing=forcing(spending.spent),
            generator=generator,
            average="steps",
        )
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, share)
        descend(optimizer, matched.loss, clip=1.0)
        spending.add(matched.evaluations, rows)
        skip = matched.mean_skip
        look(spending.share, valuing)
    return valuing, {"spent": spending.spent, "steps": spending.steps, "skip": skip}


def _regressed(config: Config, train: Data, look: Look) -> tuple[Valuing, Row]:
    """Train a network from frames to returns (Monte Carlo), and return what says its values of first frames."""
    generator = Generator().manual_seed(config.seed)
    net = mlp(train.frames.frame_shape[0] + train.layouts.shape[1], 1, generator, config.hidden, 2, init="default")
    optimizer = torch.optim.Adam(net.parameters(), lr=config.learning_rate)
    rows, times = train.returns.mask.nonzero().unbind(1)

    def valuing(data: Data) -> tuple[Tensor, float]:
        with torch.no_grad():
            return net(torch.cat([data.frames.first(), data.layouts], dim=1))[:, 0], 1.0

    for step in range(config.steps):
        some = torch.randint(len(rows), (config.evaluations,), generator=generator)
        b, t = rows[some], times[some]
        values = net(torch.cat([train.frames.at(b, t), train.layouts[b]], dim=1))[:, 0]
        squared = (values - train.returns.at(b, t)).square().mean()
        optimizer.param_groups[0]["lr"] = rate_at(config.learning_rate, step / config.steps)
        descend(optimizer, squared, clip=1.0)
        look((step + 1) / config.steps, valuing)
    return valuing, {"spent": config.steps * config.evaluations, "steps": config.steps, "skip": 0.0}
