"""Grey pictures as text for rows, in sixteen shades."""

import base64
import zlib

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor


def encode(images: Float[Tensor, "n 1 h w"]) -> str:
    """Return pictures in [0, 1] as text: their number, height and width, then compressed shades."""
    n, _, h, w = images.shape
    shades = (images.clamp(0, 1) * 15).round().to(torch.uint8)
    return f"{n}x{h}x{w}:" + base64.b64encode(zlib.compress(shades.numpy().tobytes(), 9)).decode()


def decode(text: str) -> Float[np.ndarray, "n h w"]:
    """Return what `encode` has taken, in [0, 1]."""
    sizes, _, data = text.partition(":")
    shape = tuple(int(size) for size in sizes.split("x"))
    return np.frombuffer(zlib.decompress(base64.b64decode(data)), dtype=np.uint8).reshape(shape) / 15
