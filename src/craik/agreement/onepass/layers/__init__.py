"""Per-layer formulas, one file a kind of layer; `formulas_of` finds those that fit a layer."""

from torch import nn

from craik.agreement.onepass.layers.convolution import ConvolutionBias, ConvolutionWeight, padding_of
from craik.agreement.onepass.layers.embedding import EmbeddingWeight
from craik.agreement.onepass.layers.formula import Formula as Formula
from craik.agreement.onepass.layers.formula import Use as Use
from craik.agreement.onepass.layers.formula import add_all as add_all
from craik.agreement.onepass.layers.linear import LinearBias, LinearWeight
from craik.agreement.onepass.layers.normalisation import (
    BatchNormWeight,
    ChannelBias,
    GroupNormWeight,
    LayerNormBias,
    LayerNormWeight,
)

_FORMULAS: dict[type[nn.Module], dict[str, Formula]] = {
    nn.Linear: {"weight": LinearWeight(), "bias": LinearBias()},
    nn.Conv1d: {"weight": ConvolutionWeight(), "bias": ConvolutionBias()},
    nn.Conv2d: {"weight": ConvolutionWeight(), "bias": ConvolutionBias()},
    nn.Conv3d: {"weight": ConvolutionWeight(), "bias": ConvolutionBias()},
    nn.Embedding: {"weight": EmbeddingWeight()},
    nn.LayerNorm: {"weight": LayerNormWeight(), "bias": LayerNormBias()},
    nn.GroupNorm: {"weight": GroupNormWeight(), "bias": ChannelBias()},
    nn.BatchNorm1d: {"weight": BatchNormWeight(), "bias": ChannelBias()},
    nn.BatchNorm2d: {"weight": BatchNormWeight(), "bias": ChannelBias()},
    nn.BatchNorm3d: {"weight": BatchNormWeight(), "bias": ChannelBias()},
}


def formulas_of(layer: nn.Module) -> dict[str, Formula]:
    """Return the formulas of a layer's own parameters, by the parameter's name in the layer; none for what has no formula.

    A subclass counts as its base where it computes like it, that is, where it does not override ``forward``.
    """
    for kind, formulas in _FORMULAS.items():
        if isinstance(layer, kind) and type(layer).forward is kind.forward and _usual(layer):
            return formulas
    return {}


def _usual(layer: nn.Module) -> bool:
    """Tell whether a layer's options keep to what its formula assumes."""
    if isinstance(layer, nn.Conv1d | nn.Conv2d | nn.Conv3d):
        return layer.padding_mode == "zeros" and padding_of(layer) is not None
    if isinstance(layer, nn.Embedding):
        # A sparse gradient, one scaled by frequency and a table renormalised in place are left to autograd.
        return not (layer.sparse or layer.scale_grad_by_freq or layer.max_norm)
    return True
