"""Tables from several sites: sound columns that mean the same everywhere, and planted ones that the sites use differently."""

from collections.abc import Iterable
from typing import Any, NamedTuple

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


def small() -> SiteTable:
    """Return 120 rows of four sites, for tests of what is made of a table's columns."""
    return shortcut(sites=4, rows=30)


def beside(**columns: Any) -> dict[str, Any]:
    """Return two sound columns of `small`, a and b, and others beside them."""
    x = small().x
    return {"a": x[:, 0], "b": x[:, 1], **columns}


def cells(numbers: Iterable[float], **others: str) -> NDArray[Any]:
    """Return numbers as a CSV file's column has them where some cell is none: texts; `r7="?"` is the cell of row 7."""
    texts = [str(number) for number in numbers]
    for row, text in others.items():
        texts[int(row[1:])] = text
    return np.array(texts, dtype=object)
