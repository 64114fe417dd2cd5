"""A linear layer's masks in two bases, from its moments, and what each leaves of the disagreement in other environments.

For a linear layer with inputs a and output gradients d, environment e's weight gradient is g_e = mean_i d_i a_i^T. A mask of
components is Gail and Simon's test of each weight (`mechlearn.agreement.Qualitative`; with a hundred examples of an environment
z is taken for normal). A mask of directions takes out the eigenvectors of T - S of the layer's inputs, as in
`conflict-rotated`.

Either is decided on some of the environments and looked at in the others: of what it lets through, what differs beyond noise,
T, and what is in common, S, summed over the layer's weights. A mask in the wrong basis leaves more of T: of coordinates that
all mix the shortcuts none is clean, and a direction that few environments agree on by chance is not one of the others.

Index conventions: e an environment of E, i and j an input, o an output, k a direction.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.agreement import Heterogeneous, Statistics
from mechlearn.agreement.rules.critical import qualitative_critical
from mechlearn_zoo.experiments.conflict.shortcuts.directions import apart

LEVEL = 0.2
"""Of Gail and Simon's test."""


class Moments(NamedTuple):
    """Of a layer in one step.

    Attributes:
        gradients: g_e, (E, o, i).
        variances: squared standard errors of their components, (E, o, i).
        within: squared standard errors as forms on directions of the inputs, summed over outputs, (E, i, i).
    """

    gradients: Float[Tensor, "e o i"]
    variances: Float[Tensor, "e o i"]
    within: Float[Tensor, "e i i"]

    def of(self, environments: Tensor) -> "Moments":
        """Return those of some environments."""
        return Moments(*(moment[environments] for moment in self))


class Components(NamedTuple):
    """A mask of single weights."""

    mask: Bool[Tensor, "o i"]

    def keeps(self, weights: Float[Tensor, "*e o i"]) -> Tensor:
        """Return what is let through of a gradient, a step or weights."""
        return weights * self.mask

    def noise(self, found: Moments) -> Tensor:
        """Return the squared standard error of what is let through, summed over weights, mean over environments."""
        return (found.variances.mean(0) * self.mask).sum()


class Directions(NamedTuple):
    """A mask that takes some orthonormal directions of the inputs out."""

    out: Float[Tensor, "i k"]

    def keeps(self, weights: Float[Tensor, "*e o i"]) -> Tensor:
        """Return what is let through of a gradient, a step or weights."""
        return weights - weights @ self.out @ self.out.T

    def noise(self, found: Moments) -> Tensor:
        """Return the squared standard error of what is let through, summed over weights, mean over environments."""
        within = found.within.mean(0)
        return within.trace() - torch.einsum("ik,ij,jk->", self.out, within, self.out)


class Eigenbasis(NamedTuple):
    """A mask of components in an orthonormal basis of the outputs' gradients and one of the inputs."""

    mask: Bool[Tensor, "o i"]
    outputs: Float[Tensor, "o o"]
    inputs: Float[Tensor, "i i"]

    def keeps(self, weights: Float[Tensor, "o i"]) -> Tensor:
        """Return what is let through of a gradient, a step or weights."""
        return self.outputs @ (self.mask * (self.outputs.T @ weights @ self.inputs)) @ self.inputs.T


Mask = Components | Directions | Eigenbasis


def moments(inputs: Float[Tensor, "e n i"], deltas: Float[Tensor, "e n o"]) -> Moments:
    """Return a layer's moments from its inputs and from each example's gradient at its output."""
    n = inputs.shape[1]
    gradients = torch.einsum("eno,eni->eoi", deltas, inputs) / n
    squares = torch.einsum("eno,eni->eoi", deltas.square(), inputs.square()) / n - gradients.square()
    weighted = deltas.square().sum(-1, keepdim=True) * inputs
    second = torch.einsum("eni,enj->eij", weighted, inputs) / n - torch.einsum("eoi,eoj->eij", gradients, gradients)
    return Moments(gradients, squares.clamp(min=0) / (n - 1), second / (n - 1))


def of_components(found: Moments) -> Components:
    """Return Gail and Simon's mask of single weights."""
    tiny = torch.finfo(found.gradients.dtype).tiny
    squares = found.gradients.square() / found.variances.clamp(min=tiny)
    positive, negative = ((squares * side).sum(0) for side in (found.gradients > 0, found.gradients < 0))
    return Components(positive.minimum(negative) <= qualitative_critical(len(found.gradients), LEVEL))


def of_directions(found: Moments) -> Directions:
    """Return the mask of the directions in which the environments differ by more than they have in common."""
    return Directions(apart(found.gradients, found.within.mean(0)))


def of_units(found: Moments) -> Components:
    """Return `mechlearn.agreement.Heterogeneous`'s mask by unit: out are those whose weights differ by more than they share."""
    gradients, variances = (moment.double() for moment in (found.gradients, found.variances))
    statistics = Statistics(len(gradients), gradients.sum(0), square=gradients.square().sum(0), variance=variances.sum(0))
    return Components(Heterogeneous("unit").consume(statistics).survives.bool())


def of_eigenbasis(inputs: Float[Tensor, "e n i"], deltas: Float[Tensor, "e n o"]) -> Eigenbasis:
    """Return Gail and Simon's mask in K-FAC's eigenbasis (George et al. 2018, https://arxiv.org/abs/1806.03884, section 3).

    Its axes are the eigenvectors of the inputs' and of the output gradients' second moments over all environments: the basis
    in which a layer's gradients are least correlated, chosen without a look at what the environments disagree on.
    """
    a, d = inputs.flatten(0, 1), deltas.flatten(0, 1)
    of_inputs, of_outputs = (torch.linalg.eigh(t.T @ t / len(t)).eigenvectors for t in (a, d))
    return Eigenbasis(of_components(moments(inputs @ of_inputs, deltas @ of_outputs)).mask, of_outputs, of_inputs)


def left(mask: Components | Directions, found: Moments) -> float:
    """Return T / (T + S) of what a mask lets through: 0 where the environments agree on it, 1 where nothing is in common."""
    kept, noise = mask.keeps(found.gradients), mask.noise(found)
    count, mean = len(kept), kept.mean(0)
    between = (kept - mean).square().sum() / (count - 1)
    differs, common = (between - noise).clamp(min=0), (mean.square().sum() - between / count).clamp(min=0)
    return float(differs / (differs + common)) if float(differs) > 0 else 0.0


def disagreement(found: Moments, generator: torch.Generator) -> tuple[float, float]:
    """Return what masks of components and of directions leave, decided on half of the environments and seen in the other."""
    order = torch.randperm(len(found.gradients), generator=generator)
    half = len(order) // 2
    parts = [found.of(order[:half]), found.of(order[half:])]
    sums = [0.0, 0.0]
    for deciding, seen in (parts, parts[::-1]):
        for place, decide in enumerate((of_components, of_directions)):
            sums[place] += left(decide(deciding), seen) / 2
    return sums[0], sums[1]
