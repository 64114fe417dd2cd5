"""Pictures in recorded rows, as text; timelines and animations drawn from them."""

import base64
import io
import zlib
from collections.abc import Sequence

import numpy as np
from jaxtyping import UInt8
from PIL import Image

from craik.lab import Row, Rows

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


def side_by_side(left: Sequence[Picture], right: Sequence[Picture], scale: int = 6, gap: int = 4) -> list[Picture]:
    """Return frames with two pictures beside each other, each pixel a square of `scale` pixels, grey in between."""
    frames: list[Picture] = []
    for pair in zip(left, right, strict=True):
        large = [np.repeat(np.repeat(picture, scale, axis=0), scale, axis=1) for picture in pair]
        between = np.full((large[0].shape[0], gap * scale, 3), 200, dtype=np.uint8)
        frames.append(np.concatenate([large[0], between, large[1]], axis=1))
    return frames


def gif(frames: Sequence[Picture], seconds: float = 0.1, hold: float = 1.0) -> bytes:
    """Return an endless animation; the last frame stays for `hold` seconds."""
    images = [Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE, colors=64) for frame in frames]
    durations = [round(1000 * seconds)] * (len(images) - 1) + [round(1000 * hold)]
    buffer = io.BytesIO()
    images[0].save(buffer, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, disposal=1)
    return buffer.getvalue()
