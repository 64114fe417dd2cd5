"""The other opponent: a Transformer (Vaswani et al. 2017) of torch's own layers, with sines for places."""

import math
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit

HEADS, LAYERS = 4, 2
"""Of encoder and decoder each."""


class Transformer(nn.Module):
    """Encoder-decoder without dropout; layer norms stand before what they norm.

    Args:
        vocabulary: words of both sides together.
        width: of all layers; the feed-forward ones have twice as many units.
        generator: of the initial weights.
    """

    def __init__(self, vocabulary: int, width: int, generator: Generator) -> None:
        super().__init__()
        with torch.device("meta"):
            self.embedding = nn.Embedding(vocabulary, width)
            sizes: dict[str, Any] = {"dim_feedforward": 2 * width, "dropout": 0.0, "batch_first": True, "norm_first": True}
            reading, writing = (
                nn.TransformerEncoderLayer(width, HEADS, **sizes),
                nn.TransformerDecoderLayer(width, HEADS, **sizes),
            )
            self.encoder = nn.TransformerEncoder(reading, LAYERS, nn.LayerNorm(width), enable_nested_tensor=False)
            self.decoder = nn.TransformerDecoder(writing, LAYERS, nn.LayerNorm(width))
            self.out = nn.Linear(width, vocabulary)
        self.to_empty(device="cpu")
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1:
                nn.init.xavier_uniform_(parameter, generator=generator)
            else:
                nn.init.constant_(parameter, float("norm" in name and name.endswith("weight")))
        nn.init.normal_(self.embedding.weight, std=width**-0.5, generator=generator)

    def shown(self, words: Tensor) -> Tensor:
        """Return embeddings (b, t, width) with sines and cosines of their places added."""
        width = self.embedding.embedding_dim
        rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000.0) / width))
        angles = torch.arange(words.shape[1])[:, None] * rates
        return math.sqrt(width) * self.embedding(words) + torch.stack([angles.sin(), angles.cos()], -1).flatten(1)

    def forward(self, source: Tensor, before: Tensor) -> Tensor:
        """Return logits (b, t, v) of the word after each of ``before``, all sources being of one length."""
        ahead = torch.ones(before.shape[1], before.shape[1], dtype=torch.bool).triu(1)
        return self.out(self.decoder(self.shown(before), self.encoder(self.shown(source)), tgt_mask=ahead))

    def loss(self, source: Tensor, target: Tensor, begin: int) -> Tensor:
        """Return the mean cross-entropy of each pair's words, the last word included."""
        before = torch.cat([torch.full_like(target[:, :1], begin), target[:, :-1]], 1)
        return F.cross_entropy(self(source, before).transpose(1, 2), target, reduction="none").mean(1)

    def greedy(self, source: Tensor, begin: int, end: int) -> list[list[int]]:
        """Return each source's translation without its end, the likeliest word at every step, at most twice as long."""
        with torch.no_grad():
            written, over = torch.full((len(source), 1), begin), torch.zeros(len(source), dtype=torch.bool)
            for _ in range(2 * source.shape[1]):
                last = self(source, written)[:, -1].argmax(1).masked_fill(over, end)
                over |= last == end
                written = torch.cat([written, last[:, None]], 1)
                if bool(over.all()):
                    break
        rows = written[:, 1:].tolist()
        return [row[: row.index(end)] if end in row else row for row in rows]
