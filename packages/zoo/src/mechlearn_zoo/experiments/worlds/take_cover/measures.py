"""How controllers of dreams are measured: by their returns in the world, over 200 episodes that they have not seen.

Printed numbers were written from memory and later found in the authors' draft of their own page (draft.md of
https://github.com/worldmodels/worldmodels.github.io); CarRacing's, with those of an untrained M, in the documentation of
https://github.com/ctallec/world-models (docs/README.md).
"""

import numpy as np

from claimlab import Paired, Rows, number

COLD = "dream 0.1"
"""The controller from a dream at a low temperature. Warm is one at 1, in VizDoom's world at 1.15."""


def memory(other: str) -> Paired:
    """Return a measure: the return of a controller that sees z and M's state less that of another, mean over seeds."""
    return Paired("actual", {"kind": "final", "method": "z-h"}, {"kind": "final", "method": other}, np.mean)


def final(rows: Rows, method: str, key: str = "actual") -> float | None:
    """Return a number of a controller's last row."""
    found = rows.where(kind="final", method=method)
    return number(found[0], key) if found else None


def dream(rows: Rows, *wanted: float) -> str:
    """Return the name of the first of some temperatures that a controller was evolved at, else of the highest one."""
    names = [name for row in rows.where(kind="final") if (name := str(row["method"])).startswith("dream")]
    return next((f"dream {one:g}" for one in wanted if f"dream {one:g}" in names), names[-1] if names else "dream")


def less(one: float | None, other: float | None) -> float | None:
    """Return a difference, where there is one."""
    return None if one is None or other is None else one - other


def transfers(rows: Rows) -> float | None:
    """Return the world's return of the controller from the warm dream, over the random policy's."""
    actual, random = final(rows, dream(rows, 1.15, 1.0)), rows.where(kind="reference", method="random")
    return actual / number(random[0], "actual") if actual is not None and random else None


def cheats(rows: Rows) -> float | None:
    """Return how much higher the cold dream's controller scores there than in the world, less the same of the warm one."""
    cold, warm = (less(final(rows, one, "virtual"), final(rows, one)) for one in (COLD, dream(rows, 1.0, 1.15)))
    return less(cold, warm)


def harms(rows: Rows) -> float | None:
    """Return the world's return of the controller from the warm dream less that of the one from the cold dream."""
    return less(final(rows, dream(rows, 1.15, 1.0)), final(rows, COLD))
