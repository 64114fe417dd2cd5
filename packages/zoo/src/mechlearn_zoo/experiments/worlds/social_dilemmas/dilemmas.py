"""Two social dilemmas, many worlds at a time: Harvest, where apples come of apples, and Cleanup, where they need a clean river.

Ours, after the worlds of Hughes et al. 2018 (https://arxiv.org/abs/1803.08884) in which Jaques et al. 2019
(https://arxiv.org/abs/1810.08647) pay for influence; the numbers are those of the code that Jaques et al. name
(eugenevinitsky/sequential_social_dilemma_games). An apple is worth 1 to whoever steps on it. In Harvest an apple grows again
at a rate that rises with the apples nearby and is 0 where all are taken. In Cleanup apples grow at a rate that falls with the
share of the river that waste covers, waste comes by and by, and who takes it away eats nothing meanwhile.

Left out: turning, the beam that tags, and the beam that cleans; an agent cleans what is around it. Maps are made, not copied.

Index conventions: b worlds, n agents; a cell is row * width + column, walls included; actions 0 stay, 1 up, 2 down, 3 left,
4 right, and in Cleanup 5 clean.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_kind, check_not_negative, check_share, check_tensor, check_whole

MOVES = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))
"""What each action adds to (row, column); cleaning is staying."""
CLEAN = len(MOVES)
"""The action that takes waste away."""


@dataclass(frozen=True)
class Harvest:
    """How a Harvest is: patches of apples in a walled field.

    Args:
        height: rows, both walls included.
        width: columns, both walls included.
        agents: how many.
        view: cells that an agent sees to each side.
        patch: how far a patch goes from its middle, counted along rows and columns; two cells lie between patches.
        radius: within which apples count as near, by straight distance.
        regrowth: probability in a step by the number of apples near, the last one for as many and more.

    Raises:
        TypeError: no whole numbers, or rates that are no tuple.
        ValueError: no room for a patch or for all agents, rates that are no probabilities.
    """

    height: int = 11
    width: int = 11
    agents: int = 3
    view: int = 3
    patch: int = 1
    radius: float = 2.0
    regrowth: tuple[float, ...] = (0.0, 0.005, 0.02, 0.05)

    def __post_init__(self) -> None:
        _check_field(self.height, self.width, self.agents, self.view)
        check_whole("patch", self.patch)
        check_not_negative("radius", self.radius)
        _check_room("a patch", min(self.height, self.width) - 2, 2 * self.patch + 1)
        check_kind("regrowth", self.regrowth, tuple, "a tuple of probabilities", way_out="Write tuple(rates).")
        if not self.regrowth:
            raise ValueError("`regrowth` should hold a probability or more. Found none. (0.05,) is one that never ends.")
        for near, rate in enumerate(self.regrowth):
            check_share(f"regrowth[{near}]", rate)

    @property
    def actions(self) -> int:
        """Of each agent: it stays or walks."""
        return len(MOVES)

    @property
    def planes(self) -> int:
        """Of a view: apples, agents, walls."""
        return 3


@dataclass(frozen=True)
class Cleanup:
    """How a Cleanup is: a river along the left wall, an orchard along the right one, as wide, and grass between.

    Args:
        height: rows, both walls included.
        width: columns, both walls included.
        agents: how many.
        view: cells that an agent sees to each side.
        river: columns of the river, and of the orchard.
        reach: how far around it, rows and columns alike, an agent cleans.
        waste: probability that a clean cell of the river gets waste in a step, while the river is not depleted.
        apples: probability that an apple grows on a cell in a step where the river has no waste.
        depleted: share of waste from which on nothing grows, and no more waste comes; worlds begin there.
        restored: share of waste up to which apples grow at the full rate; between, the rate is on a straight line.

    Raises:
        TypeError: no whole numbers.
        ValueError: no room for river, orchard and all agents, no probabilities, a restored river with more waste than a
            depleted one.
    """

    height: int = 7
    width: int = 11
    agents: int = 3
    view: int = 3
    river: int = 3
    reach: int = 1
    waste: float = 0.5
    apples: float = 0.05
    depleted: float = 0.4
    restored: float = 0.0

    def __post_init__(self) -> None:
        _check_field(self.height, self.width, self.agents, self.view)
        check_whole("river", self.river, least=1)
        check_whole("reach", self.reach)
        _check_room("river and orchard", self.width - 2, 2 * self.river)
        for name in ("waste", "apples", "depleted", "restored"):
            check_share(name, getattr(self, name))
        if not self.restored < self.depleted:
            raise ValueError(
                f"`restored` should be below `depleted`: apples grow less and less between. Found {self.restored} and "
                f"{self.depleted}. The published ones are 0 and 0.4."
            )

    @property
    def actions(self) -> int:
        """Of each agent: it stays, walks or cleans."""
        return len(MOVES) + 1

    @property
    def planes(self) -> int:
        """Of a view: apples, agents, walls, waste, river."""
        return 5


World = Harvest | Cleanup


class State(NamedTuple):
    """Worlds as they are.

    Attributes:
        places: (b, n) the cell of each agent; no two share one.
        apples: (b, cells) where there is an apple.
        waste: (b, cells) where there is waste.
    """

    places: Int[Tensor, "b n"]
    apples: Bool[Tensor, "b cells"]
    waste: Bool[Tensor, "b cells"]


class Step(NamedTuple):
    """What a step makes of worlds.

    Attributes:
        state: after it.
        rewards: (b, n) apples that each agent ate, 0 or 1.
        cleaned: (b,) cells from which waste was taken.
    """

    state: State
    rewards: Float[Tensor, "b n"]
    cleaned: Int[Tensor, " b"]


class Layout(NamedTuple):
    """What stays in a world.

    Attributes:
        walls: (cells,) where nobody goes.
        orchard: (s,) cells where apples grow.
        river: (r,) cells where waste comes.
        starts: (k,) cells where agents begin.
        onward: (cells, actions) where an action leads, walls regarded.
        around: (cells, v * v) what is seen from a cell, row by row; the number of cells stands for what lies outside.
        near: (s, s) 1 where two cells of the orchard are near each other, 0 on the diagonal.
        cleaned: (cells, r) True where cleaning at a cell reaches one of the river.
    """

    walls: Bool[Tensor, " cells"]
    orchard: Int[Tensor, " s"]
    river: Int[Tensor, " r"]
    starts: Int[Tensor, " k"]
    onward: Int[Tensor, "cells actions"]
    around: Int[Tensor, "cells vv"]
    near: Float[Tensor, "s s"]
    cleaned: Bool[Tensor, "cells r"]


@cache
def layout(world: World) -> Layout:
    """Return what stays in a world; made once."""
    check_kind("world", world, (Harvest, Cleanup), "a Harvest or a Cleanup")
    rows, columns = torch.meshgrid(torch.arange(world.height), torch.arange(world.width), indexing="ij")
    walls = (rows == 0) | (rows == world.height - 1) | (columns == 0) | (columns == world.width - 1)
    if isinstance(world, Harvest):
        period, middle = 2 * world.patch + 3, world.patch + 1
        far = [((one - middle + period // 2) % period - period // 2).abs() for one in (rows, columns)]
        grows, flows = (far[0] + far[1] <= world.patch) & ~walls, torch.zeros_like(walls)
        starts = ~walls
    else:
        grows, flows = (columns >= world.width - 1 - world.river) & ~walls, (columns <= world.river) & ~walls
        starts = ~walls & ~grows
    orchard, river = (one.flatten().nonzero().flatten() for one in (grows, flows))
    flat = torch.stack([rows, columns], -1).flatten(0, 1)
    between = (flat[orchard][:, None] - flat[orchard]).square().sum(-1)
    near = (between > 0) & (between <= (world.radius**2 if isinstance(world, Harvest) else 0))
    apart = (flat[:, None] - flat[river]).abs().amax(-1)
    return Layout(
        walls.flatten(),
        orchard,
        river,
        starts.flatten().nonzero().flatten(),
        _onward(world, flat, walls),
        _around(world, flat),
        near.float(),
        apart <= (world.reach if isinstance(world, Cleanup) else -1),
    )


def begin(world: World, count: int, generator: Generator) -> State:
    """Return worlds at their beginning: all apples in Harvest; in Cleanup no apple, and waste just so that none grows.

    Args:
        world: its sizes.
        count: b, how many.
        generator: of where agents stand, and of where the waste is.
    """
    still = layout(world)
    check_whole("count", count, least=1)
    check_generator("generator", generator)
    drawn = torch.rand(count, len(still.starts), generator=generator)
    places = still.starts[drawn.argsort(-1)[:, : world.agents]]
    apples, waste = (torch.zeros(count, len(still.walls), dtype=torch.bool) for _ in range(2))
    if isinstance(world, Harvest):
        apples[:, still.orchard] = True
        return State(places, apples, waste)
    drawn = torch.rand(count, len(still.river), generator=generator)
    least = -int(-(world.depleted * len(still.river)) // 1)  # at least the depleted share
    return State(places, apples, waste.scatter(1, still.river[drawn.argsort(-1)[:, :least]], True))


def step(world: World, state: State, actions: Int[Tensor, "b n"], generator: Generator) -> Step:
    """Return worlds a step on: all move, in an order drawn for each world; eat; clean; then apples and waste come.

    An agent stays where a wall or another agent is in its way. Three draws of numbers in [0, 1) are made, in this order: (b, n)
    who moves first, the smallest; (b, s) an apple grows where the number is below the rate; in Cleanup, (b, 1 + r) waste comes
    if the first is below the probability, to the clean cell with the smallest of the others. Nothing grows under an agent.

    Args:
        world: its sizes.
        state: before.
        actions: of each agent.
        generator: of all that is drawn.
    """
    still = layout(world)
    check_generator("generator", generator)
    _check_actions(world, state, actions)
    places = _moved(still, state.places, actions, generator)
    eaten = state.apples.gather(1, places)
    apples, waste = state.apples.scatter(1, places, False), state.waste
    cleaned = torch.zeros(len(places), dtype=torch.long)
    if isinstance(world, Cleanup):
        swept = (still.cleaned[places] & (actions == CLEAN)[..., None]).any(1)
        there = waste[:, still.river]
        cleaned, there = (there & swept).sum(1), there & ~swept
        waste = waste.index_copy(1, still.river, there)
    rates = growth(world, apples, waste)
    free = torch.ones_like(apples).scatter_(1, places, False)[:, still.orchard]
    grown = (torch.rand(rates.shape, generator=generator) < rates) & free
    apples = apples.index_copy(1, still.orchard, apples[:, still.orchard] | grown)
    if isinstance(world, Cleanup):
        waste = _spilled(world, still, waste, generator)
    return Step(State(places, apples, waste), eaten.float(), cleaned)


def growth(world: World, apples: Bool[Tensor, "b cells"], waste: Bool[Tensor, "b cells"]) -> Float[Tensor, "b s"]:
    """Return the probability that an apple grows in a step on each cell of the orchard where none is.

    In Harvest by the apples near it; in Cleanup the same for all, on a straight line from 0 in a depleted river to the full
    rate in a restored one.
    """
    still = layout(world)
    if isinstance(world, Harvest):
        near = (apples[:, still.orchard].float() @ still.near).long()
        return torch.tensor(world.regrowth)[near.clamp(max=len(world.regrowth) - 1)]
    share = waste[:, still.river].float().mean(1, keepdim=True)
    rate = world.apples * ((world.depleted - share) / (world.depleted - world.restored)).clamp(0.0, 1.0)
    return rate.expand(-1, len(still.orchard))


def views(world: World, state: State) -> Float[Tensor, "b n planes v v"]:
    """Return what each agent sees, itself in the middle: planes of 0 and 1.

    Apples, agents, walls; in Cleanup also waste and the river. What lies outside is wall.
    """
    still = layout(world)
    agents = torch.zeros_like(state.apples).scatter_(1, state.places, True)
    boards = [state.apples, agents, still.walls.expand_as(agents)]
    if isinstance(world, Cleanup):
        flows = torch.zeros_like(still.walls).index_fill_(0, still.river, True)
        boards += [state.waste, flows.expand_as(agents)]
    stacked = torch.stack(boards, -1).float()
    outside = torch.zeros(len(stacked), 1, len(boards))
    outside[..., 2] = 1.0
    index = still.around[state.places].flatten(1)  # (b, n * v * v)
    seen = torch.cat([stacked, outside], 1).gather(1, index[..., None].expand(-1, -1, len(boards)))
    side = 2 * world.view + 1
    return seen.unflatten(1, (world.agents, side, side)).permute(0, 1, 4, 2, 3)


def _moved(still: Layout, places: Tensor, actions: Tensor, generator: Generator) -> Tensor:
    order = torch.rand(places.shape, generator=generator).argsort(-1)
    for turn in range(places.shape[1]):
        who = order[:, turn : turn + 1]
        wanted = still.onward[places.gather(1, who), actions.gather(1, who)]
        taken = (places == wanted).any(1, keepdim=True)  # by itself where it stays, which changes nothing
        places = places.scatter(1, who, torch.where(taken, places.gather(1, who), wanted))
    return places


def _spilled(world: Cleanup, still: Layout, waste: Tensor, generator: Generator) -> Tensor:
    drawn = torch.rand(len(waste), 1 + len(still.river), generator=generator)
    there = waste[:, still.river]
    comes = (drawn[:, :1] < world.waste) & (there.float().mean(1, keepdim=True) < world.depleted)
    where = torch.where(there, 2.0, drawn[:, 1:]).argmin(1, keepdim=True)  # all dirty: the first, which is dirty as it is
    return waste.index_copy(1, still.river, there.scatter(1, where, there.gather(1, where) | comes))


def _onward(world: World, flat: Tensor, walls: Tensor) -> Tensor:
    moves = torch.tensor([*MOVES, *[(0, 0)] * (world.actions - len(MOVES))])
    ahead = flat[:, None] + moves
    inside = ahead[..., 0].clamp(0, world.height - 1) * world.width + ahead[..., 1].clamp(0, world.width - 1)
    return torch.where(walls.flatten()[inside], torch.arange(len(flat))[:, None], inside)


def _around(world: World, flat: Tensor) -> Tensor:
    side = torch.arange(-world.view, world.view + 1)
    seen = flat[:, None] + torch.cartesian_prod(side, side)
    inside = (seen >= 0).all(-1) & (seen[..., 0] < world.height) & (seen[..., 1] < world.width)
    return torch.where(inside, seen[..., 0] * world.width + seen[..., 1], len(flat))


def _check_field(height: int, width: int, agents: int, view: int) -> None:
    check_whole("height", height, least=3, why="two rows are walls")
    check_whole("width", width, least=3, why="two columns are walls")
    check_whole("agents", agents, least=2, why="a dilemma is between agents")
    check_whole("view", view, least=1)
    _check_room(f"{agents} agents", (height - 2) * (width - 2), 2 * agents)


def _check_room(what: str, found: int, needed: int) -> None:
    if found < needed:
        raise ValueError(f"There should be room for {what} inside the walls: {needed}. Found {found}. Make the field larger.")


def _check_actions(world: World, state: State, actions: Tensor) -> None:
    check_tensor("actions", actions)
    good = actions.shape == state.places.shape and not actions.is_floating_point()
    if not good or int(actions.min()) < 0 or int(actions.max()) >= world.actions:
        found = f"the shape {tuple(actions.shape)}, {actions.dtype}"
        if good:
            found = f"{int(actions.min())} to {int(actions.max())}"
        raise ValueError(
            f"`actions` should be whole numbers from 0 to {world.actions - 1}, of shape {tuple(state.places.shape)}. "
            f"Found {found}. Cleaning is Cleanup's alone."
        )
