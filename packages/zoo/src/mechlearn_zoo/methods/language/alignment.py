"""Word alignment by EM with a diagonal prior, and the padding that makes a pair of sentences eager feasible.

Source: Dyer, Chahuneau and Smith 2013, https://aclanthology.org/N13-1073, equations 1 and 2 (fast_align: IBM model 1 with a
prior that favours the diagonal), without their variational Bayes and with a fixed tension; Press and Smith 2018,
https://arxiv.org/abs/1810.13409, section 3.2 for eager feasibility: every target word stands no earlier than the source word it
translates.

Conventions: positions count from 0; a pair (i, j) links source word i with target word j; words are whole numbers of any
vocabulary. Not a translation model: it needs some thousand sentence pairs, and words seen once align with anything.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.arguments import check_not_negative, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Diagonal word alignment", 2013, "Dyer et al., equations 1 and 2", "https://aclanthology.org/N13-1073",
    "a pass over all pairs of words an iteration",
)  # fmt: skip

Link = tuple[int, int]
"""Source position and target position."""


class Fillers(NamedTuple):
    """Words that no text has.

    Attributes:
        start: emitted before anything is translated.
        target: epsilon of the target: nothing to say yet.
        source: epsilon of the source: nothing more to read.
    """

    start: int
    target: int
    source: int


class Padded(NamedTuple):
    """Two sentences of one length, as an eager model reads and writes them."""

    source: list[int]
    target: list[int]


def eager_feasible(
    source: Sequence[int], target: Sequence[int], links: Iterable[Link], fillers: Fillers, start_pads: int = 0
) -> Padded:
    """Return a pair with as few epsilons as make it eager feasible: i <= the place of j for every link.

    Epsilons are put before the first target word that comes too early, as many as it lacks; what follows moves along. In the
    published code links must come sorted by target position, or epsilons go to the wrong place; here they are sorted. There,
    too, the constant called SRC_EPSILON goes into the target; here each filler is named after its side.

    Args:
        source: words.
        target: words.
        links: pairs of positions, in any order.
        fillers: the words for nothing, which no sentence may hold.
        start_pads: put in front of the target.

    Raises:
        ValueError: an empty side, a link outside of its sentence, a filler within the text, fillers that are not different.
    """
    check_whole("start_pads", start_pads)
    found = sorted({(int(j), int(i)) for i, j in links})
    if not len(source) or not len(target):
        raise ValueError(f"Both sides should have words. Found {len(source)} and {len(target)}. Leave the pair out.")
    for j, i in found:
        if not (0 <= i < len(source) and 0 <= j < len(target)):
            raise ValueError(
                f"Links should lie within sentences of {len(source)} and {len(target)} words. Found {(i, j)}. Count from 0, "
                "source first."
            )
    if len(set(fillers)) < 3 or set(fillers) & {*source, *target}:
        raise ValueError(
            f"Fillers should be three words that no sentence has. Found {tuple(fillers)}. Add three to the vocabulary."
        )
    before = [0] * len(target)
    cost = start_pads
    for j, i in found:
        if i > j + cost:
            before[j] += i - (j + cost)
            cost += i - (j + cost)
    out = [fillers.start] * start_pads
    for word, epsilons in zip(target, before, strict=True):
        out += [*[fillers.target] * epsilons, word]
    longest = max(len(source), len(out))
    return Padded([*source, *[fillers.source] * (longest - len(source))], [*out, *[fillers.target] * (longest - len(out))])


class Aligned(NamedTuple):
    """What EM ends with.

    Attributes:
        links: for each sentence pair the links of its target words, in order; words that align with nothing have none.
        pairs: (u, 2) words of source and target that occur together; the source word of nothing is -1.
        probabilities: (u,) p(target word | source word) of each.
        likelihoods: (iterations,) log-likelihood of all target words before each iteration, summed in float64 and returned in
            torch's default type, float32.
    """

    links: list[list[Link]]
    pairs: Int[Tensor, "u 2"]
    probabilities: Float[Tensor, " u"]
    likelihoods: Float[Tensor, " s"]


def align(
    sentences: Sequence[tuple[Sequence[int], Sequence[int]]],
    iterations: int = 5,
    diagonal: float | int = 4.0,
    null: float | None = 0.08,
) -> Aligned:
    """Align source and target words by EM.

    p(j aligns with i) is ``null`` for nothing and else (1 - null) exp(-diagonal abs(i' / n - j' / m)) / Z, with positions from
    1 and n, m the lengths; p(word j | word i) is learned.

    Args:
        sentences: pairs of source and target words.
        iterations: of EM.
        diagonal: lambda, how much links far from the diagonal cost; 0 is IBM model 1.
        null: probability that a target word aligns with nothing; None gives nothing the weight of one more source word, as IBM
            model 1.

    Returns:
        Links from each target word to its likeliest source word; of equally likely ones to the first.

    Raises:
        ValueError: no sentences, an empty side, a null of 1 or more, negative words or diagonal, no iteration.
    """
    check_whole("iterations", iterations, 1)
    check_not_negative("diagonal", diagonal)
    if null is not None and not 0 <= null < 1:
        raise ValueError(f"`null` should lie in [0, 1). Found {null}. Dyer et al. take 0.08.")
    if not sentences or not all(len(source) and len(target) for source, target in sentences):
        raise ValueError("`sentences` should be pairs with words on both sides. Found none, or an empty side. Leave these out.")
    lists = _candidates(sentences, float(diagonal), null)
    width = int(lists.target.max()) + 1
    keys, inverse = torch.unique((lists.source + 1) * width + lists.target, return_inverse=True)
    # Candidates of one word stand together, so that sums over them are sums over runs.
    given, words = keys // width, int(lists.segment[-1]) + 1
    table = torch.full((len(keys),), 1 / len(lists.target.unique()), dtype=torch.float64)
    likelihoods: list[float] = []
    for _ in range(iterations):
        weight = table[inverse] * lists.prior
        total = torch.bincount(lists.segment, weight, words)
        likelihoods.append(float(total.log().sum()))
        weight /= total[lists.segment]
        counts = torch.bincount(inverse, weight, len(keys))
        table = counts / torch.bincount(given, counts)[given].clamp(min=1e-300)
    weight = table[inverse] * lists.prior
    return Aligned(
        _best(sentences, lists, weight, words), torch.stack([given - 1, keys % width], 1), table, torch.tensor(likelihoods)
    )


class _Candidates(NamedTuple):
    """All places that each target word may align with, one word after the other, nothing first: (c,) each."""

    source: Tensor
    target: Tensor
    prior: Tensor
    segment: Tensor
    place: Tensor


def _candidates(sentences: Sequence[tuple[Sequence[int], Sequence[int]]], diagonal: float, null: float | None) -> _Candidates:
    lengths = torch.tensor([[len(source), len(target)] for source, target in sentences])
    sources = torch.tensor([word for source, _ in sentences for word in source])
    targets = torch.tensor([word for _, target in sentences for word in target])
    if bool((sources < 0).any()) or bool((targets < 0).any()):
        raise ValueError("Words should be whole numbers from 0 on. Found negative ones. Number the vocabulary.")
    n, m = lengths.T
    # Of each target word: the length of its source, where that begins, and its own place among m.
    n_of, m_of = n.repeat_interleave(m), m.repeat_interleave(m)
    begin = (n.cumsum(0) - n).repeat_interleave(m)
    j = torch.arange(len(targets)) - (m.cumsum(0) - m).repeat_interleave(m)
    size = n_of + 1
    segment = torch.arange(len(targets)).repeat_interleave(size)
    place = torch.arange(len(segment)) - (size.cumsum(0) - size)[segment] - 1  # -1 is nothing
    source = torch.where(place < 0, -1, sources[(begin[segment] + place).clamp(min=0)])
    distance = ((place + 1) / n_of[segment].double() - (j + 1)[segment] / m_of[segment].double()).abs()
    # Measured from the nearest place, so that no tension, however high, leaves a word without a weight.
    distance = torch.where(place < 0, torch.inf, distance)
    nearest = torch.full_like(n_of, torch.inf, dtype=torch.float64).scatter_reduce(0, segment, distance, "amin")
    weight = torch.where(place < 0, 0.0, torch.exp(-diagonal * (distance.nan_to_num(posinf=0) - nearest[segment])))
    z = torch.bincount(segment, weight)[segment]
    of_nothing = 1 / size[segment].double() if null is None else torch.full_like(weight, null)
    prior = torch.where(place < 0, of_nothing, (1 - of_nothing) * weight / z)
    return _Candidates(source, targets[segment], prior, segment, place)


def _best(
    sentences: Sequence[tuple[Sequence[int], Sequence[int]]], lists: _Candidates, weight: Tensor, words: int
) -> list[list[Link]]:
    """Return the likeliest place of each target word, the first of several."""
    highest = torch.full((words,), -1.0, dtype=weight.dtype).scatter_reduce(0, lists.segment, weight, "amax")
    first = torch.where(weight == highest[lists.segment], lists.place, 2**31)
    chosen = torch.full((words,), 2**31).scatter_reduce(0, lists.segment, first, "amin").tolist()
    found, at = list[list[Link]](), 0
    for _, target in sentences:
        own = chosen[at : at + len(target)]
        found.append([(place, j) for j, place in enumerate(own) if place >= 0])
        at += len(target)
    return found
