"""Further networks of the benchmark: recurrent ones, of packed texts too, ConvNeXt, low-rank adapters on a frozen network."""

import torch
from mechlearn_zoo_benchmarks.entrants.masks.transformers import Language, Size, rms_language
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence


class Recurrent(nn.Module):
    """A recurrent layer over (B, T, inputs) and logits of its last state.

    Args:
        kind: `torch.nn.GRU` or `torch.nn.LSTM`.
        inputs: width of the input.
        hidden: width of the state.
    """

    def __init__(self, kind: type[nn.RNNBase], inputs: int, hidden: int) -> None:
        super().__init__()
        self.layer = kind(inputs, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        return self.head(self.layer(x)[0][:, -1])


class Reader(nn.Module):
    """An LSTM over texts without their padding, and logits of its last state.

    Args:
        vocabulary: how many tokens; 0 is padding.
        width: of the embeddings.
        hidden: width of the state.
    """

    def __init__(self, vocabulary: int, width: int, hidden: int) -> None:
        super().__init__()
        self.embed, self.layer = nn.Embedding(vocabulary, width), nn.LSTM(width, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 10)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits of (B, T) tokens, padded at their ends."""
        lengths = (tokens > 0).sum(1).cpu()
        texts = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        return self.head(self.layer(texts)[1][0][-1])


class ChannelsLast(nn.Module):
    """A layer norm over the channels of (B, C, H, W)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised pictures."""
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ConvNeXtBlock(nn.Module):
    """A depthwise 7x7 convolution, a layer norm and two linear layers, scaled by channel (Liu et al. 2022)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.wide = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        inside = self.scale * self.wide(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))
        return x + inside.permute(0, 3, 1, 2)


def convnext(channels: int, blocks: int) -> nn.Sequential:
    """Return two stages of blocks on 32x32 pictures."""
    stem = [nn.Conv2d(3, channels, 2, 2), ChannelsLast(channels)]
    down = [ChannelsLast(channels), nn.Conv2d(channels, 2 * channels, 2, 2)]
    first, second = ([ConvNeXtBlock(width) for _ in range(blocks)] for width in (channels, 2 * channels))
    end = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(2 * channels), nn.Linear(2 * channels, 10)]
    return nn.Sequential(*stem, *first, *down, *second, *end)


class Adapted(nn.Module):
    """A frozen linear layer with a trained product of two narrow ones beside it (Hu et al. 2022)."""

    def __init__(self, layer: nn.Linear, rank: int = 8) -> None:
        super().__init__()
        self.layer = layer.requires_grad_(requires_grad=False)
        self.down = nn.Linear(layer.in_features, rank, bias=False)
        self.up = nn.Linear(rank, layer.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return both layers' sum."""
        return self.layer(x) + 0.5 * self.up(self.down(x))


def adapted(size: Size) -> nn.Module:
    """Return a frozen language model whose blocks' linear layers have adapters."""
    model = rms_language(size).requires_grad_(requires_grad=False)
    if not isinstance(model, Language):
        raise TypeError(f"Adapters go on a language model. Found {type(model).__name__}.")
    for module in list(model.blocks.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, Adapted(child))
    return model
