"""PPO on bonuses alone in a maze whose television changes at the press of a button; every episode begins at the same cell.

A roll-out is one episode of every walker. Nothing tells the learner that an episode ends: the last observation is bootstrapped.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from craik.experiments.mazes.bonuses import curiosity, losses_of
from craik.experiments.mazes.ppo import DISCOUNT, Walker, update
from craik.experiments.mazes.watching import FEATURES, make_world, walk
from craik.lab import Positive, Preset, Row, check_limits, checkpoint, number
from craik.methods.control import Curiosity, RewardScale, Rollout, scaled
from craik.methods.control.reachability import Reachability, bonuses, memory, reachability_pairs, remember, similarity
from craik.nn.perceptrons import relu_mlp
from craik.tasks.finite.television import PRESS, Television, Watching

METHODS = ("none", "counts", "random", "inverse", "pixels", "reachability", "continuous")
"""No bonus and no learning, a random agent; 1 for each cell that is new in the episode, which is told (an oracle); prediction
error in three feature spaces; reachability with the step's bonus, and with the paper's continuous one."""
WITH_TV = ("none", "counts", "random", "reachability")
"""The methods that are also run with the set on."""
CAPACITY = 200
"""Of an episode's memory."""
K, GAP, WALK, WALKS, PAIR_RATE = 3, 5, 400, 64, 3e-3


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the maze, its textures and everything that is drawn."""
    walkers: Annotated[int, Ge(2)] = 32
    """Environments side by side."""
    steps: Annotated[int, Ge(2)] = 150
    """Of an episode."""
    rollouts: Annotated[int, Ge(5)] = 30
    """Episodes of every walker."""
    rate: Positive = 1e-3
    """Adam's learning rate, of all networks but reachability's, whose is 3e-3."""
    pair_updates: Annotated[int, Ge(1)] = 2500
    """Of the reachability network, on 256 pairs each, before the policy learns."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(walkers=128, rollouts=200, pair_updates=6000), seeds=10)}


def reach(config: Config, world: Television, generator: Generator) -> Reachability:
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
    for _ in range(config.pair_updates):
        pairs = reachability_pairs(lengths, K, GAP, 256, generator)
        optimizer.zero_grad()
        first, second = walks[pairs.trajectory, pairs.first], walks[pairs.trajectory, pairs.second]
        network.losses(first, second, pairs.close).mean().backward()
        optimizer.step()
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


def train(config: Config, method: str, on: bool) -> Iterator[Row]:
    """Yield coverage and presses of every roll-out, and where the walkers were in the last fifth of them."""
    generator = Generator().manual_seed(config.seed)
    world = make_world(generator, on)
    grid = world.grid
    model = Walker(world.size, world.actions, generator)
    curious = (
        curiosity(method, world.size, world.actions, FEATURES, generator) if method in ("random", "inverse", "pixels") else None
    )
    network = reach(config, world, generator) if method in ("reachability", "continuous") else None
    if network is not None:
        found = separation(network, world, generator)
        yield {"kind": "network", "method": method, "tv": on, "separation": found}
    parameters = [*model.parameters(), *(curious.parameters() if curious else ())]
    optimizer = torch.optim.Adam([one for one in parameters if one.requires_grad], lr=config.rate)
    scale, visits = RewardScale(torch.zeros(config.walkers)), torch.zeros(len(grid))
    pay = _bonus(method, curious, network, len(grid), generator)
    for index in range(config.rollouts):
        rollout, cells = walk(model, world, config.walkers, config.steps, generator)
        paid = pay(rollout, cells)
        if curious:
            paid, scale = scaled(scale, paid, DISCOUNT)
        if method != "none":  # PPO would scale up what noise there is in advantages of nothing, and drift
            update(model, optimizer, rollout, paid, generator, losses_of(curious, rollout) if curious else None)
        covered = one_hot(cells, len(grid)).amax(0).sum(1).double().mean() / len(grid)
        last = index >= config.rollouts - config.rollouts // 5
        visits += last * one_hot(cells, len(grid)).sum((0, 1))
        steps = (index + 1) * config.steps * config.walkers + (WALK * WALKS if network is not None else 0)
        presses = float((rollout.actions == PRESS).double().mean())
        yield {
            "kind": "curve", "method": method, "tv": on, "rollout": index, "steps": steps, "coverage": float(covered),
            "presses": presses, "last": last,
        }  # fmt: skip
    shares = " ".join(f"{float(share):.4f}" for share in visits / visits.sum())
    walls = "/".join("".join(".#"[int(not free)] for free in row) for row in grid.free.tolist())
    yield {"kind": "map", "method": method, "tv": on, "shares": shares, "maze": walls}


def _bonus(
    method: str, curious: Curiosity | None, network: Reachability | None, count: int, generator: Generator
) -> Callable[[Rollout, Tensor], Tensor]:
    if curious is not None:
        return lambda rollout, _: curious.bonus(rollout.observations, rollout.actions)
    if network is not None:
        return lambda rollout, _: remembered(network, rollout, method, generator)
    return lambda rollout, cells: fresh(cells, count) if method == "counts" else rollout.rewards


def run(config: Config) -> Iterator[Row]:
    """Yield every method's rows with the set off, then those of some with the set on."""
    for on in (False, True):
        for method in WITH_TV if on else METHODS:
            saved = checkpoint(f"{method}-{on}")
            yield from saved.values
            if not saved.finished:
                yield from saved.finish(*train(config, method, on))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    place = len(METHODS) + WITH_TV.index(str(row["method"])) if row["tv"] else METHODS.index(str(row["method"]))
    done = (number(row, "rollout") + 1) / config.rollouts if row["kind"] == "curve" else float(row["kind"] == "map")
    return (place + done) / (len(METHODS) + len(WITH_TV)), f"{row['method']}, television {'on' if row['tv'] else 'off'}"
