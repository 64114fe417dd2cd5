"""What is kept of a measured batch: plain numbers by source, pair of sources and layer.

Index conventions: e and f sources of E.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.agreement.statistics import GradientStatistics, ParameterStatistics
from mechlearn.environments import named

ExampleIds = Sequence[Hashable] | Tensor
"""One id for each row, by which a reader finds it again."""

MOST = 5
"""Rows of each source that a measurement keeps."""


@dataclass(frozen=True)
class SourceMeasurement:
    """One source's gradient in one batch. What the batch cannot show is NaN.

    Attributes:
        rows: how many rows of the batch were this source's.
        loss: their mean loss.
        norm: the Euclidean norm of the gradient of that mean.
        signal: unbiased estimate of the squared norm of the expected gradient. NaN with one row.
        variance: unbiased estimate of the summed variance of a row's gradient. NaN with one row.
        cosine: between the source's gradient and the mean of the other sources' gradients. NaN without others.
        against: by a row's id, the product of its gradient with the mean of the other sources' gradients, of rows where it is
            most negative: their losses rise fastest in a step that serves the others. Empty without ids.
    """

    rows: int
    loss: float
    norm: float
    signal: float
    variance: float
    cosine: float
    against: Mapping[Hashable, float] = field(default_factory=dict[Hashable, float])


@dataclass(frozen=True)
class LayerMeasurement:
    """A layer's gradients in one batch.

    Attributes:
        conflict: the share of its components at which two sources' gradients have opposite signs.
        cosines: by source, as `SourceMeasurement.cosine`, of this layer's parameters alone.
    """

    conflict: float
    cosines: Mapping[Hashable, float]


@dataclass(frozen=True)
class Measurement:
    """One measured batch.

    Attributes:
        step: the step of the training before which it was measured, from 0.
        sources: by source id.
        pairs: the cosine between two sources' gradients, by their ids.
        layers: by name. A layer is a numbered block, such as "transformer.h.3", or a module outside of one.
    """

    step: int
    sources: Mapping[Hashable, SourceMeasurement]
    pairs: Mapping[tuple[Hashable, Hashable], float]
    layers: Mapping[str, LayerMeasurement]


def measured(
    step: int, found: GradientStatistics, examples: Sequence[Hashable] = (), rows: GradientStatistics | None = None
) -> Measurement:
    """Return what is kept of a batch's statistics.

    Args:
        step: the training's.
        found: with the products between sources and the norms of rows.
        examples: B ids of the rows.
        rows: statistics of the same batch with each row its own environment. None: no row is kept.
    """
    names: list[Hashable] = [named(found.environments, e) for e in range(len(found.sizes))]
    everything = list(found.parameters.values())
    cosines = cosines_with_others(everything)
    signal, variance = _noise(found)
    top = [{} for _ in names] if rows is None else _against(found, examples, rows)
    values = zip(found.sizes, found.losses, found.norms, signal, variance, cosines, strict=True)
    sources = {
        name: SourceMeasurement(own[0], *map(float, own[1:]), against=kept)
        for name, own, kept in zip(names, values, top, strict=True)
    }
    pairs = found.cosines.tolist() if len(names) > 1 else []
    layers: dict[str, list[ParameterStatistics]] = {}
    for name, one in found.parameters.items():
        layers.setdefault(layer_of(name), []).append(one)
    return Measurement(
        step,
        sources,
        {(names[e], names[f]): row[f] for e, row in enumerate(pairs) for f in range(e + 1, len(names))},
        {name: _layer(own, names) for name, own in layers.items()},
    )


def layer_of(parameter: str) -> str:
    """Return the layer that a parameter belongs to: its name up to the first number, else its module's name."""
    parts = parameter.split(".")
    number = next((place for place, part in enumerate(parts[:-1]) if part.isdigit()), len(parts) - 2)
    return ".".join(parts[: number + 1]) or "model"


def cosines_with_others(parameters: Sequence[ParameterStatistics]) -> Float[Tensor, " e"]:
    """Return the cosine between each source's gradient and the mean of the others'.

    NaN where one of them is 0 or missing. Let r_e be the sum of the others' gradients. Then g_e . r_e is a sum of products
    g_e . g_f, and |r_e|^2 is the sum of those products in which e has no part.
    """
    products = torch.stack([one.gram for one in parameters if one.gram is not None]).sum(0)
    others = 1 - torch.eye(len(products), dtype=products.dtype)
    along = (products * others).sum(1)
    rest = ((others @ products) * others).sum(1).clamp(min=0)
    return (along / (products.diagonal() * rest).sqrt()).nan_to_num(math.nan, math.nan, math.nan).clamp(-1, 1)


def _layer(parameters: Sequence[ParameterStatistics], names: Sequence[Hashable]) -> LayerMeasurement:
    conflict = sum(one.conflicting for one in parameters) / sum(one.size for one in parameters)
    return LayerMeasurement(conflict, dict(zip(names, cosines_with_others(parameters).tolist(), strict=True)))


def names_of(examples: ExampleIds, rows: int) -> list[Hashable]:
    """Return the rows' ids as a list.

    Raises:
        ValueError: if there is not one id for each row.
    """
    names = examples.tolist() if isinstance(examples, Tensor) else list(examples)
    if len(names) != rows:
        raise ValueError(f"`examples` should have one id for each of {rows} rows. Found {len(names)}. Pass this batch's.")
    return names


def _against(found: GradientStatistics, examples: Sequence[Hashable], rows: GradientStatistics) -> list[dict[Hashable, float]]:
    """Return by source the rows whose gradients point most against the other sources' mean, the first the most."""
    products = products_with_others(rows, found.index, len(found.sizes)).tolist()
    order, index = sorted(range(len(products)), key=products.__getitem__), found.index.tolist()
    against = [[i for i in order if index[i] == e and products[i] < 0] for e in range(len(found.sizes))]
    return [{examples[i]: products[i] for i in own[:MOST]} for own in against]


def products_with_others(rows: GradientStatistics, index: Int[Tensor, " b"], sources: int) -> Float[Tensor, " b"]:
    """Return the product of each row's gradient with the mean of the other sources' gradients; NaN of a single source.

    Args:
        rows: with each row its own environment, in the batch's order.
        index: the source of each row, from 0.
        sources: E.
    """
    products = torch.stack([one.gram for one in rows.parameters.values() if one.gram is not None]).sum(0)
    members = torch.nn.functional.one_hot(index, sources).to(products.dtype)
    of_sources = products @ (members / members.sum(0))
    return (of_sources * (1 - members)).sum(1) / (sources - 1 or math.nan)


def _noise(found: GradientStatistics) -> tuple[Float[Tensor, " e"], Float[Tensor, " e"]]:
    """Return `GradientStatistics.noise_by_environment`, with NaN for a source of one row."""
    sizes = torch.tensor(found.sizes, dtype=torch.float64)
    squares = found.norms.square()
    means = torch.zeros_like(sizes).index_add_(0, found.index, found.example_norms.square()) / sizes
    variance = torch.where(sizes > 1, (means - squares) * sizes / (sizes - 1), math.nan)
    return squares - variance / sizes, variance
