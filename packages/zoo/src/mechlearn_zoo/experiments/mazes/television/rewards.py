"""What walkers are paid in the maze: bonuses, the network that one of them asks, and a goal."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.mazes.television.television import Television, Watching
from mechlearn_zoo.experiments.mazes.television.watching import FEATURES
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control import Curiosity, Rollout
from mechlearn_zoo.methods.control.reachability import Reachability, bonuses, memory, reachability_pairs, remember, similarity
from mechlearn_zoo.tasks.finite.grids import Grid

CAPACITY = 200
"""Of an episode's memory."""
K, GAP, WALK, WALKS, PAIR_RATE = 3, 5, 400, 64, 3e-3
GOALS = {"near": 0.25, "middling": 0.5, "far": 0.75}
"""Where a goal stands, as a share of the way to the cell that is furthest from where episodes begin."""
UNPAID = "near"
"""Where the goal stands that is only watched, in arms that pay none."""


def reach(updates: int, world: Television, generator: Generator) -> Reachability:
    """Return R, trained on random walks from random cells: from one start it would call all that is not near it far."""
    network = Reachability(relu_mlp((world.size, 64, FEATURES), generator), relu_mlp((2 * FEATURES, 64, 1), generator))
    state = world.begin(WALKS)
    state = state._replace(cells=torch.randint(len(world.grid), state.cells.shape, generator=generator))
    seen = [world.observe(state)]
    for _ in range(WALK - 1):
        state = world.step(state, torch.randint(world.actions, state.cells.shape, generator=generator), generator)
        seen.append(world.observe(state))
    walks, lengths = torch.stack(seen, 1), torch.full((WALKS,), WALK)
    optimizer = torch.optim.Adam(network.parameters(), lr=PAIR_RATE)
    for _ in range(updates):
        pairs = reachability_pairs(lengths, K, GAP, 256, generator)
        first, second = walks[pairs.trajectory, pairs.first], walks[pairs.trajectory, pairs.second]
        descend(optimizer, network.losses(first, second, pairs.close).mean())
    return network.requires_grad_(False)


def separation(network: Reachability, world: Television, generator: Generator) -> float:
    """Return the area under ROC of R's output, cells at most 2 apart against cells at least 6 apart, any pictures."""
    distances = world.grid.distances
    near, far = (kind.nonzero() for kind in ((distances >= 0) & (distances <= 2), distances >= 6))
    outputs = list[Tensor]()
    for pairs in (near, far):
        chosen = pairs[torch.randint(len(pairs), (1000,), generator=generator)]
        pictures = torch.randint(len(world.pictures), (1000, 2), generator=generator)
        one, other = (network.embed(world.observe(Watching(chosen[:, i], pictures[:, i]))) for i in (0, 1))
        outputs.append(network.similarity(one, other))
    return float((outputs[0][:, None] > outputs[1]).double().mean())


def fresh(cells: Tensor, count: int) -> Tensor:
    """Return (T, B) of 1.0 where a step came to a cell for the first time in the episode."""
    seen = one_hot(cells, count).cumsum(0) > 0
    return (~seen[:-1].gather(2, cells[1:, :, None])[..., 0]).float()


def remembered(network: Reachability, rollout: Rollout, kind: str, generator: Generator) -> Tensor:
    """Return reachability's bonus (T, B); the memory of every episode starts with its first observation."""
    embeddings = network.embed(rollout.observations)
    kept = memory(rollout.batch, CAPACITY, embeddings.shape[-1])
    kept = remember(kept, embeddings[0], torch.ones(rollout.batch, dtype=torch.bool), generator)
    out = list[Tensor]()
    for now in embeddings[1:]:
        found = similarity(kept, now, network.similarity, "max")
        out.append(bonuses(found, kind="continuous" if kind == "continuous" else "step"))
        kept = remember(kept, now, found < 0.5, generator)
    return torch.stack(out)


def bonus_of(
    method: str, curious: Curiosity | None, network: Reachability | None, count: int, generator: Generator
) -> Callable[[Rollout, Tensor], Tensor]:
    """Return a method's bonus (T, B) for a roll-out and its cells (T + 1, B)."""
    if curious is not None:
        return lambda rollout, _: curious.bonus(rollout.observations, rollout.actions)
    if network is not None:
        return lambda rollout, _: remembered(network, rollout, method, generator)
    return lambda rollout, cells: fresh(cells, count) if method == "counts" else rollout.rewards


def goal_of(grid: Grid, place: str) -> int:
    """Return the first cell in reading order that is as far from where episodes begin as the place says, in moves."""
    moves = grid.distances[0]
    return int((moves == round(GOALS[place] * int(moves.max()))).nonzero()[0])


def arrivals(cells: Tensor, goal: int) -> Tensor:
    """Return (T, B) of 1.0 where a walker comes to the goal for the first time in its episode."""
    there = cells == goal
    return (there[1:] & ~(there.cumsum(0)[:-1] > 0)).float()
