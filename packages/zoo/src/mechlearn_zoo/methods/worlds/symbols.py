"""Grounded compositional language: symbols that agents invent, what makes vocabularies small, and what symbols mean, in bits.

Mordatch and Abbeel 2018 (https://arxiv.org/abs/1703.04908): agents in a differentiable world hear each other's discrete
symbols, by `mechlearn_zoo.nn.categorical.gumbel_softmax` (the paper trains on the soft sample and is discrete in tests;
straight-through is the variant that is discrete in training, too). A Chinese-restaurant process rewards symbols that were
used before (section 5.4), so that the vocabulary stays small and symbols have to be combined. What the symbols came to mean
is measured afterwards.

When not to use it: as evidence of language. A symbol that says much in bits may say it by a code that only these two agents
share; exchange the symbols between episodes, and see whether what they were for still works.
"""

import math
from typing import Literal, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_data,
    check_floats,
    check_generator,
    check_ids,
    check_numbers,
    check_one_of,
    check_positive,
    check_whole,
)
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Grounded compositional language",
    2018,
    "Mordatch and Abbeel, sections 4 and 5",
    "https://arxiv.org/abs/1703.04908",
    "K counts",
)


class Grounding(NamedTuple):
    """What symbols say of meanings.

    Attributes:
        bits: their mutual information, less what permuted symbols would seem to say; never corrected below 0.
        plain: without that correction: the plug-in estimate, too large for few draws.
        entropy: of the meanings: the most there is to say.
    """

    bits: float
    plain: float
    entropy: float


def vocabulary_reward(
    utterances: Float[Tensor, "*batch k"], counts: Float[Tensor, " k"], alpha: float
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, " k"]]:
    """Return r = sum_c u_c log( n_c / (alpha + n - 1) ) of each utterance (section 5.4), and the counts with these in.

    The rich get richer: n_c counts all that was said so far, these utterances included, so that every symbol that is said
    has been counted. The gradient goes through the utterances u alone.

    Args:
        utterances: (..., K) one-hot or relaxed symbols.
        counts: (K,) how often each symbol was said before; zeros at first.
        alpha: positive.

    Raises:
        TypeError: no floating numbers.
        ValueError: another number of symbols, no utterances, some that are not finite, negative counts, an alpha that is not
            positive.
    """
    check_floats("utterances", utterances, "...", "K")
    check_data("utterances", utterances)
    check_numbers("counts", counts)
    check_data("counts", counts)
    check_positive("alpha", alpha)
    if counts.dim() != 1 or utterances.shape[-1:] != counts.shape or bool((counts < 0).any()):
        raise ValueError(
            f"`counts` should be {utterances.shape[-1]} numbers of at least 0, one a symbol. Found {tuple(counts.shape)}. "
            "Begin with torch.zeros(K)."
        )
    check_all_finite("counts", counts, way_out="They would stay so.")
    check_all_finite("utterances", utterances, way_out="They would be counted.")
    said = counts + utterances.detach().reshape(-1, len(counts)).sum(0)
    share = said.clamp(min=torch.finfo(said.dtype).tiny) / (alpha + said.sum() - 1).clamp(min=alpha)
    return (utterances * share.log()).sum(-1), said


def grounding(
    symbols: Int[Tensor, " n"], meanings: Int[Tensor, " n"], generator: Generator, permutations: int = 20
) -> Grounding:
    """Return how many bits symbols say of meanings, with what chance alone would seem to say taken off.

    Args:
        symbols: (n,) ids.
        meanings: (n,) ids of what is meant: a colour, an addressee.
        generator: of the permutations.
        permutations: over which the correction is averaged.

    Raises:
        TypeError: no whole numbers.
        ValueError: other lengths, no draws.
    """
    check_ids("symbols", symbols, "n", way_out="Take one-hot ones by .argmax(-1).")
    check_ids("meanings", meanings, "n", way_out="Take one-hot ones by .argmax(-1).")
    check_generator("generator", generator)
    check_whole("permutations", permutations, least=1)
    if len(symbols) != len(meanings):
        raise ValueError(f"Each symbol should have its meaning. Found {len(symbols)} and {len(meanings)} of them.")
    plain = _bits(symbols, meanings)
    orders = (torch.randperm(len(symbols), generator=generator, device=generator.device) for _ in range(permutations))
    chance = [_bits(symbols[order.to(symbols.device)], meanings) for order in orders]
    return Grounding(max(0.0, plain - sum(chance) / permutations), plain, _bits(meanings, meanings))


def topographic_similarity(
    messages: Int[Tensor, "n t"], meanings: Int[Tensor, "n a"], distance: Literal["hamming"] = "hamming"
) -> float:
    """Return the rank correlation of distances between messages and between meanings, over all pairs (Brighton, 2006).

    1 where like things are said alike, part by part; about 0 for a code without parts. NaN where all messages are the same.

    Args:
        messages: (n, T) symbols of each message.
        meanings: (n, A) attributes of what each is about.
        distance: the number of places in which two differ.

    Raises:
        TypeError: no whole numbers.
        ValueError: other lengths, fewer than three messages, another distance.
    """
    for name, table in (("messages", messages), ("meanings", meanings)):
        check_ids(name, table, "n", "places")
    check_one_of("distance", distance, ("hamming",))
    if len(messages) != len(meanings) or len(messages) < 3:
        raise ValueError(
            f"There should be three messages or more, each with its meaning. Found {len(messages)}, {len(meanings)}."
        )
    pairs = torch.triu_indices(len(messages), len(messages), 1)
    ranks = [_ranks((one[pairs[0]] != one[pairs[1]]).sum(1).double()) for one in (messages, meanings)]
    centred = [rank - rank.mean() for rank in ranks]
    norms = centred[0].norm() * centred[1].norm()
    return float(centred[0] @ centred[1] / norms) if float(norms) > 0 else math.nan


def _ranks(values: Tensor) -> Tensor:
    """Return mean ranks, ties shared."""
    _, place, counts = values.unique(return_inverse=True, return_counts=True)
    ends = counts.cumsum(0).double()
    return (ends - (counts - 1) / 2)[place]


def _bits(first: Tensor, second: Tensor) -> float:
    a, b = (one.unique(return_inverse=True)[1] for one in (first, second))
    rows, columns = int(a.max()) + 1, int(b.max()) + 1
    joint = torch.bincount(a * columns + b, minlength=rows * columns).double().view(rows, columns) / len(a)
    product = joint.sum(1, keepdim=True) * joint.sum(0, keepdim=True)
    return float(torch.where(joint > 0, joint * (joint.clamp(min=1e-300) / product.clamp(min=1e-300)).log2(), 0.0).sum())
