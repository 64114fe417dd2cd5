"""Folds: of whole sites, of rows drawn at random, and of one site's own rows."""

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from mechlearn.tables.reading_in import SMALL, Table

Rows = NDArray[np.int64]
"""Positions of rows."""

EACH = 25
"""Sites up to which each is left out by itself."""


def held_out(table: Table) -> list[int]:
    """Return the sites that are left out: all but those that were pooled as they are small."""
    return [e for e, name in enumerate(table.sites) if name != SMALL]


def of_sites(sites: Sequence[int], generator: Generator, most: int = 10, each: int = EACH) -> list[list[int]]:
    """Return folds of whole sites: one a site, or `most` folds where there are more sites than `each`."""
    if len(sites) <= each:
        return [[site] for site in sites]
    mixed = generator.permutation(np.asarray(sites))
    return [sorted(mixed[place::most].tolist()) for place in range(most)]


def blocks(folds: int, most: int = 5, each: int = 8) -> list[list[int]]:
    """Return blocks of folds: settings are chosen once for all folds of a block, on what none of these holds out.

    Up to `each` folds each is a block by itself; else there are `most`.
    """
    count = folds if folds <= each else most
    return [list(range(folds))[place::count] for place in range(count)]


def of_rows(table: Table, rows: Rows, count: int, generator: Generator) -> list[Rows]:
    """Return folds of some rows at random; of classes each fold has its share."""
    mixed = generator.permutation(rows)
    if table.classes is not None:
        mixed = mixed[np.argsort(table.labels[mixed], kind="stable")]
    folds = [np.sort(mixed[place::count]) for place in range(count)]
    return [fold for fold in folds if len(fold)]


def inner(table: Table, rows: Rows, generator: Generator, count: int = 3) -> list[Rows]:
    """Return validation folds of training rows: of whole sites, or of rows where they are of one site."""
    present = np.unique(table.site[rows])
    if len(present) == 1:
        return of_rows(table, rows, count, generator)
    folds = of_sites(present.tolist(), generator, min(count, len(present)), each=0)
    return [rows[np.isin(table.site[rows], fold)] for fold in folds]
