"""English sentences: patterns with one open word, matched from two example sentences.

Half of the sentences make the vectors and the examples; patterns are tried on the other half. A pattern's words around the open
one (`my ...`, `... years`) are the user's, the two example words are drawn from its right matches. Kin, parts of the body and
number words are lists of ours, a name is what is written with a capital.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import numpy as np
from annotated_types import Ge
from torch import Tensor, stack
from torch.nn.functional import normalize

from claimlab import Limited, Positive, Preset, Row, part
from mechlearn_zoo.methods.language.grammar import Vectors, word_vectors
from mechlearn_zoo.tasks.text.english import sentences

WAYS: tuple[str, ...] = ("literal", "balls", "nearest sentence", "any word")
"""The example words alone, words near them, sentences near the examples (at the best threshold), every word."""

RADII = tuple(round(0.05 * step, 2) for step in range(21))

_OWNER = r"\b(?:my|thy|his|her|our|your|their) ([a-z']+)"
PATTERNS = {
    "kin": (
        _OWNER,
        "father mother brother sister son daughter wife husband child children brethren fathers mothers brothers sisters sons "
        "daughters wives husbands uncle nephew nephews kinsman kinsmen kinswoman firstborn",
    ),
    "body": (
        _OWNER,
        "hand hands eye eyes foot feet head heads mouth mouths lip lips tongue tongues ear ears face faces heart hearts arm "
        "arms finger fingers neck necks knee knees leg legs shoulder shoulders breast breasts belly bowels bone bones flesh "
        "hair beard blood skin loins thigh thighs back teeth nose nostrils forehead cheek cheeks throat womb reins palm "
        "palms side sides toe toes ankle bosom navel",
    ),
    "numbers": (
        r"\b([a-z']+) (?:years?|days?|men|cubits|sons|daughters|months|shekels|times|cities|pieces|talents|loaves|oxen)\b",
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen "
        "nineteen twenty thirty forty fifty sixty seventy eighty ninety score threescore fourscore hundred hundreds thousand "
        "thousands",
    ),
    "names": (
        r"\b(?:kings?|land|children|sons?|house|men|city|cities|daughters?|tribe|elders|princes|people) of ([a-z']+)",
        "",
    ),
}
"""Each class's pattern around the open word, and its words; without words it is the capital that tells."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 400
    """First seed: of the halves and of the examples."""
    size: Annotated[int, Ge(2)] = 100
    """Numbers a vector."""
    window: Annotated[int, Ge(1)] = 3
    """Words to each side."""
    minimum: Annotated[int, Ge(1)] = 5
    """Occurrences that a word takes."""
    exemplars: Annotated[int, Ge(1)] = 2
    """Example sentences of a class."""
    draws: Annotated[int, Ge(1)] = 10
    """Of examples, averaged."""
    epsilon: Positive = 0.6
    """Radius of the balls."""


PRESETS = {"english": Preset(Config(), seeds=20)}


class Match(NamedTuple):
    """Where a pattern matches."""

    word: str
    right: bool
    near: list[str]
    """The word with five to each side."""


def run(config: Config) -> Iterator[Row]:
    """Yield how well each way finds each class's sentences, F1 by radius, and what two examples stand for."""
    texts = sentences()
    first = np.random.default_rng(config.seed).random(len(texts)) < 0.5
    shown, hidden = ([text for text, one in zip(texts, first, strict=True) if one == half] for half in (True, False))
    vectors = word_vectors([words(text) for text in shown], config.size, config.window, config.minimum)
    for place, name in enumerate(PATTERNS):
        generator = np.random.default_rng((config.seed, place))
        yield from part(name, of_class(config, generator, name, vectors, matches(name, shown), matches(name, hidden)))


def words(text: str) -> list[str]:
    """Return a text's words in lower case, signs among them."""
    return re.findall(r"[a-z']+|[.,;:?!()]", text.lower())


def matches(name: str, texts: Sequence[str]) -> list[Match]:
    """Return all that a class's pattern matches with any word."""
    pattern, listed = PATTERNS[name]
    members = set(listed.split())
    return [
        Match(
            found[1].lower(),
            found[1].lower() in members if members else found[1][0].isupper(),
            [*words(text[: found.start(1)])[-5:], *words(text[found.start(1) :])[:6]],
        )
        for text in texts
        for found in re.finditer(pattern, text, re.IGNORECASE)
    ]


def of_class(
    config: Config, generator: np.random.Generator, name: str, vectors: Vectors, shown: list[Match], hidden: list[Match]
) -> Iterator[Row]:
    """Yield a class's rows: means over draws of examples."""
    known = set(vectors.words)
    examples = [one for one in shown if one.right and one.word in known]
    right = np.array([one.right for one in hidden])
    near = average(vectors, hidden)
    f1 = dict[str, list[float]]((way, []) for way in WAYS)
    by_radius = list[list[float]]()
    for draw in range(config.draws):
        chosen = drawn(examples, generator, config.exemplars)
        distance = dict(zip(vectors.words, vectors.distances(list(chosen)).tolist(), strict=True))
        far = np.array([distance.get(one.word, np.inf) for one in hidden])
        likeness = (near @ average(vectors, list(chosen.values())).T).amax(1).numpy()
        f1["literal"].append(score(right, np.array([one.word in chosen for one in hidden])))
        f1["balls"].append(score(right, far <= config.epsilon))
        f1["nearest sentence"].append(best(right, likeness))
        f1["any word"].append(score(right, np.ones(len(hidden), dtype=bool)))
        by_radius.append([score(right, far <= radius) for radius in RADII])
        if not draw:
            found = sorted(
                {one.word for one in hidden if distance.get(one.word, np.inf) <= config.epsilon} - set(chosen),
                key=distance.__getitem__,
            )
            yield {
                "kind": "words",
                "class": name,
                "examples": " ".join(chosen),
                "words": " ".join(found[:12]),
                "count": len(found),
            }
    for way in WAYS:
        yield {
            "kind": "way",
            "class": name,
            "way": way,
            "f1": float(np.mean(f1[way])),
            "matches": len(hidden),
            "right": int(right.sum()),
        }
    for radius, value in zip(RADII, np.mean(by_radius, axis=0).tolist(), strict=True):
        yield {"kind": "radius", "class": name, "radius": radius, "f1": value}


def drawn(examples: Sequence[Match], generator: np.random.Generator, count: int) -> dict[str, Match]:
    """Return examples of different words, each word as likely as it is frequent."""
    found = dict[str, Match]()
    for at in generator.permutation(len(examples)):
        found.setdefault(examples[at].word, examples[at])
        if len(found) == count:
            break
    return found


def average(vectors: Vectors, found: Sequence[Match]) -> Tensor:
    """Return the mean direction of the words around each match, (n, d)."""
    units = normalize(vectors.table, dim=1)
    place = {word: at for at, word in enumerate(vectors.words)}
    means = [units[[place[word] for word in one.near if word in place]].sum(0) for one in found]
    return normalize(stack(means), dim=1)


def score(right: np.ndarray, found: np.ndarray) -> float:
    """Return F1."""
    return float(2 * (right & found).sum() / max(1, right.sum() + found.sum()))


def best(right: np.ndarray, likeness: np.ndarray) -> float:
    """Return the best F1 over all thresholds."""
    hits = np.cumsum(right[np.argsort(-likeness, kind="stable")])
    return float((2 * hits / (np.arange(1, len(right) + 1) + right.sum())).max())
