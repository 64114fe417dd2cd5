"""The language reference as prose: documents of sentences of words, small, English, and there wherever Python is.

The topics of `help()` lie in `pydoc_data.topics`: some 80 documents of the reference. Headings, code and grammar are left out,
so that sentences remain. The text differs between versions of Python: `HelpText.digest` names what was read.
"""

import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from pydoc_data.topics import topics

from mechlearn.arguments import check_each

ENDINGS = (".txt", ".md", ".rst")
"""Files of a folder that are read."""

_WORDS = re.compile(r"\w+|[^\w\s]")
_STOP = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z])")
_RULED = re.compile(r"[*=\-~^#]{3,}")


@dataclass(frozen=True)
class HelpText:
    """Documents.

    Args:
        names: of the documents.
        documents: of each its sentences, of each of these its words; signs are words of their own.
    """

    names: tuple[str, ...]
    documents: tuple[tuple[tuple[str, ...], ...], ...]

    @property
    def digest(self) -> str:
        """Twelve letters that change with the text."""
        lines = "\n\n".join("\n".join(" ".join(words) for words in document) for document in self.documents)
        return hashlib.sha256(lines.encode()).hexdigest()[:12]


def help_text(paths: Sequence[str | Path] | None = None) -> HelpText:
    """Read documents, those without a sentence left out.

    Args:
        paths: your own text files, or folders with some (`ENDINGS`), in a list; the language reference where None.

    Raises:
        TypeError: ``paths`` is no list of paths.
        ValueError: a path without a text file, or nothing but code and headings in all of them.

    >>> found = help_text()
    >>> place = found.names.index("assert")
    >>> " ".join(found.documents[place][0])
    'Assert statements are a convenient way to insert debugging assertions into a program :'
    """
    texts: Mapping[str, str] = topics
    if paths is not None:
        check_each("paths", paths, (str, os.PathLike), "paths", way_out="Put one path into a list, too.")
        texts = {str(file): file.read_text(encoding="utf-8") for path in paths for file in _files(Path(path))}
    read = {name: sentences(text) for name, text in sorted(texts.items())}
    kept = {name: found for name, found in read.items() if found}
    if not kept:
        raise ValueError(f"`paths` should hold text with sentences. Found none in {len(texts)} files. Pass prose.")
    return HelpText(tuple(kept), tuple(kept.values()))


def sentences(text: str) -> tuple[tuple[str, ...], ...]:
    r"""Return a text's sentences as words; what is indented by three places and more is code, what is ruled a heading.

    >>> sentences("Title\n=====\n\nIt runs. See\nbelow:\n\n    x = 1\n")
    (('It', 'runs', '.'), ('See', 'below', ':'))
    """
    found: list[tuple[str, ...]] = []
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if line.strip()]
        if not lines or all(line.startswith("   ") for line in lines) or any(_RULED.fullmatch(line.strip()) for line in lines):
            continue
        whole = " ".join(line.strip() for line in lines)
        found += [words for sentence in _STOP.split(whole) if (words := tuple(_WORDS.findall(sentence)))]
    return tuple(found)


def _files(path: Path) -> list[Path]:
    inside = sorted(file for file in path.rglob("*") if file.suffix in ENDINGS) if path.is_dir() else []
    found = [path] if path.is_file() else inside
    if not found:
        raise ValueError(
            f"{path} should be a text file, or a folder with files in {', '.join(ENDINGS)}. Found none. Check the path."
        )
    return found
