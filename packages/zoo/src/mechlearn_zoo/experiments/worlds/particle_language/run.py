"""Each agent knows the colour of the landmark that another one should be at, and can only say symbols.

One policy for all, with straight-through symbols, trained through the dynamics; then tested with the most likely symbols:
as they are, exchanged between episodes, and without a channel from the beginning. Two agents; then three, who must also say
for whom it is.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from torch import Generator, Tensor

from claimlab import Row, checkpoint, part
from mechlearn_zoo.experiments.worlds.particle_language.agents import Policy
from mechlearn_zoo.experiments.worlds.particle_language.errands import THREE, Errand, among_three, among_two, held_out
from mechlearn_zoo.experiments.worlds.particle_language.playing import Talk, play, widths
from mechlearn_zoo.experiments.worlds.particle_language.settings import Config
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.worlds import grounding, vocabulary_reward
from mechlearn_zoo.nn.categorical import used_symbols
from mechlearn_zoo.tasks.streams import same_stream

CHANNELS = ("symbols", "none")
SILENT = ("gaze", "bodies")
"""What two agents may have of each other where speech is cut."""
REWARDED = "rewarded"
"""Three agents with symbols, paid for those that are said often."""
CONCENTRATION = 1.0
"""Of the Chinese-restaurant process: alpha of `vocabulary_reward`."""


class Arm(NamedTuple):
    """What is trained.

    Attributes:
        channel: "symbols", "none", or one of those where speech is cut.
        errands: that are drawn in each step.
        steps: of the optimiser.
        curve: the kind of rows on the way.
        vocabulary: weight of the reward for symbols that are said often.
    """

    channel: str
    errands: Callable[[Config, int, Generator], Errand]
    steps: int
    curve: str
    vocabulary: float = 0.0


def run(config: Config) -> Iterator[Row]:
    """Yield distances on the way, with symbols and without, and what the symbols came to mean; then among three."""
    for channel in config.channels:
        yield from part(channel, trained(config, channel))
    for arm in arms_of_three(config):
        yield from part(f"three, {arm}", trained_three(config, arm))


def trained(config: Config, channel: str) -> Iterator[Row]:
    """Train two agents with a channel or without; yield distances on the way, and what the symbols came to mean."""
    made, heard = Generator().manual_seed(config.seed), widths(config, 2)[channel]
    policy = Policy(config.landmarks, config.symbols, made, heard, looks=channel in SILENT)
    yield from fit(config, policy, Arm(channel, among_two, config.steps, "curve"))
    yield from tested(config, policy, channel)


def arms_of_three(config: Config) -> tuple[str, ...]:
    """Return what three agents are trained with: symbols, nothing, symbols with the reward for those that are said often."""
    return () if not config.three_steps else (*CHANNELS, REWARDED) if config.vocabulary else CHANNELS


def trained_three(config: Config, arm: str) -> Iterator[Row]:
    """Do the same with three agents; first, untrained ones with symbols, whose networks say something of everything, too."""
    made, channel = Generator().manual_seed(config.seed), "none" if arm == "none" else "symbols"
    policy = Policy(config.landmarks, config.symbols, made, widths(config, THREE)[channel], addressees=THREE)
    if arm == "symbols":
        yield three(config, policy, "untrained")
    weight = config.vocabulary if arm == REWARDED else 0.0
    for row in fit(config, policy, Arm(channel, among_three, config.three_steps, "curve of three", weight)):
        yield {**row, "channel": arm}
    yield three(config, policy, arm)
    if channel == "symbols":
        yield three(config, policy, arm, exchanged=True)


def fit(config: Config, policy: Policy, arm: Arm) -> Iterator[Row]:
    """Train through the dynamics; yield distances on the way."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: 1 - done / arm.steps)
    generator = same_stream(config.seed)
    saved = checkpoint("training", policy, optimizer, scheduler, generator)
    yield from saved.values
    for now in range(saved.done + 1, arm.steps + 1):
        errand = arm.errands(config, config.batch, generator)
        found = play(config, policy, errand, generator, Talk(arm.channel))
        descend(optimizer, found.path.mean() + found.auxiliary - arm.vocabulary * habit(found.said), scheduler)
        if now % max(1, arm.steps // 16) == 0:
            distance = float(found.ends.detach().mean())
            yield saved.keep(now, {"kind": arm.curve, "channel": arm.channel, "step": now, "distance": distance})
        else:
            saved.keep(now)
    saved.stay()


def habit(said: Tensor) -> Tensor:
    """Return the mean reward of one-hot symbols (..., K) for being said often in this batch."""
    return vocabulary_reward(said, said.new_zeros(said.shape[-1]), CONCENTRATION)[0].mean()


def tested(config: Config, policy: Policy, channel: str) -> Iterator[Row]:
    """Yield how episodes end with the most likely symbols, and with symbols exchanged between episodes."""
    for exchanged in (False,) if channel == "none" else (False, True):
        generator = same_stream(config.seed)
        errand = among_two(config, config.test, generator)
        with torch.no_grad():
            found = play(config, policy, errand, generator, Talk(channel, True, exchanged))
        row: Row = {"channel": channel, "exchanged": exchanged, "distance": float(found.ends.mean())}
        row["near"] = float((found.ends < 0.2).double().mean())
        said, meant = found.symbols[..., -1].flatten(), errand.colours.flatten()
        bits = grounding(said, meant, generator)
        row |= {"bits": bits.bits, "entropy": bits.entropy, "used": used_symbols(said, config.symbols)}
        # Of two agents, whom a symbol is for is whoever did not say it.
        row["addressee_bits"] = grounding(said, torch.arange(2).repeat(config.test), generator).bits
        row["budget"] = config.steps
        yield {"kind": "final", **row}
        if channel == "symbols" and not exchanged:
            joint = torch.bincount(meant * config.symbols + said, minlength=config.landmarks * config.symbols)
            yield {"kind": "code", "colours": config.landmarks, "counts": " ".join(str(int(count)) for count in joint)}


@torch.no_grad()
def three(config: Config, policy: Policy, channel: str, exchanged: bool = False) -> Row:
    """Return how episodes of three agents end, by whose goal it was and who was told, and what their symbols say."""
    generator = same_stream(config.seed)
    talk = Talk("none" if channel == "none" else "symbols", True, exchanged)
    errand = among_three(config, config.test, generator)
    found = play(config, policy, errand, generator, talk)
    own = errand.tellers == torch.arange(THREE)
    row: Row = {"kind": "three", "channel": channel, "exchanged": exchanged}
    row |= {"distance": float(found.ends[~own].mean()), "own": float(found.ends[own].mean())}
    row |= {"held_out": held_out_distance(config, policy, generator, talk)}
    # Only where the colour is one that may be for anybody: otherwise the colour alone says something of the addressee.
    some = errand.colours > 0
    row["addressee_bits"] = said_of(found.symbols[some], errand.offsets[some], generator)
    row["colour_bits"] = said_of(found.symbols[some], errand.colours[some], generator)
    row["used"] = used_symbols(found.symbols, config.symbols)
    return {**row, "budget": 0 if channel == "untrained" else config.three_steps}


def held_out_distance(config: Config, policy: Policy, generator: Generator, talk: Talk) -> float:
    """Return the mean distance at the end to a goal of the held-out pair, where all else in its world is of training."""
    errand = among_three(config, config.test, generator, new=True)
    new = held_out(errand.colours, errand.offsets).gather(1, errand.tellers)
    return float(play(config, policy, errand, generator, talk).ends[new].mean())


def said_of(symbols: Tensor, meanings: Tensor, generator: Generator) -> float:
    """Return the bits that the most telling step's symbol says of meanings: the step from one half, the bits from the other.

    Args:
        symbols: (b, t) said in each step.
        meanings: (b,) what each speaker is told.
        generator: of permutations.
    """
    half = len(symbols) // 2
    first = [grounding(symbols[:half, t], meanings[:half], generator).bits for t in range(symbols.shape[1])]
    return grounding(symbols[half:, first.index(max(first))], meanings[half:], generator).bits


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "code":
        return (0.6 if config.three_steps else 1.0) / len(config.channels), "code"
    many, channel = str(row["kind"]).endswith("three"), str(row["channel"])
    two = (0.6 if config.three_steps else 1.0) if config.channels else 0.0
    if channel == "untrained":
        return two, channel
    channels = arms_of_three(config) if many else config.channels
    steps, before, share = (config.three_steps, two, 1 - two) if many else (config.steps, 0.0, two)
    done = channels.index(channel) + int(str(row.get("step", steps))) / steps
    return before + share * done / len(channels), "training"
