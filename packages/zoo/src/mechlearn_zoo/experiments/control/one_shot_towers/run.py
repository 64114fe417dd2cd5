"""Imitate an exact expert given one demonstration of the task from another start; then act in closed loop on tasks never seen.

All arms take the same number of updates of the same size on the same tasks (`budget`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from claimlab import Halves, Limited, Positive, Preset, Row, Share, number
from mechlearn_zoo.experiments.control.one_shot_towers.networks import FlatNetwork, Network, Shown, see
from mechlearn_zoo.experiments.control.one_shot_towers.towers import TABLE, demonstrate, move, scattered, solved, tasks
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control.one_shot import OneShot
from mechlearn_zoo.tasks.streams import stream

ARMS = ("attention", "flat", "snapshot", "blind", "fewer-blocks")
"""The whole demonstration by attention, or by a flat network; its last frame alone; nothing; and attention trained on one and
two blocks less, tested on all."""
LOOKS = 10
"""How often an arm is looked at while it trains, each time as at its end."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split of tasks, the weights and everything drawn."""
    blocks: Annotated[int, Ge(4)] = 5
    """n; half of the 500 tasks of five are held out."""
    updates: Annotated[int, Ge(1)] = 700
    """Of every arm."""
    batch: Annotated[int, Ge(2)] = 128
    """Tasks in an update, each with two starts."""
    learning_rate: Positive = 1e-3
    """Adam's."""
    units: Annotated[int, Ge(1)] = 48
    """d of attention."""
    copies: Annotated[int, Ge(1)] = 2
    """Frames of each state in a demonstration, each with noise of its own."""
    keep: Share = 0.7
    """Probability that a frame is kept."""
    draws: Annotated[int, Ge(1)] = 4
    """Thinned demonstrations whose logits are averaged when acting."""
    noise: Annotated[float, Ge(0)] = 0.02
    """Standard deviation on every position that is seen."""
    near: Annotated[float, Ge(0)] = 0.25
    """No two blocks start nearer than this on a table of 2 x 2."""
    tested: Annotated[int, Ge(1)] = 250
    """Tasks to act on, of the seen and of the unseen ones."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(updates=20_000, units=64), seeds=5)}


def run(config: Config) -> Iterator[Row]:
    """Yield each arm's success on seen and unseen tasks, at its end and where unseen tasks stop it."""
    seen, unseen = split(config.blocks, config.seed)
    for arm in ARMS:
        fewer = [split(config.blocks - less, config.seed)[0] for less in (1, 2)]
        # Who trained on fewer blocks has seen no task of five.
        shown = {"unseen": unseen} if arm == "fewer-blocks" else {"seen": seen, "unseen": unseen}
        halves = Halves(LOOKS)
        watch = partial(look, halves, arm, shown, config)
        network = train(arm, fewer if arm == "fewer-blocks" else [seen], config, watch)
        for name, some in shown.items():
            yield {
                "kind": "final",
                "arm": arm,
                "tasks": name,
                "success": float(act(arm, network, some, config).mean()),
                "budget": config.updates,
                **stopped(halves.row, name),
            }
        if arm == "attention":
            yield from film(network, unseen, config)


def look(halves: Halves, arm: str, shown: dict[str, Tensor], config: Config, network: Network, share: float) -> None:
    """Act on all tasks, if it is time: on unseen ones each half says whether the network is the best yet for the other."""
    if halves.due(share):
        built = {name: act(arm, network, some, config) for name, some in shown.items()}
        halves.look(share, "unseen", built["unseen"], {"seen": float(built["seen"].mean())} if "seen" in built else None)


def stopped(row: Row, name: str) -> Row:
    """Return the success on seen or unseen tasks where unseen ones stop an arm; nothing without a look."""
    return {"stopped_success": row[f"stopped_{name}"], "stopped_at": row["stopped_at"]} if row else {}


def split(blocks: int, seed: int) -> tuple[Tensor, Tensor]:
    """Return seen and unseen tasks, half each."""
    every = tasks(blocks)
    order = torch.randperm(len(every), generator=stream(seed, "tasks"))
    return every[order[: len(every) // 2]], every[order[len(every) // 2 :]]


def train(arm: str, boards: list[Tensor], config: Config, watch: Callable[[Network, float], None]) -> Network:
    """Clone the expert's next move at a random moment of another demonstration of the same task; watched at each update."""
    generator = stream(config.seed, "training")
    longest = config.copies * config.blocks
    network = FlatNetwork(config.blocks, longest, generator) if arm == "flat" else OneShot(generator, config.units)
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
    for update in range(config.updates):
        board = boards[update % len(boards)]
        below = board[torch.randint(len(board), (config.batch,), generator=generator)]
        shown, moves = examples(arm, below, config, generator)
        descend(optimizer, cross_entropy(network(*shown).flatten(1), moves))
        watch(network, (update + 1) / config.updates)
    return network


def examples(arm: str, below: Tensor, config: Config, generator: Generator) -> tuple[Shown, Tensor]:
    """Return what an arm sees of each task, and the expert's moves as numbers mover * n + base."""
    count, blocks = below.shape
    rows = torch.arange(count)
    shown, imitated = (demonstrate(scattered(count, blocks, generator, config.near), below) for _ in range(2))
    moments = (imitated.movers >= 0).sum(1)
    moment = (torch.rand(count, generator=generator) * moments).long()
    state = imitated.frames[rows, moment]
    moves = imitated.movers[rows, moment] * blocks + imitated.bases[rows, moment]
    return see(arm, shown, state, (config.copies, config.keep, config.noise), generator), moves


@torch.no_grad()
def act(arm: str, network: Network, board: Tensor, config: Config) -> Tensor:
    """Return which tasks, 1 or 0, are built from a new start in as many moves as the expert needs."""
    generator = stream(config.seed, "closed loop")
    below = board[: config.tested]
    final = loop(arm, network, below, config, generator)[-1]
    return solved(final, below).double()


def loop(arm: str, network: Callable[..., Tensor], below: Tensor, config: Config, generator: Generator) -> list[Tensor]:
    """Return the states of closed loops, the best move at each; who needs fewer moves stops."""
    count, blocks = below.shape
    shown = demonstrate(scattered(count, blocks, generator, config.near), below)
    states, needed = [scattered(count, blocks, generator, config.near)], (below != TABLE).sum(1)
    for step in range(blocks - 1):
        scores = torch.zeros(count, blocks * blocks)
        for _ in range(config.draws):
            found = network(*see(arm, shown, states[-1], (config.copies, config.keep, config.noise), generator))
            scores = scores + found.flatten(1).softmax(1)
        best = scores.argmax(1)
        after = move(states[-1], best // blocks, best % blocks)
        states.append(torch.where((step < needed)[:, None, None], after, states[-1]))
    return states


@torch.no_grad()
def film(network: Network, board: Tensor, config: Config) -> Iterator[Row]:
    """Yield the states of one unseen task with three moves or more, for the figure: the expert's demonstration and ours."""
    generator = stream(config.seed, "film")
    below = board[(board != TABLE).sum(1) >= 3][:1]
    shown = demonstrate(scattered(1, config.blocks, generator, config.near), below)
    ours = loop("attention", network, below, config, generator)
    for who, states in (("demonstration", shown.frames[0]), ("ours", torch.cat(ours))):
        for step, state in enumerate(states):
            for block, (x, _, z) in enumerate(state.tolist()):
                yield {"kind": "film", "who": who, "step": step, "block": block, "x": x, "z": z}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] != "final":
        return 0.2, "film"
    arm = str(row["arm"])
    return (ARMS.index(arm) + 1) / len(ARMS), f"{arm}, {number(row, 'success'):.2f} {row['tasks']}"
