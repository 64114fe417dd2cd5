"""Returns over a roll-out, all by one recursion, x_t = b_t + a_t x_{t+1}.

All is (T, B), time first, and without gradients: targets and advantages are constants to what is learned from them.
`values` are (T + 1, B): V of every observation, the one after the last step included. At a terminated step nothing follows. At
a truncated one `final_values` follow: (N,), V of `Rollout.final_observations`, in the order of `truncated.nonzero()`. All is
computed in the wider of the rewards' and the values' types, in float32 at least: a discount of 0.999 is 1 in bfloat16.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from mechlearn.arguments import all_finite, check_numbers, check_share, check_tensor, check_whole
from mechlearn_zoo.methods.control.rollouts import Rollout

SHORT, WIDE = 32, 1024
"""Up to so many steps, and from so many environments on, T operations on a row beat log2(T) on all rows (one thread)."""


@torch.no_grad()
def linear_recurrence(a: Tensor, b: Tensor) -> Tensor:
    """Return x (T, B) with x_t = b_t + a_t x_{t+1} and x_T = 0.

    By doubling, in log2(T) passes, or row by row, whichever is faster; both give the same to rounding. Where a product of
    factors overflows, and with it what comes of doubling, it is row by row.

    Args:
        a: (T, B), of any floating types, halves are computed in float32.
        b: (T, B).

    Raises:
        TypeError: no tensors.
        ValueError: shapes that differ, or no step.
    """
    for name, value in (("a", a), ("b", b)):
        check_numbers(name, value)
    if a.shape != b.shape or a.dim() == 0 or len(a) == 0:
        found = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise ValueError(f"`a` and `b` should both be (T, B), with one step at least. Found {found}. Use a.expand_as(b).")
    wide = widest(a, b)
    a, b = a.to(wide), b.to(wide)
    if len(b) <= SHORT or b[0].numel() >= WIDE:
        return _by_rows(a, b)
    x = _by_doubling(a, b)
    return x if all_finite(x) else _by_rows(a, b)


def widest(*values: Tensor) -> torch.dtype:
    """Return the type to compute in: what all are promoted to, float32 at least."""
    found = torch.float32
    for value in values:
        found = torch.promote_types(found, value.dtype)
    return found


def _by_doubling(a: Tensor, b: Tensor) -> Tensor:
    x, steps, reach = b.clone(), len(b), 1
    while reach < steps:
        left = steps - reach
        # Row t knows x_t in terms of x_{t + reach}; the product is made before anything is overwritten.
        x.narrow(0, 0, left).add_(a.narrow(0, 0, left) * x.narrow(0, reach, left))
        if left > reach:  # chains of twice the length, of the rows that still have one
            a = a.narrow(0, 0, left - reach) * a.narrow(0, reach, left - reach)
        reach *= 2
    return x


def _by_rows(a: Tensor, b: Tensor) -> Tensor:
    x = b.clone()
    rows, factors = x.unbind(), a.unbind()
    for t in range(len(rows) - 2, -1, -1):
        rows[t].addcmul_(factors[t], rows[t + 1])
    return x


class Steps(NamedTuple):
    """What a roll-out's flags make of values and a discount, each (T, B).

    Both are of the wider of the values' and the rewards' types, float32 at least.

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
    check_numbers("values", values)
    if values.shape != (rollout.steps + 1, rollout.batch):
        raise ValueError(
            f"`values` should have the shape {(rollout.steps + 1, rollout.batch)}: one for each observation, "
            f"the last included. Found {tuple(values.shape)}."
        )
    after = values[1:].to(widest(values, rollout.rewards))
    if final_values is not None or rollout.cuts:
        after = _with_finals(rollout, after, final_values)
    return Steps(after.masked_fill(rollout.terminated, 0.0), rollout.going_on.to(after.dtype).mul_(discount))


def _with_finals(rollout: Rollout, after: Tensor, final_values: Tensor | None) -> Tensor:
    if final_values is not None:
        check_tensor("final_values", final_values)
    if final_values is None or final_values.shape != (rollout.cuts,):
        found = "None" if final_values is None else f"the shape {tuple(final_values.shape)}"
        raise ValueError(
            f"`final_values` should be one value for each of the {rollout.cuts} truncated steps: what was cut is worth that. "
            f"Found {found}. Take the critic's of rollout.final_observations."
        )
    return after.masked_scatter(rollout.truncated, final_values.to(after))


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
    delta = steps.following.mul_(discount).add_(rollout.rewards).sub_(values[:-1])
    return linear_recurrence(steps.carry.mul_(lambda_), delta)


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
