"""Products of sorted rows with one matrix for each group of adjacent rows: experts, of which each token chooses some."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved, slot_shape
from mechlearn.agreement.engine.layers.embedding import environments_of
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.terms import Each, Term

INPUTS, MATRICES = range(2)
"""What the node reads."""


def take(node: Node, slots: Sequence[int], delta: Tensor, layout: Layout) -> list[Term]:
    """Return the term of the matrices, (g, d, o): of each, the product of its rows with their incoming gradients."""
    del slots
    inputs: Tensor = saved(node, "self")
    shape, ends = slot_shape(node, MATRICES), saved(node, "offs").long()
    owners = environments_of(layout, len(inputs)).to(inputs.device)
    group = torch.searchsorted(ends, torch.arange(len(inputs), device=inputs.device), right=True)
    kept = (owners >= 0) & (group < shape[0])
    place = (group * layout.count + owners)[kept]
    order = kept.nonzero()[:, 0][place.argsort(stable=True)]
    counts = torch.bincount(place, minlength=shape[0] * layout.count).tolist()
    starts = [0]
    for size in counts:
        starts.append(starts[-1] + size)
    inputs, delta = inputs[order], delta[order]
    parts = [slice(start, stop) for start, stop in pairwise(starts)]

    def form(environment: int) -> Tensor:
        gradient = delta.new_zeros(shape)
        for one, some in enumerate(parts[environment :: layout.count]):
            torch.mm(inputs[some].to(delta.dtype).T, delta[some], out=gradient[one])
        return gradient

    return [Each(layout.count, form)]


def why_not(read: Read) -> str | None:
    """Say why a grouped product has no formula: groups lie along another dimension than rows."""
    usual = len(slot_shape(read.node, MATRICES)) == 3 and len(output_shape(read.node)) == 2 and read.rows.dim <= 0
    return None if usual else "is a factor of a grouped product whose examples lie along the parameter"
