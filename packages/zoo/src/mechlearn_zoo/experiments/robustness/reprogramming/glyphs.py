"""Letters drawn in the fonts that matplotlib bundles: pictures of any size that are always there."""

import string
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Generator, Tensor

from mechlearn.arguments import check_not_negative, check_whole
from mechlearn_zoo.tasks.pictures.images import Images

FONTS = ("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSerif", "DejaVuSerif-Bold", "DejaVuSansMono")
"""Files of matplotlib's."""

LETTERS = string.ascii_uppercase


def glyphs(
    seed: int, count: int, size: int = 24, characters: str = LETTERS, shift: int = 2, noise: float | int = 0.05
) -> Images:
    """Return characters in random fonts, heights and places, with noise.

    What is moved over an edge comes in at the opposite one: a tall M or W, and with a large shift any, may have an end there.

    Args:
        seed: of everything that is drawn at random.
        count: how many.
        size: pixels each way.
        characters: the classes, in their order.
        shift: pixels that a character may lie off the middle.
        noise: standard deviation of what is added to pixels between 0 and 1, which are then clipped.

    Returns:
        (count, 1, size, size) floats in [0, 1] and the characters' places.
    """
    check_whole("count", count, 1)
    check_whole("size", size, 8)
    check_whole("shift", shift)
    check_not_negative("noise", noise)
    if len(set(characters)) < 2 or len(set(characters)) < len(characters):
        raise ValueError(f"`characters` should be two or more, all different. Found {characters!r}. Drop doubles.")
    table = _drawn(characters, size)
    generator = Generator().manual_seed(seed)
    y = torch.randint(0, len(characters), (count,), generator=generator)
    font = torch.randint(0, table.shape[1], (count,), generator=generator)
    x = table[y, font]
    moves = torch.randint(-shift, shift + 1, (count, 2), generator=generator)
    rows, columns = ((torch.arange(size) - moves[:, axis, None]) % size for axis in (0, 1))
    x = x[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    x = (x + noise * torch.randn(x.shape, generator=generator)).clamp(0, 1)
    return Images(x[:, None], y)


@cache
def _drawn(characters: str, size: int) -> Tensor:
    """Return every character in every font at three heights, (characters, drawings, size, size)."""
    import matplotlib as mpl  # noqa: PLC0415  # slow to load
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415
    from PIL import Image, ImageDraw, ImageFont  # noqa: PLC0415

    folder = Path(mpl.get_data_path()) / "fonts" / "ttf"
    drawable = [FT2Font(str(folder / f"{name}.ttf")).get_char_index for name in FONTS]
    lacking = "".join(one for one in characters if not all(index(ord(one)) for index in drawable))
    if lacking:
        raise ValueError(
            f"`characters` should be in all fonts, DejaVu's: others are drawn as the same box. Found {lacking!r}. Drop them."
        )
    drawings: list[list[np.ndarray]] = []
    for character in characters:
        own: list[np.ndarray] = []
        for name in FONTS:
            for height in (0.6, 0.7, 0.8):
                font = ImageFont.truetype(str(folder / f"{name}.ttf"), round(height * size))
                image = Image.new("L", (size, size))
                ImageDraw.Draw(image).text((size / 2, size / 2), character, fill=255, font=font, anchor="mm")
                own.append(np.asarray(image, dtype=np.float32) / 255)
        if not all(drawing.any() for drawing in own):
            raise ValueError(f"`characters` should show something. Found {character!r}, which is empty. Drop it.")
        drawings.append(own)
    return torch.from_numpy(np.array(drawings))
