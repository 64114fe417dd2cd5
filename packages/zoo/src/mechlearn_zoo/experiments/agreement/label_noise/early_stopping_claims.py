"""What the AND-mask adds to early stopping, by share of wrong labels and number of images; written before any recorded run."""

import functools
from typing import Literal

import numpy as np

from claimlab import Claim, Measurement, Row, Rows, bootstrap, low_above, low_at_least, number

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


_ADDED = (
    "test accuracy above averaging's (each at the first trial and epoch that its validation images put highest), mean over "
    "cells and seeds,"
)
_WHERE = ("early-stopping", "early-stopping-paper")

CLAIMS = (
    Claim(
        id="early-stopping.needed",
        text="Averaging is better where it is stopped early than at its end; else there would be nothing to add to.",
        source="ours",
        measure=saved,
        condition=low_at_least(0.02, of="test accuracy above the same at the end, mean over cells and seeds,").at(*_WHERE),
        kind="control",
    ),
    Claim(
        id="early-stopping.noisy",
        text="It does where validation images have as many wrong labels as training images.",
        source="ours; issue 'Does it help anyone?'",
        measure=lambda rows: over(rows, "noisy"),
        condition=low_above(0.0, of=_ADDED).at(*_WHERE),
        kind="ours",
    ),
    *(
        Claim(
            id=f"early-stopping.{name}",
            text=f"It does {words}, where validation images have their true labels.",
            source="ours; issue 'Does it help anyone?'",
            measure=functools.partial(over, judge="clean", noise=noise),
            condition=low_above(0.0, of=_ADDED).at(*_WHERE),
            kind="ours",
            tried="Averaging's rates and the first cell were looked at on seed 1000; thresholds were not searched.",
        )
        for name, words, noise in (
            ("few-wrong", "with a quarter of the labels redrawn", 0.25),
            ("most-wrong", "with three quarters of the labels redrawn", 0.75),
        )
    ),
)
