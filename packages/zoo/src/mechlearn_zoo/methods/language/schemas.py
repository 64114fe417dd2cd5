"""Winograd probing: does a model that scores well on a pronoun test reason, or count.

After Trichelair et al. 2019, with the scores of Trinh and Le 2018 (https://arxiv.org/abs/1806.02847).

A schema is a sentence with a pronoun and two candidates. Score each candidate by the model's log-probability of the sentence
with the pronoun replaced; then split the items by association, switch the candidates, and ask for consistency.

- full: log P(sentence); partial: log P(what stands after the pronoun | what stands before it and the candidate).
- switchable items make sense with the candidates exchanged, and the answer is exchanged with them. Consistency is the share of
  them whose answer changes with the switch; robust accuracy asks for both answers to be right. A model that is blind to order
  has consistency 0 on such items, whatever its accuracy.
- association(e) = max over the other words w of PMI(e, w); an item is associative when the right candidate's exceeds the wrong
  one's by a threshold, which is yours to choose: it is not given in a form that could be applied to other text.

Public tests are small (273 items): at 5 % two-sided a guesser lies within 6 points of a half, and the best of m settings higher
still (`best_of`). Report intervals. Not for generated answers: the model must give log-probabilities.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple
from xml.etree import ElementTree

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.arguments import check_all_finite, check_ids, check_kind, check_one_of, check_whole
from mechlearn_zoo.methods.language.chance import Rate, wilson
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Winograd probing", 2019, "Trichelair et al.", "https://arxiv.org/abs/1811.01778", "four sentences an item, in batches"
)

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Schema:
    """A sentence with a pronoun, and who may be meant.

    Args:
        text: the sentence.
        pronoun: the characters of the pronoun, as in ``text[pronoun]``.
        candidates: two different names for who is meant.
        answer: 0 or 1, which is right.
        switchable: whether the sentence makes sense with the candidates exchanged; both must then stand in the text, as whole
            words, whatever the case of their first letter. Where one holds the other, as "the man's son" does "the man", the
            longer one stands there.
        hinge: the characters of the word on which the answer turns; None if it is not marked.

    Raises:
        TypeError: parts of another type.
        ValueError: an empty pronoun, equal candidates, another answer, or a switchable item whose candidates are not in the
            text, or overlap there.
    """

    text: str
    pronoun: slice
    candidates: tuple[str, str]
    answer: int
    switchable: bool = False
    hinge: slice | None = None

    def __post_init__(self) -> None:
        check_kind("text", self.text, str, "a sentence")
        check_kind("pronoun", self.pronoun, slice, "a slice of the text", way_out="Use slice(first, after the last).")
        check_whole("answer", self.answer)
        if not self.text[self.pronoun].strip() or self.pronoun.step not in (None, 1):
            raise ValueError(
                f"`pronoun` should mark a word of the text. Found {self.text[self.pronoun]!r} in {self.text!r}. Count "
                f"characters."
            )
        if (
            len(self.candidates) != 2
            or len({_plain(one) for one in self.candidates}) != 2
            or not all(map(_plain, self.candidates))
        ):
            raise ValueError(f"`candidates` should be two different names. Found {self.candidates!r}. Leave such items out.")
        if self.answer > 1:
            raise ValueError(f"`answer` should be 0 or 1, a place in the candidates. Found {self.answer}.")
        if not self.switchable:
            return
        places = _places(self.text, self.pronoun, self.candidates)
        if missing := {0, 1} - {which for _, which in places}:
            raise ValueError(
                f"A switchable item should have both candidates in its text. Found no {self.candidates[min(missing)]!r} in "
                f"{self.text!r}. Set switchable=False."
            )
        if shared := _overlap(places):
            raise ValueError(
                f"The candidates of a switchable item should stand apart. Found {self.text[shared]!r} in {self.text!r}. Set "
                "switchable=False."
            )


class Substituted(NamedTuple):
    """A sentence with a candidate in the pronoun's place.

    Attributes:
        text: the sentence.
        start: the candidate's first character.
        end: the character after its last.
    """

    text: str
    start: int
    end: int


def substituted(schema: Schema, candidate: int) -> Substituted:
    """Return the sentence with a candidate for the pronoun; at a beginning the article gets a capital, elsewhere it loses it.

    >>> substituted(Schema("The cup leaks because it is old.", slice(22, 24), ("The cup", "The tea"), 0), 1).text
    'The cup leaks because the tea is old.'
    """
    before, after = schema.text[: schema.pronoun.start], schema.text[schema.pronoun.stop :]
    name = schema.candidates[candidate]
    name = _capital(name) if _begins(before) else _small(name)
    return Substituted(before + name + after, len(before), len(before) + len(name))


def switch(schema: Schema) -> Schema:
    """Return the schema with the candidates exchanged in its text; the other one is then meant.

    >>> one = Schema("Ann paid Bob since she was rich.", slice(19, 22), ("Ann", "Bob"), 0, switchable=True)
    >>> switch(one).text, switch(one).answer
    ('Bob paid Ann since she was rich.', 1)

    Raises:
        ValueError: an item that is not switchable.
    """
    if not schema.switchable:
        raise ValueError(
            f"The item should be switchable. Found one that is not: {schema.text!r}. Leave it out of the switched."
        )
    text, done, pronoun, hinge = "", 0, schema.pronoun, schema.hinge
    for place, which in _places(schema.text, schema.pronoun, schema.candidates):
        old, name = schema.text[place], schema.candidates[1 - which]
        # A name's capital says nothing of the place; an article's does, and one at a beginning.
        capital = old[0].isupper() and (_has_article(old) or _begins(schema.text[: place.start]))
        text += schema.text[done : place.start] + (_capital(name) if capital else _small(name))
        done = place.stop
        longer = len(name) - len(old)
        pronoun = _moved(pronoun, longer) if place.stop <= schema.pronoun.start else pronoun
        hinge = _moved(hinge, longer) if hinge and schema.hinge and place.stop <= schema.hinge.start else hinge
    return replace(schema, text=text + schema.text[done:], pronoun=pronoun, answer=1 - schema.answer, hinge=hinge)


@dataclass(frozen=True)
class Cooccurrence:
    """How often words occur, and pairs of them in one sentence.

    Args:
        sentences: how many there are.
        words: in how many sentences a word occurs.
        pairs: in how many sentences two words (sorted) occur together.
    """

    sentences: int
    words: Counter[str] = field(repr=False)
    pairs: Counter[tuple[str, str]] = field(repr=False)

    @classmethod
    def of(cls, sentences: Iterable[str | Sequence[str]]) -> "Cooccurrence":
        """Count a text, given as sentences or lists of words; case is ignored.

        >>> Cooccurrence.of(["the shark bites", "the shark swims"]).pairs["shark", "the"]
        2
        """
        count, words, pairs = 0, Counter[str](), Counter[tuple[str, str]]()
        for sentence in sentences:
            found = sorted({word.lower() for word in (_WORD.findall(sentence) if isinstance(sentence, str) else sentence)})
            count += 1
            words.update(found)
            pairs.update((one, other) for index, one in enumerate(found) for other in found[index + 1 :])
        return cls(count, words, pairs)

    def pmi(self, one: str, other: str, added: float = 0.5) -> float:
        """Return log P(one, other) / (P(one) P(other)) with ``added`` to every count, so that unseen pairs have a value."""
        one, other = sorted((one.lower(), other.lower()))
        joint = self.pairs[one, other] + added
        return math.log(joint * (self.sentences + added) / ((self.words[one] + added) * (self.words[other] + added)))


def association(counts: Cooccurrence, schema: Schema, measure: str = "pmi") -> float:
    """Return how much more the right candidate goes with the sentence's other words than the wrong one.

    Args:
        counts: of the text that the model was trained on, or of any large one.
        schema: the item.
        measure: "pmi", the greatest pointwise mutual information with a word of the sentence, or "count", the greatest
            number of sentences shared with one.

    Returns:
        a(right) - a(wrong), with the candidates' words and those of no sentence left out.

    Raises:
        ValueError: another measure.
    """
    check_one_of("measure", measure, ("pmi", "count"))
    own = {word for one in schema.candidates for word in _words(one)}
    others = _words(schema.text[: schema.pronoun.start] + " " + schema.text[schema.pronoun.stop :])
    rest = [word for word in dict.fromkeys(others) if word not in own]

    def strength(candidate: str) -> float:
        pairs = [(head, word) for head in _words(candidate) for word in rest if counts.words[word]]
        if measure == "pmi":
            return max((counts.pmi(*pair) for pair in pairs), default=0.0)
        return float(max((counts.pairs[min(pair), max(pair)] for pair in pairs), default=0))

    return strength(schema.candidates[schema.answer]) - strength(schema.candidates[1 - schema.answer])


class Report(NamedTuple):
    """What the protocol measures.

    Attributes:
        accuracy: of all items.
        associative: of the items whose association reaches the threshold.
        non_associative: of the others.
        unswitched: of the switchable items as they are.
        switched: of the same items with the candidates exchanged.
        consistency: share of switchable items whose answer changes with the switch.
        robust: share of switchable items answered rightly both ways.
    """

    accuracy: Rate
    associative: Rate
    non_associative: Rate
    unswitched: Rate
    switched: Rate
    consistency: Rate
    robust: Rate


def report(
    predictions: Int[Tensor, " k"],
    schemas: Sequence[Schema],
    associations: Float[Tensor, " n"],
    switched: Int[Tensor, " m"],
    threshold: float = 0.0,
) -> Report:
    """Return the protocol's numbers.

    Args:
        predictions: 0 or 1 for each item.
        schemas: the items.
        associations: of each item, as `association` measures it.
        switched: predictions on `switch` of the switchable items, in their order; there the other candidate is right.
        threshold: from which an item is associative.

    Raises:
        TypeError: predictions that are no whole numbers.
        ValueError: numbers that do not fit each other, predictions other than 0 and 1, associations that are not finite, a
            single switchable item.
    """
    swap = torch.tensor([one.switchable for one in schemas], device=predictions.device)
    sizes = (len(predictions), len(associations), len(switched))
    if sizes != (len(schemas), len(schemas), int(swap.sum())):
        raise ValueError(
            f"There should be a prediction and an association for each of {len(schemas)} items, and {int(swap.sum())} of "
            f"switched ones. Found {sizes}."
        )
    for name, said in (("predictions", predictions), ("switched", switched)):
        check_ids(name, said, len(said), count=2, way_out="Say which of the two candidates is meant.")
    check_all_finite("associations", associations, way_out="Leave such items out.")
    if int(swap.sum()) == 1:
        raise ValueError("Two or more items should be switchable, or none. Found one, whose share says nothing. Leave it out.")
    answers = torch.tensor([one.answer for one in schemas], device=predictions.device)
    right, associative = predictions == answers, associations >= threshold
    turned, back = switched != predictions[swap], switched == 1 - answers[swap]
    parts = (right, right[associative], right[~associative], right[swap], back, turned, right[swap] & back)
    return Report(*(wilson(int(part.sum()), len(part)) for part in parts))


def read_wsc(path: str) -> list[Schema]:
    """Read the public Winograd schemas, WSCollection.xml, which you bring.

    An item is marked as switchable where both candidates stand literally in its text outside the pronoun; whether it makes
    sense with them exchanged is for people to say: use `dataclasses.replace(schema, switchable=...)` with their list.

    Raises:
        ValueError: another kind of file; the message names the item.
    """
    try:
        items = list(ElementTree.parse(path).getroot().iter("schema"))
    except ElementTree.ParseError as error:
        raise ValueError(
            f"{path} should be the XML file of Winograd schemas. Found {error}. Download WSCollection.xml."
        ) from None
    if not items:
        raise ValueError(f"{path} should hold elements <schema>. Found none. Download WSCollection.xml.")
    return [_read(item, index, path) for index, item in enumerate(items)]


def _read(item: ElementTree.Element, index: int, path: str) -> Schema:
    before, pronoun, after = (_text(item, f"text/{part}") for part in ("txt1", "pron", "txt2"))
    candidates = [" ".join((one.text or "").split()) for one in item.findall("answers/answer")]
    letter = _text(item, "correctAnswer").strip(" .").upper()
    if not pronoun or len(candidates) != 2 or letter not in ("A", "B"):
        found = f"pronoun {pronoun!r}, answers {candidates}, correctAnswer {letter!r}"
        raise ValueError(f"Item {index} of {path} should have a pronoun, two answers and A or B. Found {found}. Mend the item.")
    text = " ".join(part for part in (before, pronoun, after) if part)
    start = len(before) + 1 if before else 0
    found = Schema(text, slice(start, start + len(pronoun)), (candidates[0], candidates[1]), "AB".index(letter))
    places = _places(text, found.pronoun, found.candidates)
    return replace(found, switchable={which for _, which in places} == {0, 1} and _overlap(places) is None)


def _text(item: ElementTree.Element, path: str) -> str:
    return " ".join((item.findtext(path) or "").split())


def _places(text: str, pronoun: slice, candidates: tuple[str, str]) -> list[tuple[slice, int]]:
    """Return where candidates stand and which, in order: as whole words, whatever their first letter's case.

    A place within one of the longer candidate's is that one's; what overlaps the pronoun is left out.
    """
    found = list[tuple[slice, int]]()
    for which in sorted((0, 1), key=lambda which: -len(candidates[which])):
        name = candidates[which]
        pattern = rf"(?<!\w)(?i:{re.escape(name[:1])}){re.escape(name[1:])}(?!\w)"
        places = [slice(*match.span()) for match in re.finditer(pattern, text)]
        longer = [place for place, _ in found]
        found += [(one, which) for one in places if not any(o.start <= one.start and one.stop <= o.stop for o in longer)]
    outside = [(one, which) for one, which in found if one.stop <= pronoun.start or one.start >= pronoun.stop]
    return sorted(outside, key=lambda one: one[0].start)


def _overlap(places: list[tuple[slice, int]]) -> slice | None:
    """Return where two places share a character; None where none do."""
    for (one, _), (other, _) in pairwise(places):
        if other.start < one.stop:
            return slice(one.start, other.stop)
    return None


def _moved(place: slice, by: int) -> slice:
    return slice(place.start + by, place.stop + by)


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _plain(name: str) -> str:
    return " ".join(name.lower().split())


_ARTICLES = ("the", "a", "an", "his", "her", "my", "our", "their", "its")


def _begins(before: str) -> bool:
    """Return whether a sentence begins behind a text."""
    return not before.strip() or before.rstrip()[-1] in ".!?"


def _has_article(name: str) -> bool:
    return name.split(maxsplit=1)[0].lower() in _ARTICLES


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _small(name: str) -> str:
    """Lower an article's capital; names keep theirs."""
    return name[:1].lower() + name[1:] if _has_article(name) else name
