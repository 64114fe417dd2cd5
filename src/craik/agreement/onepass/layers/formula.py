"""What a per-layer formula is: from one call's inputs and output gradients to every environment's parameter gradient.

A layer sees, for each example b, an input a_b and the gradient of the loss with respect to its output, delta_b. One backward
pass of the sum of the environments' mean losses brings every delta_b, already divided by n_e; what remains is to form each
environment's gradient, take its sign, add both up, and let it go.

Index conventions: b an example, e an environment, c a chunk of environments, n an environment's examples, p a parameter.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments

CHUNK_ELEMENTS = 2**18
"""Elements of environment gradients formed at a time: 1 MiB of float32, which stays in a core's second-level cache. Smaller
tiles of large weights would leave room for the sums too, but are slower products (measured on a CPU)."""


@dataclass(frozen=True)
class Use:
    """One call of a layer, its examples grouped by environment.

    Attributes:
        layer: the layer that was called.
        inputs: what it was given, examples first.
        deltas: the gradient with respect to what it returned, examples first.
        training: whether it was in train mode.
    """

    layer: nn.Module
    inputs: Tensor
    deltas: Tensor
    training: bool = True


@dataclass(frozen=True)
class Span:
    """Adjacent environments of one size, and their examples' rows in a grouped tensor."""

    environments: int
    rows: slice

    def split(self, tensor: Float[Tensor, "b *rest"]) -> Float[Tensor, "c n *rest"]:
        """Return the span's rows with a dimension for environments and one for their examples."""
        return tensor[self.rows].unflatten(0, (self.environments, -1))


def spans(groups: Environments, longest: int) -> Iterator[Span]:
    """Cut the environments into spans of at most ``longest``; environments of unequal sizes come one at a time."""
    if not groups.equal:
        yield from (Span(1, rows) for rows in groups.slices())
        return
    size = groups.sizes[0]
    for first in range(0, groups.count, longest):
        count = min(longest, groups.count - first)
        yield Span(count, slice(first * size, (first + count) * size))


class Formula(ABC):
    """Environment gradients of one parameter of one kind of layer."""

    reads_inputs: bool = True
    """False where output gradients alone suffice, as for a bias."""

    longest: int = 2**30
    """At most this many environments at a time."""

    @abstractmethod
    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c *p"]:
        """Return the gradients of a span's environments, in memory that may be overwritten."""

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Add every environment's gradient to the sums, a chunk at a time."""
        add_all(sums, [(self, use)], groups)


def chunk_length(numel: int, budget: int) -> int:
    """Return how many stacked gradients of ``numel`` elements fit a budget of elements, at least one."""
    return max(1, math.floor(budget / max(1, numel)))


def add_all(sums: RunningSums, uses: Sequence[tuple[Formula, Use]], groups: Environments) -> None:
    """Add every environment's gradient over several uses of one parameter: their sum first, and only then its sign."""
    (first, use), *rest = uses
    longest = min(formula.longest for formula, _ in uses)
    for span in spans(groups, min(longest, chunk_length(sums.shape.numel(), CHUNK_ELEMENTS))):
        total = first.gradients(use, span).to(sums.dtype)
        for formula, other in rest:
            total = total + formula.gradients(other, span)
        sums.add(total.view(-1, *sums.shape))


def add_products(sums: RunningSums, left: Sequence[Float[Tensor, "o _"]], right: Sequence[Float[Tensor, "_ k"]]) -> None:
    """Add environment gradients that are matrix products, one environment after another, some rows o at a time.

    A tile is formed, signed and added to both sums while it is in cache; an environment's gradient as a whole never exists.
    """
    columns = right[0].shape[1]
    # Elsewhere than on a CPU many small products cost more than a cache saves.
    rows = min(sums.shape[0], chunk_length(columns, CHUNK_ELEMENTS)) if right[0].device.type == "cpu" else sums.shape[0]
    scratch = right[0].new_empty(rows, columns)
    for some, part in sums.in_parts(len(left), rows):
        tile = scratch[: part.shape[0]]
        for rows_of_e, columns_of_e in zip(left, right, strict=True):
            torch.mm(rows_of_e[some], columns_of_e, out=tile)
            part.add(tile.to(sums.dtype).view(1, *part.shape))


class PerExample(Formula):
    """A parameter so small that each example's gradient can be formed: biases, scales of normalisations."""

    @abstractmethod
    def per_example(self, use: Use) -> Float[Tensor, "b *p"]:
        """Return each example's gradient."""

    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c *p"]:
        """Sum the span's examples within each environment."""
        inputs = use.inputs[span.rows] if self.reads_inputs else use.inputs
        rows = Use(use.layer, inputs, use.deltas[span.rows], use.training)
        return self.per_example(rows).unflatten(0, (span.environments, -1)).sum(1)

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Form all examples' gradients at once and sum them within each environment."""
        per_example = self.per_example(use).to(sums.dtype)
        if groups.equal:
            sums.add(per_example.unflatten(0, (groups.count, -1)).sum(1))
            return
        sizes = torch.tensor(groups.sizes, device=per_example.device)
        index = torch.arange(groups.count, device=per_example.device).repeat_interleave(sizes)
        gradients = per_example.new_zeros(groups.count, *per_example.shape[1:])
        sums.add(gradients.index_add_(0, index, per_example))
