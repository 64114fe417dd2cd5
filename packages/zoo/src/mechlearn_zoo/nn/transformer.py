"""Transformer encoders as BERT has them (Devlin et al. 2019, https://arxiv.org/abs/1810.04805), both ways or causal.

Index convention: b a sequence, t a position, d the width, v a word of the vocabulary. Post-norm, as published:

- h_0 = LayerNorm(word + position + segment), dropout;
- h' = LayerNorm(h + attention(h)), h'' = LayerNorm(h' + W2 gelu(W1 h')), gelu exact (erf).

`from_bert` takes the weights of a `transformers.BertModel`. Dropout draws from a generator of its own.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # the usual name  # noqa: N812  # the usual name

from mechlearn.arguments import (
    check_decay,
    check_flag,
    check_generator,
    check_ids,
    check_kind,
    check_positive,
    check_shape,
    check_whole,
)
from mechlearn.nn.perceptrons import Dropout

EPSILON = 1e-12
"""BERT's, within the roots of its LayerNorms."""


@dataclass(frozen=True)
class TransformerSizes:
    """What a Transformer is made of.

    Args:
        vocabulary: v, how many words there are.
        width: d, of every position's vector.
        layers: how many blocks.
        heads: of attention; they share the width.
        inner: units between the two matrices of a block; BERT has four times the width.
        positions: the longest sequence.
        segments: how many kinds of sentence; 2 as in BERT's pairs.
        dropout: in train mode, of embeddings, attention and each block's outputs; BERT has 0.1.

    Raises:
        TypeError: what is no number.
        ValueError: a number below 1, a dropout outside [0, 1), heads that do not divide the width.
    """

    vocabulary: int
    width: int = 128
    layers: int = 2
    heads: int = 4
    inner: int = 512
    positions: int = 128
    segments: int = 2
    dropout: float = 0.0

    def __post_init__(self) -> None:
        for name in ("vocabulary", "width", "layers", "heads", "inner", "positions", "segments"):
            check_whole(name, getattr(self, name), 1)
        check_decay("dropout", self.dropout)
        if self.width % self.heads:
            raise ValueError(
                f"`heads` should divide the width of {self.width}. Found {self.heads}. Take {math.gcd(self.heads, self.width)}."
            )


class Block(nn.Module):
    """One layer: attention, then two matrices at each position, each added and normalised."""

    def __init__(self, sizes: TransformerSizes, generator: Generator, causal: bool) -> None:
        super().__init__()
        width = sizes.width
        self.heads, self.causal = sizes.heads, causal
        self.projections = nn.Linear(width, 3 * width)
        self.mixed = nn.Linear(width, width)
        self.attention_norm = nn.LayerNorm(width, EPSILON)
        self.up, self.down = nn.Linear(width, sizes.inner), nn.Linear(sizes.inner, width)
        self.norm = nn.LayerNorm(width, EPSILON)
        self.dropout = Dropout(sizes.dropout, generator)

    def forward(self, h: Float[Tensor, "b t d"], mask: Bool[Tensor, "b 1 #t t"] | None = None) -> Float[Tensor, "b t d"]:
        """Return the next layer's vectors; ``mask`` is True where a position may be attended to."""
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.projections(h).chunk(3, -1))
        h = self.attention_norm(h + self.dropout(self.mixed(self._attended(q, k, v, mask).transpose(1, 2).flatten(2))))
        return self.norm(h + self.dropout(self.down(F.gelu(self.up(h)))))

    def _attended(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        if not (self.training and self.dropout.p > 0):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal and mask is None)
        # By hand, as torch's own would drop by the global generator.
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is None:
            scores = scores.masked_fill(~causal_mask(q.shape[-2], q.device), -math.inf) if self.causal else scores
            return self.dropout(scores.softmax(-1)) @ v
        # Behind padding on the left a causal position may attend to nothing: it gets zeros, as from torch's own.
        nothing = ~mask.any(-1, keepdim=True)
        shares = scores.masked_fill(~(mask | nothing), -math.inf).softmax(-1).masked_fill(nothing, 0.0)
        return self.dropout(shares) @ v


class Encoder(nn.Module):
    """Ids to a vector a position: BERT's encoder, or with ``causal`` one that sees no later position.

    Args:
        sizes: of all parts.
        generator: of the initial weights (normal, biases 0), and then of what is dropped in train mode.
        causal: attend to earlier positions and the own one only.
        spread: standard deviation of the initial weights; 0.02 is BERT's, small networks learn faster from more.

    Raises:
        TypeError: sizes, generator or flag of another type.
        ValueError: a spread of 0 or less.

    >>> import torch
    >>> encoder = Encoder(TransformerSizes(vocabulary=10, width=8, heads=2, inner=16), torch.Generator().manual_seed(0))
    >>> encoder(torch.tensor([[2, 5, 3]])).shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, sizes: TransformerSizes, generator: Generator, causal: bool = False, spread: float = 0.02) -> None:
        super().__init__()
        check_kind("sizes", sizes, TransformerSizes, "TransformerSizes")
        check_generator("generator", generator)
        check_flag("causal", causal)
        check_positive("spread", spread)
        self.sizes, self.causal = sizes, causal
        with torch.device("meta"):  # elsewhere the layers would draw their default weights from the global generator
            self.words = nn.Embedding(sizes.vocabulary, sizes.width)
            self.positions = nn.Embedding(sizes.positions, sizes.width)
            self.segments = nn.Embedding(sizes.segments, sizes.width)
            self.norm = nn.LayerNorm(sizes.width, EPSILON)
            self.blocks = nn.ModuleList(Block(sizes, generator, causal) for _ in range(sizes.layers))
            self.pooler = nn.Linear(sizes.width, sizes.width)
        self.dropout = Dropout(sizes.dropout, generator)
        self.to_empty(device="cpu")
        initialise(self, generator, spread)

    def forward(
        self, ids: Int[Tensor, "b t"], segments: Int[Tensor, "b t"] | None = None, attended: Bool[Tensor, "b t"] | None = None
    ) -> Float[Tensor, "b t d"]:
        """Return the last layer's vectors.

        Args:
            ids: of words.
            segments: which sentence each belongs to; the first where None.
            attended: False at padding, which no position then attends to; what stands there itself means nothing.

        Raises:
            TypeError: no tensor, ids or segments that are no whole numbers.
            ValueError: another shape, ids that there are not, more positions than there are, or a row of padding alone.
        """
        check_shape("ids", ids, "B", "T", way_out="A single sequence needs a first dimension of 1.")
        check_ids("ids", ids, "B", "T", count=self.sizes.vocabulary)
        rows, length = ids.shape
        if length > self.sizes.positions:
            raise ValueError(
                f"Sequences should have at most {self.sizes.positions} positions, which the table has. Found {length}. "
                "Cut them, or make the encoder with more `positions`."
            )
        if segments is not None:
            check_ids("segments", segments, *ids.shape, count=self.sizes.segments)
        mask = None if attended is None else self._mask(attended, rows, length)
        h = self.words(ids) + self.positions.weight[:length]
        h = h + (self.segments.weight[0] if segments is None else self.segments(segments))
        h = self.dropout(self.norm(h))
        for block in self.blocks:
            h = block(h, mask)
        return h

    def pool(self, hidden: Float[Tensor, "b t d"]) -> Float[Tensor, "b d"]:
        """Return BERT's summary of each sequence, tanh(W h) of the first position."""
        return torch.tanh(self.pooler(hidden[:, 0]))

    def _mask(self, attended: Tensor, rows: int, length: int) -> Tensor:
        check_shape("attended", attended, rows, length)
        attended = attended.bool()
        if not bool(attended.any(1).all()):
            row = int((~attended.any(1)).nonzero()[0])
            raise ValueError(
                f"Each sequence should have a position that is no padding. Found none in row {row}. Leave empty sequences out."
            )
        mask = attended[:, None, None, :]
        return mask & causal_mask(length, attended.device) if self.causal else mask


class TokenHead(nn.Module):
    """Logits of the words: E LayerNorm(gelu(W h + c)) + bias with the tied embedding E, BERT's head for masked words.

    Args:
        encoder: whose embedding is tied; it is not a part of this module.
        generator: of the initial weights.
        spread: their standard deviation.
    """

    def __init__(self, encoder: Encoder, generator: Generator, spread: float = 0.02) -> None:
        super().__init__()
        width = encoder.sizes.width
        with torch.device("meta"):
            self.dense = nn.Linear(width, width)
            self.norm = nn.LayerNorm(width, EPSILON)
        self.bias = nn.Parameter(torch.zeros(encoder.sizes.vocabulary))
        self.to_empty(device="cpu")
        initialise(self, generator, spread)
        nn.init.zeros_(self.bias)

    def forward(self, hidden: Float[Tensor, "*n d"], words: Float[Tensor, "v d"]) -> Float[Tensor, "*n v"]:
        """Return logits; ``words`` is the encoder's embedding, ``encoder.words.weight``."""
        return F.linear(self.norm(F.gelu(self.dense(hidden))), words, self.bias)


class LanguageModel(nn.Module):
    """An encoder with its head: ids to logits (b, t, v). Causal ones predict the next word, the others a masked one.

    Args:
        sizes: of the encoder.
        generator: of the initial weights, and then of what is dropped.
        causal: as for `Encoder`.
        spread: as for `Encoder`.
    """

    def __init__(self, sizes: TransformerSizes, generator: Generator, causal: bool = False, spread: float = 0.02) -> None:
        super().__init__()
        self.encoder = Encoder(sizes, generator, causal, spread)
        self.head = TokenHead(self.encoder, generator, spread)

    def forward(self, ids: Int[Tensor, "b t"], attended: Bool[Tensor, "b t"] | None = None) -> Float[Tensor, "b t v"]:
        """Return the logits of each position."""
        return self.head(self.encoder(ids, None, attended), self.encoder.words.weight)


def causal_mask(length: int, device: torch.device | None = None) -> Bool[Tensor, "t t"]:
    """Return True where a position (row) may attend to another (column): to earlier ones and itself."""
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


@torch.no_grad()
def initialise(module: nn.Module, generator: Generator, spread: float) -> None:
    """Draw the weights of linear layers and embeddings from a normal distribution; biases 0, LayerNorms the identity."""
    check_generator("generator", generator)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Embedding):
            nn.init.normal_(part.weight, 0.0, spread, generator)
        if isinstance(part, nn.LayerNorm):
            nn.init.ones_(part.weight)
        if isinstance(part, nn.Linear | nn.LayerNorm):
            nn.init.zeros_(part.bias)


def from_bert(model: Any) -> Encoder:  # a transformers.BertModel, which is not imported here  # noqa: ANN401  # a transformers.BertModel, not imported here
    """Return an encoder with the weights of a `transformers.BertModel` (that of `BertForMaskedLM.bert`, for example).

    Segments are BERT's token types. The copy has its dropout probability and a generator of seed 0 for it.

    Raises:
        TypeError: no model with a BERT's `config`.
        ValueError: an activation or positions that `Encoder` has not.
    """
    config: Any = getattr(model, "config", None)
    if getattr(config, "model_type", None) != "bert" or not hasattr(model, "encoder"):
        raise TypeError(f"`model` should be a transformers.BertModel. Found {type(model).__name__}. Pass its part `.bert`.")
    kinds = (str(config.hidden_act), str(getattr(config, "position_embedding_type", None) or "absolute"))
    if kinds != ("gelu", "absolute"):
        raise ValueError(f"The model should have exact gelu and absolute positions. Found {kinds}. Other BERTs are not taken.")
    sizes = TransformerSizes(
        config.vocab_size,
        config.hidden_size,
        config.num_hidden_layers,
        config.num_attention_heads,
        config.intermediate_size,
        config.max_position_embeddings,
        config.type_vocab_size,
        config.hidden_dropout_prob,
    )
    weights = bert_weights(model.state_dict())
    encoder = Encoder(sizes, Generator().manual_seed(0)).to(weights["words.weight"].dtype)
    if "pooler.weight" not in weights:  # BertModel(add_pooling_layer=False)
        weights |= {name: value for name, value in encoder.state_dict().items() if name.startswith("pooler.")}
    encoder.load_state_dict(weights)
    for part in encoder.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = config.layer_norm_eps
    return encoder.train(bool(model.training))


def bert_weights(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the state dictionary of an `Encoder` from that of a `transformers.BertModel`.

    Raises:
        ValueError: a weight is missing.
    """
    found = {new: state[old] for old, new in _OUTER.items() if old in state}
    layers = 1 + max((int(name.split(".")[2]) for name in state if name.startswith("encoder.layer.")), default=-1)
    for layer in range(layers):
        old, new = f"encoder.layer.{layer}.", f"blocks.{layer}."
        try:
            for kind in ("weight", "bias"):
                parts = [state[f"{old}attention.self.{part}.{kind}"] for part in ("query", "key", "value")]
                found[f"{new}projections.{kind}"] = torch.cat(parts)
                for theirs, ours in _INNER.items():
                    found[f"{new}{ours}.{kind}"] = state[f"{old}{theirs}.{kind}"]
        except KeyError as missing:
            raise ValueError(
                f"`state` should be the state dictionary of a BertModel. Found no {missing.args[0]!r}. Pass that of `.bert`."
            ) from None
    if "words.weight" not in found or not layers:
        names = ", ".join(list(state)[:2])
        raise ValueError(
            f"`state` should be the state dictionary of a BertModel. Found names like {names}. Pass that of `.bert`."
        )
    return found


_OUTER = {
    "embeddings.word_embeddings.weight": "words.weight",
    "embeddings.position_embeddings.weight": "positions.weight",
    "embeddings.token_type_embeddings.weight": "segments.weight",
    "embeddings.LayerNorm.weight": "norm.weight",
    "embeddings.LayerNorm.bias": "norm.bias",
    "pooler.dense.weight": "pooler.weight",
    "pooler.dense.bias": "pooler.bias",
}
_INNER = {
    "attention.output.dense": "mixed",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "up",
    "output.dense": "down",
    "output.LayerNorm": "norm",
}
