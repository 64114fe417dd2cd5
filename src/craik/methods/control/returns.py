"""Returns over a roll-out, all by one recursion, x_t = b_t + a_t x_{t+1}.

All is (T, B), time first, and without gradients: targets and advantages are constants to what is learned from them.
`values` are (T + 1, B): V of every observation, the one after the last step included. At a terminated step nothing follows. At
a truncated one `final_values` follow: (N,), V of `Rollout.final_observations`, in the order of `truncated.nonzero()`.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from craik.arguments import check_share, check_tensor, check_whole
from craik.methods.control.rollouts import Rollout

DOUBLING = 100_000
"""T * B up to which log2(T) passes over everything beat T steps over a row, measured on one thread."""


@torch.no_grad()
def linear_recurrence(a: Tensor, b: Tensor) -> Tensor:
    """Return x (T, B) with x_t = b_t + a_t x_{t+1} and x_T = 0.

    By doubling, log2(T) passes, where T * B is at most `DOUBLING`; else row by row. Both give the same to rounding.

    Args:
        a: (T, B).
        b: (T, B).
    """
    if b.numel() > DOUBLING or len(b) < 4:
        return _by_rows(a, b)
    a, b, reach = a.clone(), b.clone(), 1
    while reach < len(b):
        # Row t knows x_t in terms of x_{t + reach}; the product is made before anything is overwritten.
        b[:-reach] += a[:-reach] * b[reach:]
        a[:-reach] = a[:-reach] * a[reach:]
        reach *= 2
    return b


def _by_rows(a: Tensor, b: Tensor) -> Tensor:
    x = b.clone()
    rows, factors = x.unbind(), a.unbind()
    for t in range(len(rows) - 2, -1, -1):
        rows[t].addcmul_(factors[t], rows[t + 1])
    return x


class Steps(NamedTuple):
    """What a roll-out's flags make of values and a discount, each (T, B).

    Attributes:
        following: V of what follows: of the next observation; of the final one where truncated; 0 where terminated.
        carry: the discount where the next row belongs to the same episode, else 0.
    """

    following: Tensor
    carry: Tensor


@torch.no_grad()
def following(rollout: Rollout, values: Tensor, discount: float, final_values: Tensor | None = None) -> Steps:
    """Return what follows each step, and where a recursion goes on.

    Args:
        rollout: whose flags.
        values: (T + 1, B).
        discount: in [0, 1].
        final_values: (N,), see above.

    Raises:
        TypeError: no tensors, no number.
        ValueError: shapes that do not fit, a discount outside [0, 1], truncated steps without final values.
    """
    check_share("discount", discount)
    check_tensor("values", values)
    if values.shape != (rollout.steps + 1, rollout.batch):
        raise ValueError(
            f"`values` should have the shape {(rollout.steps + 1, rollout.batch)}: one for each observation, "
            f"the last included. Found {tuple(values.shape)}."
        )
    after, ended = values[1:], rollout.terminated | rollout.truncated
    if final_values is not None:
        check_tensor("final_values", final_values)
    count = int(rollout.truncated.sum())
    if (0 if final_values is None else final_values.numel()) != count:
        found = "None" if final_values is None else str(tuple(final_values.shape))
        raise ValueError(
            f"`final_values` should be one value for each of the {count} truncated steps: what was cut is worth that much. "
            f"Found {found}. Take the critic's of rollout.final_observations."
        )
    if count and final_values is not None:
        after = after.masked_scatter(rollout.truncated, final_values.detach().to(after))
    return Steps(after.masked_fill(rollout.terminated, 0.0), (~ended).to(values.dtype) * discount)


@torch.no_grad()
def discounted(rollout: Rollout, values: Tensor, discount: float, final_values: Tensor | None = None) -> Tensor:
    """Return G_t = sum of discounted rewards to the episode's end, or to the roll-out's with V behind it.

    Raises:
        TypeError, ValueError: as `following`.
    """
    steps = following(rollout, values, discount, final_values)
    paid = rollout.rewards + torch.where(steps.carry == 0, discount * steps.following, 0.0)
    paid[-1] = rollout.rewards[-1] + discount * steps.following[-1]
    return linear_recurrence(steps.carry, paid)


@torch.no_grad()
def gae(rollout: Rollout, values: Tensor, discount: float, lambda_: float = 0.95, final_values: Tensor | None = None) -> Tensor:
    """Return generalised advantages: sum_k (discount lambda)^k delta_{t+k} (Schulman et al. 2016, equation 16).

    With delta_t = r_t + discount V(x_{t+1}) - V(x_t). Targets of the critic are advantages + values[:-1].

    Raises:
        TypeError, ValueError: as `following`, or lambda outside [0, 1].
    """
    check_share("lambda_", lambda_)
    steps = following(rollout, values, discount, final_values)
    delta = rollout.rewards + discount * steps.following - values[:-1]
    return linear_recurrence(lambda_ * steps.carry, delta)


@torch.no_grad()
def n_step(rollout: Rollout, values: Tensor, discount: float, n: int, final_values: Tensor | None = None) -> Tensor:
    """Return r_t + ... + discount^(n-1) r_{t+n-1} + discount^n V(x_{t+n}), shorter where episode or roll-out end.

    A step is the map x -> b + a x; n of them are composed by squaring, in log2(n) passes.

    Raises:
        TypeError, ValueError: as `following`, or n below 1.
    """
    check_whole("n", n, 1)
    steps = following(rollout, values, discount, final_values)
    b = rollout.rewards + torch.where(steps.carry == 0, discount * steps.following, 0.0)
    square, total = (steps.carry, b), (torch.ones_like(b), torch.zeros_like(b))
    n = min(n, rollout.steps)
    reach = 0  # steps that `total` has composed
    for bit in range(n.bit_length()):
        if n >> bit & 1:
            total, reach = _then(total, square, reach), reach + (1 << bit)
        square = _then(square, square, 1 << bit)
    last = torch.arange(rollout.steps, device=values.device).add(n).clamp(max=rollout.steps)
    return total[1] + total[0] * values[last]


def _then(first: tuple[Tensor, Tensor], second: tuple[Tensor, Tensor], reach: int) -> tuple[Tensor, Tensor]:
    """Compose maps: the second, `reach` rows further on, inside the first; behind the last row nothing happens."""
    reach = min(reach, len(first[0]))
    a = torch.cat((second[0][reach:], torch.ones_like(second[0][:reach])))
    b = torch.cat((second[1][reach:], torch.zeros_like(second[1][:reach])))
    return first[0] * a, first[1] + first[0] * b
