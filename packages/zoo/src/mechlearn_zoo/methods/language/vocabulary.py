"""`Vocabulary`: words and ids, with special words; packing a token stream into rows.

Ids of the special words come first, in the order of `SPECIAL`, so that padding is 0 everywhere in the house. A trained
`tokenizers.Tokenizer` (subwords) is taken by `from_tokenizer`; training one is that library's work.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from mechlearn.arguments import check_kind, check_whole

SPECIAL = ("<pad>", "<unknown>", "<begin>", "<end>", "<mask>")
"""The special words, with ids from 0 on: padding, a word that is not known, begin ([CLS]), end ([SEP]), mask ([MASK])."""

PAD, UNKNOWN, BEGIN, END, MASK = range(len(SPECIAL))

_WORDS = re.compile(r"\w+|[^\w\s]")


class Encoding(NamedTuple):
    """A text's ids, and where each stands in it.

    Attributes:
        ids: of the words.
        spans: first character and the one after the last, for each; (0, 0) for words that do not stand in the text.
    """

    ids: list[int]
    spans: list[tuple[int, int]]


@dataclass(frozen=True)
class Vocabulary:
    """Words by id; ids below ``len(SPECIAL)`` are the special words'.

    Args:
        words: all ordinary words, without double ones.

    Raises:
        TypeError: no texts.
        ValueError: double words, or a special one among them.

    >>> vocabulary = Vocabulary.of([["if", "x", "else", "x"]])
    >>> vocabulary.words
    ('x', 'else', 'if')
    >>> vocabulary.ids(["if", "y"]), vocabulary.text([7, 1])
    ([7, 1], ['if', '<unknown>'])
    """

    words: tuple[str, ...]
    _ids: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for word in self.words:
            check_kind("words", word, str, "texts")
        known = {word: index for index, word in enumerate((*SPECIAL, *self.words))}
        if len(known) != len(SPECIAL) + len(self.words):
            twice = next(word for word, count in Counter((*SPECIAL, *self.words)).items() if count > 1)
            raise ValueError(f"`words` should be different, and none of {', '.join(SPECIAL)}. Found {twice!r} twice. Drop one.")
        object.__setattr__(self, "_ids", known)

    @classmethod
    def of(cls, texts: Iterable[Sequence[str]], least: int = 1, most: int | None = None) -> "Vocabulary":
        """Return the words of some texts, the most frequent first, equally frequent ones by the alphabet.

        Args:
            texts: lists of words.
            least: how often a word must occur.
            most: how many words at most; all if None.
        """
        check_whole("least", least, 1)
        if most is not None:
            check_whole("most", most, 1)
        counts = Counter(word for text in texts for word in text)
        kept = sorted((word for word, count in counts.items() if count >= least), key=lambda word: (-counts[word], word))
        return cls(tuple(word for word in kept[:most] if word not in SPECIAL))

    def __len__(self) -> int:
        """Return the number of all words, special ones included."""
        return len(SPECIAL) + len(self.words)

    def __contains__(self, word: object) -> bool:
        """Say whether there is an id for a word."""
        return word in self._ids

    def ids(self, words: Iterable[str]) -> list[int]:
        """Return the ids of words, `UNKNOWN` for strange ones."""
        return [self._ids.get(word, UNKNOWN) for word in words]

    def text(self, ids: Iterable[int]) -> list[str]:
        """Return the words of ids.

        Raises:
            ValueError: an id that there is not.
        """
        everything = (*SPECIAL, *self.words)
        found = [int(index) for index in ids]
        if strange := [index for index in found if not 0 <= index < len(everything)]:
            raise ValueError(
                f"Ids should lie between 0 and {len(everything) - 1}. Found {strange[0]}. Use the ids' vocabulary."
            )
        return [everything[index] for index in found]

    def encode(self, text: str) -> Encoding:
        """Return the ids of a text's words (runs of letters and digits, and single signs) and where they stand.

        >>> Vocabulary(("it", "is")).encode("it is!")
        Encoding(ids=[5, 6, 1], spans=[(0, 2), (3, 5), (5, 6)])
        """
        found = list(_WORDS.finditer(text))
        return Encoding(self.ids(match.group() for match in found), [match.span() for match in found])

    def save(self, path: str | Path) -> None:
        """Write the words as JSON."""
        Path(path).write_text(json.dumps({"special": SPECIAL, "words": self.words}, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read what `save` wrote.

        Raises:
            ValueError: no vocabulary, or one with other special words.
        """
        try:
            found: Any = json.loads(Path(path).read_text(encoding="utf-8"))
            special, words = tuple(found["special"]), tuple(found["words"])
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ValueError(f"{path} should be a vocabulary that `save` wrote. Found {error!r}. Write it again.") from None
        if special != SPECIAL:
            raise ValueError(f"{path} should have the special words {SPECIAL}. Found {special}. Make it again from its text.")
        return cls(words)

    @classmethod
    def from_tokenizer(cls, tokenizer: Any) -> "Vocabulary":  # a tokenizers.Tokenizer, which is not imported here  # noqa: ANN401  # not imported here
        """Return the pieces of a trained `tokenizers.Tokenizer` in the order of its ids, its own special words left out.

        Its ids are not ours: encode with the tokenizer, then pass its pieces (``encoding.tokens``) to `ids`.

        Raises:
            TypeError: no tokenizer.
        """
        if not hasattr(tokenizer, "get_vocab"):
            raise TypeError(f"`tokenizer` should be a tokenizers.Tokenizer. Found {type(tokenizer).__name__}. Train one first.")
        pieces: dict[str, int] = tokenizer.get_vocab(with_added_tokens=False)
        own = {str(token.content) for token in tokenizer.get_added_tokens_decoder().values() if token.special}
        return cls(tuple(piece for piece in sorted(pieces, key=lambda one: pieces[one]) if piece not in own | set(SPECIAL)))


def packed(documents: Sequence[Sequence[int]], length: int, end: int = END) -> Int[Tensor, "n length"]:
    """Return documents one after the other, each closed by ``end``, cut into rows of a length; the last, short row is left out.

    >>> packed([[7, 8], [9]], 2, end=3).tolist()
    [[7, 8], [3, 9]]

    Raises:
        TypeError, ValueError: a length below 1, no document, or fewer ids than one row takes.
    """
    check_whole("length", length, 1)
    stream = [index for document in documents for index in (*document, end)]
    rows = len(stream) // length
    if not rows:
        raise ValueError(f"Documents should fill a row of {length} ids. Found {len(stream)}. Take more text, or shorter rows.")
    return torch.tensor(stream[: rows * length], dtype=torch.long).view(rows, length)


def padded(rows: Sequence[Sequence[int]], padding: int = PAD) -> tuple[Int[Tensor, "n t"], Int[Tensor, " n"]]:
    """Return rows of ids as one tensor, padded at their ends, and their lengths.

    Raises:
        ValueError: no row.
    """
    if not rows:
        raise ValueError("`rows` should hold at least one. Found none. Leave the call out where there is nothing to pad.")
    longest = max(1, *(len(row) for row in rows)) if len(rows) > 1 else max(1, len(rows[0]))
    filled = [[*row, *[padding] * (longest - len(row))] for row in rows]
    return torch.tensor(filled, dtype=torch.long), torch.tensor([len(row) for row in rows])
