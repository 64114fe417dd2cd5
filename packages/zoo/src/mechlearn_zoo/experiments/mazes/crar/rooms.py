"""Train an encoder of two rooms into two numbers with a model, with nothing to keep states apart, or with Q alone.

All arms see the same 5,000 random steps and get the same number of updates (`budget`). Where Q alone trains the encoder, a
model is then fitted to its states with as many updates again: more than the others have.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from scipy import stats  # pyright: ignore[reportMissingTypeStubs]
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from claimlab import Limited, Positive, Preset, Row, Share
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control.crar import Abstraction, Transitions, crar_losses
from mechlearn_zoo.tasks.finite.grids import Grid, two_rooms
from mechlearn_zoo.tasks.streams import same_stream

ARMS = ("crar", "no-spread", "q-only")
"""All losses but reward's and Q's; the same without keeping states apart; Q alone with a reward in one corner."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the walk, the weights and the batches."""
    size: Annotated[int, Ge(5)] = 8
    """Cells of a side, the wall around included."""
    walked: Annotated[int, Ge(2)] = 5000
    """Random steps to learn from."""
    updates: Annotated[int, Ge(1)] = 6000
    """Of every arm."""
    batch: Annotated[int, Ge(2)] = 64
    """Steps in an update."""
    learning_rate: Positive = 5e-4
    """Adam's at first."""
    decay: Share = 0.35
    """Share of it that is left at the end, exponentially."""
    numbers: Annotated[int, Ge(1)] = 2
    """Of the abstract state."""


PRESETS = {"rooms": Preset(Config(), seeds=6), "rooms-paper": Preset(Config(updates=50_000), seeds=5)}


class Walk(NamedTuple):
    """(n,) states, actions and next states of a random walk; (S, pixels) the pictures of all states."""

    states: Tensor
    actions: Tensor
    after: Tensor
    pictures: Tensor


def run(config: Config) -> Iterator[Row]:
    """Yield each arm's states and how well they can be predicted."""
    grid = two_rooms(config.size)
    walk = make_walk(grid, config)
    for arm in ARMS:
        own = train(arm, walk, config)
        yield from judged(arm, own, grid, walk, config)


def make_walk(grid: Grid, config: Config) -> Walk:
    """Walk at random; a picture has the walls at -1, free cells at 0 and the walker at 1."""
    generator = Generator().manual_seed(config.seed)
    actions = torch.randint(4, (config.walked,), generator=generator)
    states = [0]
    for action in actions.tolist():
        states.append(int(grid.next[states[-1], action]))
    pictures = torch.where(grid.free.flatten(), 0.0, -1.0).repeat(len(grid), 1)
    pictures[torch.arange(len(grid)), grid.cells[:, 0] * config.size + grid.cells[:, 1]] = 1
    return Walk(torch.tensor(states[:-1]), actions, torch.tensor(states[1:]), pictures)


class Networks(nn.Module):
    """The five networks, of the widths of the published code's labyrinth."""

    def __init__(self, pixels: int, numbers: int, generator: Generator) -> None:
        super().__init__()
        self.encoder = tanh_mlp((pixels, 200, 100, 50, 10, numbers), generator)
        self.q = tanh_mlp((numbers, 20, 50, 20, 4), generator)
        self.tau = tanh_mlp((numbers + 4, 10, 30, 30, 10, numbers), generator)
        self.rho, self.gamma = (tanh_mlp((numbers + 4, 10, 50, 20, 1), generator) for _ in range(2))

    def abstraction(self) -> Abstraction:
        """Return them as the losses want them."""
        return Abstraction(
            self.encoder,
            self.q,
            lambda x, a: self.tau(torch.cat([x, a], 1)),
            lambda x, a: self.rho(torch.cat([x, a], 1)).squeeze(1),
            lambda x, a: self.gamma(torch.cat([x, a], 1)).squeeze(1),
        )


def tanh_mlp(widths: tuple[int, ...], generator: Generator) -> nn.Sequential:
    """Return linear layers with tanh between them."""
    layers: list[nn.Module] = []
    for inputs, outputs in pairwise(widths):
        layers += [linear(inputs, outputs, "default", generator), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def train(arm: str, walk: Walk, config: Config) -> Networks:
    """Train one arm; Q alone gets a model of its frozen states afterwards."""
    generator = same_stream(config.seed)
    own, target = (Networks(walk.pictures.shape[1], config.numbers, Generator().manual_seed(config.seed)) for _ in range(2))
    names = {"crar": ("transition", "spread", "bound"), "no-spread": ("transition", "bound"), "q-only": ("q",)}[arm]
    fit(own, target, walk, names, config, generator)
    if arm == "q-only":
        own.encoder.requires_grad_(requires_grad=False)
        fit(own, target, walk, ("transition",), config, generator)
    return own


def fit(own: Networks, target: Networks, walk: Walk, names: tuple[str, ...], config: Config, generator: Generator) -> None:
    """Minimise some of the losses; the target follows every 500 updates."""
    optimizer = torch.optim.Adam([p for p in own.parameters() if p.requires_grad], lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, config.decay ** (1 / config.updates))
    goal = len(walk.pictures) - 1
    for update in range(config.updates):
        if update % 500 == 0:
            target.load_state_dict(own.state_dict())
        rows = torch.randint(len(walk.states), (config.batch,), generator=generator)
        reached = walk.after[rows] == goal
        batch = Transitions(
            walk.pictures[walk.states[rows]], walk.actions[rows], reached.float(), reached, walk.pictures[walk.after[rows]]
        )
        if "q" not in names:  # a world without reward, and without ends
            batch = batch._replace(rewards=torch.zeros(config.batch), terminated=torch.zeros_like(reached))
        losses = crar_losses(own.abstraction(), target.abstraction(), batch, generator)
        descend(optimizer, torch.stack([losses[name] for name in names]).sum(), scheduler)


def judged(arm: str, own: Networks, grid: Grid, walk: Walk, config: Config) -> Iterator[Row]:
    """Yield every state's place, and how often the nearest state to a prediction is the right one, one and five steps ahead."""
    x = own.encoder(walk.pictures).detach()
    for (row, column), place in zip(grid.cells.tolist(), x.tolist(), strict=True):
        yield {"kind": "state", "arm": arm, "row": row, "column": column, "x": place[0], "y": place[-1]}
    generator = same_stream(config.seed)
    everywhere = torch.arange(len(grid)).repeat_interleave(4)
    each = torch.arange(4).repeat(len(grid))
    one = identified(own.tau, x, grid, everywhere, each.unsqueeze(0))
    start = torch.randint(len(grid), (1000,), generator=generator)
    five = identified(own.tau, x, grid, start, torch.randint(4, (5, 1000), generator=generator))
    pairs = torch.triu_indices(len(grid), len(grid), 1)
    apart = torch.cdist(x, x)[pairs[0], pairs[1]]
    straight = torch.cdist(grid.cells.double(), grid.cells.double())[pairs[0], pairs[1]]
    yield {
        "kind": "final",
        "arm": arm,
        "one": one,
        "five": five,
        "walking": rank(apart, grid.distances[pairs[0], pairs[1]]),
        "straight": rank(apart, straight),
        "spread": float(x.std(0).norm()),
        "budget": config.updates * (2 if arm == "q-only" else 1),
    }


@torch.no_grad()
def identified(tau: Callable[[Tensor], Tensor], x: Tensor, grid: Grid, states: Tensor, actions: Tensor) -> float:
    """Return the share of walks, (steps, n) actions, whose predicted end is nearest to the true one of all states."""
    place = x[states]
    for step in actions:
        place = place + tau(torch.cat([place, one_hot(step, 4).float()], 1))
        states = grid.next[states, step]
    return float((torch.cdist(place, x).argmin(1) == states).double().mean())


def rank(first: Tensor, second: Tensor) -> float:
    """Return Spearman's rho."""
    return float(stats.spearmanr(first, second).statistic)  # pyright: ignore[reportAttributeAccessIssue]
