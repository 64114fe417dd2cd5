"""Each agent knows the colour of the landmark that the other one should be at, and can only say symbols.

One policy for both, with straight-through symbols, trained through the dynamics; then tested with the most likely symbols:
as they are, exchanged between episodes, and without a channel from the beginning.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from craik.experiments.worlds.particle_language.agents import Policy, views
from craik.experiments.worlds.particle_language.settings import Config
from craik.lab import Row, checkpoint, part
from craik.methods.worlds import grounding
from craik.nn.categorical import gumbel_softmax, used_symbols
from craik.tasks.agents.particle_world import begin, distances, step

AGENTS = 2
CHANNELS = ("symbols", "none")


class Episode(NamedTuple):
    """What happened: distances at the end (b, 2), the auxiliary loss, symbols said (b, 2, t), colours told of (b, 2)."""

    ends: Tensor
    auxiliary: Tensor
    path: Tensor
    symbols: Tensor
    meant: Tensor


def run(config: Config) -> Iterator[Row]:
    """Yield distances on the way, with symbols and without, and what the symbols came to mean."""
    for channel in CHANNELS:
        yield from part(channel, trained(config, channel))


def trained(config: Config, channel: str) -> Iterator[Row]:
    """Train with symbols or without; yield distances on the way, and what the symbols came to mean."""
    policy = Policy(config.landmarks, config.symbols, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 - done / config.steps)
    generator = Generator().manual_seed(config.seed + 2**32)
    saved = checkpoint("training", policy, optimizer, scheduler, generator)
    yield from saved.values
    for now in range(saved.done + 1, config.steps + 1):
        found = play(config, policy, config.batch, generator, channel)
        optimizer.zero_grad()
        (found.path.mean() + found.auxiliary).backward()
        optimizer.step()
        scheduler.step()
        if now % max(1, config.steps // 16) == 0:
            distance = float(found.ends.detach().mean())
            yield saved.keep(now, {"kind": "curve", "channel": channel, "step": now, "distance": distance})
        else:
            saved.keep(now)
    saved.stay()
    yield from tested(config, policy, channel)


def tested(config: Config, policy: Policy, channel: str) -> Iterator[Row]:
    """Yield how episodes end with the most likely symbols, and with symbols exchanged between episodes."""
    with torch.no_grad():
        for exchanged in (False, True) if channel == "symbols" else (False,):
            generator = Generator().manual_seed(config.seed + 2**33)
            found = play(config, policy, config.test, generator, channel, greedy=True, exchanged=exchanged)
            row: Row = {"channel": channel, "exchanged": exchanged, "distance": float(found.ends.mean())}
            row["near"] = float((found.ends < 0.2).double().mean())
            said, meant = found.symbols[..., -1].flatten(), found.meant.flatten()
            bits = grounding(said, meant, generator)
            row |= {"bits": bits.bits, "entropy": bits.entropy, "used": used_symbols(said, config.symbols)}
            yield {"kind": "final", **row}
            if channel == "symbols" and not exchanged:
                joint = torch.bincount(meant * config.symbols + said, minlength=config.landmarks * config.symbols)
                yield {"kind": "code", "colours": config.landmarks, "counts": " ".join(str(int(count)) for count in joint)}


def play(
    config: Config,
    policy: Policy,
    worlds: int,
    generator: Generator,
    channel: str,
    greedy: bool = False,
    exchanged: bool = False,
) -> Episode:
    """Play episodes. Agent i is told the colour of the other's goal; what is said is heard in the next step."""
    world = begin(worlds, AGENTS, config.landmarks, generator)
    goals = torch.randint(0, config.landmarks, (worlds, AGENTS), generator=generator)  # indices of landmarks
    told = one_hot(world.colours.gather(1, goals.flip(1)), config.landmarks).float()
    heard = torch.zeros(worlds, AGENTS, config.symbols)
    h = torch.zeros(worlds, AGENTS, policy.memory)
    path: list[Tensor] = []
    symbols: list[Tensor] = []
    attended, wanted = heard, heard
    for _ in range(config.time):
        marks, wanted = views(world, goals)
        speed = (world.frames @ world.speeds.unsqueeze(-1)).squeeze(-1)
        force, logits, attended, h = policy(marks, speed, told, heard, h)
        if greedy:
            said = one_hot(logits.argmax(-1), config.symbols).float()
        else:
            said = gumbel_softmax(logits, config.temperature, generator, hard=True)
        symbols.append(said.argmax(-1))
        other = said.flip(1).roll(1, 0) if exchanged else said.flip(1)
        heard = other if channel == "symbols" else torch.zeros_like(other)
        world = step(world, config.push * force)
        path.append(distances(world, goals))
    auxiliary = (attended - wanted).square().sum(-1).mean()
    return Episode(path[-1], auxiliary, torch.stack(path), torch.stack(symbols, -1), told.argmax(-1))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "code":
        return 0.5, "code"
    return 0.5 * (CHANNELS.index(str(row["channel"])) + int(str(row.get("step", config.steps))) / config.steps), "training"
