"""How flat a slice is: the width of its valley."""

import math

from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_data, check_floats, check_positive


def flatness(curve: Float[Tensor, " n"], at: Float[Tensor, " n"], rise: float) -> float:
    """Return the width of a slice around its lowest point: how far apart the loss has risen by ``rise`` on either side.

    Between points the curve is a straight line. Infinite where it does not rise so far within the slice.

    Args:
        curve: the losses of a `line`.
        at: its values of a, ascending.
        rise: positive, in units of the loss.

    Raises:
        TypeError: what is no tensor of floating numbers.
        ValueError: another number of points, a rise that is not positive, points that do not ascend, a curve with NaN; one that
            is infinite far out is as good as steep, one that is infinite everywhere has no valley.
    """
    for name, values in (("curve", curve), ("at", at)):
        check_floats(name, values, "n")
        check_data(name, values)
    check_positive("rise", rise)
    if curve.shape != at.shape or len(at) < 2 or not bool((at.diff() > 0).all()):
        raise ValueError(
            f"`curve` and `at` should be as long as each other, with ascending points. Found {tuple(curve.shape)} and "
            f"{tuple(at.shape)}. Sort them."
        )
    if bool(curve.isnan().any()):
        at_nan = float(at[int(curve.isnan().int().argmax())])
        raise ValueError(f"`curve` should be numbers. Found nan at {at_nan:g}. Take a shorter slice.")
    low = int(curve.argmin())
    if not bool(curve[low].isfinite()):
        raise ValueError(f"`curve` should have a lowest point. Found {float(curve[low])} there. Take a slice of finite losses.")
    level = float(curve[low]) + rise
    right = _crossing(curve[low:], at[low:], level)
    left = _crossing(curve[: low + 1].flip(0), at[: low + 1].flip(0), level)
    return abs(right - left) if math.isfinite(right) and math.isfinite(left) else math.inf


def _crossing(curve: Tensor, at: Tensor, level: float) -> float:
    """Return where a curve that begins at its lowest point reaches a level; infinity where it does not."""
    # A rise below the type's rounding is reached where the curve first leaves its lowest value.
    above = ((curve >= level) & (curve > curve[0])).nonzero()
    if len(above) == 0:
        return math.inf
    i = int(above[0, 0])
    share = (level - float(curve[i - 1])) / (float(curve[i]) - float(curve[i - 1]))
    return float(at[i - 1]) + share * (float(at[i]) - float(at[i - 1]))
