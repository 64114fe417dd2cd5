"""Captioned digits: two of scikit-learn's real handwritten digits, coloured, on 32 x 32 pixels, with a caption from a grammar.

"a small red seven above a blue two": of each word it is known which digit it is about, and where that digit is, so that
attention can be scored. Training, validation and test pictures have different digits.
"""

from typing import Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn.functional import interpolate

from mechlearn.arguments import check_generator, check_one_of, check_whole
from mechlearn_zoo.tasks.pictures.digits import digits

SIZE = 32
COLOURS = {"red": (0.9, 0.2, 0.2), "green": (0.2, 0.8, 0.3), "blue": (0.25, 0.4, 1.0), "yellow": (0.9, 0.85, 0.2)}
NAMES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RELATIONS = ("above", "below", "left-of", "right-of")
WORDS = ("", "a", "small", *COLOURS, *NAMES, *RELATIONS)
"""The dictionary; "" is padding."""
LENGTH = 9
"""Words of the longest caption."""
LARGE, SMALL = 13, 9
"""Pixels of a digit's side."""


class Captioned(NamedTuple):
    """Pictures with captions.

    Attributes:
        pictures: (n, 3, 32, 32) in [0, 1].
        words: (n, 9) positions in `WORDS`, 0 behind the end.
        about: (n, 9) which of the two digits a word is about, -1 for neither.
        boxes: (n, 2, 32, 32) True where each digit is.
    """

    pictures: Float[Tensor, "n 3 h w"]
    words: Int[Tensor, "n t"]
    about: Int[Tensor, "n t"]
    boxes: Bool[Tensor, "n 2 h w"]


def captioned_digits(
    seed: int,
    count: int,
    part: Literal["train", "validation", "test"],
    generator: Generator,
    side: Literal[16, 32] = 32,
    twins: bool = False,
) -> Captioned:
    """Draw pictures.

    Args:
        seed: of the split into digits of training, of validation and of test.
        count: n.
        part: which digits.
        generator: of everything else.
        side: pixels of a picture; at 16 digits are in the middle of their halves.
        twins: whether pictures 2k and 2k + 1 differ in their order alone.
    """
    check_generator("generator", generator)
    check_whole("count", count, 1)
    check_one_of("part", part, ("train", "validation", "test"))
    data = digits(seed)
    some = {"train": data.train, "validation": data.validation, "test": data.test}[part]
    rows = torch.randint(len(some.x), (count, 2), generator=generator)
    small = torch.rand(count, 2, generator=generator) < 0.4
    colours = torch.randint(len(COLOURS), (count, 2), generator=generator)
    relations = torch.randint(len(RELATIONS), (count,), generator=generator)
    shifts = torch.rand(count, 2, 2, generator=generator)
    if twins:
        for piece in (rows, small, colours, relations):
            piece[1::2] = piece[: count - count % 2 : 2]
        relations[1::2] ^= 1
    pictures, boxes = _drawn(some.x[rows], small, colours, relations, shifts if side == SIZE else 0.5 + 0 * shifts, side)
    words, about = _captions(small, colours, some.y[rows], relations)
    return Captioned(pictures, words, about, boxes)


def drawn(count: int, batch: int, twins: bool, generator: Generator) -> Int[Tensor, " b"]:
    """Return which pictures of `count` a step sees, each beside its twin where there are twins."""
    if not twins:
        return torch.randint(count, (batch,), generator=generator)
    return (2 * torch.randint(count // 2, (batch // 2, 1), generator=generator) + torch.arange(2)).flatten()


def _drawn(grey: Tensor, small: Tensor, colours: Tensor, relations: Tensor, shifts: Tensor, side: int) -> tuple[Tensor, Tensor]:
    """Return pictures and boxes; in numpy, as thousands of small pieces are placed one by one."""
    whole, (large, little) = side, (LARGE, SMALL) if side == SIZE else (8, 6)
    count, palette = len(grey), np.array(list(COLOURS.values()), dtype=np.float32)
    sized = {
        side: interpolate(grey.flatten(0, 1), (side, side), mode="bilinear", align_corners=False)
        .view(count, 2, side, side)
        .numpy()
        for side in (little, large)
    }
    pictures = np.zeros((count, 3, whole, whole), dtype=np.float32)
    boxes = np.zeros((count, 2, whole, whole), dtype=bool)
    settings = zip(small.tolist(), colours.tolist(), relations.tolist(), shifts.tolist(), strict=True)
    for n, (sizes, paints, relation, moved) in enumerate(settings):
        for which in range(2):
            side = little if sizes[which] else large
            top, left = _corner(RELATIONS[relation], which, side, moved[which], whole)
            place = (slice(top, top + side), slice(left, left + side))
            pictures[n, :, *place] += sized[side][n, which] * palette[paints[which], :, None, None]
            boxes[n, which, *place] = True
    return torch.from_numpy(pictures), torch.from_numpy(boxes)


def caption(words: Int[Tensor, " t"]) -> str:
    """Return a caption as text."""
    return " ".join(WORDS[word] for word in words.tolist() if word)


def _corner(relation: str, which: int, side: int, shift: list[float], whole: int) -> tuple[int, int]:
    """Return where a digit lies: in its own half along the relation's axis, anywhere along the other."""
    first = (which == 0) == (relation in ("above", "left-of"))
    along = int(shift[0] * (whole // 2 - side + 1)) + (0 if first else whole // 2)
    across = int(shift[1] * (whole - side + 1))
    return (along, across) if relation in ("above", "below") else (across, along)


def _captions(small: Tensor, colours: Tensor, names: Tensor, relations: Tensor) -> tuple[Tensor, Tensor]:
    place, paints = {word: index for index, word in enumerate(WORDS)}, list(COLOURS)
    words, about = np.zeros((len(small), LENGTH), dtype=np.int64), np.full((len(small), LENGTH), -1)
    settings = zip(small.tolist(), colours.tolist(), names.tolist(), relations.tolist(), strict=True)
    for n, (sizes, painted, named, relation) in enumerate(settings):
        sentence: list[tuple[str, int]] = []
        for which in range(2):
            sentence += [("a", -1)] + [("small", which)] * sizes[which]
            sentence += [(paints[painted[which]], which), (NAMES[named[which]], which)]
            sentence += [(RELATIONS[relation], -1)] if which == 0 else []
        words[n, : len(sentence)] = [place[word] for word, _ in sentence]
        about[n, : len(sentence)] = [which for _, which in sentence]
    return torch.from_numpy(words), torch.from_numpy(about)
