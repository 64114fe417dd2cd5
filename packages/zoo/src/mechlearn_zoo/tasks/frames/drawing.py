"""A small rasteriser: how much of each pixel a shape covers, with numpy alone.

Polygons are sampled on a grid of `SAMPLES` x `SAMPLES` points a pixel, so that the coverage of overlapping shapes is that of
their union. Discs are drawn for all frames at once from the distance to the centre. Positions are in pixels: x to the
right, y down, the first pixel's corner at (0, 0).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, UInt8

SAMPLES = 4
"""Sample points along each side of a pixel."""


def polygons_coverage(
    groups: Sequence[Float[np.ndarray, "_ _ 2"]], height: int, width: int
) -> Float[np.ndarray, "height width"]:
    """Return the share of each pixel that lies inside at least one convex polygon.

    Args:
        groups: polygons of about the same size, with as many vertices each, in order, in either direction: the polygons of a
            group are filled at once.
        height: of the image, in pixels.
        width: of the image, in pixels.
    """
    inside = np.zeros((height * SAMPLES, width * SAMPLES), dtype=bool)
    for group in groups:
        _fill(inside, group.astype(np.float64) * SAMPLES)
    return inside.reshape(height, SAMPLES, width, SAMPLES).mean(axis=(1, 3), dtype=np.float32)


def _fill(inside: Bool[np.ndarray, "rows columns"], polygons: Float[np.ndarray, "polygons vertices 2"]) -> None:
    """Mark the samples inside the polygons; of each, a window as large as the largest bounding box is looked at."""
    corner = np.floor(polygons.min(axis=1)).astype(int)
    columns, rows = (np.ceil(polygons.max(axis=1)).astype(int) - corner).max(axis=0)
    x = (corner[:, 0, None] + np.arange(columns))[:, None, :]
    y = (corner[:, 1, None] + np.arange(rows))[:, :, None]
    within = np.ones((2, len(polygons), rows, columns), dtype=bool)
    for vertex, following in zip(polygons.swapaxes(0, 1), np.roll(polygons, -1, axis=1).swapaxes(0, 1), strict=True):
        (dx, dy), (px, py) = (following - vertex).T[..., None, None], vertex.T[..., None, None]
        side = dx * (y + 0.5 - py) - dy * (x + 0.5 - px)
        within &= np.stack([side >= 0, side <= 0])
    seen = (x >= 0) & (x < inside.shape[1]) & (y >= 0) & (y < inside.shape[0])
    polygon, at_y, at_x = np.nonzero(within.any(axis=0) & seen)
    inside[corner[polygon, 1] + at_y, corner[polygon, 0] + at_x] = True


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
