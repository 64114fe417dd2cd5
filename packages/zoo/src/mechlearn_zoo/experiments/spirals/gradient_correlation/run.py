"""Correlations of a combined gradient with the mechanism's and with the shortcuts'.

At an untrained network the gradient on the spirals is compared with two others: on data whose mechanism was shuffled, so
that only shortcuts tell of the label, and on data whose shortcuts were shuffled, so that only the mechanism does. The
AND-mask drops the shortcuts' part, the XOR-mask the mechanism's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import normalize

from claimlab import Limited, Positive, Preset, Row, number
from mechlearn.agreement import AndMask, Mean, Rule, Statistics, XorMask
from mechlearn.agreement.engine.streaming import stream_environment_gradients
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.environments import partition
from mechlearn.nn.perceptrons import Init, mlp
from mechlearn.penalties.gradients import environment_gradients
from mechlearn.penalties.pcgrad import pcgrad
from mechlearn_zoo.tasks.boards.spirals import Mechanism, Shortcuts, Split, spirals
from mechlearn_zoo.tasks.streams import same_stream


@dataclass(frozen=True)
class Config(Limited):
    """Settings of the measurement."""

    seed: int = 0
    """First seed: of the data, the shuffles and the weights."""
    environments: Annotated[int, Ge(2), "correlations are over several"] = 16
    """Number of environments."""
    batch: Annotated[int, Ge(2), "correlations are over several"] = 1024
    """Examples of each environment."""
    shortcut_dims: Annotated[int, Ge(1)] = 32
    """Number of shortcut inputs."""
    shortcut_scale: Positive = 0.1
    """Standard deviation of the shortcuts; the published code has 1, beside spirals of unit variance."""
    unit_variance: bool = False
    """Scale the spirals to unit variance, as the published code does and the texts do not say."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units in each hidden layer."""
    layers: Annotated[int, Ge(1)] = 3
    """Hidden layers."""
    init: Init = "default"
    """Initial weights: PyTorch's default, or the published code's for training (kaiming)."""
    steps: Annotated[int, Ge(1)] = 8
    """Thresholds are 0, 1 / steps, ..., 1."""
    cosines: bool = False
    """Whether PCGrad, which asks the cosines of whole gradients, is measured, too."""


# Seeds 0 to 9 chose the reading of the texts, so others judge it.
PRESETS = {
    "quick": Preset(Config(seed=100), seeds=10),
    "cosines": Preset(Config(seed=100, cosines=True), seeds=6),
    "paper": Preset(Config(seed=100, steps=16), seeds=10),
}


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
        Shortcuts(config.shortcut_dims, config.shortcut_scale),
        Mechanism(unit_variance=config.unit_variance),
    ).train
    generator = same_stream(config.seed)
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
            yield {"method": method, "threshold": threshold, "index": index, **described(flat(rule, found), alone, first)}
    if config.cosines:
        yield {"index": config.steps, **by_cosines(config, model, data, alone, first)}


def described(combined: Tensor, alone: dict[str, Tensor], first: int) -> Row:
    """Return a combined gradient's correlations with either signal, over all and in the first layer, and what is left of it."""
    row: Row = {signal: correlation(combined, gradient) for signal, gradient in alone.items()}
    for signal, gradient in alone.items():
        row[f"first_{signal}"] = correlation(combined[:first], gradient[:first])
    counts = {"left": int((combined != 0).sum()), "first_left": int((combined[:first] != 0).sum())}
    return {**row, **counts, "survivors": counts["left"] / len(combined)}


def by_cosines(config: Config, model: nn.Module, data: Split, alone: dict[str, Tensor], first: int) -> Row:
    """Return PCGrad's row, with the least cosine of two environments' gradients and the share of pairs that conflict."""
    losses = cross_entropy(model(data.x)[:, 0], data.y, reduction="none")
    groups = partition(data.environments, len(losses), losses.device)
    each = environment_gradients(losses, groups, list(model.parameters()), create_graph=False)
    combined = pcgrad(each, same_stream(config.seed)) / len(each)
    cosines = normalize(each.double(), dim=1) @ normalize(each.double(), dim=1).T
    pairs = cosines[tuple(torch.triu_indices(len(each), len(each), offset=1))]
    found: Row = {"least_cosine": float(pairs.min()), "conflicting": float((pairs < 0).double().mean())}
    return {"method": "pcgrad", "threshold": None, **described(combined, alone, first), **found}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    what = "PCGrad" if row["threshold"] is None else f"threshold {row['threshold']}"
    return (number(row, "index") + 1) / (config.steps + 1), what
