"""Exact policy gradients, one level after the other: Adam, Adam with the temporal AND-mask in two places, and placebos of it.

A level is a small grid whose floor has textures of its own. A policy reads what means the same everywhere (where the goal lies,
what stands beside a cell) and the textures, by which the way in a level can be learned by heart. Each step ascends the exact
value of one level; all arms take the same steps on the same levels from the same weights (`budget`). Judged is the exact value
in levels that were never seen. Nothing is sampled but levels and weights.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from claimlab import Positive, Preset, Row, Share, check_limits
from mechlearn.agreement import AdamForm, TemporalAndMaskAdam, TemporalMask
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.control.counterfactual import Scenarios
from mechlearn_zoo.tasks.finite.scenarios import Levels, levels
from mechlearn_zoo.tasks.streams import same_stream

Arm = Literal["adam", "temporal-mask", "gradient-mask", "random-mask", "decay", "no-textures"]
ARMS: tuple[Arm, ...] = ("adam", "temporal-mask", "random-mask", "decay", "no-textures")
"""Adam; with the mask; with a random mask that lets as much through at each step; Adam that decays its weights as much more as
the preset says; Adam that is shown no textures: a bound."""
SIZE, DISCOUNT, KINDS = 6, 0.95, 4
REPORTS = 10


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the levels, their textures and the weights."""
    levels: Annotated[int, Ge(2)] = 16
    """To learn from, one a step, in turn."""
    unseen: Annotated[int, Ge(1)] = 100
    """To judge on."""
    numbers: Annotated[int, Ge(1)] = 16
    """Of a cell's texture."""
    loudness: Positive = 1.0
    """Standard deviation of a texture's numbers."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units of the policy's one layer."""
    steps: Annotated[int, Ge(1)] = 1600
    """Of every arm."""
    rate: Positive = 3e-3
    """Adam's learning rate."""
    threshold: Share = 0.3
    """Of agreement over time."""
    memory: Share = 0.95
    """Decay of the signs' moving average."""
    decay: Positive = 0.1
    """Weight decay of the arm that has it."""
    arms: Annotated[tuple[Arm, ...], MinLen(1)] = ARMS
    """What is compared; "gradient-mask" masks gradients alone, before plain Adam; "random-mask" follows "temporal-mask"."""

    def __post_init__(self) -> None:
        check_limits(self)
        if "random-mask" in self.arms and "temporal-mask" not in self.arms[: self.arms.index("random-mask")]:
            raise ValueError(
                'arms should have "temporal-mask" before "random-mask", which lets as much through. Found '
                f"{', '.join(self.arms)}. Put it there."
            )


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Where the mask acts: on Adam's momentum, too, or on gradients alone.
    "gradients": Preset(Config(arms=("adam", "temporal-mask", "gradient-mask")), seeds=6),
    "paper": Preset(Config(levels=64, unseen=1000, steps=20_000, hidden=256), seeds=10),
}


class Worlds(NamedTuple):
    """K levels as processes, what a policy reads of each cell (K, S, features), and the best value of each (K,)."""

    processes: FiniteMDP
    features: Tensor
    best: Tensor


def make(count: int, config: Config, generator: Generator) -> Worlds:
    """Draw levels and their textures."""
    drawn = levels(count, generator, SIZE)
    even = torch.full((count,), 1 / count, dtype=torch.float64)
    library = Scenarios(drawn.next, drawn.picture, drawn.rewards, drawn.ends, even, drawn.start)
    processes = library.process(DISCOUNT)
    textures = config.loudness * torch.randn(count, SIZE * SIZE, config.numbers, generator=generator)
    best = (processes.start * processes.optimal().values).sum(-1)
    return Worlds(processes, torch.cat([shared(drawn), textures], 2), best)


def shared(drawn: Levels) -> Tensor:
    """Return (K, S, 2 + 4 KINDS): which way the goal lies, and what stands above, below, left and right; walls around."""
    cells = torch.arange(SIZE * SIZE)
    rows, columns = cells // SIZE, cells % SIZE
    way = torch.stack([(drawn.goal // SIZE)[:, None] - rows, (drawn.goal % SIZE)[:, None] - columns], 2).sign().float()
    board = nn.functional.pad(drawn.picture.view(-1, SIZE, SIZE), (1, 1, 1, 1), value=1)
    beside = [board[:, 1 + down + rows, 1 + right + columns] for down, right in ((-1, 0), (1, 0), (0, -1), (0, 1))]
    return torch.cat([way, *(one_hot(kind, KINDS).float() for kind in beside)], 2)


def value(network: nn.Module, processes: FiniteMDP, features: Tensor) -> Tensor:
    """Return the exact value (*K,) of the network's policy."""
    return processes.objective(network(features).double().softmax(-1))


def one(worlds: Worlds, number: int) -> tuple[FiniteMDP, Tensor]:
    """Return a level."""
    all_ = worlds.processes
    return FiniteMDP(all_.transitions[number], all_.rewards[number], all_.start[number], DISCOUNT), worlds.features[number]


def train(arm: str, seen: Worlds, unseen: Worlds, config: Config, shares: list[float]) -> Iterator[Row]:
    """Yield what is reached of the best value in seen and unseen levels, and the share of components that moved.

    The masked arm leaves in `shares` what its mask let through at each step; its placebo lets as much through.
    """
    if arm == "no-textures":
        seen, unseen = (worlds._replace(features=worlds.features[..., : 2 + 4 * KINDS]) for worlds in (seen, unseen))
    network = relu_mlp((seen.features.shape[2], config.hidden, 4), Generator().manual_seed(config.seed))
    optimizer = TemporalAndMaskAdam(
        network.parameters(), lr=config.rate, betas=(0.9, 0.999, config.memory),
        threshold=config.threshold if arm == "temporal-mask" else 0.0, weight_decay=config.decay if arm == "decay" else 0.0,
        form=AdamForm(bias_correction="moments", eps_inside_root=False),
    )  # fmt: skip
    mask = TemporalMask(network.parameters(), config.memory, config.threshold) if arm == "gradient-mask" else None
    single = [one(seen, number) for number in range(config.levels)]
    generator, moved = same_stream(config.seed), 0.0
    for step in range(config.steps):
        before = [parameter.detach().clone() for parameter in network.parameters()] if arm == "random-mask" else []
        optimizer.zero_grad()
        (-value(network, *single[step % config.levels])).backward()
        through = 1.0 if mask is None else share_of(mask.mask_(), network)
        optimizer.step()
        if arm == "temporal-mask":
            shares.append(share_of(optimizer.survivors(), network))
        if arm == "random-mask":
            keep(network, before, shares[step], generator)
        moved += shares[step] if arm in ("temporal-mask", "random-mask") else through
        if (step + 1) % max(1, config.steps // REPORTS) == 0 or step + 1 == config.steps:
            with torch.no_grad():
                found = [float((value(network, *part[:2]) / part.best).mean()) for part in (seen, unseen)]
            yield {
                "arm": arm, "step": step + 1, "seen": found[0], "unseen": found[1], "moved": moved / (step + 1),
                "budget": config.steps, "last": step + 1 == config.steps,
            }  # fmt: skip


def share_of(survivors: Sequence[float], network: nn.Module) -> float:
    """Return the share of all components that a mask let through, from the shares of each parameter's."""
    sizes = [parameter.numel() for parameter in network.parameters()]
    return sum(size * share for size, share in zip(sizes, survivors, strict=True)) / sum(sizes)


@torch.no_grad()
def keep(network: nn.Module, before: Sequence[Tensor], share: float, generator: Generator) -> None:
    """Take a step back in all components but a random share of them."""
    for parameter, old in zip(network.parameters(), before, strict=True):
        through = torch.rand(old.shape, generator=generator) < share
        parameter.copy_(torch.where(through, parameter, old))


def run(config: Config) -> Iterator[Row]:
    """Yield every arm's rows."""
    generator, shares = Generator().manual_seed(config.seed), list[float]()
    seen, unseen = (make(count, config, generator) for count in (config.levels, config.unseen))
    for arm in config.arms:
        yield from train(arm, seen, unseen, config, shares)
