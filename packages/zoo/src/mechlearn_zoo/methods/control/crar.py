"""Combined reinforcement learning via abstract representations (Francois-Lavet et al. 2019): one small state for Q and a model.

An encoder x = e(o) feeds a Q function and a model of what happens to x: x' = x + tau(x, a), reward rho(x, a), discount
g(x, a). The losses are the paper's section 2: |x + tau(x, a) - e(o')|^2 but at ends, squared errors of rho and g, double DQN
for Q, and what keeps x from collapsing: exp(-C |e(o1) - e(o2)|) over random pairs and, less, over successive ones, with a bound
on its size. Planning: Q^0 = Q, Q^d(x, a) = rho + g max over the best b actions a' of Q^(d-1)(x', a'), each depth ending in Q;
actions go by the mean of Q^0 .. Q^D (the published code) or their sum (the paper): the same choice.

Index conventions: b of a batch, a an action of A, x of d numbers, m a depth. Weights and optimisers are the user's.

Not for: stochastic worlds (the model is a function), or planning far beyond what tau was trained for: errors add up.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor
from torch.nn.functional import cosine_similarity, one_hot

from mechlearn.arguments import (
    all_finite,
    check_all_finite,
    check_callable,
    check_generator,
    check_ids,
    check_mask,
    check_not_negative,
    check_one_of,
    check_shape,
    check_share,
    check_whole,
)
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "CRAR", 2019, "Francois-Lavet et al., section 2", "https://arxiv.org/abs/1809.04506",
    "five small networks; A (b^D - 1) / (b - 1) model steps an action",
)  # fmt: skip

Model = Callable[[Tensor, Tensor], Tensor]
"""From (n, d) states and (n, A) one-hot actions to (n, d) changes, (n,) rewards or (n,) discounts."""


@dataclass(frozen=True)
class Abstraction:
    """The five networks, or functions.

    Args:
        encoder: from observations (n, *o) to x (n, d).
        q: from x to (n, A).
        transition: tau, the change of x.
        reward: rho.
        discount: g, the discount of what follows: 0 where an episode ends.

    Raises:
        TypeError: something that cannot be called.
    """

    encoder: Callable[[Tensor], Tensor]
    q: Callable[[Tensor], Tensor]
    transition: Model
    reward: Model
    discount: Model

    def __post_init__(self) -> None:
        for name in ("encoder", "q", "transition", "reward", "discount"):
            check_callable(name, getattr(self, name), "a module or function")


class Transitions(NamedTuple):
    """What happened, n times.

    Attributes:
        observations: (n, *o).
        actions: (n,) whole numbers.
        rewards: (n,).
        terminated: (n,) whether the episode ended; a time limit is no end.
        after: (n, *o) the observations that followed. Where the episode ended, NaN or infinity says that nothing followed: such
            a pair is left out of all losses. (A last observation that there is counts in the spread of successive pairs.)
    """

    observations: Tensor
    actions: Int[Tensor, " n"]
    rewards: Float[Tensor, " n"]
    terminated: Bool[Tensor, " n"]
    after: Tensor


def crar_losses(
    own: Abstraction,
    target: Abstraction,
    batch: Transitions,
    generator: Generator,
    *,
    discount: float = 0.9,
    scale: float = 5.0,
    directions: Float[Tensor, "A d"] | None = None,
) -> dict[str, Tensor]:
    """Return the losses by name, scalars with their graph; nothing is weighed but successive pairs.

    "transition", "reward", "discount", "q", "spread" (random pairs + 0.2 x successive ones), "bound" (clip(max x^2 - 1, 0)),
    and with directions "interpretable" (-cos of the predicted change and the action's direction).

    Args:
        own: what is trained.
        target: a slowly following copy, whose Q judges the next state; gradients never enter it.
        batch: at least two transitions.
        generator: pairs the observations.
        discount: gamma.
        scale: C, how near two states may come.
        directions: (A, d) where each action should lead in x, to be read by people; zeros for an action without one.

    Raises:
        TypeError: no generator, actions that are no whole numbers, ends that are no booleans.
        ValueError: a batch with one observation, numbers out of range, observations or rewards that are not finite, or parts of
            a batch or results of networks that are not of the shapes above: (n, 1) in place of (n,) would be compared with all
            others.
    """
    check_generator("generator", generator)
    check_share("discount", discount)
    check_not_negative("scale", scale)
    count = len(batch.observations)
    if count < 2:
        raise ValueError(f"A batch should have two observations or more: they are kept apart in pairs. Found {count}.")
    _check_batch(batch, count)
    seen = _seen(batch)
    followed = batch.after if seen is None else torch.where(_as_mask(seen, batch.after), batch.after, batch.observations)
    x, after = own.encoder(batch.observations), own.encoder(followed)
    q = _checked("q", own.q(x), count, "A")
    check_ids("actions", batch.actions, count, count=q.shape[1])
    actions = one_hot(batch.actions.long(), q.shape[1]).to(x)
    goes_on, over = (~batch.terminated).to(x), batch.terminated
    change = _checked("transition", own.transition(x, actions), *x.shape)
    with torch.no_grad():
        # Double DQN: own Q chooses, the target's judges.
        best = own.q(after).argmax(1, keepdim=True)
        ahead = _checked("q", target.q(target.encoder(followed)), *q.shape).gather(1, best).squeeze(1)
        wanted = batch.rewards + discount * goes_on * ahead.masked_fill(over, 0.0)
    found = {
        "transition": (x + change - after).square().sum(1).masked_fill(over, 0.0).mean(),
        "reward": (_checked("reward", own.reward(x, actions), count) - batch.rewards).square().mean(),
        "discount": (_checked("discount", own.discount(x, actions), count) - discount * goes_on).square().mean(),
        "q": ((q * actions).sum(1) - wanted).square().mean(),
        "spread": _close(x, x[_others(count, generator).to(x.device)], scale) + 0.2 * _close(x, after, scale, seen),
        "bound": (x.square().amax(1) - 1).clamp(min=0).mean(),
    }
    if directions is not None:
        found["interpretable"] = -cosine_similarity(change, actions @ directions.to(x), dim=1).mean()
    return found


class Planner:
    """Look ahead in the abstract state, a whole batch at once, one call of each network a depth.

    Args:
        q: from x (n, d) to (n, A).
        transition: tau.
        reward: rho.
        discount: g.
        depth: D, 0 is Q alone.
        breadth: b, how many actions are followed below the first, where all are.
        combine: how depths 0 to D are put together.

    Raises:
        TypeError: something that cannot be called, numbers that are not whole.
        ValueError: a depth below 0, a breadth below 1.
    """

    def __init__(
        self,
        q: Callable[[Tensor], Tensor],
        transition: Model,
        reward: Model,
        discount: Model,
        depth: int,
        breadth: int = 2,
        *,
        combine: Literal["mean", "sum"] = "mean",
    ) -> None:
        for name, function in (("q", q), ("transition", transition), ("reward", reward), ("discount", discount)):
            check_callable(name, function, "a module or function")
        check_whole("depth", depth)
        check_whole("breadth", breadth, 1)
        check_one_of("combine", combine, ("mean", "sum"))
        self._q, self._transition, self._reward, self._discount = q, transition, reward, discount
        self._depth, self._breadth, self._combine = depth, breadth, combine

    def __call__(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "n A"]:
        """Return planned values of all actions.

        Raises:
            ValueError: a breadth above the number of actions.
        """
        found = self.depths(x)
        return found.mean(0) if self._combine == "mean" else found.sum(0)

    @torch.no_grad()
    def depths(self, x: Float[Tensor, "n d"]) -> Float[Tensor, "m n A"]:
        """Return Q^0 .. Q^D one by one, (D + 1, n, A)."""
        q = self._q(x)
        count, actions = q.shape
        if self._breadth > actions:
            raise ValueError(f"`breadth` should be at most {actions}, the number of actions. Found {self._breadth}.")
        rewards, discounts, ends = list[Tensor](), list[Tensor](), list[Tensor]()
        chosen, here = torch.arange(actions, device=q.device).expand(count, -1), q
        for _ in range(self._depth):
            width = chosen.shape[1]
            x, one = x.repeat_interleave(width, 0), one_hot(chosen.flatten(), actions).to(x)
            rewards.append(self._reward(x, one).view(-1, width))
            discounts.append(self._discount(x, one).view(-1, width))
            x = x + self._transition(x, one)
            here = self._q(x)
            ends.append(here.max(1).values.view(-1, width))
            chosen = here.topk(self._breadth, 1).indices
        return torch.stack([q, *(_back_up(rewards[:m], discounts[:m], ends[m - 1]) for m in range(1, self._depth + 1))])


def _back_up(rewards: list[Tensor], discounts: list[Tensor], values: Tensor) -> Tensor:
    """From the values at the deepest level to those of the first actions: rho + g V, the best child at each level above."""
    found = rewards[-1] + discounts[-1] * values
    for reward, discount in zip(reversed(rewards[:-1]), reversed(discounts[:-1]), strict=True):
        found = reward + discount * found.max(1).values.view_as(reward)
    return found


def _check_batch(batch: Transitions, count: int) -> None:
    check_shape("rewards", batch.rewards, count, way_out="Use rewards.squeeze(1), one for each transition.")
    check_mask("terminated", batch.terminated, count, way_out="Convert it with .bool().")
    check_shape("after", batch.after, *batch.observations.shape, way_out="One for each of `observations`.")
    check_all_finite("observations", batch.observations)
    check_all_finite("rewards", batch.rewards)


def _seen(batch: Transitions) -> Tensor | None:
    """Return which transitions have an observation after them, None if all have one."""
    if all_finite(batch.after):
        return None
    seen = batch.after.isfinite().flatten(1).all(1)
    if bool((lost := ~seen & ~batch.terminated).any()):
        raise ValueError(
            "`after` should be finite where an episode goes on. Found NaN or infinity in transition "
            f"{int(lost.nonzero()[0, 0])}. Leave it out, or say that it terminated."
        )
    return seen


def _as_mask(rows: Tensor, like: Tensor) -> Tensor:
    return rows.view(-1, *[1] * (like.dim() - 1))


def _checked(name: str, found: Tensor, *sizes: int | str) -> Tensor:
    """Return what a network gives, if it has the shape: (n, 1) against (n,) would be a table of all pairs."""
    check_shape(name, found, *sizes, way_out="A network that ends in one unit needs .squeeze(1) behind it.")
    return found


def _close(first: Tensor, second: Tensor, scale: float, pairs: Tensor | None = None) -> Tensor:
    """Return how close pairs are, on average; 0 of no pair."""
    # The distance of a state from itself has no gradient of its own: 0 is put in its place.
    apart = (first - second).square().sum(1)
    near = torch.exp(-scale * torch.where(apart > 0, apart, 1.0).sqrt() * (apart > 0))
    return near.mean() if pairs is None else near.masked_fill(~pairs, 0.0).sum() / pairs.sum().clamp(min=1)


def _others(count: int, generator: Generator) -> Tensor:
    """For each row another one: a random cycle."""
    order = torch.randperm(count, generator=generator, device=generator.device)
    found = torch.empty_like(order)
    found[order] = order.roll(1)
    return found
