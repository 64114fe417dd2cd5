"""Learn from random steps in some mazes, plan in others: CRAR's networks and planner at four depths, beside Q alone.

All arms learn from the same steps and take as many updates (`budget`). Networks see a maze as three planes; the abstract state
is a picture, too, as in the paper's mazes, so that its model is convolutions.
"""

from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, number
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.mazes.crar.keys import Gathering, Keys, mazes_with_keys
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control.crar import Abstraction, Planner, Transitions, crar_losses
from mechlearn_zoo.tasks.streams import same_stream, stream

ARMS = ("crar", "q-only")
"""All losses; Q's alone in the same networks, which has nothing to plan with."""
CHANNELS, UNITS, FEATURES = 4, 48, 24
"""Planes of the abstract state, of the model's hidden layers, and of what is pooled for reward and discount."""

LOOKS = 8
"""How often an arm is looked at: each depth acts in half as many validation mazes as there are unseen ones."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 200
    """First seed: of the mazes, the steps, the weights and the batches."""
    size: Annotated[int, Ge(5)] = 7
    """Cells of a side, the wall around included."""
    keys: Annotated[int, Ge(1)] = 3
    """To gather."""
    mazes: Annotated[int, Ge(1)] = 3000
    """To learn from."""
    walked: Annotated[int, Ge(2)] = 200_000
    """Random steps to learn from, in episodes of `horizon` steps or fewer."""
    updates: Annotated[int, Ge(1)] = 2500
    """Of every arm."""
    batch: Annotated[int, Ge(2)] = 64
    """Steps in an update."""
    rate: Positive = 3e-3
    """Adam's at first; a tenth is left at the end."""
    discount: Share = 0.9
    """Gamma."""
    depths: Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(1)] = (0, 1, 3, 6)
    """Of planning; 0 asks Q alone."""
    breadth: Annotated[int, Ge(1)] = 2
    """Actions followed below the first."""
    tested: Annotated[int, Ge(1)] = 50
    """Unseen mazes."""
    horizon: Annotated[int, Ge(1)] = 25
    """Steps of an episode."""
    slip: Share = 0.1
    """Share of random actions in the test, so that nobody runs in circles for ever."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(
        Config(size=9, mazes=5000, walked=200_000, updates=100_000, rate=5e-4, depths=(0, 1, 3, 6, 10), tested=500, horizon=50),
        seeds=5,
    ),
}


class Walk(NamedTuple):
    """Random steps: (n,) observations' states before and after, actions, rewards and ends."""

    before: Gathering
    actions: Tensor
    rewards: Tensor
    terminated: Tensor
    after: Gathering


class Networks(nn.Module):
    """The five networks; the abstract state is CHANNELS planes of the maze's size, flattened for losses and planner."""

    def __init__(self, size: int, generator: Generator) -> None:
        super().__init__()
        self.shape = (CHANNELS, size, size)
        self.encoder = nn.Sequential(conv(3, CHANNELS, 1, generator), nn.Tanh())
        self.q = nn.Sequential(nn.Flatten(), *relu_mlp((CHANNELS * size * size, 128, 64, 4), generator))
        # Two hidden layers: with one, a step was told apart from others, but what several steps add up to was not.
        hidden = (conv(CHANNELS + 4, UNITS, 3, generator), nn.ReLU(), conv(UNITS, UNITS, 1, generator), nn.ReLU())
        self.tau = nn.Sequential(*hidden, conv(UNITS, CHANNELS, 1, generator))
        self.seen = nn.Sequential(conv(2 * CHANNELS, FEATURES, 1, generator), nn.ReLU())
        self.rho, self.gamma = (relu_mlp((FEATURES, 16, 1), generator) for _ in range(2))
        with torch.no_grad():  # a model that says at first that little changes
            next(iter(self.tau[-1].parameters())).mul_(0.1)

    def encode(self, observations: Tensor) -> Tensor:
        """Return (n, d)."""
        return self.encoder(observations).flatten(1)

    def value(self, x: Tensor) -> Tensor:
        """Return (n, 4)."""
        return self.q(x.unflatten(1, self.shape))

    def change(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n, d)."""
        planes = actions[:, :, None, None].expand(-1, -1, *self.shape[1:])
        return self.tau(torch.cat([x.unflatten(1, self.shape), planes], 1)).flatten(1)

    def reward(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n,)."""
        return self.paid(x, self.change(x, actions))

    def going(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n,)."""
        return self.left(x, self.change(x, actions))

    def paid(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the reward (n,) of a change (n, d)."""
        return self.rho(self._pooled(x, change)).squeeze(1)

    def left(self, x: Tensor, change: Tensor) -> Tensor:
        """Return the discount (n,) after a change (n, d)."""
        return self.gamma(self._pooled(x, change)).squeeze(1)

    def abstraction(self) -> Abstraction:
        """Return them as the losses want them."""
        return Abstraction(self.encode, self.value, self.change, self.reward, self.going)

    def _pooled(self, x: Tensor, change: Tensor) -> Tensor:
        """Return (n, FEATURES): max-pooled over cells: what can be told of a cell and its change."""
        # Sums over all cells are large and vary little: every unit that read them was always on or always off, and the discount
        # a line in the number of keys left, in place of 0 at the last one.
        return self.seen(torch.cat([x.unflatten(1, self.shape), change.unflatten(1, self.shape)], 1)).amax((2, 3))


class Steps:
    """The model as a planner asks it: reward, discount and change of the same steps in turn, the change computed once.

    Args:
        own: the networks.
        misled: tell reward and change the next action of the list in place of the one asked about.
    """

    def __init__(self, own: Networks, misled: bool = False) -> None:
        self._own, self._misled = own, misled
        self._x: Tensor | None = None
        self._known: list[tuple[Tensor, Tensor]] = []

    def change(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n, d)."""
        return self._of(x, self._told(actions))

    def reward(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n,)."""
        return self._own.paid(x, self._of(x, self._told(actions)))

    def going(self, x: Tensor, actions: Tensor) -> Tensor:
        """Return (n,)."""
        return self._own.left(x, self._of(x, actions))

    def _told(self, actions: Tensor) -> Tensor:
        return actions.roll(1, 1) if self._misled else actions

    def _of(self, x: Tensor, actions: Tensor) -> Tensor:
        if x is not self._x:
            self._x, self._known = x, []
        for asked, change in self._known:
            if torch.equal(asked, actions):
                return change
        change = self._own.change(x, actions)
        self._known.append((actions, change))
        return change


class Look(NamedTuple):
    """Networks after a share of a training."""

    share: float
    own: Networks


def conv(inputs: int, outputs: int, width: int, generator: Generator) -> nn.Conv2d:
    """Return a convolution that keeps the size."""
    layer = nn.Conv2d(inputs, outputs, width, padding=width // 2, device="meta").to_empty(device="cpu")
    nn.init.kaiming_normal_(layer.weight, generator=generator)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def run(config: Config) -> Iterator[Row]:
    """Yield returns on unseen mazes of every arm and depth."""
    generator = Generator().manual_seed(config.seed)
    seen, unseen = (
        mazes_with_keys(count, generator, config.size, config.keys, config.size - 4) for count in (config.mazes, config.tested)
    )
    walk = wander(seen, config, generator)
    yield {"kind": "reference", "arm": "random", "depth": None, **score(unseen, config, None)}
    fewest = unseen.shortest().double()
    paid = config.keys * (unseen.paid + unseen.cost) - unseen.cost * fewest
    yield {
        "kind": "reference",
        "arm": "shortest",
        "depth": None,
        "return": float(paid.mean()),
        "gathered": 1.0,
        "moves": float(fewest.mean()),
    }
    held = mazes_with_keys(-(-config.tested // 2), stream(config.seed, "validation"), config.size, config.keys, config.size - 4)
    for arm in ARMS:
        yield from judged(arm, train(arm, seen, walk, config), held, unseen, config)


def wander(world: Keys, config: Config, generator: Generator) -> Walk:
    """Act at random in episodes, one after the other, each in a maze drawn at random; all episodes at once."""
    count = -(-config.walked // config.horizon)
    state = world.begin(torch.randint(len(world), (count,), generator=generator))
    rows: list[tuple[Tensor, ...]] = []
    alive = torch.ones(count, dtype=torch.bool)
    for _ in range(config.horizon):
        actions = torch.randint(4, (count,), generator=generator)
        after, rewards, ended = world.step(state, actions)
        rows.append((*(part[alive] for part in (*state, actions, rewards, ended, *after)),))
        state, alive = after, alive & ~ended
    parts = [torch.cat(column)[: config.walked] for column in zip(*rows, strict=True)]
    return Walk(Gathering(*parts[:3]), parts[3], parts[4], parts[5], Gathering(*parts[6:]))


def train(arm: str, world: Keys, walk: Walk, config: Config) -> list[Look]:
    """Minimise the arm's losses; the target follows every 500 updates. Return the networks at each look, at the end last."""
    generator = same_stream(config.seed)
    own, target = (Networks(config.size, Generator().manual_seed(config.seed)) for _ in range(2))
    names = {"crar": ("transition", "reward", "discount", "q", "spread", "bound"), "q-only": ("q",)}[arm]
    optimizer = torch.optim.Adam(own.parameters(), lr=config.rate)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1 ** (1 / config.updates))
    gathered = (walk.rewards > 0).nonzero()[:, 0]
    stopping, looks = EarlyStopping(LOOKS), list[Look]()
    for update in range(config.updates):
        if update % 500 == 0:
            target.load_state_dict(own.state_dict())
        half = config.batch // 2
        # Few steps gather a key: half of a batch is drawn from those.
        rows = torch.cat(
            [
                torch.randint(len(walk.actions), (config.batch - half,), generator=generator),
                gathered[torch.randint(len(gathered), (half,), generator=generator)],
            ]
        )
        before, after = (Gathering(*(part[rows] for part in state)) for state in (walk.before, walk.after))
        batch = Transitions(
            world.observe(before), walk.actions[rows], walk.rewards[rows], walk.terminated[rows], world.observe(after)
        )
        losses = crar_losses(own.abstraction(), target.abstraction(), batch, generator, discount=config.discount)
        descend(optimizer, torch.stack([losses[name] for name in names]).sum(), scheduler)
        if stopping.due(share := (update + 1) / config.updates):
            looks.append(Look(share, deepcopy(own).requires_grad_(requires_grad=False)))
    return looks


def judged(arm: str, looks: list[Look], held: Keys, unseen: Keys, config: Config) -> Iterator[Row]:
    """Yield returns by depth, at the end of a training and where validation mazes stop it.

    For the arm with a model, the last row is of the deepest planner with a model that is told another action. It stops where
    that planner does: it is a control of the same networks.
    """
    budget: Row = {"budget": config.updates, "walked": config.walked}
    best = {depth: stopped(looks, held, depth, config) for depth in (config.depths if arm == "crar" else (0,))}
    for depth, look in best.items():
        yield {"kind": "depth", "arm": arm, "depth": depth, **both(looks[-1], look, depth, unseen, config), **budget}
    if arm == "crar":
        deepest = max(best)
        found = both(looks[-1], best[deepest], deepest, unseen, config, misled=True)
        yield {"kind": "depth", "arm": "misled", "depth": deepest, **found, **budget}


def stopped(looks: list[Look], held: Keys, depth: int, config: Config) -> Look:
    """Return the look whose networks, planned with so far, have the highest return on validation mazes."""
    stopping = EarlyStopping(LOOKS)
    for look in looks:
        slips = stream(config.seed, "validation slips")  # the same at every look
        found = score(held, config, planner(look.own, depth, config), slips)
        stopping.look(look.share, number(found, "return"), {})
    return next(look for look in looks if look.share == stopping.row["stopped_at"])


def both(end: Look, best: Look, depth: int, unseen: Keys, config: Config, misled: bool = False) -> Row:
    """Return what networks score on unseen mazes at the end of their training, and where it is stopped."""
    found = score(unseen, config, planner(end.own, depth, config, misled))
    then = found if best is end else score(unseen, config, planner(best.own, depth, config, misled))
    return {**found, **{f"stopped_{name}": value for name, value in then.items()}, "stopped_at": best.share}


def planner(own: Networks, depth: int, config: Config, misled: bool = False) -> Callable[[Tensor], Tensor]:
    """Return planned values of observations."""
    model = Steps(own, misled)
    plan = Planner(own.value, model.change, model.reward, model.going, depth, config.breadth)
    return lambda observations: plan(own.encode(observations))


@torch.no_grad()
def score(world: Keys, config: Config, plan: Callable[[Tensor], Tensor] | None, generator: Generator | None = None) -> Row:
    """Return the mean return of an episode in each maze, the share of keys gathered, and moves made.

    What is drawn comes of the generator, of one for the test if there is none.
    """
    generator = generator or same_stream(config.seed)
    state, alive = world.begin(torch.arange(len(world))), torch.ones(len(world), dtype=torch.bool)
    total, moves = torch.zeros(len(world)), torch.zeros(len(world))
    for _ in range(config.horizon):
        drawn = torch.randint(4, alive.shape, generator=generator)
        if plan is not None:
            slips = torch.rand(alive.shape, generator=generator) < config.slip
            wanted = drawn.clone()
            wanted[alive] = plan(world.observe(Gathering(*(part[alive] for part in state)))).argmax(1)
            drawn = torch.where(slips, drawn, wanted)
        after, rewards, ended = world.step(state, drawn)
        total += rewards * alive
        moves += alive
        state = Gathering(
            after.mazes, torch.where(alive, after.cells, state.cells), torch.where(alive[:, None], after.left, state.left)
        )
        alive = alive & ~ended
        if not bool(alive.any()):
            break
    gathered = float((~state.left).double().mean())
    return {"return": float(total.mean()), "gathered": gathered, "moves": float(moves.mean())}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is: by time, the model's arm is nearly all of it."""
    if row["kind"] == "reference":
        return 0.01, str(row["arm"])
    if row["arm"] == "q-only":
        return 1.0, "q-only"
    return (0.5 if row["arm"] == "crar" else 0.85), f"{row['arm']}, depth {row['depth']}"
