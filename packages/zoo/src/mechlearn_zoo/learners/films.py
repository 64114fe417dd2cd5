"""Moving pictures of experiments, as GIFs."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image


def gif(frames: Sequence[np.ndarray[Any, np.dtype[Any]]], milliseconds: int, last: int | None = None) -> bytes:
    """Return an endless animation of pictures (h, w, 3) of bytes.

    Args:
        frames: of one size, in 64 colours each.
        milliseconds: of a frame.
        last: of the last one; None for as long as the others.
    """
    images = [Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE, colors=64) for frame in frames]
    durations = [milliseconds] * (len(images) - 1) + [last or milliseconds]
    file = io.BytesIO()
    images[0].save(file, "GIF", save_all=True, append_images=images[1:], duration=durations, loop=0, disposal=1)
    return file.getvalue()
