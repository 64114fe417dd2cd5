"""Generated Winograd schemas with a dial for association: "bado feared kimu because it was loud : bado".

Who is meant follows from verb and adjective, the same everywhere: the mechanism. Each environment writes of names of its own,
of which half go with one kind of adjectives and half with the other, and in a share of sentences the one who is meant goes
with the adjective while the other does not: there the association gives the answer away. Whoever pools environments can learn
by heart which names are of which sort; who keeps what environments share learns the mechanism.

Index convention: e an environment, n a name, v a verb, a an adjective. Verbs and adjectives are real words, so that sentences
can be read; their meaning has no part in it.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_one_of, check_seed, check_share, check_whole
from mechlearn_zoo.methods.language.schemas import Schema
from mechlearn_zoo.methods.language.vocabulary import SPECIAL, Vocabulary

_VERBS = "feared helped blamed praised followed warned hired trusted chased mocked taught envied paid served taxed obeyed"
VERBS = tuple(_VERBS.split())
_ADJECTIVES = (
    "angry brave calm careless clever cruel eager famous gentle greedy guilty honest humble idle jealous kind "
    "lonely loud lucky modest nervous noble proud quiet rude silent strict stubborn tired weak wealthy wise"
)
ADJECTIVES = tuple(_ADJECTIVES.split())
FILLING = ("because", "it", "was", ":")
PARTS = ("associative", "neutral", "opposed")
"""Kinds of sentences: see `SchemaWorld.draw`."""


class Sentences(NamedTuple):
    """Sentences without their last word, and that word.

    Attributes:
        ids: (n, 8) as "N1 V N2 because it was A :".
        meant: the name that is meant and comes next.
        other: the other name.
    """

    ids: Int[Tensor, "n 8"]
    meant: Int[Tensor, " n"]
    other: Int[Tensor, " n"]


class Tables(NamedTuple):
    """What goes with what.

    Attributes:
        roles: (v, a) True where the subject is meant.
        sorts: (e, n) which adjectives each name goes with.
        kinds: (a,) of which kind each adjective is.
    """

    roles: Bool[Tensor, "v a"]
    sorts: Bool[Tensor, "e n"]
    kinds: Bool[Tensor, " a"]


@dataclass(frozen=True)
class SchemaWorld:
    """The tables of a world, drawn from a seed.

    Args:
        seed: of the tables.
        environments: E, how many there are.
        names: how many each environment has of its own; 4 or more, so that each sort has two.
        verbs: how many, at most 16.
        adjectives: how many, at most 32.
        irregular: share of verbs' and adjectives' combinations that do not follow from the degree of each: 0 makes a mechanism
            that is learnt soon, 1/2 one that has to be learnt combination by combination.

    Raises:
        TypeError, ValueError: numbers out of their range.

    >>> world = SchemaWorld(seed=0)
    >>> world.schemas("associative", 1, torch.Generator().manual_seed(0))[0].text
    'gubo followed bele because it was kind : it'
    """

    seed: int
    environments: int = 8
    names: int = 16
    verbs: int = 8
    adjectives: int = 16
    irregular: float = 0.0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        check_whole("environments", self.environments, 1)
        check_whole("names", self.names, 4)
        for name, words in {"verbs": VERBS, "adjectives": ADJECTIVES}.items():
            check_whole(name, getattr(self, name), 2)
            if getattr(self, name) > len(words):
                raise ValueError(f"`{name}` should be at most {len(words)}, the words there are. Found {getattr(self, name)}.")
        check_share("irregular", self.irregular)
        own = made_names(self.environments * self.names)
        double = sorted({*VERBS[: self.verbs], *ADJECTIVES[: self.adjectives], *FILLING}.intersection(own))
        if double:
            raise ValueError(
                f"Names should be no other words of the world. Found {', '.join(double)} among {len(own)} names of all "
                "environments. Take fewer environments, names or adjectives."
            )

    @cached_property
    def tables(self) -> Tables:
        """What the seed makes of verbs, adjectives and names."""
        generator = Generator().manual_seed(self.seed)
        verbs, adjectives = _degrees(self.verbs, generator), _degrees(self.adjectives, generator)
        regular = verbs[:, None] + adjectives > 0
        roles = regular ^ (torch.rand(regular.shape, generator=generator) < self.irregular)
        halves = [torch.randperm(self.names, generator=generator) < self.names // 2 for _ in range(self.environments)]
        kinds = torch.randperm(self.adjectives, generator=generator) < self.adjectives // 2
        return Tables(roles, torch.stack(halves), kinds)

    @property
    def vocabulary(self) -> Vocabulary:
        """All words: names by environment, then verbs, adjectives and what fills the sentence."""
        names = made_names(self.environments * self.names)
        return Vocabulary((*names, *VERBS[: self.verbs], *ADJECTIVES[: self.adjectives], *FILLING))

    def draw(self, part: str, environments: Int[Tensor, " n"], generator: Generator, share: float = 1.0) -> Sentences:
        """Draw a sentence for each environment's id.

        Args:
            part: "associative", the one who is meant goes with the adjective, the other does not; "neutral", both do or
                neither; "opposed", only the other does.
            environments: ids below E, one a sentence.
            generator: of the draws.
            share: of sentences of that part; the others are neutral.
        """
        check_one_of("part", part, PARTS)
        check_share("share", share)
        check_generator("generator", generator)
        if len(environments) and not 0 <= int(environments.min()) <= int(environments.max()) < self.environments:
            raise ValueError(
                f"`environments` should lie in [0, {self.environments - 1}]. Found {environments.unique().tolist()}."
            )
        count = len(environments)
        verb = torch.randint(self.verbs, (count,), generator=generator)
        adjective = torch.randint(self.adjectives, (count,), generator=generator)
        goes = self.tables.sorts[environments] == self.tables.kinds[adjective][:, None]
        strong = torch.rand(count, generator=generator) < (0.0 if part == "neutral" else share)
        first = torch.rand(count, generator=generator) < 0.5  # in neutral sentences: whether both go with the adjective
        first = torch.where(strong, torch.tensor(part == "associative"), first)
        second = torch.where(strong, ~first, first)
        keys = torch.rand(count, self.names, generator=generator)
        meant = keys.masked_fill(goes != first[:, None], 2.0).argmin(1)
        keys.scatter_(1, meant[:, None], 2.0)
        other = keys.masked_fill(goes != second[:, None], 3.0).argmin(1)
        return self._sentences(verb, adjective, environments * self.names + meant, environments * self.names + other)

    def schemas(self, part: str, count: int, generator: Generator) -> list[Schema]:
        """Draw items from all environments in turn. All can be switched: associative ones are then opposed, and so back."""
        check_whole("count", count, 1)
        found = self.draw(part, torch.arange(count) % self.environments, generator)
        vocabulary = self.vocabulary
        items: list[Schema] = []
        for ids, meant in zip(found.ids.tolist(), found.meant.tolist(), strict=True):
            words = vocabulary.text(ids)
            text, start = " ".join([*words, "it"]), len(" ".join(words[:6])) + 1
            items.append(
                Schema(
                    text,
                    pronoun=slice(len(text) - 2, len(text)),
                    candidates=(words[0], words[2]),
                    answer=0 if ids[0] == meant else 1,
                    switchable=True,
                    hinge=slice(start, start + len(words[6])),
                )
            )
        return items

    def _sentences(self, verb: Tensor, adjective: Tensor, meant: Tensor, other: Tensor) -> Sentences:
        """Put words into their places, as ids of the vocabulary."""
        verbs = len(SPECIAL) + self.environments * self.names
        adjectives = verbs + self.verbs
        filling = [torch.full_like(verb, adjectives + self.adjectives + index) for index in range(len(FILLING))]
        meant, other, subject = meant + len(SPECIAL), other + len(SPECIAL), self.tables.roles[verb, adjective]
        first, second = torch.where(subject, meant, other), torch.where(subject, other, meant)
        ids = torch.stack([first, verbs + verb, second, *filling[:3], adjectives + adjective, filling[3]], 1)
        return Sentences(ids, meant, other)


def made_names(count: int) -> tuple[str, ...]:
    """Return so many names of two syllables, always the same ones.

    >>> made_names(3)
    ('baba', 'giri', 'naku')
    """
    syllables = ["".join(pair) for pair in product("bdfgklmnprstvz", "aeiou")]
    every = len(syllables) ** 2
    if count > every:
        raise ValueError(f"There should be at most {every} names in all environments. Found {count}. Take fewer.")
    places = [divmod(1237 * index % every, len(syllables)) for index in range(count)]  # 1237 shares no factor with it
    return tuple(syllables[first] + syllables[second] for first, second in places)


def _degrees(count: int, generator: Generator) -> Tensor:
    """Return numbers spaced evenly around 0 in a random order."""
    return torch.linspace(-1, 1, 2 * count + 1)[1::2][torch.randperm(count, generator=generator)]
