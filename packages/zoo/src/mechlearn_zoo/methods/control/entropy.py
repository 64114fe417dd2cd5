"""What entropy does to the objective of policy optimisation (Ahmed et al. 2019): an exact objective, and ways to look at it.

O_tau(theta) = p0^T (I - gamma P_pi)^-1 sum_a pi (R - tau log pi): the expected discounted return of a softmax table theta on a
finite process, a nat of entropy worth tau of reward. Its gradient by autograd is exact, so that whatever is hard about it is
the objective's shape and not noise. Around a point: D+- = O(theta +- alpha d) - O(theta) for directions d on the sphere; half
their difference is the slope along d, their sum the curvature. Between two points: values on the segment.

Not for: finding a policy in a finite process (`FiniteMDP.optimal` is exact); the objective of a sampled policy gradient.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import check_callable, check_floats, check_generator, check_not_negative, check_positive, check_whole
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Entropy's effect", 2019, "Ahmed et al., section 3", "https://arxiv.org/abs/1811.11214",
    "2 n evaluations of the objective around a point",
)  # fmt: skip

Function = Callable[[Tensor], Tensor]
"""From (*b, *shape) points to (*b,) values; `perturb` and `interpolate` call it once, with a leading axis of points."""


class Perturbations(NamedTuple):
    """How the objective changes to both sides of a point.

    Attributes:
        plus: (n,) O(theta + alpha d) - O(theta).
        minus: (n,) O(theta - alpha d) - O(theta).
        radius: alpha.
    """

    plus: Float[Tensor, " n"]
    minus: Float[Tensor, " n"]
    radius: float

    @property
    def slope(self) -> Float[Tensor, " n"]:
        """Return (D+ - D-) / 2 alpha, the directional derivative to third order in alpha."""
        return (self.plus - self.minus) / (2 * self.radius)

    @property
    def curvature(self) -> Float[Tensor, " n"]:
        """Return (D+ + D-) / alpha^2: d^T H d for a quadratic, exactly."""
        return (self.plus + self.minus) / self.radius**2


def objective(theta: Float[Tensor, "*b S A"], mdp: FiniteMDP, tau: float = 0.0) -> Float[Tensor, "*b"]:
    """Return O_tau, all of a batch of tables in one solve, with the graph.

    Args:
        theta: (*b, S, A) logits; -inf for an action that is never taken, which has no part in the entropy: 0 log 0 = 0.
        mdp: the process.
        tau: temperature, how many units of reward a nat of entropy is worth.

    Raises:
        ValueError: tau below 0, a table that does not fit, or episodes that never end at a discount of 1.
    """
    check_not_negative("tau", tau)
    log_policy = theta.double().log_softmax(-1)
    policy = log_policy.exp()
    if not tau:
        return mdp.objective(policy)
    finite = log_policy.masked_fill(log_policy == -torch.inf, 0.0)  # 0 log 0 = 0, and so is its gradient
    return mdp.objective(policy, -tau * (policy * finite).sum(-1))


def perturb(function: Function, theta: Float[Tensor, "*x"], radius: float, n: int, generator: Generator) -> Perturbations:
    """Return the changes along n directions drawn evenly from the sphere.

    Args:
        function: the objective, see `Function`.
        theta: the point.
        radius: alpha, the length of a step.
        n: how many directions.
        generator: of the directions.

    Raises:
        TypeError: no generator, a function that is none, a point that is no tensor of floating numbers.
        ValueError: a radius or number that is not positive, a point without numbers.
    """
    check_callable("function", function, "a function of points")
    check_floats("theta", theta, "...")
    check_positive("radius", radius)
    check_whole("n", n, 1)
    check_generator("generator", generator)
    drawn = torch.randn(n, theta.numel(), dtype=theta.dtype, generator=generator, device=generator.device)
    directions = drawn.to(theta.device)
    steps = (radius * directions / directions.norm(dim=1, keepdim=True)).view(n, *theta.shape)
    with torch.no_grad():
        here, plus, minus = function(torch.cat([theta.unsqueeze(0), theta + steps, theta - steps])).split([1, n, n])
    return Perturbations(plus - here, minus - here, radius)


def interpolate(function: Function, start: Float[Tensor, "*x"], end: Float[Tensor, "..."], n: int = 101) -> Float[Tensor, " n"]:
    """Return the objective at n points of the segment from start to end, both included.

    Raises:
        TypeError: a function that is none, points that are no tensors of floating numbers.
        ValueError: fewer than two points, ends of two shapes, or without numbers.
    """
    check_callable("function", function, "a function of points")
    check_whole("n", n, 2)
    for name, point in (("start", start), ("end", end)):
        check_floats(name, point, "...")
    if start.shape != end.shape:
        raise ValueError(f"`start` and `end` should have one shape. Found {tuple(start.shape)} and {tuple(end.shape)}.")
    share = torch.linspace(0, 1, n, dtype=start.dtype, device=start.device).view(-1, *[1] * start.dim())
    with torch.no_grad():
        return function(torch.lerp(start.unsqueeze(0), end.unsqueeze(0), share))


def barrier(values: Float[Tensor, "*b n"]) -> Float[Tensor, "*b"]:
    """Return how far a path falls below its first point: what an ascent along it would have to give up; 0 if it never does."""
    return values[..., 0] - values.min(-1).values
