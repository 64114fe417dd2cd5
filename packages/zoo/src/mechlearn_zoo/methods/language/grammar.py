"""Embedding grammars: regular expressions whose words stand for their neighbours in a space of word vectors.

Source: embedding grammars, as the reading digest restates them (its paper's details are unchecked); word vectors by Levy,
Goldberg and Dagan 2015, https://aclanthology.org/Q15-1016, section 3: positive pointwise mutual information with context
distribution smoothing, factorised by an SVD whose singular values are weighted by their root.

`{verb: think believe ~0.35}` within a regular expression stands for every word whose distance to its exemplars is at most 0.35.
Expansion happens once; what is left is an ordinary regular expression.

Distance is 1 - cosine, from 0 to 2. Closeness is not synonymy: opposites occur in the same places and lie nearest. Functional
words (keywords, types) form no ball. Not a classifier of sentences.
"""

import difflib
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_floats, check_kind, check_one_of, check_positive, check_tensor, check_whole
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Embedding grammars", 2015, "the digest; vectors by Levy et al., section 3", "https://aclanthology.org/Q15-1016",
    "a sparse SVD; then one matrix product a terminal",
)  # fmt: skip

Method = Literal["neighbours", "centroid", "hull", "span"]
"""Distance to the nearest exemplar, to their mean, to their convex hull (as directions), to the space that they span."""

MOST = 10_000
"""Words that a terminal may stand for."""

_TERMINAL = re.compile(r"\{(?P<name>[A-Za-z_]\w*):(?P<words>[^{}~]*)(?:~\s*(?P<epsilon>[-\d.eE]+)\s*)?\}")


@dataclass(frozen=True)
class Vectors:
    """Words with vectors.

    Args:
        words: w, all different.
        table: (w, d) a vector each; none is 0.

    Raises:
        TypeError: a table that is no tensor of floating numbers.
        ValueError: sizes that differ, a word twice, a vector that is 0 or not finite.
    """

    words: tuple[str, ...]
    table: Float[Tensor, "..."]

    def __post_init__(self) -> None:
        check_tensor("table", self.table)
        if self.table.dim() != 2 or len(self.table) != len(self.words) or not self.words:
            raise ValueError(
                f"`table` should hold a vector a word, ({len(self.words)}, d). Found {tuple(self.table.shape)}. Stack them."
            )
        check_floats("table", self.table, *self.table.shape)
        if len(set(self.words)) < len(self.words):
            twice = next(word for word, count in Counter(self.words).items() if count > 1)
            raise ValueError(f"`words` should be different. Found {twice!r} twice. Drop one.")
        largest = self.table.abs().amax(1) if self.table.shape[1] else self.table.new_zeros(1)
        if not bool((largest > 0).all() and largest.isfinite().all()):
            raise ValueError("`table` should hold finite vectors other than 0. Found others. Leave these words out.")

    @classmethod
    def read(cls, path: str | Path) -> "Vectors":
        """Read the text format of word2vec and fastText: a word a line, its numbers behind it; two numbers alone are a header.

        Raises:
            ValueError: a line with another number of values than the first, or one that is no number.
        """
        words, rows = list[str](), list[list[float]]()
        text = Path(path).read_text(encoding="utf-8")  # whose line ends are all "\n"; splitlines() would cut words at others
        for number, line in enumerate(text.removesuffix("\n").split("\n") if text else [], start=1):
            word, *values = line.rstrip().split(" ")
            if number == 1 and len(values) == 1:
                continue
            try:
                rows.append([float(value) for value in values])
            except ValueError:
                rows.append([])
            if not rows[-1] or len(rows[-1]) != len(rows[0]):
                raise ValueError(
                    f"Line {number} of {path} should hold a word and {len(rows[0])} numbers. Found {line[:60]!r}. Write it "
                    "again."
                )
            words.append(word)
        return cls(tuple(words), torch.tensor(rows))

    def places(self, words: Sequence[str]) -> list[int]:
        """Return where words stand.

        Raises:
            ValueError: a word that has no vector; near spellings are offered.
        """
        for word in words:
            if word not in self._known:
                near = difflib.get_close_matches(word, self.words, 3, 0.6)
                offered = f"Near spellings: {', '.join(near)}." if near else "Take another word."
                raise ValueError(f"Exemplars should be words with vectors. Found {word!r}, which has none. {offered}")
        return [self._known[word] for word in words]

    @cached_property
    def _known(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    @cached_property
    def _units(self) -> Tensor:
        # Over powers of two, which round nothing: a vector's direction does not depend on its length.
        largest = self.table.abs().amax(1, keepdim=True)
        return torch.nn.functional.normalize(self.table / (largest / (2 * largest.frexp().mantissa)), dim=1)

    def distances(self, exemplars: Sequence[str], method: Method = "neighbours") -> Float[Tensor, " w"]:
        """Return every word's distance to some exemplars; theirs is 0.

        Args:
            exemplars: one word or more.
            method: to the nearest, to their mean, to the hull or the span of their directions.

        Raises:
            ValueError: no exemplar, one without a vector, or more than eight for a hull (its faces are tried one by one).
        """
        return self.all_distances([exemplars], method)[0]

    def all_distances(self, terminals: Sequence[Sequence[str]], method: Method = "neighbours") -> list[Float[Tensor, " w"]]:
        """Return every word's distance to each of several terminals' exemplars: one product for all where it can be.

        Raises:
            ValueError: what `distances` refuses.
        """
        check_one_of("method", method, ("neighbours", "centroid", "hull", "span"))
        if not all(terminals):
            raise ValueError("A terminal should have an exemplar. Found none. Write {name: word ~0.35}.")
        places = [self.places(exemplars) for exemplars in terminals]
        if method == "neighbours":
            cosines = self._units @ self._units[[place for some in places for place in some]].T
            parts = [part.amax(1) for part in cosines.split([len(some) for some in places], 1)]
        else:
            parts = [_cosines(self._units, self._units[some], method) for some in places]
        own = [torch.tensor(some, device=self.table.device) for some in places]
        return [(1 - part).index_fill(0, some, 0.0).clamp(0, 2) for part, some in zip(parts, own, strict=True)]


def _cosines(table: Tensor, exemplars: Tensor, method: Method) -> Tensor:
    """Return the largest cosine of each unit vector with what a method makes of the exemplars, (w,)."""
    if method == "centroid":
        return table @ torch.nn.functional.normalize(exemplars.mean(0), dim=0)
    if method == "span":
        return (table @ torch.linalg.qr(exemplars.T).Q).norm(dim=1)
    if len(exemplars) > 8:
        raise ValueError(f"A hull should have at most 8 exemplars. Found {len(exemplars)}. Take the span, or fewer.")
    # The nearest direction of a cone lies on one of its faces, where it is an orthogonal projection with no negative
    # coefficient.
    best = table.new_full((len(table),), -1.0)
    for size in range(1, len(exemplars) + 1):
        for face in itertools.combinations(range(len(exemplars)), size):
            corners = exemplars[list(face)]
            coefficients = table @ torch.linalg.pinv(corners)
            length = (coefficients @ corners).norm(dim=1)
            inside = (coefficients >= 0).all(1)
            # Of a single corner the cosine may be negative: that is still the angle to it.
            cosine = (table @ corners.T)[:, 0] if size == 1 else torch.where(inside, length, -torch.ones_like(length))
            best = torch.maximum(best, cosine)
    return best


def word_vectors(
    streams: Sequence[Sequence[str]], size: int = 100, window: int = 3, minimum: int = 8, smoothing: float | int = 0.75
) -> Vectors:
    """Return word vectors from counts: PPMI with smoothed contexts, factorised by a truncated SVD, rows U S^1/2.

    PPMI(w, c) = max(0, log P(w, c) / (P(w) P(c)^smoothing / sum)), with pairs at most ``window`` apart within a stream. Words
    without a positive entry are left out.

    Args:
        streams: lists of words; contexts do not cross their borders.
        size: numbers a vector.
        window: words to each side.
        minimum: how often a word must occur.
        smoothing: the exponent of context counts.

    Raises:
        ValueError: settings below 1, or fewer words than numbers a vector takes.
    """
    for name, value in {"size": size, "window": window, "minimum": minimum}.items():
        check_whole(name, value, 1)
    check_positive("smoothing", smoothing)
    from scipy.sparse import coo_matrix, diags  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to load
    from scipy.sparse.linalg import svds  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    counted = Counter(word for stream in streams for word in stream)
    words = sorted((word for word, count in counted.items() if count >= minimum), key=lambda word: (-counted[word], word))
    if len(words) <= size:
        raise ValueError(
            f"There should be more words that occur {minimum} times than numbers a vector takes, {size}. Found {len(words)}. "
            "Take more text, or a smaller size or minimum."
        )
    first, second = _pairs(streams, {word: place for place, word in enumerate(words)}, window)
    n = len(words)
    counts: Any = coo_matrix((np.ones(len(first)), (first, second)), shape=(n, n)).tocsr()
    counts = counts + counts.T
    by_word = np.maximum(np.asarray(counts.sum(1)).ravel(), 1e-300)
    contexts = by_word**smoothing
    ratio: Any = diags(1 / by_word) @ counts @ diags(contexts.sum() / contexts)
    ratio.data = np.maximum(np.log(ratio.data), 0)
    ratio.eliminate_zeros()
    decomposed: Any = svds(ratio, k=size, v0=np.ones(n))
    left, values, _ = decomposed
    table = left[:, np.argsort(-values)] * np.sqrt(-np.sort(-values))
    # A singular vector's sign is arbitrary; the largest entry is positive here, so that the same counts give the same numbers.
    table = table * np.sign(table[np.abs(table).argmax(0), np.arange(size)])
    kept = np.linalg.norm(table, axis=1) > 1e-12
    return Vectors(tuple(itertools.compress(words, kept)), torch.tensor(table[kept]))


def _pairs(streams: Sequence[Sequence[str]], places: dict[str, int], window: int) -> tuple[Any, Any]:
    """Return the places of both words of all pairs in order, unknown words and borders left out."""
    ids = [np.array([places.get(word, -1) for word in stream] + [-1] * window, dtype=np.int64) for stream in streams]
    joined = np.concatenate(ids)
    # Borders are as wide as the window, so that no pair crosses one.
    ends = [(joined[:-distance], joined[distance:]) for distance in range(1, window + 1)]
    kept = [(a[(a >= 0) & (b >= 0)], b[(a >= 0) & (b >= 0)]) for a, b in ends]
    return np.concatenate([a for a, _ in kept]), np.concatenate([b for _, b in kept])


class Expanded(NamedTuple):
    """A word that a terminal stands for."""

    word: str
    distance: float


class EmbeddingGrammar:
    """A regular expression with terminals that stand for neighbourhoods of words.

    Args:
        pattern: in the standard library's notation, with terminals `{name: word word ~epsilon}`; counts such as `{2,3}` stay
        counts.
        vectors: of words, or several sources of them: then a word must be near in every source that has it, and all must have
        it.
        epsilon: of terminals that do not give their own; 0 is the literal expression.
        method: what distance is measured to.

    Raises:
        ValueError: no terminal, two of one name, an exemplar without a vector (near spellings are offered), an epsilon outside
            of [0, 2], more than 10 000 words for a terminal, or what is left is no regular expression.

    Example:
        >>> vectors = Vectors(("clever", "smart", "slow"), torch.tensor([[1.0, 0.1], [1.0, 0.2], [-1.0, 0.3]]))
        >>> grammar = EmbeddingGrammar("you are {praise: clever ~0.1}", vectors)
        >>> grammar.fullmatch("you are smart") is not None, grammar.fullmatch("you are slow") is not None
        (True, False)
    """

    def __init__(
        self, pattern: str, vectors: Vectors | Sequence[Vectors], epsilon: float | int = 0.35, method: Method = "neighbours"
    ) -> None:
        check_kind("pattern", pattern, str, "a text")
        sources = [vectors] if isinstance(vectors, Vectors) else list(vectors)
        if not sources:
            raise ValueError("`vectors` should be one source of word vectors or more. Found none. Make some with word_vectors.")
        self.pattern = pattern
        terminals = list(_TERMINAL.finditer(pattern))
        if not terminals:
            raise ValueError(
                f"`pattern` should have a terminal. Found {pattern!r}. Write {{name: word word ~0.35}}, or use re itself."
            )
        asked = dict[str, Terminal]()
        for found in terminals:
            name = found["name"]
            if name in asked:
                raise ValueError(f"Terminals should have names of their own. Found {name!r} twice. Rename one.")
            asked[name] = Terminal(found["words"].split(), _epsilon(found["epsilon"], epsilon))
        self.expansions = dict(zip(asked, expand(sources, list(asked.values()), method), strict=True))
        try:
            self._compiled = re.compile(_TERMINAL.sub(lambda found: self.alternatives(found["name"]), pattern))
        except re.error as error:
            raise ValueError(f"`pattern` should be a regular expression. Found {pattern!r}: {error}. Correct it.") from error

    def expansion(self, name: str) -> list[Expanded]:
        """Return what a terminal stands for with distances, the nearest first.

        Raises:
            ValueError: there is no such terminal.
        """
        if name not in self.expansions:
            raise ValueError(f"`name` should be a terminal among {sorted(self.expansions)}. Found {name!r}. Correct it.")
        return self.expansions[name]

    def alternatives(self, name: str) -> str:
        """Return a terminal as a regular expression: whole words, the longest first."""
        words = sorted((one.word for one in self.expansion(name)), key=lambda word: (-len(word), word))
        return rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)"

    def compile(self) -> re.Pattern[str]:
        """Return the ordinary regular expression."""
        return self._compiled

    def fullmatch(self, text: str) -> re.Match[str] | None:
        """Match a whole text."""
        return self._compiled.fullmatch(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """Find all that match."""
        return self._compiled.finditer(text)


class Terminal(NamedTuple):
    """What a terminal asks for: words within a distance of exemplars."""

    exemplars: list[str]
    epsilon: float


def expand(sources: Sequence[Vectors], terminals: Sequence[Terminal], method: Method = "neighbours") -> list[list[Expanded]]:
    """Return for each terminal the words that are near in every source, with their largest distance, the nearest first.

    A source is read once for all terminals.

    Raises:
        ValueError: more than 10 000 words for a terminal; what `Vectors.distances` refuses.
    """
    near: list[dict[str, float]] = []
    for source in sources:
        found = source.all_distances([one.exemplars for one in terminals], method)
        own = [_within(source, distances, one.epsilon) for distances, one in zip(found, terminals, strict=True)]
        near = [_both(one, other) for one, other in zip(near, own, strict=True)] if near else own
    for words, one in zip(near, terminals, strict=True):
        if len(words) > MOST:
            raise ValueError(
                f"A terminal should stand for at most {MOST} words. Found {len(words)} within {one.epsilon:g}. Lower the "
                "epsilon."
            )
    return [
        sorted((Expanded(*pair) for pair in words.items()), key=lambda found: (found.distance, found.word)) for words in near
    ]


def _within(source: Vectors, distances: Tensor, epsilon: float) -> dict[str, float]:
    inside = (distances <= epsilon).nonzero()[:, 0]
    return {source.words[place]: d for place, d in zip(inside.tolist(), distances[inside].tolist(), strict=True)}


def _both(one: dict[str, float], other: dict[str, float]) -> dict[str, float]:
    return {word: max(distance, other[word]) for word, distance in one.items() if word in other}


def together(sources: Sequence[Vectors], exemplars: Sequence[str], method: Method = "neighbours") -> dict[str, float]:
    """Return the largest distance over sources of each word that all of them have: an AND over asked."""
    own = [dict(zip(source.words, source.distances(exemplars, method).tolist(), strict=True)) for source in sources]
    return reduce(_both, own) if own else {}


def _epsilon(own: str | None, default: float | int) -> float:
    try:
        value = float(default if own is None else own)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 2:
        given = default if own is None else own
        raise ValueError(f"An epsilon should lie in [0, 2], as 1 - cosine does. Found {given}. Try 0.35.")
    return value
