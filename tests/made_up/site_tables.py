"""Tables from several sites: sound columns that mean the same everywhere, and planted ones that the sites use differently."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class SiteTable(NamedTuple):
    """A table with its answers: which columns are planted."""

    x: NDArray[np.float64]
    y: NDArray[np.int64]
    site: NDArray[np.int64]
    planted: list[int]


def shortcut(sites: int = 8, rows: int = 100, seed: int = 0, strength: float = 2.0, turned: int = 3) -> SiteTable:
    """Return ten columns, six of them sound, and one more (the last) that goes with the class, the other way at some sites.

    Args:
        sites: how many.
        rows: of each.
        seed: of everything.
        strength: distance of the classes in the planted column; 0 for a table without a shortcut.
        turned: sites at which it goes the other way.
    """
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(sites), rows)
    y = rng.integers(2, size=len(site))
    x = rng.normal(size=(len(site), 11))
    x[:, :6] += 0.5 * (y[:, None] - 0.5)
    x[:, 10] += strength * (y - 0.5) * np.where(site < turned, -1, 1)
    return SiteTable(x, y, site, [10] if strength else [])


def interaction(sites: int = 8, rows: int = 200, seed: int = 0) -> SiteTable:
    """Return eight columns; the class goes with the product of the last two, with another sign at every other site."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(sites), rows)
    y = rng.integers(2, size=len(site))
    x = rng.normal(size=(len(site), 8))
    x[:, :4] += 0.5 * (y[:, None] - 0.5)
    sign = (2 * y - 1) * np.where(site % 2, 1, -1)
    x[:, 7] = np.abs(x[:, 7]) * np.sign(x[:, 6]) * sign
    return SiteTable(x, y, site, [6, 7])


def regression(sites: int = 8, rows: int = 60, seed: int = 0, turned: int = 4) -> SiteTable:
    """Return a number that two columns explain everywhere, and a third the other way at some sites."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(sites), rows)
    x = rng.normal(size=(len(site), 5))
    y = x[:, 0] - 0.5 * x[:, 1] + rng.normal(size=len(site))
    x[:, 2] = y * np.where(site < turned, -1, 1) + rng.normal(size=len(site))
    return SiteTable(x, y, site, [2])
