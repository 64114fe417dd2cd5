"""Normalisations: the scale's gradient is the sum of delta times the normalised input, the shift's the sum of delta.

BatchNorm is treated in eval mode, where it normalises with stored statistics, and in train mode for a call that holds one
environment, whose statistics are then its own.
"""

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import batch_norm, group_norm, layer_norm

from craik.agreement.onepass.layers.formula import PerExample, Use

BatchNorm = nn.BatchNorm1d | nn.BatchNorm2d | nn.BatchNorm3d


class LayerNormWeight(PerExample):
    """The scale of `torch.nn.LayerNorm`."""

    def per_example(self, use: Use) -> Float[Tensor, "b *p"]:
        """Return delta times the normalised input, summed over the dimensions before the normalised ones."""
        layer = use.layer
        if not isinstance(layer, nn.LayerNorm):
            raise TypeError(f"LayerNorm's formula needs a LayerNorm. Found {type(layer).__name__}.")
        normalised = layer_norm(use.inputs, layer.normalized_shape, eps=layer.eps)
        return _over_positions(use.deltas * normalised, len(layer.normalized_shape))


class LayerNormBias(PerExample):
    """The shift of `torch.nn.LayerNorm`."""

    reads_inputs = False

    def per_example(self, use: Use) -> Float[Tensor, "b *p"]:
        """Return delta summed over the dimensions before the normalised ones."""
        layer = use.layer
        if not isinstance(layer, nn.LayerNorm):
            raise TypeError(f"LayerNorm's formula needs a LayerNorm. Found {type(layer).__name__}.")
        return _over_positions(use.deltas, len(layer.normalized_shape))


class GroupNormWeight(PerExample):
    """The scale of `torch.nn.GroupNorm`."""

    def per_example(self, use: Use) -> Float[Tensor, "b c"]:
        """Return delta times the normalised input, summed over space."""
        layer = use.layer
        if not isinstance(layer, nn.GroupNorm):
            raise TypeError(f"GroupNorm's formula needs a GroupNorm. Found {type(layer).__name__}.")
        normalised = group_norm(use.inputs, layer.num_groups, eps=layer.eps)
        return _over_space(use.deltas * normalised)


class BatchNormWeight(PerExample):
    """The scale of BatchNorm."""

    def per_example(self, use: Use) -> Float[Tensor, "b c"]:
        """Return delta times the normalised input, summed over space; batch statistics are the call's own."""
        layer = use.layer
        if not isinstance(layer, BatchNorm):
            raise TypeError(f"BatchNorm's formula needs a BatchNorm. Found {type(layer).__name__}.")
        stored = not use.training and layer.running_mean is not None
        mean, variance = (layer.running_mean, layer.running_var) if stored else (None, None)
        return _over_space(use.deltas * batch_norm(use.inputs, mean, variance, training=not stored, eps=layer.eps))


class ChannelBias(PerExample):
    """The shift of a normalisation over channels."""

    reads_inputs = False

    def per_example(self, use: Use) -> Float[Tensor, "b c"]:
        """Return delta summed over space."""
        return _over_space(use.deltas)


def _over_positions(tensor: Tensor, kept: int) -> Tensor:
    """Sum over what lies between the examples and the last ``kept`` dimensions."""
    between = tuple(range(1, tensor.dim() - kept))
    return tensor.sum(between) if between else tensor


def _over_space(tensor: Float[Tensor, "b c *space"]) -> Float[Tensor, "b c"]:
    return tensor if tensor.dim() == 2 else tensor.flatten(2).sum(2)
