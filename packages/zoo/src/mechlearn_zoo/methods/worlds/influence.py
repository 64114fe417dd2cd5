"""Causal influence: how much an action changes what others do, as a reward, and as a measurement of recorded play.

Jaques et al. 2019 (https://arxiv.org/abs/1810.08647, equations 1 and 2): with p(a_B | a_A, z) from B's policy or from A's
model of others,
    c_A = sum_B D( p(a_B | a_A, z) || sum_a p(a_B | a, z) p(a | z) ),    r_A = alpha e_A + beta c_A.
The mean of c_A over a_A ~ p(. | z) is the mutual information of both actions given z. Hence c_A is at most the entropy of
A's policy on average: an agent that acts deterministically has no influence by this measure, and one that is paid for
influence is paid for randomness. To measure what an action does as such (a symbol whatever it stands for), pass how often
actions are played at all as ``policy``.

Index conventions: t steps, a of A's actions, b of B's, leading axes are batches. Agents act at once, so influence is on the
next step: the counterfactual at step t is of B's action at t + 1, and so the reward belongs to step t.

When not to use it: as a reward where A's policy should become sharp; without a schedule of beta to 0.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mechlearn.arguments import check_data, check_floats, check_ids, check_mask, check_one_of, check_positive, check_result
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.worlds.others import ModelOfOthers as ModelOfOthers  # noqa: PLC0414  # re-exported: py.typed
from mechlearn_zoo.methods.worlds.others import others_losses as others_losses  # noqa: PLC0414  # re-exported, too

PAPER = Paper(
    "Causal influence",
    2019,
    "Jaques et al., equations 1 and 2",
    "https://arxiv.org/abs/1810.08647",
    "a model of others, A cells a step",
)

Divergence = Literal["kl", "jsd"]

OFF, ROUNDINGS = 1e-3, 8
"""How far the logarithm of a sum of probabilities may be from 0; or so many roundings of a type in which 1e-3 is fewer."""


def causal_influence(
    counterfactual: Float[Tensor, "*batch a b"],
    policy: Float[Tensor, "*batch a"],
    taken: Int[Tensor, "*batch"],
    divergence: Divergence = "kl",
) -> Float[Tensor, "*batch"]:
    """Return c: how far what B does after the action taken is from what B does on average over A's actions.

    Args:
        counterfactual: (..., A, B) log-probabilities of B's actions for each action that A might have taken.
        policy: (..., A) log-probabilities of A's actions.
        taken: (...) the action that A took.
        divergence: "kl" of the conditional to the marginal, equation 2; "jsd", bounded by log 2, an option of the published
            code.

    Returns:
        (...) in nats, at least 0. Infinite where an action was taken whose probability is 0 and that alone lets B do
        something; the published code turns such batches to 0 without a word.

    Raises:
        TypeError: no floating numbers, actions that are no whole ones.
        ValueError: shapes that do not fit, none at all, log-probabilities that do not add up to 1, actions out of range.
    """
    check_one_of("divergence", divergence, get_args(Divergence))
    _check(counterfactual, policy)
    _check_taken(taken, policy, "taken")
    marginal = _marginal(counterfactual, policy)
    index = taken[..., None, None].long().expand(*taken.shape, 1, counterfactual.shape[-1])
    chosen = counterfactual.gather(-2, index).squeeze(-2)
    if divergence == "kl":
        return _kl(chosen, marginal)
    nothing = (chosen == -math.inf) & (marginal == -math.inf)  # has no gradient, and logaddexp's would be NaN
    middle = torch.logaddexp(chosen.masked_fill(nothing, 0.0), marginal.masked_fill(nothing, 0.0))
    middle = middle.masked_fill(nothing, -math.inf) - math.log(2.0)
    return (_kl(chosen, middle) + _kl(marginal, middle)) / 2


def mutual_information(
    counterfactual: Float[Tensor, "*batch a b"], policy: Float[Tensor, "*batch a"]
) -> Float[Tensor, "*batch"]:
    """Return I(a_A; a_B | z), the mean of the KL influence under A's policy, in nats.

    At most the entropy of the policy and log B; 0 exactly where B's action does not depend on A's.

    Raises:
        ValueError: shapes that do not fit, log-probabilities that do not add up to 1.
    """
    _check(counterfactual, policy)
    marginal = _marginal(counterfactual, policy).unsqueeze(-2)
    played = policy.exp() > 0
    each = _kl(counterfactual.masked_fill(~played.unsqueeze(-1), -math.inf), marginal)  # 0 where it would be infinite
    return torch.where(played, policy.exp() * each, 0.0).sum(-1)


def influence_rewards(
    influence: Float[Tensor, "*batch t n"], seen: Bool[Tensor, "*batch t n"] | None = None, clip: float = 10.0
) -> Float[Tensor, "*batch t"]:
    """Return c_A at each step: the sum over others who see A, clipped; 0 at the last step, which nobody can answer any more.

    Args:
        influence: (..., T, N) on each of N others' next action; infinity is clipped.
        seen: where the other saw A when A acted; everywhere if None.
        clip: of the sum, as in the published code.

    Raises:
        TypeError: no floating numbers, a mask that is not of booleans.
        ValueError: masks of another shape, a clip that is not positive, rewards that are not finite.
    """
    check_floats("influence", influence, "...", "T", "N")
    check_data("influence", influence)
    check_positive("clip", clip)
    if seen is not None:
        check_mask("seen", seen, *influence.shape)
    total = (influence if seen is None else torch.where(seen, influence, 0.0)).sum(-1).clamp(max=clip)
    last = torch.zeros(total.shape[-1], dtype=torch.bool, device=total.device)
    last[-1:] = True
    rewards = total.masked_fill(last, 0.0)
    check_result(rewards, {"influence": influence}, way_out="An influence is at least 0.")
    return rewards


def _marginal(counterfactual: Tensor, policy: Tensor) -> Tensor:
    joint = counterfactual + policy.unsqueeze(-1)
    never = (joint == -math.inf).all(-2, keepdim=True)  # has no gradient, and logsumexp's would be NaN
    return torch.logsumexp(joint.masked_fill(never, 0.0), -2).masked_fill(never.squeeze(-2), -math.inf)


def _kl(p: Tensor, q: Tensor) -> Tensor:
    # Filled before they are multiplied: where p is 0 the gradient of 0 * (log p - log q) would be 0 * infinity.
    none = p.exp() == 0
    difference = p.masked_fill(none, 0.0) - q.expand_as(p).masked_fill(none, 0.0)
    return torch.where(none, 0.0, p.exp() * difference).sum(-1).clamp(min=0.0)


def _check(counterfactual: Tensor, policy: Tensor) -> None:
    check_floats("counterfactual", counterfactual, "...", "A", "B")
    check_floats("policy", policy, "...", "A")
    if counterfactual.dim() < 2 or counterfactual.shape[:-1] != policy.shape:
        raise ValueError(
            "`counterfactual` should have the shape (..., A, B) for a policy (..., A). Found "
            f"{tuple(counterfactual.shape)} and {tuple(policy.shape)}. A's actions come second to last."
        )
    for name, logs in (("counterfactual", counterfactual), ("policy", policy)):
        check_data(name, logs)
        most = max(OFF, ROUNDINGS * torch.finfo(logs.dtype).eps)
        exact = logs.detach() if most == OFF else logs.detach().float()  # else the sum would be rounded, too
        off = exact.logsumexp(-1).abs().max()
        if not bool(off < most):
            raise ValueError(
                f"`{name}` should be log-probabilities, which add up to 1 in their last axis. Found one off by "
                f"{float(off):.3g} in logs. Use log_softmax."
            )


def _check_taken(taken: Tensor, logs: Tensor, name: str) -> None:
    check_ids(name, taken, *logs.shape[:-1], count=logs.shape[-1], way_out="The actions that were taken.")
