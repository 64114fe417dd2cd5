"""Masked language models: BERT's corruption, its sentence pairs and its loss (Devlin et al. 2019, and the released code).

Some tokens of a sequence are chosen; 80 % of them become the mask, 10 % a random word, 10 % stay; the encoder
(`mechlearn_zoo.nn.transformer.Encoder`) guesses all of them from both sides. Only chosen positions give a loss, 15 % of the
text a
step: a causal model gets one from every token, and is ahead while steps are few.

Index convention: b a sequence, t a position.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F  # the usual name  # noqa: N812  # the usual name

from mechlearn.arguments import (
    check_generator,
    check_ids,
    check_kind,
    check_mask,
    check_one_of,
    check_shape,
    check_share,
    check_tensor,
    check_whole,
)
from mechlearn_zoo.methods.language.vocabulary import MASK, PAD, SPECIAL
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Masked language model", 2019, "Devlin et al., section 3.1", "https://arxiv.org/abs/1810.04805", "a loss at 15 % of tokens"
)

IGNORED = -100
"""The target of positions without a loss, as torch's cross-entropy has it."""

UNTOUCHED, MASKED, KEPT, REPLACED = range(4)
"""What became of a token."""


@dataclass(frozen=True)
class Corruption:
    """How tokens are chosen and changed.

    Args:
        vocabulary: how many ids there are.
        mask: the mask's id.
        rate: share of tokens that are chosen.
        selection: "count", exactly max(1, round(rate * length)) of a sequence, length with its special tokens, as in the
            released code; or "bernoulli", each by itself, as `transformers` does.
        random_from: a replaced token becomes any id ("all", as in the released code, special ones and its own included), or one
            that is not special ("ordinary").
        most: the most that are chosen in a sequence; no limit where None.
        padding: the id of padding, which has no part in a length.

    Raises:
        TypeError, ValueError: numbers out of their range, a mask outside the vocabulary, a rate of 0.
    """

    vocabulary: int
    mask: int = MASK
    rate: float = 0.15
    selection: str = "count"
    random_from: str = "all"
    most: int | None = None
    padding: int = PAD

    def __post_init__(self) -> None:
        check_whole("vocabulary", self.vocabulary, 1)
        check_whole("mask", self.mask)
        check_share("rate", self.rate)
        check_one_of("selection", self.selection, ("count", "bernoulli"))
        check_one_of("random_from", self.random_from, ("all", "ordinary"))
        if self.mask >= self.vocabulary:
            raise ValueError(f"`mask` should be an id of the vocabulary of {self.vocabulary}. Found {self.mask}. Give its id.")
        if self.rate == 0:
            raise ValueError("`rate` should be above 0, else nothing is learnt. Found 0. BERT has 0.15.")
        if self.most is not None:
            check_whole("most", self.most, 1)
        if self.random_from == "ordinary" and self.vocabulary <= len(SPECIAL):
            raise ValueError(f"`vocabulary` should be above {len(SPECIAL)}, the special ids. Found {self.vocabulary}.")


class Corrupted(NamedTuple):
    """What an encoder reads, and what it is to say.

    Attributes:
        ids: (b, t) to read.
        targets: (b, t) the words before, `IGNORED` where there is no loss.
        kind: (b, t) what became of each: `UNTOUCHED`, `MASKED`, `KEPT` or `REPLACED`.
    """

    ids: Int[Tensor, "b t"]
    targets: Int[Tensor, "b t"]
    kind: Int[Tensor, "b t"]


def corrupt(
    ids: Int[Tensor, "b t"],
    special: Bool[Tensor, "b t"],
    corruption: Corruption,
    generator: Generator,
    words: Int[Tensor, "b t"] | None = None,
) -> Corrupted:
    """Choose tokens and mask, keep or replace them.

    Args:
        ids: of the text.
        special: True where a token is never chosen: begin, end, padding.
        corruption: how.
        generator: of all draws.
        words: whole words: pieces of one word have one number within a sequence and are chosen together, as long as the count
            allows (a word that is too long for what is left is passed over, as in the released code). Needs "count".

    Raises:
        TypeError: no tensors or generator, ids that are no whole numbers, a mask that is not of booleans.
        ValueError: other shapes, a sequence with special tokens only, ids outside the vocabulary.
    """
    check_kind("corruption", corruption, Corruption, "a Corruption")
    check_generator("generator", generator)
    check_ids("ids", ids, "B", "T")
    ids = ids.long()  # shorter types may hold neither what is drawn nor -100
    check_mask("special", special, *ids.shape, way_out="True for begin, end and padding, as in ids < 5.")
    if bool(special.all(1).any()):
        row = int(special.all(1).nonzero()[0])
        raise ValueError(f"Each sequence should have a token that is not special. Found nothing to mask in row {row}. Drop it.")
    if int(ids.max()) >= corruption.vocabulary or int(ids.min()) < 0:
        raise ValueError(f"`ids` should lie in [0, {corruption.vocabulary - 1}]. Found {int(ids.min())} to {int(ids.max())}.")
    chosen = _chosen(ids, special, corruption, generator, words)
    fate = torch.rand(ids.shape, generator=generator, device=generator.device).to(ids.device)
    kind = torch.where(fate < 0.8, MASKED, torch.where(fate < 0.9, KEPT, REPLACED)) * chosen
    least = 0 if corruption.random_from == "all" else len(SPECIAL)
    drawn = torch.randint(least, corruption.vocabulary, ids.shape, generator=generator, device=generator.device).to(ids.device)
    read = torch.where(kind == REPLACED, drawn, ids.masked_fill(kind == MASKED, corruption.mask))
    return Corrupted(read, ids.masked_fill(~chosen, IGNORED), kind)


def masked_loss(logits: Float[Tensor, "b t v"], targets: Int[Tensor, "b t"]) -> Float[Tensor, " b"]:
    """Return each sequence's mean cross-entropy over its chosen tokens, in float32 at least.

    Only logits at targets enter: give the head chosen positions alone where the vocabulary is large, and average by sequence.

    Raises:
        TypeError, ValueError: other shapes, a sequence without a target.
    """
    check_tensor("logits", logits)
    check_shape("targets", targets, *logits.shape[:2])
    known = targets != IGNORED
    count = known.sum(1)
    if not bool((count > 0).all()):
        row = int((count == 0).nonzero()[0])
        raise ValueError(f"Each sequence should have a target. Found only {IGNORED} in row {row}. Leave such rows out.")
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = F.cross_entropy(wide.transpose(1, 2), targets.long(), reduction="none", ignore_index=IGNORED)
    return losses.sum(1) / count


def _chosen(ids: Tensor, special: Tensor, corruption: Corruption, generator: Generator, words: Tensor | None) -> Tensor:
    if corruption.selection == "bernoulli":
        if words is not None:
            raise ValueError('`words` are chosen by "count". Found selection="bernoulli". Use selection="count".')
        drawn = torch.rand(ids.shape, generator=generator, device=generator.device).to(ids.device)
        return (drawn < corruption.rate) & ~special
    lengths = (ids != corruption.padding).sum(1)
    count = (lengths.double() * corruption.rate).round().long().clamp(min=1)  # halves to even, as Python's round
    count = count if corruption.most is None else count.clamp(max=corruption.most)
    if words is not None:
        check_ids("words", words, *ids.shape)
        return _whole_words(words, special, count, generator)
    keys = torch.rand(ids.shape, generator=generator, device=generator.device).to(ids.device)
    keys = keys.masked_fill(special, 2.0)  # behind all others
    count = torch.minimum(count, (~special).sum(1))
    first = keys.topk(int(count.max()), 1, largest=False).indices  # of equal keys one, so that the count is kept
    return torch.zeros_like(special).scatter(1, first, torch.arange(first.shape[1], device=ids.device) < count[:, None])


def _whole_words(words: Tensor, special: Tensor, count: Tensor, generator: Generator) -> Tensor:
    chosen = torch.zeros_like(special)
    for row, limit in enumerate(count.tolist()):
        places: dict[int, list[int]] = {}
        for place, word in enumerate(words[row].tolist()):
            if not special[row, place]:
                places.setdefault(word, []).append(place)
        groups, taken = list(places.values()), 0
        for index in torch.randperm(len(groups), generator=generator, device=generator.device).tolist():
            if taken + len(groups[index]) <= limit:
                chosen[row, groups[index]] = True
                taken += len(groups[index])
    return chosen
