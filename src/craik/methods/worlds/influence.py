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
from torch import Generator, Tensor, nn
from torch.nn.functional import one_hot

from craik.arguments import check_generator, check_one_of, check_positive, check_tensor, check_whole
from craik.methods.paper import Paper
from craik.nn.graphs import gated
from craik.nn.perceptrons import linear

PAPER = Paper(
    "Causal influence",
    2019,
    "Jaques et al., equations 1 and 2",
    "https://arxiv.org/abs/1810.08647",
    "a model of others, A cells a step",
)

Divergence = Literal["kl", "jsd"]


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
        TypeError: no tensors.
        ValueError: shapes that do not fit, log-probabilities that do not add up to 1, actions out of range.
    """
    check_one_of("divergence", divergence, get_args(Divergence))
    _check(counterfactual, policy)
    _check_taken(taken, policy, "taken")
    marginal = _marginal(counterfactual, policy)
    index = taken[..., None, None].expand(*taken.shape, 1, counterfactual.shape[-1])
    chosen = counterfactual.gather(-2, index).squeeze(-2)
    if divergence == "kl":
        return _kl(chosen, marginal)
    middle = torch.logaddexp(chosen, marginal) - math.log(2.0)
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
    each = _kl(counterfactual, marginal)
    return torch.where(policy.exp() > 0, policy.exp() * each, 0.0).sum(-1)


def pointwise_influence(
    counterfactual: Float[Tensor, "*batch a b"],
    policy: Float[Tensor, "*batch a"],
    taken: Int[Tensor, "*batch"],
    heard: Int[Tensor, "*batch"],
) -> Float[Tensor, "*batch"]:
    """Return log p(a_B | a_A, z) / p(a_B | z) of both actions taken: a sample of the influence, of either sign.

    Raises:
        ValueError: shapes that do not fit, log-probabilities that do not add up to 1, actions out of range.
    """
    _check(counterfactual, policy)
    _check_taken(taken, policy, "taken")
    _check_taken(heard, counterfactual[..., 0, :], "heard")
    index = taken[..., None, None].expand(*taken.shape, 1, counterfactual.shape[-1])
    chosen = counterfactual.gather(-2, index).squeeze(-2)
    difference = chosen.gather(-1, heard[..., None]) - _marginal(counterfactual, policy).gather(-1, heard[..., None])
    return difference.squeeze(-1)


def influence_rewards(
    influence: Float[Tensor, "*batch t n"], seen: Bool[Tensor, "*batch t n"] | None = None, clip: float = 10.0
) -> Float[Tensor, "*batch t"]:
    """Return c_A at each step: the sum over others who see A, clipped; 0 at the last step, which nobody can answer any more.

    Args:
        influence: (..., T, N) on each of N others' next action.
        seen: where the other saw A when A acted; everywhere if None.
        clip: of the sum, as in the published code.

    Raises:
        ValueError: masks of another shape, a clip that is not positive.
    """
    check_tensor("influence", influence)
    check_positive("clip", clip)
    if seen is not None and seen.shape != influence.shape:
        raise ValueError(f"`seen` should have the shape {tuple(influence.shape)}. Found {tuple(seen.shape)}.")
    total = (influence if seen is None else torch.where(seen, influence, 0.0)).sum(-1).clamp(max=clip)
    last = torch.zeros(total.shape[-1], dtype=torch.bool, device=total.device)
    last[-1:] = True
    return total.masked_fill(last, 0.0)


class ModelOfOthers(nn.Module):
    """An LSTM that predicts what each other agent does next, from what one agent sees and what all did (section 4).

    Args:
        features: numbers of what the agent sees in a step.
        agents: of all; the first one is the agent itself.
        actions: that each can take.
        hidden: units of the LSTM.
        generator: of the initial weights.

    Raises:
        TypeError: no whole numbers, no generator.
        ValueError: fewer than two agents or actions.
    """

    def __init__(self, features: int, agents: int, actions: int, hidden: int, generator: Generator) -> None:
        super().__init__()
        check_whole("features", features)
        check_whole("agents", agents, least=2, why="there is somebody to influence")
        check_whole("actions", actions, least=2)
        check_whole("hidden", hidden, least=1)
        check_generator("generator", generator)
        self.agents, self.actions, self.hidden = agents, actions, hidden
        self.seen = gated(features + agents * actions, 4 * hidden, hidden, generator)
        self.again = gated(hidden, 4 * hidden, hidden, generator)
        self.head = linear(hidden, (agents - 1) * actions, "default", generator)

    def forward(self, features: Float[Tensor, "b t f"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, "b t n1 k"]:
        """Return log-probabilities of the others' actions at the next step, (B, T, N - 1, K).

        Raises:
            ValueError: shapes that do not fit.
        """
        states = self._states(features, actions)
        return self._answers(torch.stack([h for h, _ in states[1:]], 1))

    def counterfactuals(self, features: Float[Tensor, "b t f"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, "b t n1 k k2"]:
        """Return the same for every action that the first agent might have taken, (B, T, N - 1, K, K), its own second to last.

        Only the step itself is imagined; what went before is as it was.
        """
        states = self._states(features, actions)
        h, c = (torch.stack([state[part] for state in states[:-1]], 1).unsqueeze(2) for part in (0, 1))
        k = self.actions
        imagined = actions[:, :, None].expand(-1, -1, k, -1).clone()
        imagined[..., 0] = torch.arange(k, device=actions.device)
        x = self._inputs(features[:, :, None].expand(-1, -1, k, -1), imagined)
        after, _ = self._cell(x, h.expand(-1, -1, k, -1), c.expand(-1, -1, k, -1))
        return self._answers(after).transpose(2, 3)

    def _states(self, features: Tensor, actions: Tensor) -> list[tuple[Tensor, Tensor]]:
        if features.dim() != 3 or actions.shape != (*features.shape[:2], self.agents):
            raise ValueError(
                f"`features` and `actions` should have the shapes (B, T, F) and (B, T, {self.agents}). Found "
                f"{tuple(features.shape)} and {tuple(actions.shape)}. The first agent is the one that looks."
            )
        x = self._inputs(features, actions)
        zero = x.new_zeros(len(x), self.hidden)
        states = [(zero, zero)]
        for t in range(x.shape[1]):
            states.append(self._cell(x[:, t], *states[-1]))
        return states

    def _inputs(self, features: Tensor, actions: Tensor) -> Tensor:
        return torch.cat([features, one_hot(actions, self.actions).flatten(-2).to(features)], -1)

    def _cell(self, x: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        # torch.nn.LSTMCell's equations and order of gates.
        i, f, g, o = (self.seen(x) + self.again(h)).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def _answers(self, h: Tensor) -> Tensor:
        return self.head(h).unflatten(-1, (self.agents - 1, self.actions)).log_softmax(-1)


def others_losses(predicted: Float[Tensor, "b t n1 k"], actions: Int[Tensor, "b t n"]) -> Float[Tensor, " b"]:
    """Return each episode's mean cross-entropy of what the others did next; the last prediction has no answer.

    Args:
        predicted: of `ModelOfOthers`.
        actions: (B, T, N) what all did, the agent itself first.

    Raises:
        ValueError: shapes that do not fit, a single step.
    """
    if predicted.shape[:3] != (*actions.shape[:2], actions.shape[2] - 1) or actions.shape[1] < 2:
        raise ValueError(
            "`predicted` should be (B, T, N - 1, K) for actions (B, T, N) with two steps or more. Found "
            f"{tuple(predicted.shape)} and {tuple(actions.shape)}."
        )
    found = predicted[:, :-1].gather(-1, actions[:, 1:, 1:, None]).squeeze(-1)
    return -found.mean((1, 2))


def _marginal(counterfactual: Tensor, policy: Tensor) -> Tensor:
    return torch.logsumexp(counterfactual + policy.unsqueeze(-1), -2)


def _kl(p: Tensor, q: Tensor) -> Tensor:
    return torch.where(p.exp() > 0, p.exp() * (p - q), 0.0).sum(-1).clamp(min=0.0)


def _check(counterfactual: Tensor, policy: Tensor) -> None:
    check_tensor("counterfactual", counterfactual)
    check_tensor("policy", policy)
    if counterfactual.dim() < 2 or counterfactual.shape[:-1] != policy.shape:
        raise ValueError(
            "`counterfactual` should have the shape (..., A, B) for a policy (..., A). Found "
            f"{tuple(counterfactual.shape)} and {tuple(policy.shape)}. A's actions come second to last."
        )
    for name, logs in (("counterfactual", counterfactual), ("policy", policy)):
        off = (logs.detach().logsumexp(-1)).abs().max() if logs.numel() else logs.sum()
        if not bool(off < 1e-3):
            raise ValueError(
                f"`{name}` should be log-probabilities, which add up to 1 in their last axis. Found one off by "
                f"{float(off):.3g} in logs. Use log_softmax."
            )


def _check_taken(taken: Tensor, logs: Tensor, name: str) -> None:
    check_tensor(name, taken)
    count = logs.shape[-1]
    if taken.shape != logs.shape[:-1] or (taken.numel() and not 0 <= int(taken.min()) <= int(taken.max()) < count):
        raise ValueError(
            f"`{name}` should be actions from 0 to {count - 1}, of shape {tuple(logs.shape[:-1])}. Found {tuple(taken.shape)}."
        )
