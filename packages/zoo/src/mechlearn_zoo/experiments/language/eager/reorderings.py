"""Generated sentence pairs with known alignments and a known distance of reordering.

A clause has a subject, an object with an adjective, and a verb. The source puts the verb last and the adjective before its
noun, the target the verb after the subject and the adjective behind its noun: every word has one translation, and the verb
moves two places.
"""

from typing import NamedTuple

import torch
from torch import Generator

from mechlearn.arguments import check_generator, check_whole

FILLERS = (0, 1, 2)
"""Start, epsilon of the target, epsilon of the source."""

END = 3
"""Closes a sentence on both sides."""

FIRST = 4


class Pair(NamedTuple):
    """Sentences as ids, the end of each as the last, with links (source place, target place)."""

    source: list[int]
    target: list[int]
    links: list[tuple[int, int]]


def vocabulary(nouns: int, adjectives: int, verbs: int) -> int:
    """Return how many ids there are: fillers, end, and every word on both sides."""
    return FIRST + 2 * (nouns + adjectives + verbs)


def reorderings(
    count: int, clauses: int, generator: Generator, nouns: int = 20, adjectives: int = 10, verbs: int = 10
) -> list[Pair]:
    """Return sentences of a number of clauses, subject adjective object verb to subject verb object adjective.

    Args:
        count: how many.
        clauses: of each.
        generator: of the words.
        nouns: words that may be subject and object.
        adjectives: words for properties.
        verbs: words for deeds.

    >>> pair = reorderings(1, 1, Generator().manual_seed(0))[0]
    >>> len(pair.source), pair.links
    (5, [(0, 0), (3, 1), (2, 2), (1, 3), (4, 4)])
    """
    sizes = {"count": count, "clauses": clauses, "nouns": nouns, "adjectives": adjectives, "verbs": verbs}
    for name, value in sizes.items():
        check_whole(name, value, 1)
    check_generator("generator", generator)
    half = nouns + adjectives + verbs
    # Subject, adjective, object, verb.
    low = torch.tensor([0, nouns, 0, nouns + adjectives])
    size = torch.tensor([nouns, adjectives, nouns, verbs])
    drawn = (torch.rand(count, clauses, 4, generator=generator) * size).long() + low + FIRST
    order = (0, 3, 2, 1)
    links = [(4 * clause + place, 4 * clause + j) for clause in range(clauses) for j, place in enumerate(order)]
    links.append((4 * clauses, 4 * clauses))
    sources = drawn.flatten(1).tolist()
    targets = (drawn[:, :, list(order)] + half).flatten(1).tolist()
    return [Pair([*source, END], [*target, END], links) for source, target in zip(sources, targets, strict=True)]
