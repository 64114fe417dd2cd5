"""How well one seed's balls of word vectors find classes and opposites."""

from collections.abc import Callable

import numpy as np

from claimlab import Rows


def every_class(rows: Rows) -> float:
    """Return the best F1 of hidden words by balls around each exemplar, among all words, mean over classes and draws."""
    return float(np.mean(rows.where(kind="class", method="neighbours", arm="all words")["f1"]))


def neighbours_over_centroid(rows: Rows) -> float:
    """Return the best F1 by balls around each exemplar less that around their mean, mean over classes."""
    some = rows.where(kind="class", arm="all words")
    return float(np.mean(np.subtract(some.where(method="neighbours")["f1"], some.where(method="centroid")["f1"])))


def rank(rows: Rows) -> float:
    """Return the median rank of opposites."""
    return float(np.median(rows.where(kind="opposite")["rank"]))


def over(way: str) -> Callable[[Rows], float]:
    """Return a measure: F1 of English sentences by balls less that of another way, mean over classes."""

    def gain(rows: Rows) -> float:
        balls, others = (rows.where(kind="way", way=one)["f1"] for one in ("balls", way))
        return float(np.mean(balls) - np.mean(others))

    return gain
