"""V-trace: targets and advantages from what a slightly older policy did (Espeholt et al. 2018, IMPALA).

With rho_t = min(rho_bar, pi/mu) and c_t = lambda min(c_bar, pi/mu) of the action taken,

    delta_t = rho_t (r_t + gamma V(x_{t+1}) - V(x_t)),
    v_s = V(x_s) + sum_{t >= s} gamma^(t-s) (prod_{i=s}^{t-1} c_i) delta_t,

and the policy's gradient is min(pg_bar, pi/mu) grad log pi(a_s|x_s) (r_s + gamma v_{s+1} - V(x_s)). What rho_bar changes is
the fixed point, which is the value of the policy pi_rho(a|x) ~ min(rho_bar mu(a|x), pi(a|x)); c_bar changes speed and variance
alone.

Not for data of a policy that has little in common with the learner's, such as demonstrations: all ratios are then near 0 and
nothing is learned; nor where log-probabilities of the behaviour were not kept.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from mechlearn.arguments import check_numbers, check_share
from mechlearn_zoo.methods.control.returns import following, linear_recurrence, widest
from mechlearn_zoo.methods.control.rollouts import Rollout
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "V-trace (IMPALA)", 2018, "Espeholt et al., section 4.1", "https://arxiv.org/abs/1802.01561", "log2(T) passes over (T, B)"
)


@dataclass(frozen=True)
class Clips:
    """Where importance ratios are cut; infinity cuts nothing.

    Args:
        rho: of the temporal differences; sets which policy's value is learned.
        c: of the traces; at most rho.
        pg_rho: of the policy's gradient.

    Raises:
        TypeError: no numbers.
        ValueError: not positive, or c above rho.
    """

    rho: float = 1.0
    c: float = 1.0
    pg_rho: float = 1.0

    def __post_init__(self) -> None:
        """Reject what contracts to nothing known."""
        for name in ("rho", "c", "pg_rho"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise TypeError(f"`{name}` should be a number. Found {value!r} of type {type(value).__name__}. 1.0 is usual.")
            if not value > 0:
                raise ValueError(f"`{name}` should be positive. Found {value!r}. 1.0 is usual, infinity cuts nothing.")
        if self.c > self.rho:
            raise ValueError(
                f"`c` should be at most `rho`: the theorem asks for it. Found c={self.c:g} and rho={self.rho:g}. Lower c."
            )


class VTrace(NamedTuple):
    """What V-trace gives, each (T, B) and without gradients.

    Attributes:
        targets: v_s; the critic's loss is (v_s - V(x_s))^2 / 2.
        advantages: the ratio's clipped value times r_s + gamma v_{s+1} - V(x_s); the actor's loss is -log pi(a_s|x_s) times it.
        errors: v_s - V(x_s).
    """

    targets: Tensor
    advantages: Tensor
    errors: Tensor


@torch.no_grad()
def vtrace(
    rollout: Rollout,
    values: Tensor,
    log_pi: Tensor,
    discount: float,
    *,
    final_values: Tensor | None = None,
    clips: Clips = Clips(),  # frozen
    lambda_: float = 1.0,
) -> VTrace:
    """Return targets and advantages (IMPALA's section 4.1; the recursion of its remark 1).

    Actions enter by their log-probabilities alone, so they may be continuous: log-densities do as well. All is computed in the
    widest of the types that are passed, float32 at least.

    Args:
        rollout: of the behaviour mu, with its log-probabilities.
        values: (T + 1, B), the learner's critic at every observation.
        log_pi: (T, B), the learner's log-probabilities of the roll-out's actions; -inf is a probability of 0.
        discount: gamma, in [0, 1].
        final_values: (N,), the critic at `rollout.final_observations`; needed where something was truncated.
        clips: where ratios are cut.
        lambda_: factor of the traces, in [0, 1].

    Raises:
        TypeError: no tensors or numbers.
        ValueError: shapes that do not fit, NaN or +inf among log-probabilities, numbers out of range, ratios that overflow and
            that nothing cuts.
    """
    check_share("lambda_", lambda_)
    check_numbers("log_pi", log_pi)
    if log_pi.shape != rollout.rewards.shape:
        raise ValueError(
            f"`log_pi` should have the shape {tuple(rollout.rewards.shape)}, one number a step: "
            f"sum over an action's dimensions. Found {tuple(log_pi.shape)}."
        )
    check_numbers("values", values)
    wide = widest(values, rollout.rewards, log_pi, rollout.log_mu)
    values = values.to(wide)
    steps = following(rollout, values, discount, final_values)
    ratio = (log_pi.to(wide) - rollout.log_mu.to(wide)).exp_()
    if not math.isfinite(float(ratio.sum())):
        _refuse(log_pi)
        _refuse_infinite(ratio, clips)
    now, carry = values[:-1], steps.carry
    delta = steps.following.mul_(discount).add_(rollout.rewards).sub_(now)
    if clips.rho == clips.c == clips.pg_rho and lambda_ == 1:
        # v_s - V(x_s) is then rho_s (r_s + gamma v_{s+1} - V(x_s)), the advantage itself; large arrays are made once.
        ratio.clamp_(max=clips.rho)
        errors = linear_recurrence(carry.mul_(ratio), delta.mul_(ratio))
        return VTrace(now + errors, errors.clone(), errors)
    traces = ratio.clamp(max=clips.c).mul_(carry).mul_(lambda_)
    errors = linear_recurrence(traces, ratio.clamp(max=clips.rho).mul_(delta))
    # v_{s+1} is V(x_{s+1}) plus its error within an episode, what follows as it is at an end.
    delta[:-1].addcmul_(carry[:-1], errors[1:])
    return VTrace(now + errors, delta.mul_(ratio.clamp_(max=clips.pg_rho)), errors)


def _refuse_infinite(ratio: Tensor, clips: Clips) -> None:
    uncut = [name for name in ("rho", "c", "pg_rho") if math.isinf(getattr(clips, name))]
    if uncut and (ratio == torch.inf).any():
        t, b = (ratio == torch.inf).nonzero()[0].tolist()
        raise ValueError(
            f"importance ratios should be finite in {ratio.dtype} where nothing cuts them. Found inf at t={t}, b={b}, and "
            f"clips.{uncut[0]} is infinity. Set it to a number."
        )


def _refuse(log_pi: Tensor) -> None:
    wrong = log_pi.isnan() | (log_pi == torch.inf)
    if wrong.any():
        t, b = wrong.nonzero()[0].tolist()
        raise ValueError(
            f"`log_pi` should be logarithms of probabilities or densities. Found {float(log_pi[t, b])} at t={t}, b={b}. "
            "A learner that diverged gives them: lower its learning rate."
        )
