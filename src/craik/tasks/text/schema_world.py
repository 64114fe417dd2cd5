"""Generated Winograd schemas with a dial for association: "council feared crowd because it was loud : council".

Who is meant follows from verb and adjective by a table, the same everywhere: the mechanism. In each environment, beside, every
adjective goes with a few nouns, in no other environment, and in a share of sentences such a noun is who is meant: there the
association gives the answer away. Whoever pools environments can learn all their associations; who keeps what they share
learns the table.

Index convention: e an environment, a an adjective, n a noun, v a verb. Words are real ones, so that sentences can be read; their
meaning has no part in it.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from jaxtyping import Bool, Int
from torch import Generator, Tensor

from craik.arguments import check_generator, check_one_of, check_share, check_whole
from craik.methods.language.schemas import Schema
from craik.methods.language.vocabulary import Vocabulary

NOUNS = [
    "actor",
    "artist",
    "baker",
    "banker",
    "captain",
    "chef",
    "child",
    "clerk",
    "coach",
    "council",
    "cousin",
    "crowd",
    "dancer",
    "doctor",
    "driver",
    "editor",
    "farmer",
    "fisher",
    "guard",
    "guest",
    "hunter",
    "judge",
    "king",
    "knight",
    "lawyer",
    "leader",
    "mayor",
    "miner",
    "monk",
    "mother",
    "nurse",
    "painter",
    "pilot",
    "poet",
    "priest",
    "prince",
    "queen",
    "rider",
    "robber",
    "sailor",
    "scholar",
    "servant",
    "sheriff",
    "shepherd",
    "singer",
    "soldier",
    "student",
    "surgeon",
    "tailor",
    "teacher",
    "thief",
    "tutor",
    "uncle",
    "waiter",
    "witness",
    "writer",
    "zealot",
    "aunt",
    "butcher",
    "chemist",
    "dentist",
    "gardener",
]
VERBS = [
    "feared",
    "helped",
    "blamed",
    "praised",
    "followed",
    "warned",
    "hired",
    "trusted",
    "chased",
    "mocked",
    "taught",
    "envied",
    "paid",
    "served",
    "taxed",
    "obeyed",
]
ADJECTIVES = [
    "angry",
    "brave",
    "calm",
    "careless",
    "clever",
    "cruel",
    "eager",
    "famous",
    "gentle",
    "greedy",
    "guilty",
    "honest",
    "humble",
    "idle",
    "jealous",
    "kind",
    "lonely",
    "loud",
    "lucky",
    "modest",
    "nervous",
    "noble",
    "proud",
    "quiet",
    "rude",
    "silent",
    "strict",
    "stubborn",
    "tired",
    "weak",
    "wealthy",
    "wise",
]

FILLING = ("because", "it", "was", ":")

Part = str
"""Which nouns stand in a sentence: see `SchemaWorld.draw`."""


class Sentences(NamedTuple):
    """Sentences without their last word, and that word.

    Attributes:
        ids: (n, 8) as "N1 V N2 because it was A :".
        meant: the noun that is meant and comes next.
        other: the other noun.
        environments: which environment each is from, or whose association it has.
    """

    ids: Int[Tensor, "n 8"]
    meant: Int[Tensor, " n"]
    other: Int[Tensor, " n"]
    environments: Int[Tensor, " n"]


@dataclass(frozen=True)
class SchemaWorld:
    """The tables of a world, drawn from a seed.

    Args:
        seed: of the tables.
        nouns: how many, at most 64.
        verbs: how many, at most 16.
        adjectives: how many, at most 32.
        environments: E, how many there are.
        associated: nouns that go with an adjective in one environment; environments times these must leave two nouns.

    Raises:
        TypeError, ValueError: numbers out of their range.

    >>> world = SchemaWorld(seed=0)
    >>> world.schemas("associative", 1, torch.Generator().manual_seed(0))[0].text
    'servant envied prince because it was careless : it'
    """

    seed: int
    nouns: int = 40
    verbs: int = 8
    adjectives: int = 16
    environments: int = 8
    associated: int = 3
    roles: Bool[Tensor, "v a"] = field(init=False, repr=False, compare=False)
    going: Int[Tensor, "a e k"] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        limits = {"nouns": NOUNS, "verbs": VERBS, "adjectives": ADJECTIVES}
        for name, words in limits.items():
            check_whole(name, getattr(self, name), 2)
            if getattr(self, name) > len(words):
                raise ValueError(f"`{name}` should be at most {len(words)}, the words there are. Found {getattr(self, name)}.")
        check_whole("environments", self.environments, 1)
        check_whole("associated", self.associated, 1)
        taken = self.environments * self.associated
        if self.nouns - taken < 2:
            raise ValueError(
                f"`nouns` should be {taken + 2} or more, so that two go with no adjective. Found {self.nouns}. Lower `associated`."
            )
        generator = Generator().manual_seed(self.seed)
        # Half of each verb's adjectives point to the subject, and of each adjective's verbs as nearly as a shuffle can.
        rows = [torch.randperm(self.adjectives, generator=generator) < self.adjectives // 2 for _ in range(self.verbs)]
        object.__setattr__(self, "roles", torch.stack(rows))
        going = [torch.randperm(self.nouns, generator=generator)[:taken] for _ in range(self.adjectives)]
        object.__setattr__(self, "going", torch.stack(going).view(self.adjectives, self.environments, self.associated))

    @property
    def vocabulary(self) -> Vocabulary:
        """All words: nouns, then verbs, adjectives and what fills the sentence."""
        return Vocabulary((*NOUNS[: self.nouns], *VERBS[: self.verbs], *ADJECTIVES[: self.adjectives], *FILLING))

    def draw(self, part: Part, environments: Int[Tensor, " n"], generator: Generator, share: float = 1.0) -> Sentences:
        """Draw a sentence for each environment's id.

        Args:
            part: which nouns stand in them. "associative": who is meant goes with the adjective in the environment, the other
                noun with it nowhere. "neutral": neither noun goes with it anywhere. "opposed": the noun that is *not* meant goes
                with it.
            environments: ids below E, one a sentence.
            generator: of the draws.
            share: of associative or opposed sentences; the others are neutral.

        Raises:
            TypeError, ValueError: ids out of range, another part, a share outside [0, 1].
        """
        check_one_of("part", part, ("associative", "neutral", "opposed"))
        check_share("share", share)
        check_generator("generator", generator)
        if len(environments) and not 0 <= int(environments.min()) <= int(environments.max()) < self.environments:
            raise ValueError(
                f"`environments` should lie in [0, {self.environments - 1}]. Found {environments.unique().tolist()}."
            )
        count = len(environments)
        verb = torch.randint(self.verbs, (count,), generator=generator)
        adjective = torch.randint(self.adjectives, (count,), generator=generator)
        taken = torch.zeros(self.adjectives, self.nouns, dtype=torch.bool).scatter_(1, self.going.flatten(1), True)
        keys = torch.rand(count, self.nouns, generator=generator) + taken[adjective]
        meant, other = keys.topk(2, largest=False).indices.unbind(1)
        place = torch.randint(self.associated, (count,), generator=generator)
        strong = torch.rand(count, generator=generator) < (0.0 if part == "neutral" else share)
        goes = self.going[adjective, environments, place]
        meant = torch.where(strong, goes, meant) if part == "associative" else meant
        other = torch.where(strong, goes, other) if part == "opposed" else other
        subject = self.roles[verb, adjective]
        first, second = torch.where(subject, meant, other), torch.where(subject, other, meant)
        return self._sentences(first, verb, second, adjective, meant, other, environments)

    def schemas(self, part: Part, count: int, generator: Generator) -> list[Schema]:
        """Draw items to probe a model with, from all environments in turn; all can be switched, which opposes the associative."""
        check_whole("count", count, 1)
        found = self.draw(part, torch.arange(count) % self.environments, generator)
        vocabulary = self.vocabulary
        items: list[Schema] = []
        for ids, meant in zip(found.ids, found.meant, strict=True):
            words = vocabulary.text(ids.tolist())
            text, names = " ".join([*words, "it"]), (words[0], words[2])
            hinge = len(" ".join(words[:6])) + 1
            answer = names.index(vocabulary.text([int(meant)])[0])
            place = slice(len(text) - 2, len(text))
            items.append(Schema(text, place, names, answer, switchable=True, hinge=slice(hinge, hinge + len(words[6]))))
        return items

    def _sentences(
        self, first: Tensor, verb: Tensor, second: Tensor, adjective: Tensor, meant: Tensor, other: Tensor, environments: Tensor
    ) -> Sentences:
        base = len(self.vocabulary) - len(FILLING) - self.adjectives - self.verbs - self.nouns
        verbs, adjectives = base + self.nouns, base + self.nouns + self.verbs
        because, it, was, colon = (torch.full_like(verb, adjectives + self.adjectives + index) for index in range(len(FILLING)))
        ids = torch.stack([base + first, verbs + verb, base + second, because, it, was, adjectives + adjective, colon], 1)
        return Sentences(ids, base + meant, base + other, environments)
