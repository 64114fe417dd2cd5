"""What is claimed of Winograd probing; written before any recorded run.

That averaging may stop early was asked afterwards, of the same rows.
"""

from collections.abc import Callable

import numpy as np

from claimlab import Claim, Measurement, Rows, above, bootstrap, equal

_TRICHELAIR = "Trichelair et al. 2019"


def difference(method: str, one: str, other: str) -> Callable[[Rows], Measurement | None]:
    """Return a measure: one of a method's numbers less another, mean over seeds."""

    def measure(rows: Rows) -> Measurement | None:
        some = rows.where(kind="final", method=method)
        found = [a - b for a, b in zip(some[one], some[other], strict=True)]
        return bootstrap(found, np.mean) if found else None

    return measure


def inside(rows: Rows) -> Measurement | None:
    """Return the share of seeds whose best guesser lies in chance's interval."""
    some = rows.where(kind="guessers")
    found = [float(low <= best <= high) for low, best, high in zip(some["low"], some["best"], some["high"], strict=True)]
    return bootstrap(found, np.median) if found else None


CLAIMS = (
    Claim(
        id="winograd.association-inflates",
        text="Models do worse on items that no association gives away.",
        source=_TRICHELAIR,
        measure=difference("averaging", "associative", "neutral"),
        condition=above(0.2, of="accuracy on associative items less that on neutral ones, averaging, mean over seeds,"),
    ),
    Claim(
        id="winograd.inconsistent",
        text="Their answers do not change when the candidates are switched.",
        source=_TRICHELAIR,
        measure=difference("averaging", "associative", "consistency"),
        condition=above(0.3, of="accuracy on associative items less consistency on them, averaging, mean over seeds,"),
    ),
    Claim(
        id="winograd.best-of-many",
        text="The best of a hundred untrained models on 273 items lies where the greatest of as many binomials does.",
        source="the digest on the test's size; the interval is ours",
        measure=inside,
        condition=equal(
            1.0, of="whether the best of untrained models lies in the interval of the greatest of binomials, median over seeds,"
        ),
        kind="control",
        tried="A check that untrained answers are independent throws of a coin: it says how far chance alone takes the best of "
        "many, and nothing of models that were trained.",
    ),
)
