"""Pictures in recorded rows, as text; timelines and animations drawn from them."""

import base64
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from claimlab import Row, Rows

_DASH = 8
"""Pixels of a dash, and between two."""

Picture = UInt8[np.ndarray, "_ _ 3"]


def encode(picture: Picture) -> str:
    """Return a picture as text for a row: compressed bytes in base 64, after its height and width."""
    data = base64.b64encode(zlib.compress(picture.tobytes(), 9)).decode()
    return f"{picture.shape[0]}x{picture.shape[1]}:{data}"


def decode(text: str) -> Picture:
    """Return what `encode` has taken."""
    size, _, data = text.partition(":")
    height, width = (int(number) for number in size.split("x"))
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype=np.uint8).reshape(height, width, 3)


def recorded(rows: Rows) -> tuple[list[Picture], list[tuple[Row, Picture]]]:
    """Return the true frames of the first recorded episode of a seed, and its predictions with their rows."""
    index = int(min(rows.where(kind="true")["index"]))
    true = [decode(str(row["picture"])) for row in rows.where(kind="true", index=index)]
    return true, [(row, decode(str(row["picture"]))) for row in rows.where(kind="predicted", index=index)]


def side_by_side(
    left: Sequence[Picture],
    right: Sequence[Picture],
    scale: int = 6,
    gap: int = 4,
    titles: tuple[str, str] = ("truth", "prediction"),
) -> list[Picture]:
    """Return frames with two titled pictures beside each other, the left in a solid frame and the right in a dashed one.

    Each pixel is a square of `scale` pixels, with grey in between. Words and lines tell the two apart, whatever their colours.
    """
    frames: list[Picture] = []
    for pair in zip(left, right, strict=True):
        large = [np.repeat(np.repeat(picture, scale, axis=0), scale, axis=1) for picture in pair]
        between = np.full((large[0].shape[0], gap * scale, 3), 200, dtype=np.uint8)
        whole = np.concatenate([large[0], between, large[1]], axis=1)
        frames.append(_titled(whole, titles, large[0].shape[:2], gap * scale))
    return frames


def _titled(whole: Picture, titles: Sequence[str], size: tuple[int, int], gap: int) -> Picture:
    """Return a picture with words in the corners of its two parts and lines along their edges."""
    (tall, wide), image = size, Image.fromarray(whole)
    draw = ImageDraw.Draw(image)
    for place, title in enumerate(titles):
        start = place * (wide + gap)
        for ends in _dashes((start + 1, start + wide - 2), (1, tall - 2), solid=place == 0):
            draw.line(ends, fill=(0, 0, 0), width=2)
        box = draw.textbbox((start + 6, 5), title)
        draw.rectangle((box[0] - 2, box[1] - 2, box[2] + 2, box[3] + 2), fill=(255, 255, 255))
        draw.text((start + 6, 5), title, fill=(0, 0, 0))
    return np.asarray(image)


def _dashes(columns: tuple[int, int], rows: tuple[int, int], solid: bool) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Return the lines of a frame's four sides: whole ones, or dashes."""
    (left, right), (top, bottom) = columns, rows
    sides = [((left, top), (right, top)), ((left, bottom), (right, bottom))]
    sides += [((left, top), (left, bottom)), ((right, top), (right, bottom))]
    if solid:
        return sides
    found: list[tuple[tuple[int, int], tuple[int, int]]] = []
    for (x0, y0), (x1, y1) in sides:
        for at in range(0, max(x1 - x0, y1 - y0), 2 * _DASH):
            to = min(at + _DASH, max(x1 - x0, y1 - y0))
            across = x1 > x0
            found.append(((x0 + at * across, y0 + at * (not across)), (x0 + to * across, y0 + to * (not across))))
    return found
