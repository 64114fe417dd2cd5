"""What is measured of LDT less one part, and of other uses of the same privileged data."""

from typing import Any

import numpy as np

from claimlab import EachSeed, Measure, Measurement, Rows, bootstrap
from mechlearn_zoo.experiments.distill.measured import best_of_seeds

IGNORANCE = 1 / 12
"""The squared error of always predicting 1/2, of labels that are spread evenly over [0, 1]."""

ORDER = {
    ("no-teacher", "ldt"): 1.0,
    ("no-teacher", "permuted"): 1.0,
    ("untrained", "no-teacher"): 0.95,
    ("noise-16", "no-teacher"): 0.95,
    ("redrawn", "no-teacher"): 0.95,
}
"""Pairs of variants as figure 4.9 orders them on Walker2d, and what the first's error over the second's must exceed.

The figure has LDT and PT clearly below no teacher; the others are larger than no teacher, or hardly less.
"""


def best_finals(rows: Rows, *variants: str) -> Rows:
    """Return for each seed the final row, of all settings of some variants, that is best on held-out examples."""
    return best_of_seeds(rows.where(lambda row: row["variant"] in variants, kind="final"), "selection")


def multiple(variant: str, *over: str, body: str = "Walker2d") -> EachSeed:
    """Return a measure: a test error over another variant's on one body, both selected; the median over seeds.

    Of several others that one counts, for each seed, which is best on held-out examples.
    """
    return EachSeed(lambda rows: _ratio(rows, body, variant, *over), np.median)


def unlearnt(variant: str, body: str = "Walker2d") -> EachSeed:
    """Return a measure: how much of what no teacher learns of a body a variant does not; the median over seeds.

    The test error above no teacher's, as a share of how far `IGNORANCE` lies above it: 1 for a student that learns nothing.
    """

    def share(rows: Rows) -> float | None:
        error, plain = _error(rows, body, variant), _error(rows, body, "no-teacher")
        return None if error is None or plain is None else (error - plain) / (IGNORANCE - plain)

    return EachSeed(share, np.median)


def in_order(body: str) -> Measure:
    """Return a measure: on one body, how many pairs of `ORDER` come in order, by medians of ratios over seeds."""

    def measured(rows: Rows) -> Measurement | None:
        found = [[_ratio(group, body, *pair) for pair in ORDER] for group in rows.by("seed").values()]
        ratios = np.array([seed for seed in found if None not in seed], dtype=float).T

        def count(seeds: np.ndarray[Any, np.dtype[Any]], axis: int) -> Any:  # noqa: ANN401  # an array, or a scalar of numpy
            medians = np.median(ratios[:, seeds.astype(int)], axis=axis)
            return np.greater(medians.T, list(ORDER.values())).sum(axis=-1)

        return bootstrap(range(ratios.shape[1]), count) if ratios.size else None

    return measured


def _ratio(rows: Rows, body: str, variant: str, *over: str) -> float | None:
    error, other = _error(rows, body, variant), _error(rows, body, *over)
    return None if error is None or other is None else error / other


def _error(rows: Rows, body: str, *variants: str) -> float | None:
    """One seed's selected test error on a body, where all of the variants were trained."""
    own = rows.where(lambda row: row.get("environment", "Walker2d") == body)
    trained = all(own.where(kind="final", variant=variant) for variant in variants)
    return best_finals(own, *variants)["selected"][0] if trained else None
