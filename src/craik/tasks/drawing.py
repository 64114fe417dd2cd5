"""A small rasteriser: how much of each pixel a shape covers, with numpy alone.

Polygons are sampled on a grid of `SAMPLES` x `SAMPLES` points a pixel, so that the coverage of overlapping shapes is that of
their union. Discs are drawn for all frames at once from the distance to the centre. Positions are in pixels: x to the
right, y down, the first pixel's corner at (0, 0).
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float, UInt8

SAMPLES = 4
"""Sample points along each side of a pixel."""


def polygons_coverage(
    polygons: Iterable[Float[np.ndarray, "vertices 2"]], height: int, width: int
) -> Float[np.ndarray, "height width"]:
    """Return the share of each pixel that lies inside at least one convex polygon.

    Args:
        polygons: each with its vertices in order, in either direction.
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    inside = np.zeros((height * SAMPLES, width * SAMPLES), dtype=bool)
    for vertices in polygons:
        _fill(inside, np.asarray(vertices, dtype=np.float64) * SAMPLES)
    return inside.reshape(height, SAMPLES, width, SAMPLES).mean(axis=(1, 3), dtype=np.float32)


def _fill(inside: Bool[np.ndarray, "rows columns"], vertices: Float[np.ndarray, "vertices 2"]) -> None:
    """Mark the samples inside one polygon; only its bounding box is looked at."""
    low = np.maximum(np.floor(vertices.min(axis=0)).astype(int), 0)
    high = np.minimum(np.ceil(vertices.max(axis=0)).astype(int), inside.shape[::-1])
    x = np.arange(low[0], high[0]) + 0.5
    y = np.arange(low[1], high[1])[:, None] + 0.5
    if x.size == 0 or y.size == 0:
        return
    edges = np.roll(vertices, -1, axis=0) - vertices
    sides = [dx * (y - py) - dy * (x - px) for (px, py), (dx, dy) in zip(vertices, edges, strict=True)]
    window = inside[low[1] : high[1], low[0] : high[0]]
    window |= np.all([side >= 0 for side in sides], axis=0) | np.all([side <= 0 for side in sides], axis=0)


def discs_coverage(
    centres: Float[np.ndarray, "n 2"], radius: float, height: int, width: int
) -> Float[np.ndarray, "n height width"]:
    """Return one image a disc: 1 inside, 0 outside, falling over one pixel across the rim."""
    x = np.arange(width, dtype=np.float32) + 0.5 - centres[:, 0, None].astype(np.float32)
    y = np.arange(height, dtype=np.float32) + 0.5 - centres[:, 1, None].astype(np.float32)
    distance = np.sqrt(x[:, None, :] ** 2 + y[:, :, None] ** 2)
    return np.clip(np.float32(radius + 0.5) - distance, 0, 1)


def boxes_coverage(
    centres: Float[np.ndarray, "n 2"], half_side: float, height: int, width: int
) -> Float[np.ndarray, "n height width"]:
    """Return one image an upright square: exactly the covered share of each pixel."""
    return _overlap(centres[:, 1], half_side, height)[:, :, None] * _overlap(centres[:, 0], half_side, width)[:, None, :]


def _overlap(centres: Float[np.ndarray, " n"], half_side: float, pixels: int) -> Float[np.ndarray, "n pixels"]:
    low = np.arange(pixels, dtype=np.float32)
    start = np.maximum(low, (centres - half_side)[:, None])
    end = np.minimum(low + 1, (centres + half_side)[:, None])
    return np.clip(end - start, 0, 1).astype(np.float32)


def over(
    image: Float[np.ndarray, "3 height width"], coverage: Float[np.ndarray, "*frames height width"], colour: tuple[float, ...]
) -> Float[np.ndarray, "*frames 3 height width"]:
    """Return an image with a colour laid over it, as much as the coverage says; one for each frame of coverage."""
    alpha = coverage[..., None, :, :]
    return image * (1 - alpha) + np.asarray(colour, dtype=np.float32)[:, None, None] * alpha


def to_uint8(image: Float[np.ndarray, "*shape"]) -> UInt8[np.ndarray, "*shape"]:
    """Return values of [0, 1] as 0..255, rounded."""
    return np.clip(np.rint(image * 255), 0, 255).astype(np.uint8)
