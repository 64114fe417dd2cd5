"""How it is measured what the AND-mask adds to early stopping, by share of wrong labels and number of images."""

from typing import Literal

import numpy as np

from claimlab import Measurement, Row, Rows, bootstrap, number

Judge = Literal["clean", "noisy"]
"""Labels of the validation images: true ones, or with as many wrong ones as in training."""


def stopped(rows: Rows, method: str, judge: Judge, to_the_end: bool = False) -> dict[int, Row]:
    """Return, for each seed, a method's row in one cell: of the trial and the epoch that its validation images say.

    Each seed chooses its own trial, as a person with one data set does. Of rows that are level it takes the first that was
    recorded: the lower threshold, then the lower learning rate, then the earlier epoch. With `to_the_end` they choose among the
    last epochs.
    """
    some = rows.where(method=method, kind="final") if to_the_end else rows.where(method=method)
    return {int(number(group[0], "seed")): max(group, key=lambda row: number(row, judge)) for group in some.by("seed").values()}


def cells_of(rows: Rows) -> dict[tuple[int, float], Rows]:
    """Return the rows of each number of images with each share of wrong labels."""
    return {
        (int(number(some[0], "images")), number(cell[0], "noise")): cell
        for some in rows.by("images").values()
        for cell in some.by("noise").values()
    }


def added(rows: Rows, judge: Judge, to_the_end: bool = False) -> dict[tuple[int, float], dict[int, float]]:
    """Return by how much the AND-mask's test accuracy is above averaging's, by cell and seed."""
    found: dict[tuple[int, float], dict[int, float]] = {}
    for place, cell in cells_of(rows).items():
        ours, theirs = (stopped(cell, method, judge, to_the_end) for method in ("and-mask", "mean"))
        found[place] = {seed: number(ours[seed], "test") - number(theirs[seed], "test") for seed in ours if seed in theirs}
    return found


def over(rows: Rows, judge: Judge, noise: float | None = None, to_the_end: bool = False) -> Measurement | None:
    """Return what the mask adds, mean over seeds and over all cells or those of one share of wrong labels."""
    cells = [by_seed for cell, by_seed in added(rows, judge, to_the_end).items() if noise in (None, cell[1])]
    seeds = sorted(set.intersection(*(set(by_seed) for by_seed in cells))) if cells else []
    return bootstrap([float(np.mean([by_seed[seed] for by_seed in cells])) for seed in seeds], np.mean) if seeds else None


def saved(rows: Rows) -> Measurement | None:
    """Return what stopping at the best clean validation accuracy gives averaging over training to the end."""
    found: dict[int, list[float]] = {}
    for cell in cells_of(rows).values():
        early, late = (stopped(cell, "mean", "clean", to_the_end) for to_the_end in (False, True))
        for seed in early.keys() & late.keys():
            found.setdefault(seed, []).append(number(early[seed], "test") - number(late[seed], "test"))
    return bootstrap([float(np.mean(found[seed])) for seed in sorted(found)], np.mean) if found else None
