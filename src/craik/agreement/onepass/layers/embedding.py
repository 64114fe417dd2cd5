"""Embeddings: e's gradient of a row of the table is the sum of delta over the positions that looked the row up."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from craik.agreement.onepass.layers.formula import Formula, Span, Use
from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments


class EmbeddingWeight(Formula):
    """The table of `torch.nn.Embedding`, (v, k). A row that an environment does not look up has gradient 0 there."""

    def gradients(self, use: Use, span: Span) -> Float[Tensor, "c v k"]:
        """Return the span's gradients, dense: for a table tied to another layer."""
        rows, deltas = _looked_up(use)
        lookups, deltas = rows[span.rows].flatten(1), deltas[span.rows].flatten(1, -2)
        owner = torch.arange(span.environments, device=rows.device).repeat_interleave(lookups.numel() // span.environments)
        gradients = deltas.new_zeros(span.environments * _entries(use), deltas.shape[-1])
        index = owner * _entries(use) + lookups.flatten()
        return gradients.index_add_(0, index, deltas.flatten(0, 1)).unflatten(0, (span.environments, -1))

    def add(self, sums: RunningSums, use: Use, groups: Environments) -> None:
        """Add every environment's gradient, touching only the rows that it looks up."""
        entries = _entries(use)
        rows, deltas = _looked_up(use)
        per_example = rows[0].numel()
        sizes = torch.tensor(groups.sizes, device=rows.device) * per_example
        owner = torch.arange(groups.count, device=rows.device).repeat_interleave(sizes)
        pairs, index = torch.unique(owner * entries + rows.flatten(), return_inverse=True)
        gradients = deltas.new_zeros(len(pairs), deltas.shape[-1]).to(sums.dtype)
        gradients.index_add_(0, index, deltas.flatten(0, -2).to(gradients.dtype))
        looked_up = pairs % entries
        total = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients)
        log_magnitude = None
        if "log_magnitude" in sums.needs:
            missing = groups.count - torch.bincount(looked_up, minlength=entries)
            log_magnitude = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients.abs().log_())
            log_magnitude[missing > 0] = -torch.inf
        square = None
        if "square" in sums.needs:
            square = gradients.new_zeros(sums.shape).index_add_(0, looked_up, gradients.square())
        sign = None
        if "sign" in sums.needs:
            signs = gradients.sign_().to(sums.sign_dtype)
            sign = signs.new_zeros(sums.shape).index_add_(0, looked_up, signs)
        sums.add_sums(groups.count, total, sign, log_magnitude, square)


def _entries(use: Use) -> int:
    return _layer(use).num_embeddings


def _layer(use: Use) -> nn.Embedding:
    if not isinstance(use.layer, nn.Embedding):
        raise TypeError(f"An embedding's formula needs an embedding. Found {type(use.layer).__name__}.")
    return use.layer


def _looked_up(use: Use) -> tuple[Tensor, Float[Tensor, "b *positions k"]]:
    """Return the rows looked up and their deltas, 0 for the padding row, which receives no gradient."""
    padding = _layer(use).padding_idx
    rows = use.inputs.long()
    deltas = use.deltas.reshape(*rows.shape, -1)
    return rows, deltas if padding is None else deltas * (rows != padding)[..., None]
