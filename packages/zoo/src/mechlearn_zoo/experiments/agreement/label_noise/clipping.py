"""Clipping: each component's environment gradients within a multiple of their median size, a robust mean (after Huber 1964).

The AND-mask of single examples is a sign test: every example has one vote, whatever its size. Much of what that does against
wrong labels is robustness, which clipping has without a mask: no component is held back, and no example can pull a component
further than a few typical ones. So it stands beside the mask as a control.
"""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_positive


def clipped_mean(gradients: Float[Tensor, "e *p"], multiple: float = 3.0) -> Float[Tensor, "*p"]:
    """Return mean_e max(-c, min(c, g_e)) with c = multiple * median_e abs(g_e), component by component.

    Huber's estimate of location (1964, https://doi.org/10.1214/aoms/1177703732) after one step from 0, with his k as a
    multiple of the sample's median size: the choice of scale and of 0 is ours. The median of an even number is the lower of the
    two in the middle, so that counting all environments twice changes nothing.

    The result goes with the gradients' scale. As ``multiple`` grows it becomes the mean; over a multiple that goes to 0 it
    becomes the mean sign times the median, where every environment has one vote.

    Not for gradients of which most are 0: a component that more than half of the environments do not reach has a median of 0
    and does not move at all, as the weights of a pixel that is dark in most images. Nor for environments of many examples,
    whose gradients differ by what they want rather than by outliers: there are the rules of `mechlearn.agreement`.

    Args:
        gradients: (E, *p), one environment's gradient a row.
        multiple: of the median size, above 0.
    """
    check_positive("multiple", multiple, way_out="3 leaves typical gradients alone; for no clipping take the mean.")
    if not isinstance(gradients, Tensor) or not gradients.is_floating_point():  # pyright: ignore[reportUnnecessaryIsInstance]  # a public door
        found = f"a tensor of {gradients.dtype}" if isinstance(gradients, Tensor) else type(gradients).__name__  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"`gradients` should be a tensor of floats. Found {found}. Stack them with torch.stack.")
    if gradients.dim() == 0 or len(gradients) == 0:
        raise ValueError(
            "`gradients` should hold at least one environment's gradient, a row each. Found shape "
            f"{tuple(gradients.shape)}. Stack them with torch.stack."
        )
    bound = multiple * _median(gradients.abs())
    return gradients.clamp(-bound, bound).mean(0)


def _median(sizes: Float[Tensor, "e *p"]) -> Float[Tensor, "*p"]:
    """Return the lower median over dimension 0; NaN where there is one."""
    if sizes.device.type != "cpu" or sizes.dtype not in (torch.float32, torch.float64):
        return sizes.median(0).values
    # numpy's selection takes a quarter of the time of torch's on a CPU.
    middle = (len(sizes) - 1) // 2
    by_component = sizes.detach().reshape(len(sizes), -1).T.contiguous().numpy()
    return torch.from_numpy(np.partition(by_component, middle, axis=1)[:, middle].copy()).view(sizes.shape[1:])
