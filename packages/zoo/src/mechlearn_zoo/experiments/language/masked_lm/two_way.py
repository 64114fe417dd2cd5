"""The other opponent: two language models of LSTMs, one from the left and one from the right (Peters et al. 2018)."""

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.nn.recurrent import lstm

LAYERS = 2


class TwoWayEncoder(nn.Module):
    """The sum of what both directions make of a token; each of them has read it."""

    causal = False

    def __init__(self, words: int, width: int, generator: Generator) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(torch.randn(words, width, generator=generator) * width**-0.5, freeze=False)
        self.left = nn.ModuleList(lstm(width, width, generator) for _ in range(LAYERS))
        self.right = nn.ModuleList(lstm(width, width, generator) for _ in range(LAYERS))

    def sides(self, ids: Int[Tensor, "b t"]) -> tuple[Float[Tensor, "b t w"], Float[Tensor, "b t w"]]:
        """Return what is known of each place from its left and from its right, itself included."""
        left, right = self.words(ids), self.words(ids.flip(1))
        for forwards, backwards in zip(self.left, self.right, strict=True):
            left, right = forwards(left)[0], backwards(right)[0]
        return left, right.flip(1)

    def forward(self, ids: Int[Tensor, "b t"]) -> Float[Tensor, "b t w"]:
        """Return the sum of both."""
        left, right = self.sides(ids)
        return left + right


class TwoWay(nn.Module):
    """Both language models, with one output layer for both.

    Args:
        words: of the vocabulary.
        width: of embeddings and LSTMs.
        generator: of the initial weights.
    """

    def __init__(self, words: int, width: int, generator: Generator) -> None:
        super().__init__()
        self.encoder = TwoWayEncoder(words, width, generator)
        self.out = linear(width, words, "default", generator)

    def losses(self, ids: Int[Tensor, "b t"]) -> Float[Tensor, " n"]:
        """Return the cross-entropy of every next token from the left and of every one before from the right."""
        left, right = self.encoder.sides(ids)
        said = torch.cat([self.out(left[:, :-1]), self.out(right[:, 1:])], 1)
        return cross_entropy(said.flatten(0, 1), torch.cat([ids[:, 1:], ids[:, :-1]], 1).flatten(), reduction="none")
