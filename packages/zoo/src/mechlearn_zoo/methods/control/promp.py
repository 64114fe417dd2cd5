"""ProMP: meta-learn a policy that one gradient step adapts, with credit for what was tried before it (Rothfuss et al. 2019).

The inner step is theta' = theta + alpha grad J(theta), J a surrogate on trajectories of pi_old. Differentiating through it
needs the Hessian of E[return], H1 + H2 + H12 + H12^T: H1 from products of scores, H2 from second derivatives, H12 from what
theta does to later returns. What differentiating each surrogate twice gives, in expectation and at theta = theta_old:

    "log"   sum_t log pi(a_t|s_t) A_t                          H2 alone, as in MAML's implementations
    "lr"    sum_t pi(a_t|s_t) / pi_old(a_t|s_t) A_t            H1 + H2: the low-variance curvature of ProMP
    "dice"  sum_t prod_{k <= t} pi(a_k|s_k) / pi_old(a_k|s_k) r_t     all, unbiased (Foerster et al. 2018)

Log-probabilities and advantages are (T, B), time first; what lies behind an episode's end has an advantage or reward of 0. That
is all a surrogate needs. ProMP's divergence and formulation II's credit are made of log-probabilities alone: a mask tells them
which steps there are, else they take all. Sums are over t, means over b, but formulation II's credit, which is summed over b,
too: each trajectory has its term. All surrogates are to be maximised.

Not where one policy can serve all tasks, or where the tasks can be told apart from the first observation: then nothing needs to
adapt, and one policy on all tasks is cheaper.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor
from torch.func import grad, vmap

from mechlearn.arguments import (
    check_mask,
    check_not_negative,
    check_one_of,
    check_positive,
    check_shape,
    check_tensor,
    check_whole,
)
from mechlearn.params import Params
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "ProMP", 2019, "Rothfuss et al., equations 10 to 14", "https://arxiv.org/abs/1810.06784",
    "a second-order pass for each inner step",
)  # fmt: skip

Kind = Literal["lr", "dice", "log"]
LogProbability = Callable[[Params, Tensor, Tensor], Tensor]
"""From parameters, observations (T, B, *o) and actions (T, B, *a) to log-probabilities (T, B)."""


_EACH_STEP = "One number for each step, False behind an episode's end."


class Batch(NamedTuple):
    """Trajectories of one task; with a leading dimension everywhere, of K tasks.

    Attributes:
        observations: (T, B, *o).
        actions: (T, B, *a).
        log_old: (T, B), of the policy that acted.
        advantages: (T, B), constants; for "dice" the discounted rewards.
    """

    observations: Tensor
    actions: Tensor
    log_old: Tensor
    advantages: Tensor


@dataclass(frozen=True)
class ProMP:
    """Settings of the objective.

    Args:
        alpha: size of an inner step.
        clip: how far the outer ratio may leave 1 before it no longer pays.
        eta: weight of the divergence from the policy that acted before the inner step.
        kind: of the inner surrogate.
        outer: "clip", ProMP's; "log" with `kind="log"` and one step a batch is MAML with vanilla policy gradients.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range, an unknown kind.
    """

    alpha: float = 0.1
    clip: float = 0.3
    eta: float = 5e-4
    kind: Kind = "lr"
    outer: Literal["clip", "log"] = "clip"

    def __post_init__(self) -> None:
        """Reject settings that cannot be."""
        check_positive("alpha", self.alpha)
        check_positive("clip", self.clip)
        check_not_negative("eta", self.eta)
        check_one_of("kind", self.kind, ("lr", "dice", "log"))
        check_one_of("outer", self.outer, ("clip", "log"))


def surrogate(log_pi: Tensor, log_old: Tensor, advantages: Tensor, kind: Kind = "lr") -> Tensor:
    """Return the surrogate of the return, a number to be maximised; see above for the kinds.

    Args:
        log_pi: (T, B), with its graph.
        log_old: (T, B), of the policy that acted.
        advantages: (T, B), detached; for "dice" the rewards of the steps, discounted. Where one is 0, nothing is added
            if the ratio there is finite: infinity times 0 is NaN. Behind an episode's end let log_pi be log_old.
        kind: which.

    Raises:
        TypeError: no tensors.
        ValueError: shapes that differ, advantages with a graph, an unknown kind.
    """
    check_one_of("kind", kind, ("lr", "dice", "log"))
    _check_steps(log_pi, log_old, advantages)
    if kind == "log":
        return (log_pi * advantages).sum(0).mean()
    change = log_pi - log_old.detach()
    return ((change if kind == "lr" else change.cumsum(0)).exp() * advantages).sum(0).mean()


def adapt(params: Params, objective: Callable[[Params], Tensor], alpha: float, steps: int = 1) -> Params:
    """Return parameters after gradient ascent on an objective, with the graph that leads back to the first ones.

    Args:
        params: to start from; left as they are.
        objective: from parameters to a number to be maximised.
        alpha: size of a step.
        steps: how many.

    Raises:
        TypeError, ValueError: a size that is not positive, fewer than one step.
    """
    check_positive("alpha", alpha)
    check_whole("steps", steps, 1)
    for _ in range(steps):
        found = grad(objective)(params)
        params = {name: value + alpha * found[name] for name, value in params.items()}
    return params


def promp_objective(
    params: Params,
    log_probability: LogProbability,
    before: Batch,
    after: Batch,
    settings: ProMP = ProMP(),
    mask: Tensor | None = None,
) -> Tensor:
    """Return one task's objective: J^CLIP(theta') - eta KL(pi_old, pi_theta), with theta' made anew from theta (equation 14).

    The divergence is estimated from the actions taken as mean of r - 1 - log r, r = pi_theta / pi_old: unbiased, never below 0.

    Args:
        params: theta, with its graph.
        log_probability: of the policy, as a function of its parameters.
        before: of pi_old, in the task.
        after: of pi_old's own adapted policy, in the task.
        settings: see `ProMP`.
        mask: (T, B) of bool, which steps of `before` belong to an episode: the divergence is their mean. None: all of them do;
            then what stands behind an episode's end changes the objective.

    Raises:
        TypeError: a mask that is not of booleans.
        ValueError: shapes that differ, advantages with a graph.
    """
    if mask is not None:
        check_mask("mask", mask, *before.log_old.shape, way_out=_EACH_STEP)
    log_pre = log_probability(params, before.observations, before.actions)

    def inner(theta: Params) -> Tensor:
        log_pi = log_probability(theta, before.observations, before.actions)
        return surrogate(log_pi, before.log_old, before.advantages, settings.kind)

    log_post = log_probability(adapt(params, inner, settings.alpha), after.observations, after.actions)
    divergence = _divergence(log_pre - before.log_old.detach(), mask)
    if settings.outer == "log":
        return surrogate(log_post, after.log_old, after.advantages, "log") - settings.eta * divergence
    _check_steps(log_post, after.log_old, after.advantages)
    ratio = (log_post - after.log_old.detach()).exp()
    clipped = ratio.clamp(1 - settings.clip, 1 + settings.clip)
    paid = torch.minimum(ratio * after.advantages, clipped * after.advantages)
    return paid.sum(0).mean() - settings.eta * divergence


def meta_objective(
    params: Params,
    log_probability: LogProbability,
    before: Batch,
    after: Batch,
    settings: ProMP = ProMP(),
    mask: Tensor | None = None,
) -> Tensor:
    """Return every task's objective (K,), in one pass; their mean is to be maximised, or `Agreement` given their negatives.

    Args:
        params: theta.
        log_probability: see `promp_objective`.
        before: with a leading dimension of K tasks.
        after: the same.
        settings: see `ProMP`.
        mask: (K, T, B), see `promp_objective`.
    """

    def one(own: Batch, then: Batch, present: Tensor | None = None) -> Tensor:
        return promp_objective(params, log_probability, own, then, settings, present)

    return vmap(one)(before, after) if mask is None else vmap(one)(before, after, mask)


def exploration_credit(log_pi: Tensor, log_old: Tensor, returns_after: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return what formulation II adds to a task's objective: trajectories before the step are credited with what came after.

    In formulation II (E-MAML, Stadie et al. 2018) the expectation over the first trajectories stands outside the update, so
    that its gradient has a term grad log pi(tau) R(tau') for each of them; formulation I has the product of inner and outer
    gradients in its place, which `surrogate` gives by differentiating twice.

    Args:
        log_pi: (T, B) of the pre-update trajectories, with its graph.
        log_old: (T, B).
        returns_after: a number, the post-update return of the task less a baseline, detached; or (B,), one for each trajectory.
        mask: (T, B) of bool, which steps belong to an episode. None: all of them do; then what stands behind an episode's end
            is credited, too.

    Raises:
        TypeError: no tensors, a mask that is not of booleans.
        ValueError: shapes that differ, returns with a graph, a mask of another shape.
    """
    _check_steps(log_pi, log_old)
    check_tensor("returns_after", returns_after)
    if returns_after.numel() != 1:
        check_shape("returns_after", returns_after, log_pi.shape[1], way_out="One number, or one for each trajectory.")
    if returns_after.requires_grad:
        raise ValueError("`returns_after` should be a constant. Found one with a graph. Use returns_after.detach().")
    change = log_pi - log_old.detach()
    if mask is not None:
        check_mask("mask", mask, *change.shape, way_out=_EACH_STEP)
        change = torch.where(mask, change, 0.0)
    return (change.sum(0).exp() * returns_after).sum()


def _check_steps(log_pi: Tensor, log_old: Tensor, advantages: Tensor | None = None) -> None:
    """Reject what is not one number for each step, and advantages that are no constants."""
    given = {"log_pi": log_pi, "log_old": log_old} | ({} if advantages is None else {"advantages": advantages})
    for name, value in given.items():
        check_tensor(name, value)
        if value.shape != log_pi.shape or value.dim() != 2:
            raise ValueError(
                f"`{name}` should have the shape (T, B) of the log-probabilities, time first, {tuple(log_pi.shape)} here. "
                f"Found {tuple(value.shape)}. Sum log-probabilities over an action's dimensions."
            )
    if advantages is not None and advantages.requires_grad:
        raise ValueError(
            "`advantages` should be constants: a gradient through them is not the policy gradient. Found some with a graph. "
            "Use advantages.detach()."
        )


def _divergence(change: Tensor, mask: Tensor | None) -> Tensor:
    """Return the mean of r - 1 - log r over the steps that there are, from log r."""
    if mask is None:
        return (change.exp() - 1 - change).mean()
    change = torch.where(mask, change, 0.0)  # where nothing changed, nothing diverges
    return (change.exp() - 1 - change).sum() / mask.sum().clamp(min=1)
