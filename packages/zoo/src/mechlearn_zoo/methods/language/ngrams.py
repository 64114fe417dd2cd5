"""n-gram statistics of token ids: corpus BLEU, self-BLEU, distinct-n (Papineni et al. 2002, https://aclanthology.org/P02-1040).

All of it on integers: an n-gram is numbered by its place among those that occur, n by n, which is exact whatever the
vocabulary. Scores lie in [0, 1] and are `sacrebleu`'s over 100 where the tokens are words of ``tokenize="none"``; print its
signature beside a BLEU that others should compare with. Self-BLEU of n samples takes time in the number of their n-grams, not
its square: the most that any *other* sample has of an n-gram is the greatest count, or the second where one's own is it.

Index convention: i a hypothesis, r a reference, t a position. Ids are (rows, t); ``lengths`` says how many of a row count.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.arguments import check_flag, check_not_negative, check_one_of, check_shape, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper("BLEU", 2002, "Papineni et al., equation 3", "https://aclanthology.org/P02-1040", "a sort of all n-grams")

_DEFAULTS = {"floor": 0.1, "add-k": 1.0}


@dataclass(frozen=True)
class Bleu:
    """How BLEU is formed.

    Args:
        order: the longest n-grams.
        smoothing: what to do about an order without matches: "none" (then BLEU is 0), "floor" (``value`` matches), "add-k" (add
            ``value`` to matches and totals above order 1), "exp" (halve, again for each further such order; sacrebleu's
            default).
        value: of "floor" (0.1 where None) and "add-k" (1 where None).
        effective: leave out orders that a hypothesis is too short for, and that come after; for single sentences.

    Raises:
        TypeError, ValueError: an order below 1, another smoothing, a value that is negative or of no use.
    """

    order: int = 4
    smoothing: str = "exp"
    value: float | None = None
    effective: bool = False

    def __post_init__(self) -> None:
        check_whole("order", self.order, 1)
        check_one_of("smoothing", self.smoothing, ("none", "floor", "add-k", "exp"))
        check_flag("effective", self.effective)
        if self.value is not None:
            check_not_negative("value", self.value)
            if self.smoothing not in _DEFAULTS:
                raise ValueError(f'`value` should be None with "{self.smoothing}". Found {self.value}. Use "floor" or "add-k".')


class _Counts(NamedTuple):
    """Of one order: how often each n-gram occurs in each row, sorted by n-gram, then row."""

    gram: Tensor
    row: Tensor
    times: Tensor


def bleu(
    hypotheses: Int[Tensor, "n t"],
    references: Int[Tensor, "m *r u"],
    settings: Bleu | None = None,
    lengths: Int[Tensor, " n"] | None = None,
    reference_lengths: Int[Tensor, "m *r"] | None = None,
) -> float:
    """Return corpus BLEU of hypotheses, each against references of its own: sacrebleu's `corpus_bleu` over 100.

    Args:
        hypotheses: ids, one row each.
        references: ids, (n, u) one for each, or (n, r, u) some for each.
        settings: order and smoothing.
        lengths: of hypotheses; all positions where None.
        reference_lengths: of references.

    Raises:
        TypeError, ValueError: other shapes, lengths beyond the rows.
    """
    settings = settings or Bleu()
    check_shape("hypotheses", hypotheses, "N", "T")
    if references.dim() not in (2, 3) or len(references) != len(hypotheses):
        raise ValueError(
            f"`references` should have a row for each of {len(hypotheses)} hypotheses, shape (n, u) or (n, r, u). Found "
            f"{tuple(references.shape)}. Where all share them, use `bleu_against`."
        )
    several = references if references.dim() == 3 else references[:, None]
    rows, each = several.shape[:2]
    sizes = _lengths(hypotheses, lengths, "lengths")
    flat = several.reshape(rows * each, -1)
    reference_sizes = _lengths(flat, None if reference_lengths is None else reference_lengths.flatten(), "reference_lengths")
    own = torch.arange(rows, device=hypotheses.device)
    group = own.repeat_interleave(each)
    matches, totals = _clipped(hypotheses, sizes, flat, reference_sizes, group, own, settings.order)
    closest = _closest(sizes, reference_sizes.view(rows, each))
    return float(_score(matches.sum(0), totals.sum(0), sizes.sum(), closest.sum(), settings))


def bleu_against(
    hypotheses: Int[Tensor, "n t"],
    corpus: Int[Tensor, "m u"],
    settings: Bleu | None = None,
    lengths: Int[Tensor, " n"] | None = None,
    corpus_lengths: Int[Tensor, " m"] | None = None,
) -> float:
    """Return corpus BLEU of hypotheses against a text whose every row is a reference to each: how GAN papers judge quality.

    Args:
        hypotheses: ids, one row each.
        corpus: held-out text, a row a sentence.
        settings: order and smoothing.
        lengths: of hypotheses; all positions where None.
        corpus_lengths: of the text's rows.

    Raises:
        TypeError, ValueError: other shapes, lengths beyond the rows.
    """
    settings = settings or Bleu()
    check_shape("hypotheses", hypotheses, "N", "T")
    check_shape("corpus", corpus, "M", "U")
    sizes, others = _lengths(hypotheses, lengths, "lengths"), _lengths(corpus, corpus_lengths, "corpus_lengths")
    one = torch.zeros(len(corpus), dtype=torch.long, device=corpus.device)
    own = torch.zeros(len(hypotheses), dtype=torch.long, device=hypotheses.device)
    matches, totals = _clipped(hypotheses, sizes, corpus, others, one, own, settings.order)
    closest = _closest(sizes, others.unique()[None].expand(len(sizes), -1))
    return float(_score(matches.sum(0), totals.sum(0), sizes.sum(), closest.sum(), settings))


def self_bleu(
    samples: Int[Tensor, "n t"], settings: Bleu | None = None, lengths: Int[Tensor, " n"] | None = None
) -> Float[Tensor, " n"]:
    """Return each sample's BLEU against all others (Zhu et al. 2018): the higher, the less diverse.

    Args:
        samples: ids, one row each.
        settings: order and smoothing.
        lengths: of samples; all positions where None.

    Raises:
        TypeError, ValueError: fewer than two samples; samples shorter than the order where no smoothing would tell.
    """
    settings = settings or Bleu()
    check_shape("samples", samples, "N", "T")
    if len(samples) < 2:
        raise ValueError("`samples` should be two or more: each is compared with the others. Found one. Draw more.")
    sizes = _lengths(samples, lengths, "lengths")
    if int(sizes.min()) < settings.order and not settings.effective and settings.smoothing != "add-k":
        raise ValueError(
            f"Samples should have {settings.order} tokens or more, the order of n-grams. Found {int(sizes.min())}. Lower the "
            '`order`, or use `effective=True` (shorter orders only) or smoothing="add-k".'
        )
    matches = torch.zeros(len(samples), settings.order, dtype=torch.float64, device=samples.device)
    totals = torch.stack([(sizes - n).clamp(min=0) for n in range(settings.order)], 1).double()
    for n, counts in enumerate(_counts(samples, sizes, settings.order)):
        clipped = torch.minimum(counts.times, _most_of_others(counts))
        matches[:, n].index_add_(0, counts.row, clipped.double())
    # Scores are formed one by one from host numbers: all are fetched at once.
    rows = zip(matches.cpu(), totals.cpu(), sizes.cpu(), _closest_other(sizes).cpu(), strict=True)
    return torch.stack([_score(*one, settings) for one in rows]).to(samples.device)


def distinct(samples: Int[Tensor, "n t"], order: int = 4, lengths: Int[Tensor, " n"] | None = None) -> float:
    """Return the share of different n-grams among all (Li et al. 2016, https://aclanthology.org/N16-1014).

    Raises:
        TypeError, ValueError: another shape, an order below 1 or above every sample's length.
    """
    check_shape("samples", samples, "N", "T")
    check_whole("order", order, 1)
    sizes = _lengths(samples, lengths, "lengths")
    total = int((sizes - order + 1).clamp(min=0).sum())
    if not total:
        raise ValueError(f"Samples should have {order} tokens or more. Found {int(sizes.max())}. Lower the `order`.")
    counts = _counts(samples, sizes, order)[-1]
    return len(counts.gram.unique()) / total


def _counts(ids: Tensor, lengths: Tensor, order: int) -> list[_Counts]:
    """Return the counts of each order."""
    rows, length = ids.shape
    places = torch.arange(length, device=ids.device)
    words = ids.unique(return_inverse=True)[1].view(rows, length)
    kinds = int(words.max()) + 1
    codes, found = words, list[_Counts]()
    for n in range(1, order + 1):
        if n > 1:
            longer = codes[:, :-1] * kinds + words[:, n - 1 :]
            codes = longer.unique(return_inverse=True)[1].view(longer.shape) if longer.numel() else longer
        kept = places[: codes.shape[1]] + n <= lengths[:, None]
        keys, count = (codes * rows + torch.arange(rows, device=ids.device)[:, None])[kept].unique(return_counts=True)
        found.append(_Counts(keys // rows, keys % rows, count))
    return found


def _most_of_others(counts: _Counts) -> Tensor:
    """Return for each count of an n-gram the greatest that another row has of it."""
    gram, _, count = counts
    if not len(gram):
        return count
    size = int(gram.max()) + 1
    greatest = count.new_zeros(size).scatter_reduce(0, gram, count, "amax")
    places = torch.arange(len(gram), device=gram.device)
    at_most = torch.where(count == greatest[gram], places, len(gram))
    first = gram.new_full((size,), len(gram)).scatter_reduce(0, gram, at_most, "amin")  # one place of the greatest
    others = torch.where(places == first[gram], 0, count)
    second = count.new_zeros(size).scatter_reduce(0, gram, others, "amax")
    return torch.where(places == first[gram], second[gram], greatest[gram])


def _clipped(
    ids: Tensor, sizes: Tensor, references: Tensor, reference_sizes: Tensor, group: Tensor, own: Tensor, order: int
) -> tuple[Tensor, Tensor]:
    """Return (n, order) matches, clipped at the most in a reference of the same group, and all n-grams."""
    rows, groups = len(ids), int(own.max()) + 1
    width = max(ids.shape[1], references.shape[1])
    pad = torch.nn.functional.pad
    both = torch.cat([pad(ids, (0, width - ids.shape[1])), pad(references, (0, width - references.shape[1]))])
    matches = torch.zeros(rows, order, dtype=torch.float64, device=ids.device)
    totals = torch.stack([(sizes - n).clamp(min=0) for n in range(order)], 1).double()
    for n, (gram, row, count) in enumerate(_counts(both, torch.cat([sizes, reference_sizes]), order)):
        ours = row < rows
        keys = gram * groups + torch.where(ours, own[row.clamp(max=rows - 1)], group[(row - rows).clamp(min=0)])
        known, place = keys.unique(return_inverse=True)
        most = count.new_zeros(len(known)).scatter_reduce(0, place[~ours], count[~ours], "amax")
        matches[:, n].index_add_(0, row[ours], torch.minimum(count[ours], most[place[ours]]).double())
    return matches, totals


def _score(matches: Tensor, totals: Tensor, length: Tensor, closest: Tensor, settings: Bleu) -> Tensor:
    """Return BLEU of summed statistics; the order of steps is sacrebleu's."""
    ours, theirs = float(length), float(closest)
    if not bool(matches.any()):
        return torch.zeros((), dtype=torch.float64)
    brevity = 1.0 if ours >= theirs else math.exp(1 - theirs / ours)
    value = _DEFAULTS.get(settings.smoothing, 0.0) if settings.value is None else settings.value
    logs, halves, orders = [0.0] * settings.order, 1.0, settings.order
    logs = [-math.inf] * settings.order
    for n in range(settings.order):
        correct, total = float(matches[n]), float(totals[n])
        if settings.smoothing == "add-k" and n > 0:
            correct, total = correct + value, total + value
        if total == 0:
            break
        orders = n + 1 if settings.effective else settings.order
        if correct == 0 and settings.smoothing == "exp":
            halves *= 2
            correct = 1 / halves
        if correct == 0 and settings.smoothing == "floor":
            correct = value
        logs[n] = math.log(correct / total) if correct else -math.inf
    return torch.tensor(brevity * math.exp(sum(logs[:orders]) / orders), dtype=torch.float64)


def _closest(sizes: Tensor, others: Tensor) -> Tensor:
    """Return for each length that of its references which is closest, the shorter of two."""
    # Twice the distance leaves room for the tie: plus one where the reference is longer.
    badness = 2 * (others - sizes[:, None]).abs() + (others > sizes[:, None])
    return others.gather(1, badness.argmin(1, keepdim=True))[:, 0]


def _closest_other(sizes: Tensor) -> Tensor:
    """Return for each length the closest among all others', the shorter of two."""
    kinds, count = sizes.unique(return_counts=True)
    badness = 2 * (kinds - sizes[:, None]).abs() + (kinds > sizes[:, None])
    alone = (kinds == sizes[:, None]) & (count == 1)
    badness = badness.masked_fill(alone, torch.iinfo(badness.dtype).max)
    return kinds[badness.argmin(1)]


def _lengths(ids: Tensor, lengths: Tensor | None, name: str) -> Tensor:
    if lengths is None:
        return torch.full((len(ids),), ids.shape[1], dtype=torch.long, device=ids.device)
    check_shape(name, lengths, len(ids))
    if bool(((lengths < 0) | (lengths > ids.shape[1])).any()):
        raise ValueError(f"`{name}` should lie between 0 and {ids.shape[1]}, the rows' width. Found {lengths.tolist()[:5]} ...")
    return lengths.long()
