"""Vectors of the words of Python's library; classes that the language itself defines are to be found from a few exemplars.

Classes: built-in exceptions, keywords, built-in types, and the assert methods of unittest where the text has them. Some members
are drawn as exemplars, the others hidden among all words. Three arms have the same words to choose from: those that every
source has.
"""

import builtins
import keyword
import sysconfig
import unittest
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import torch
from annotated_types import Ge

from claimlab import Limited, Positive, Preset, Row, part
from mechlearn_zoo.methods.language.grammar import EmbeddingGrammar, Method, Vectors, together, word_vectors
from mechlearn_zoo.tasks.text.code_tokens import code_tokens

METHODS: tuple[Method, ...] = ("neighbours", "centroid", "hull", "span")
"""What distance is measured to."""

ARMS = ("pooled", "one source", "sources agree")
"""Vectors of all text, of one part of it, and of several parts that must agree."""

OPPOSITES = (
    "min/max", "encode/decode", "read/write", "open/close", "start/stop", "left/right", "first/last", "True/False",
    "lower/upper", "before/after", "push/pop", "enter/exit", "input/output", "begin/end", "append/pop",
)  # fmt: skip
"""Words of opposite meaning that occur in the same places."""

PACKAGES = (
    "asyncio", "collections", "concurrent", "ctypes", "dbm", "email", "encodings", "html", "http", "importlib", "json",
    "logging", "multiprocessing", "re", "sqlite3", "tomllib", "unittest", "urllib", "venv", "wsgiref", "xml", "xmlrpc",
    "zoneinfo",
)  # fmt: skip
"""Packages that are read beside the modules of one file."""

EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)
CLASSES: dict[str, frozenset[str]] = {
    "exceptions": EXCEPTIONS,
    "keywords": frozenset(keyword.kwlist),
    "types": frozenset(name for name, value in vars(builtins).items() if isinstance(value, type)) - EXCEPTIONS,
    "asserts": frozenset(name for name in dir(unittest.TestCase) if name.startswith("assert")),
}
"""By name, as this Python has them."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the exemplars and of which file belongs to which source."""
    everything: bool = False
    """Read every file of the library, its tests included, in place of modules and packages without tests."""
    size: Annotated[int, Ge(2)] = 100
    """Numbers a vector."""
    window: Annotated[int, Ge(1)] = 3
    """Words to each side."""
    minimum: Annotated[int, Ge(1)] = 8
    """Occurrences that a word takes; half of that within a source."""
    sources: Annotated[int, Ge(2)] = 3
    """Parts of the text that must agree."""
    exemplars: Annotated[int, Ge(1)] = 2
    """Of each class that are shown."""
    draws: Annotated[int, Ge(1)] = 10
    """Of exemplars, averaged."""
    epsilon: Positive = 0.35
    """At which precision and recall are read; the best F1 looks at all."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(everything=True, size=300, exemplars=4, draws=20), seeds=10),
}


def texts(everything: bool) -> list[tuple[str, ...]]:
    """Return the library's files as tokens; files that are no Python on purpose are left out."""
    root = Path(sysconfig.get_paths()["stdlib"])
    if not everything:
        folders = [root / name for name in PACKAGES if (root / name).is_dir()]
        return [*code_tokens().tokens, *code_tokens(folders).tokens]
    found = list[tuple[str, ...]]()
    for path in sorted(root.rglob("*.py")):
        if not {"site-packages", "__pycache__"} & set(path.parts):
            try:
                found += code_tokens([path]).tokens
            except (ValueError, UnicodeDecodeError):  # the library's tests have files that are broken on purpose
                continue
    return found


class Found(NamedTuple):
    """How well hidden words are found."""

    f1: float
    precision: float
    recall: float


def scored(distances: dict[str, float], truth: set[str], exemplars: Sequence[str], epsilon: float) -> Found:
    """Return the best F1 over all radii, and precision and recall at one, the exemplars left out."""
    hidden = truth - set(exemplars)
    words = [word for word in distances if word not in exemplars]
    d, y = np.array([distances[word] for word in words]), np.array([word in hidden for word in words])
    order = np.argsort(d, kind="stable")
    right, size = np.cumsum(y[order]), np.arange(1, len(words) + 1)
    near = d <= epsilon
    hits = int((near & y).sum())
    return Found(float((2 * right / (size + len(hidden))).max()), hits / max(1, int(near.sum())), hits / len(hidden))


def run(config: Config) -> Iterator[Row]:
    """Yield how well each class is found, where opposites lie, and what one terminal stands for."""
    streams = texts(config.everything)
    generator = np.random.default_rng(config.seed)
    whose = generator.integers(0, config.sources, len(streams))
    least = max(1, config.minimum // 2)
    pooled = word_vectors(streams, config.size, config.window, config.minimum)
    owned = [[stream for stream, owner in zip(streams, whose, strict=True) if owner == k] for k in range(config.sources)]
    sources = [word_vectors(own, config.size, config.window, least) for own in owned]
    common = set(pooled.words).intersection(*(source.words for source in sources))
    rows = [place for place, word in enumerate(pooled.words) if word in common]
    same = Vectors(tuple(pooled.words[place] for place in rows), pooled.table[rows])
    yield {"kind": "text", "tokens": sum(map(len, streams)), "words": len(pooled.words), "common": len(common)}
    for name, members in CLASSES.items():
        truth = set(members) & common
        if len(truth) < config.exemplars + 3:
            continue
        shown = [list(generator.choice(sorted(truth), config.exemplars, replace=False)) for _ in range(config.draws)]
        arms = {"all words": [pooled], "pooled": [same], "one source": sources[:1], "sources agree": sources}
        yield from part(name, class_rows(config, name, truth, shown, arms))
    yield from opposites(pooled)
    yield from spoken(sources, config.epsilon)


def class_rows(
    config: Config, name: str, truth: set[str], shown: Sequence[list[str]], arms: dict[str, list[Vectors]]
) -> Iterator[Row]:
    """Yield how well a class is found: among all words by each method, then by each arm among those that all arms have."""
    kind: Row = {"kind": "class", "class": name}
    (pooled,), common = arms["all words"], set(arms["pooled"][0].words)
    for method in METHODS:
        known = set(CLASSES[name]) & set(pooled.words)
        tried = [scored(zipped(pooled, words, method), known, words, config.epsilon) for words in shown]
        yield {**kind, "method": method, "arm": "all words", "members": len(truth), **means(tried)}
    for arm in ("pooled", "one source", "sources agree"):
        near = [{w: d for w, d in together(arms[arm], words).items() if w in common} for words in shown]
        tried = [scored(one, truth, words, config.epsilon) for one, words in zip(near, shown, strict=True)]
        yield {**kind, "method": "neighbours", "arm": arm, "members": len(truth), **means(tried)}


def zipped(vectors: Vectors, words: Sequence[str], method: Method) -> dict[str, float]:
    """Return each word's distance."""
    return dict(zip(vectors.words, vectors.distances(words, method).tolist(), strict=True))


def means(found: Sequence[Found]) -> Row:
    """Return the means over draws."""
    return {key: float(np.mean([getattr(one, key) for one in found])) for key in Found._fields}


def opposites(vectors: Vectors) -> Iterator[Row]:
    """Yield the rank of each word's opposite among its neighbours, from 1."""
    table = torch.nn.functional.normalize(vectors.table, dim=1)
    for pair in OPPOSITES:
        first, second = pair.split("/")
        if first in vectors.words and second in vectors.words:
            a, b = vectors.places([first, second])
            cosines = table @ table[a]
            yield {"kind": "opposite", "pair": pair, "rank": int((cosines > cosines[b]).sum())}


def spoken(sources: Sequence[Vectors], epsilon: float) -> Iterator[Row]:
    """Yield a terminal's words: what `except {error: KeyError ValueError}` matches."""
    for arm, vectors in (("one source", sources[:1]), ("sources agree", sources)):
        try:
            grammar = EmbeddingGrammar("except {error: KeyError ValueError}", vectors, epsilon)
        except ValueError:  # a small text without these words
            continue
        words = [one.word for one in grammar.expansion("error")]
        yield {"kind": "expansion", "arm": arm, "count": len(words), "words": " ".join(words[:20])}
