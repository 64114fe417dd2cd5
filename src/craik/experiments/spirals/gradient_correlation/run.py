"""What a gradient is made of: its correlation with the mechanism's and the shortcuts' share, by threshold.

At an untrained network the gradient on the spirals is compared with two others: on data whose mechanism was shuffled, so
that only shortcuts tell of the label, and on data whose shortcuts were shuffled, so that only the mechanism does. The
AND-mask drops the shortcuts' part, the XOR-mask the mechanism's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from craik.agreement import AndMask, Mean, Rule, Statistics, XorMask
from craik.agreement.onepass.streaming import stream_environment_gradients
from craik.agreement.onepass.sums import RunningSums
from craik.environments import partition
from craik.experiments.spirals.gradient_correlation.figures import CLAIMS, correlations
from craik.lab.claims import Row
from craik.lab.columns import number
from craik.lab.limits import at_least, positive
from craik.nn.perceptrons import Init, mlp
from craik.tasks.boards.spirals import Split, spirals

REPRODUCES = "thesis section 3.3.1 and appendix B.2.3.5, figure 3.7; paper section 3.1, figure 7"

__all__ = ["CLAIMS", "PRESETS", "REPRODUCES", "SEEDS", "Config", "figures", "progress", "run"]


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    seed: int = 0
    """First seed: of the data, the shuffles and the weights."""
    environments: int = 16
    """Number of environments."""
    batch: int = 1024
    """Examples of each environment."""
    shortcut_dims: int = 32
    """Number of shortcut inputs."""
    shortcut_scale: float = 0.1
    """Standard deviation of the shortcuts; the published code has 1, beside spirals of unit variance."""
    unit_variance: bool = False
    """Scale the spirals to unit variance, as the published code does and the texts do not say."""
    hidden: int = 256
    """Units in each hidden layer."""
    layers: int = 3
    """Hidden layers."""
    init: Init = "default"
    """Initial weights: PyTorch's default, or the published code's for training (kaiming)."""
    steps: int = 8
    """Thresholds are 0, 1 / steps, ..., 1."""

    def __post_init__(self) -> None:
        at_least(self, 2, "environments", "batch", why="correlations are over several")
        at_least(self, 1, "shortcut_dims", "hidden", "layers", "steps")
        positive(self, "shortcut_scale")


PRESETS = {"quick": Config(), "paper": Config(steps=16)}
SEEDS = {"quick": 10, "paper": 10}


def shuffled(data: Split, part: str, generator: Generator) -> Split:
    """Return the data with either part of its inputs permuted over all examples, so that it no longer tells of the label."""
    order = torch.randperm(len(data.x), generator=generator)
    plane, shortcuts = data.x[:, :2], data.x[:, 2:]
    x = [plane[order], shortcuts] if part == "mechanism" else [plane, shortcuts[order]]
    return data._replace(x=torch.cat(x, dim=1))


def statistics(model: nn.Module, data: Split, needs: frozenset[str]) -> dict[str, Statistics]:
    """Return the sums over environments of every parameter's gradients and their signs."""
    losses = cross_entropy(model(data.x)[:, 0], data.y, reduction="none")
    groups = partition(data.environments, len(losses), losses.device)
    parameters = dict(model.named_parameters())
    sums = stream_environment_gradients(losses, groups, parameters, lambda parameter: RunningSums(parameter, needs))
    return {name: some.statistics() for name, some in sums.items()}


def flat(rule: Rule, found: dict[str, Statistics]) -> Float[Tensor, " components"]:
    """Return what a rule makes of all parameters' gradients, as one vector."""
    return torch.cat([rule(some).gradient.flatten() for some in found.values()])


def correlation(a: Float[Tensor, " n"], b: Float[Tensor, " n"]) -> float | None:
    """Return Pearson's correlation over components where a is not 0; None for fewer than three or constant ones."""
    kept = a != 0
    both = torch.stack([a[kept], b[kept]]).double()
    if both.shape[1] < 3 or bool((both.std(dim=1) == 0).any()):
        return None
    return float(torch.corrcoef(both)[0, 1])


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each rule and threshold: the correlations, and the share of components that is left."""
    data = spirals(
        config.seed,
        config.environments,
        config.batch,
        config.shortcut_dims,
        shortcut_scale=config.shortcut_scale,
        unit_variance=config.unit_variance,
    ).train
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    model = mlp(2 + config.shortcut_dims, 1, generator, config.hidden, config.layers, config.init)
    # What is left when one part is shuffled is the other part's signal.
    alone = {
        "shortcut": flat(Mean(), statistics(model, shuffled(data, "mechanism", generator), Mean.needs)),
        "mechanism": flat(Mean(), statistics(model, shuffled(data, "shortcuts", generator), Mean.needs)),
    }
    found = statistics(model, data, AndMask.needs)
    first = next(model.parameters()).numel()  # the first layer's weights: the only ones that belong to single inputs
    for index in range(config.steps + 1):
        threshold = index / config.steps
        rules: dict[str, Rule] = {"and-mask": AndMask(threshold), "xor-mask": XorMask(threshold)}
        for method, rule in rules.items():
            combined = flat(rule, found)
            signals: Row = {signal: correlation(combined, gradient) for signal, gradient in alone.items()}
            for signal, gradient in alone.items():
                signals[f"first_{signal}"] = correlation(combined[:first], gradient[:first])
            counts = {"left": int((combined != 0).sum()), "first_left": int((combined[:first] != 0).sum())}
            shares: Row = {**counts, "survivors": counts["left"] / len(combined)}
            yield {"method": method, "threshold": threshold, "index": index, **signals, **shares}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (number(row, "index") + 1) / (config.steps + 1), f"threshold {row['threshold']}"


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the correlations against the threshold (figure 3.7)."""
    return {"correlations": correlations(rows)}
