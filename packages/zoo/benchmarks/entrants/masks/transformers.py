"""Transformers of the benchmark, as published models and torch's own layers build them, at sizes that one core can train.

Written here, as the benchmark asks for no more than their operations: which of their parameters are read how. They take (B, T)
tokens or (B, C, H, W) pictures and return (B, T, V) or (B, V) logits.
"""

from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812  # torch's own habit
from torch import Tensor, nn


class Size(NamedTuple):
    """Widths of a transformer.

    Attributes:
        width: of what flows between blocks.
        blocks: how many.
        heads: of attention in a block.
        vocabulary: how many tokens, or classes, there are.
        length: how many positions there are at most.
    """

    width: int = 256
    blocks: int = 4
    heads: int = 4
    vocabulary: int = 1000
    length: int = 32


class Attention(nn.Module):
    """Self-attention with one product for queries, keys and values, or with one for each and fewer heads for the last two."""

    def __init__(self, size: Size, *, causal: bool, bias: bool = False, key_heads: int = 0, rotary: bool = False) -> None:
        super().__init__()
        self.heads, self.key_heads = size.heads, key_heads or size.heads
        self.causal, self.rotary = causal, rotary
        each = size.width // size.heads
        self.sizes = (size.width, each * self.key_heads, each * self.key_heads)
        if key_heads:
            self.projections = nn.ModuleList(nn.Linear(size.width, outputs, bias=bias) for outputs in self.sizes)
        else:
            self.packed = nn.Linear(size.width, sum(self.sizes), bias=bias)
        self.out = nn.Linear(size.width, size.width, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """Return what every position gathers."""
        parts = [p(x) for p in self.projections] if hasattr(self, "projections") else self.packed(x).split(self.sizes, -1)
        counts = (self.heads, self.key_heads, self.key_heads)
        q, k, v = (part.unflatten(-1, (count, -1)).transpose(1, 2) for part, count in zip(parts, counts, strict=True))
        if self.rotary:
            q, k = rotated(q), rotated(k)
        if self.key_heads < self.heads:
            k, v = (t.repeat_interleave(self.heads // self.key_heads, 1) for t in (k, v))
        gathered = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(gathered.transpose(1, 2).flatten(2))


def rotated(x: Tensor) -> Tensor:
    """Return (B, heads, T, d) queries or keys turned by their positions (Su et al. 2021)."""
    half = x.shape[-1] // 2
    rates = 10_000 ** (-torch.arange(half, dtype=x.dtype, device=x.device) / half)
    angles = torch.arange(x.shape[-2], dtype=x.dtype, device=x.device)[:, None] * rates
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


class RootMeanSquare(nn.Module):
    """RMSNorm as Llama writes it: weight times the input over its root mean square."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised input."""
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class Gated(nn.Module):
    """Llama's feed-forward part."""

    def __init__(self, width: int) -> None:
        super().__init__()
        hidden = width * 8 // 3
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return down(silu(gate x) * up x)."""
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    """Attention and a feed-forward part, each normalised before and added to its input."""

    def __init__(self, width: int, norm: type[nn.Module], attention: nn.Module, forward: nn.Module) -> None:
        super().__init__()
        self.norms = nn.ModuleList(norm(width) for _ in range(2))
        self.attention, self.feed = attention, forward

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output."""
        x = x + self.attention(self.norms[0](x))
        return x + self.feed(self.norms[1](x))


def wide(width: int, *, bias: bool) -> nn.Sequential:
    """Return the usual feed-forward part, four times as wide inside."""
    return nn.Sequential(nn.Linear(width, 4 * width, bias=bias), nn.GELU(), nn.Linear(4 * width, width, bias=bias))


class Language(nn.Module):
    """A language model around blocks: an embedding, learned positions or none, a last normalisation and logits."""

    def __init__(self, size: Size, blocks: list[nn.Module], last: nn.Module, *, positions: bool, tied: bool = False) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.positions = nn.Embedding(size.length, size.width) if positions else None
        self.blocks = nn.Sequential(*blocks)
        self.last = last
        self.head = nn.Linear(size.width, size.vocabulary, bias=False)
        if tied:
            self.head.weight = self.tokens.weight

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits for every position."""
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1], device=tokens.device))
        return self.head(self.last(self.blocks(x)))


def rms_language(size: Size) -> nn.Module:
    """Return a language model of pre-norm blocks with torch's RMSNorm."""
    blocks = [
        Block(size.width, nn.RMSNorm, Attention(size, causal=True), wide(size.width, bias=False)) for _ in range(size.blocks)
    ]
    return Language(size, blocks, nn.RMSNorm(size.width), positions=True)


def gpt2(size: Size) -> nn.Module:
    """Return a model like GPT-2: layer norms, biases, learned positions, logits by the embedding's own table."""
    blocks = [
        Block(size.width, nn.LayerNorm, Attention(size, causal=True, bias=True), wide(size.width, bias=True))
        for _ in range(size.blocks)
    ]
    return Language(size, blocks, nn.LayerNorm(size.width), positions=True, tied=True)


def llama(size: Size) -> nn.Module:
    """Return a model like Llama: RMSNorm of its own, turned queries and keys, shared key heads, gated feed-forward parts."""
    blocks = [
        Block(
            size.width,
            RootMeanSquare,
            Attention(size, causal=True, key_heads=max(1, size.heads // 2), rotary=True),
            Gated(size.width),
        )
        for _ in range(size.blocks)
    ]
    return Language(size, blocks, RootMeanSquare(size.width), positions=False)


class Encoder(nn.Module):
    """torch's own encoder, or decoder with attention to a memory, between an embedding and logits."""

    def __init__(self, size: Size, *, decoder: bool) -> None:
        super().__init__()
        options = {"dropout": 0.0, "batch_first": True}
        widths = (size.width, size.heads, 4 * size.width)
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        if decoder:
            self.stack: nn.Module = nn.TransformerDecoder(nn.TransformerDecoderLayer(*widths, **options), size.blocks)
        else:
            layer = nn.TransformerEncoderLayer(*widths, **options)
            self.stack = nn.TransformerEncoder(layer, size.blocks, enable_nested_tensor=False)
        self.decoder = decoder
        self.head = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits for every position; the decoder's memory is the embedding, read backwards."""
        x = self.tokens(tokens)
        return self.head(self.stack(x, x.flip(1)) if self.decoder else self.stack(x))


class Bert(nn.Module):
    """A model like BERT: tokens, positions and kinds embedded and normalised, post-norm blocks, logits by the tied table."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        sizes = (size.vocabulary, size.length, 2)
        self.embeddings = nn.ModuleList(nn.Embedding(count, size.width) for count in sizes)
        self.norm = nn.LayerNorm(size.width)
        self.attentions = nn.ModuleList(
            Attention(size, causal=False, bias=True, key_heads=size.heads) for _ in range(size.blocks)
        )
        self.feeds = nn.ModuleList(wide(size.width, bias=True) for _ in range(size.blocks))
        self.norms = nn.ModuleList(nn.LayerNorm(size.width) for _ in range(2 * size.blocks))
        self.transform = nn.Sequential(nn.Linear(size.width, size.width), nn.GELU(), nn.LayerNorm(size.width))
        self.bias = nn.Parameter(torch.zeros(size.vocabulary))

    def forward(self, tokens: Tensor) -> Tensor:
        """Return logits for every position."""
        words, places, kinds = self.embeddings
        at = torch.arange(tokens.shape[1], device=tokens.device)
        half = at >= tokens.shape[1] // 2
        x = self.norm(words(tokens) + places(at) + kinds(half.long().expand_as(tokens)))
        for n, (attention, feed) in enumerate(zip(self.attentions, self.feeds, strict=True)):
            x = self.norms[2 * n](x + attention(x))
            x = self.norms[2 * n + 1](x + feed(x))
        return self.transform(x) @ words.weight.T + self.bias


class VisionTransformer(nn.Module):
    """A vision transformer with a class token and learned positions (Dosovitskiy et al. 2021)."""

    def __init__(self, size: Size, patch: int = 4) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, size.width, patch, patch)
        self.token = nn.Parameter(torch.zeros(1, 1, size.width))
        self.positions = nn.Parameter(torch.randn(1, size.length + 1, size.width) * 0.02)
        self.blocks = nn.Sequential(
            *(
                Block(size.width, nn.LayerNorm, Attention(size, causal=False, bias=True), wide(size.width, bias=True))
                for _ in range(size.blocks)
            )
        )
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary)

    def forward(self, pictures: Tensor) -> Tensor:
        """Return logits, read at the class token."""
        x = self.patches(pictures).flatten(2).mT
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])
