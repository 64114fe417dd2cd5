"""Eight sources of text or of pictures, and what is done to one of them."""

import functools
import sysconfig
from pathlib import Path
from pydoc_data.topics import topics
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812  # the usual name

from mechlearn_zoo.tasks.pictures.digits import digits_in_order
from mechlearn_zoo.tasks.streams import stream

KINDS = ("shuffled", "language", "shortcut", "duplicated", "noise")
"""A bad source has other rows' labels, other letters or pixel places, markers of labels, few different rows, or noise."""

HELD, DISTINCT = 32, 16
"""Held-out rows of a source, and different rows of a duplicated one."""

LETTERS, CLASSES = 96, 10
"""Characters that there are, and classes of pictures."""

_CODE = ("argparse", "datetime", "inspect", "pdb", "pydoc", "subprocess", "tarfile", "turtle", "typing", "zipfile")


class Source(NamedTuple):
    """Rows: (n, length) characters or (n, 16, 4) patches, and (n, length) next characters or (n, 1) classes."""

    x: Tensor
    y: Tensor

    def rows(self, places: Tensor) -> "Source":
        """Return some of the rows."""
        return Source(self.x[places], self.y[places])


@functools.cache
def sources(text: bool, seed: int, rows: int, length: int = 16, alike: bool = False) -> dict[str, tuple[Source, Source]]:
    """Return by name each source's rows to train on, at most so many, and `HELD` others.

    Args:
        text: of `length` characters a row, else pictures.
        seed: of what is drawn.
        rows: to train on.
        length: of a row of text.
        alike: eighths of the language reference, or of plain digits, in place of sources that differ.
    """
    generator = stream(seed, "sources", "text" if text else "pictures", *["alike"] * alike)
    found: dict[str, tuple[Source, Source]] = {}
    drawn = _texts(generator, length, alike) if text else _pictures(generator, alike)
    for name, own in drawn.items():
        order = torch.randperm(len(own.x), generator=generator)
        found[name] = own.rows(order[HELD : HELD + rows]), own.rows(order[:HELD])
    return found


def spoiled(source: Source, kind: str, generator: Generator) -> Source:
    """Return a source's rows, made bad."""
    x, y = source
    if kind == "shuffled":
        return Source(x, y[torch.randperm(len(y), generator=generator)])
    if kind == "duplicated":
        return source.rows(torch.arange(len(x)) % DISTINCT)
    return _spoiled_text(x, y, kind, generator) if x.dim() == 2 else Source(_spoiled_pictures(x, y, kind, generator), y)


def _spoiled_text(x: Tensor, y: Tensor, kind: str, generator: Generator) -> Source:
    """Return text with other letters, with markers at an eighth of its places, or with noise at three tenths."""
    if kind == "language":
        other = torch.arange(LETTERS)
        other[65:91] = 65 + torch.randperm(26, generator=generator)  # a to z
        return Source(other[x], other[y])
    if kind == "shortcut":
        return Source(torch.where(torch.rand(x.shape, generator=generator) < 1 / 8, LETTERS + y, x), y)
    whole = torch.cat([x, y[:, -1:]], 1)
    drawn = torch.randint(LETTERS, whole.shape, generator=generator)
    return _read(torch.where(torch.rand(whole.shape, generator=generator) < 0.3, drawn, whole))


def _spoiled_pictures(x: Tensor, y: Tensor, kind: str, generator: Generator) -> Tensor:
    """Return pictures with pixels in other places, with ten pixels that say the class, or with noise."""
    if kind == "language":
        return x.flatten(1)[:, torch.randperm(64, generator=generator)].view_as(x)
    if kind == "shortcut":
        told = F.one_hot(y[:, 0], CLASSES).to(x.dtype)
        return torch.cat([told, x.flatten(1)[:, CLASSES:]], 1).view_as(x)
    return x + 0.5 * torch.randn(x.shape, generator=generator)


def conflicting(source: Source) -> tuple[Source, Source]:
    """Return two halves of a source that want different labels for what looks alike.

    The second half writes "_" for a space, or has inverted pictures whose classes are counted from 9 down.
    """
    one, (x, y) = (source.rows(places) for places in torch.arange(len(source.x) // 2 * 2).view(2, -1))
    if x.dim() > 2:
        return one, Source(1 - x, CLASSES - 1 - y)
    return one, Source(*(torch.where(part == 0, ord("_") - 32, part) for part in (x, y)))


def _texts(generator: Generator, length: int, alike: bool) -> dict[str, Source]:
    """Return three modules of the standard library, thirds of the language reference, sums, and walks on a torus."""
    if alike:
        return {name: _windows(text, length) for name, text in _reference(generator, 8).items()}
    library = Path(sysconfig.get_paths()["stdlib"])
    modules = [_CODE[place] for place in torch.randperm(len(_CODE), generator=generator)[:3].tolist()]
    found = {f"code {n}": (library / f"{name}.py").read_text(encoding="utf-8") for n, name in enumerate(modules)}
    found |= _reference(generator, 3)
    terms = torch.randint(100, (6000, 2), generator=generator).tolist()
    found["sums"] = "".join(f"{a}+{b}={a + b}\n" for a, b in terms)
    turns = torch.randint(4, (4000,), generator=generator)
    steps = torch.tensor([[1, 0], [-1, 0], [0, 1], [0, -1]])[turns].cumsum(0) % 10
    words = [("east", "west", "north", "south")[turn] for turn in turns.tolist()]
    found["walks"] = "".join(f"go {word}, now at {x} {y}. " for word, (x, y) in zip(words, steps.tolist(), strict=True))
    return {name: _windows(text, length) for name, text in found.items()}


def _reference(generator: Generator, parts: int) -> dict[str, str]:
    """Return the topics of the language reference, dealt to so many parts."""
    names = sorted(topics)
    order = torch.randperm(len(names), generator=generator).tolist()
    return {f"reference {n}": "".join(topics[names[place]] for place in order[n::parts]) for n in range(parts)}


def _windows(text: str, length: int) -> Source:
    """Return rows of neighbouring characters. The last of the 96 is a line's end, and what is not printable is left out."""
    codes = torch.tensor([95 if one == "\n" else ord(one) - 32 for one in text if one == "\n" or " " <= one <= "~"])
    return _read(codes[: len(codes) // (length + 1) * (length + 1)].view(-1, length + 1))


def _read(whole: Tensor) -> Source:
    return Source(whole[:, :-1], whole[:, 1:])


def _pictures(generator: Generator, alike: bool) -> dict[str, Source]:
    """Return digits by eight scanners, or by eight of one kind, each with its own digits, as patches of two by two pixels."""
    x, y = digits_in_order()
    seen = {
        "plain": x,
        "faint": x / 2,
        "bold": x.sqrt(),
        "blurred": F.avg_pool2d(x, 3, 1, 1),
        "left": x.roll(-1, 3),
        "right": x.roll(1, 3),
        "up": x.roll(-1, 2),
        "down": x.roll(1, 2),
    }
    if alike:
        seen = dict.fromkeys((f"scanner {n}" for n in range(len(seen))), x)
    parts = torch.randperm(len(x), generator=generator).chunk(len(seen))
    patches = {name: one.view(-1, 4, 2, 4, 2).transpose(2, 3).reshape(-1, 16, 4) for name, one in seen.items()}
    return {name: Source(one[part], y[part][:, None]) for (name, one), part in zip(patches.items(), parts, strict=True)}
