"""What the claims of the linear unit tests measure: test errors of the trials that validation within chooses.

A trial's is that at its end (`within`), or at the time that is chosen with it (`stopped_within`).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from claimlab import Measure, Measurement, OverSeeds, Rows
from mechlearn_zoo.experiments.own_data.measures import extreme

largest = np.max
"""Of seeds."""


def errors(
    methods: Sequence[str],
    examples: Sequence[str],
    scrambled: Sequence[bool] = (False,),
    environments: Sequence[int] = (3, 8),
    statistic: Callable[..., Any] = np.median,
    pick: Callable[..., Measurement | None] = min,
) -> Measure:
    """Return a measure: a statistic over seeds of test errors, of that method and cell where it is least, or largest."""
    cells = [(one, turned, count) for turned in scrambled for one in examples for count in environments]
    names = ("example", "scrambled", "environments", "method")
    places = [dict(zip(names, (*cell, method), strict=True)) for cell in cells for method in methods]
    return extreme([OverSeeds("within", {"kind": "final", **place}, statistic) for place in places], pick)


worst = partial(errors, pick=max)
"""As `errors`: where largest."""


def without_decay(rows: Rows) -> float | None:
    """Return a seed's larger error of Cochran's rule without decay on margins, of three environments and eight."""
    return max(rows.where(kind="final", example="margin", method="homogeneous")["test_error"], default=None)
