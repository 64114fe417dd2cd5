"""Poisoning of one's own learner: where a few training points with wrong labels do most harm, by implicit differentiation.

Source: Demontis et al. 2019, https://arxiv.org/abs/1809.02861, section 2.3 and algorithm 1 (after Biggio et al. 2012 and
Munoz-Gonzalez et al. 2017). max over x_c of L(D_val, w*) with w* = argmin_w of the training loss on D_tr and the points x_c; at
the optimum

    d L_val / d x_c = - (d^2 L_tr / d x_c d w) H^-1 grad_w L_val,   H = d^2 L_tr / d w^2,

H^-1 by conjugate gradients (`mechlearn.solvers`): memory is linear in the parameters.

For the audit of what your own training set could do to you: how much may an outsider contribute? The formula asks for a minimum
that is reached and for a Hessian that is positive definite; of a deep network it says little. Against label noise without an
adversary it is far too pessimistic.

Conventions: w are `mechlearn.params.Params`; the training loss is the mean of l over all n + c points plus decay / 2 |w|^2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn import functional as F  # noqa: N812  # torch's own habit

from mechlearn.arguments import check_callable, check_generator, check_ids, check_not_negative, check_positive, check_whole
from mechlearn.params import Params
from mechlearn.solvers import Vector, conjugate_gradients
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.robustness.norms import check_box, check_within, steepest

PAPER = Paper(
    "Poisoning by implicit gradients", 2019, "Demontis et al., algorithm 1", "https://arxiv.org/abs/1809.02861",
    "a fit and a Hessian solve a step",
)  # fmt: skip

_RESIDUAL = 1e-3
"""Largest share of the right-hand side that a solve may leave before the Hessian counts as singular."""


class Sample(NamedTuple):
    """Examples (n, *x) and their class indices (n,)."""

    x: Float[Tensor, "n *x"]
    y: Int[Tensor, " n"]


@dataclass(frozen=True)
class Learner:
    """What is learned from a sample: the minimum of mean loss plus decay.

    Args:
        loss: of parameters, x and y, one value an example; twice differentiable in the parameters and once in x.
        initial: parameters to start a fit from; they also say the shapes.
        decay: lambda, of lambda / 2 |w|^2.
        decayed: names of the parameters that it holds for; None for all.
        damping: added to the Hessian in `poisoning_gradient`; 0 is the formula.
        iterations: conjugate gradients a solve takes at most, twice.

    Raises:
        TypeError: a loss that is no callable, numbers of another type.
        ValueError: negative decay or damping, no parameters, names that are no parameters.
    """

    loss: Callable[[Params, Tensor, Tensor], Tensor]
    initial: Params
    decay: float | int = 0.0
    decayed: frozenset[str] | None = None
    damping: float | int = 0.0
    iterations: int = 100

    def __post_init__(self) -> None:
        check_callable("loss", self.loss, "a function of parameters, x and y")
        check_not_negative("decay", self.decay)
        check_not_negative("damping", self.damping)
        check_whole("iterations", self.iterations, least=1)
        if not self.initial:
            raise ValueError("`initial` should hold at least one parameter. Found none. Pass zeros of the right shapes.")
        unknown = sorted((self.decayed or frozenset()) - set(self.initial))
        if unknown:
            raise ValueError(
                f"`decayed` should name parameters among {sorted(self.initial)}. Found {unknown}. Correct the names."
            )

    def risk(self, params: Params, sample: Sample) -> Float[Tensor, ""]:
        """Return the training loss: mean loss plus decay."""
        names = self.initial if self.decayed is None else self.decayed
        penalty = torch.stack([params[name].square().sum() for name in names]).sum() if names else 0.0
        return self.loss(params, sample.x, sample.y).mean() + self.decay / 2 * penalty


def logistic(features: int, decay: float | int, dtype: torch.dtype = torch.float64) -> Learner:
    """Return logistic regression of two classes, its bias not decayed; sklearn's C is 1 / (n decay)."""
    return _linear(features, decay, dtype, lambda z, y: F.softplus(-(2 * y - 1).to(z) * z))


def ridge(features: int, decay: float | int, dtype: torch.dtype = torch.float64) -> Learner:
    """Return least squares on labels -1 and 1, its bias not decayed; sklearn's alpha is n decay."""
    return _linear(features, decay, dtype, lambda z, y: (z - (2 * y - 1).to(z)).square() / 2)


def squared_hinge(features: int, decay: float | int, dtype: torch.dtype = torch.float64) -> Learner:
    """Return a linear support vector machine with the squared hinge loss, its bias not decayed."""
    return _linear(features, decay, dtype, lambda z, y: (1 - (2 * y - 1).to(z) * z).clamp(min=0).square() / 2)


def _linear(features: int, decay: float | int, dtype: torch.dtype, by_value: Callable[[Tensor, Tensor], Tensor]) -> Learner:
    check_whole("features", features, least=1)
    initial = {"weight": torch.zeros(features, dtype=dtype), "bias": torch.zeros((), dtype=dtype)}

    def loss(params: Params, x: Tensor, y: Tensor) -> Tensor:
        z = decision(params, x)
        check_ids("y", y, len(z), count=2, way_out="Call the two classes 0 and 1.")
        return by_value(z, y.long())  # in uint8, 2 y - 1 would be 255

    return Learner(loss, initial, decay, frozenset({"weight"}))


def decision(params: Params, x: Float[Tensor, "n *x"]) -> Float[Tensor, " n"]:
    """Return the decision value of a linear learner, positive for class 1."""
    return x.flatten(1) @ params["weight"] + params["bias"]


def fit(learner: Learner, sample: Sample, start: Params | None = None, steps: int = 50, tolerance: float = 1e-9) -> Params:
    """Return the minimum of the training loss by Newton's method with conjugate gradients and halved steps: for convex losses.

    Args:
        learner: what is learned.
        sample: to learn from.
        start: parameters to begin with; the learner's own if None.
        steps: of Newton's method, at most.
        tolerance: largest component of the gradient at which it ends.

    Raises:
        TypeError: labels that are no whole numbers.
        ValueError: another number of labels than of examples.
        RuntimeError: the tolerance was not reached; the loss may not be convex or the data separable without decay.
    """
    check_ids("sample.y", sample.y, len(sample.x), way_out="Pass one label an example.")
    # Learners are made of numbers, on the CPU: a fit goes where the sample is.
    params = {name: value.to(sample.x.device) for name, value in (learner.initial if start is None else start).items()}
    size = torch.inf
    for _ in range(steps):
        problem = _Problem(learner, params, sample)
        size = max(float(part.abs().max()) for part in problem.gradient)
        if size <= tolerance:
            return params
        # Newton's steps need no exact solve before the last ones: the residual falls with the gradient.
        exactness = min(0.1, size)
        move = conjugate_gradients(problem.product, problem.gradient, min(problem.size, learner.iterations), exactness)
        params = _descended(learner, params, sample, move, problem)
    if size <= 1e3 * tolerance:  # rounding may keep a gradient from falling further
        return params
    raise RuntimeError(
        f"A fit should reach a gradient of at most {tolerance:g}. Found {size:.2g} after {steps} steps. Raise the decay (data "
        "that can be told apart have no minimum without), the learner's iterations, or fit by your own means and call "
        "poisoning_gradient."
    )


class _Problem:
    """The training loss at some parameters: gradient, and products with the Hessian."""

    def __init__(self, learner: Learner, params: Params, sample: Sample) -> None:
        self.leaves = {name: tensor.detach().requires_grad_() for name, tensor in params.items()}
        self.value = learner.risk(self.leaves, sample)
        self.graph = torch.autograd.grad(self.value, list(self.leaves.values()), create_graph=True)
        self.gradient: Vector = tuple(part.detach() for part in self.graph)
        self.size = sum(part.numel() for part in self.gradient)

    def product(self, vector: Vector) -> Vector:
        """Return H v."""
        return torch.autograd.grad(self.graph, list(self.leaves.values()), vector, retain_graph=True, materialize_grads=True)


def _descended(learner: Learner, params: Params, sample: Sample, move: Vector, problem: _Problem) -> Params:
    """Return the parameters after a step, halved until the loss falls as Armijo asks."""
    value = float(problem.value.detach())
    gain = float(torch.stack([(a * b).sum() for a, b in zip(move, problem.gradient, strict=True)]).sum())
    rate = 1.0
    for _ in range(40):
        tried = {name: tensor - rate * part for (name, tensor), part in zip(params.items(), move, strict=True)}
        with torch.no_grad():
            # A last step gains less than the loss rounds.
            if float(learner.risk(tried, sample)) <= value - 1e-4 * rate * gain + 1e-14 * abs(value):
                return tried
        rate /= 2
    return params


def poisoning_gradient(
    learner: Learner, params: Params, train: Sample, points: Sample, validation: Sample
) -> Float[Tensor, "c *x"]:
    """Return d mean validation loss / d points, at parameters that minimise the training loss on train and points.

    Args:
        learner: what is learned.
        params: its minimum on train and points together, as `fit` gives it or your own loop.
        train: clean examples.
        points: the poison.
        validation: whose loss is to rise.

    Raises:
        TypeError: labels that are no whole numbers.
        ValueError: no points, shapes that differ, or a Hessian too close to singular: the way out is the learner's damping.
    """
    _check(train, points, validation)
    leaf = points.x.detach().requires_grad_()
    problem = _Problem(learner, params, joined(train, Sample(leaf, points.y)))
    leaves = list(problem.leaves.values())
    loss = learner.loss(problem.leaves, validation.x, validation.y).mean()
    target = torch.autograd.grad(loss, leaves, materialize_grads=True)
    solution = _solve(learner, problem, target)
    mixed = torch.stack([(a * b).sum() for a, b in zip(problem.graph, solution, strict=True)]).sum()
    return -torch.autograd.grad(mixed, leaf)[0]


def _solve(learner: Learner, problem: _Problem, target: Vector) -> Vector:
    """Return (H + damping)^-1 v and refuse a solution that is none."""

    def product(vector: Vector) -> Vector:
        return tuple(a + learner.damping * b for a, b in zip(problem.product(vector), vector, strict=True))

    size = _length(target)
    iterations = min(problem.size, learner.iterations)
    found = conjugate_gradients(product, target, iterations, 1e-13)
    left = _minus(target, product(found))
    if _length(left) > 1e-12 * size:  # once more on what is left: rounding, or few iterations
        again = conjugate_gradients(product, left, iterations, 1e-6)
        better = tuple(a + b for a, b in zip(found, again, strict=True))
        rest = _minus(target, product(better))
        if _length(rest) < _length(left):
            found, left = better, rest
    if not _length(left) <= _RESIDUAL * size:  # also where it is not a number
        raise ValueError(
            f"The training loss should have a Hessian that can be solved with. Found a residual of {_length(left) / size:.2g} "
            f"of the right-hand side after {2 * iterations} conjugate gradients: it is singular or nearly so. Set the "
            "learner's damping (1e-3, say) or more decay, or allow more iterations."
        )
    return found


def _minus(first: Vector, second: Vector) -> Vector:
    return tuple(a - b for a, b in zip(first, second, strict=True))


def _length(vector: Vector) -> float:
    return float(torch.stack([part.square().sum() for part in vector]).sum().sqrt())


class Poisoned(NamedTuple):
    """Poison and what it did.

    Attributes:
        points: the points that did most harm.
        params: what the learner makes of train and points.
        losses: mean validation loss before each step and after the last; the first is that of the starting points.
    """

    points: Sample
    params: Params
    losses: Float[Tensor, " s"]


def flipped(sample: Sample, count: int, generator: Generator) -> Sample:
    """Return copies of examples drawn without replacement, each with another of the labels: where poison starts from.

    Raises:
        ValueError: fewer examples than that, or one class only.
    """
    check_whole("count", count, least=1)
    check_generator("generator", generator)
    classes = sample.y.unique()
    if count > len(sample.y) or len(classes) < 2:
        raise ValueError(
            f"Points should be drawn from at least {count} examples of two classes. Found {len(sample.y)} of {len(classes)}. "
            "Draw fewer."
        )
    chosen = torch.randperm(len(sample.y), generator=generator, device=generator.device)[:count].to(sample.y.device)
    shift = torch.randint(1, len(classes), (count,), generator=generator, device=generator.device).to(sample.y.device)
    places = torch.searchsorted(classes, sample.y[chosen])
    return Sample(sample.x[chosen].clone(), classes[(places + shift) % len(classes)])


def joined(*samples: Sample) -> Sample:
    """Return samples as one."""
    return Sample(torch.cat([sample.x for sample in samples]), torch.cat([sample.y for sample in samples]))


def poison(
    learner: Learner,
    train: Sample,
    validation: Sample,
    start: Sample,
    steps: int = 20,
    rate: float | int = 0.5,
    box: tuple[float | int, float | int] | None = None,
) -> Poisoned:
    """Move all points up the gradient of the learner's validation loss, refitting at each step (algorithm 1).

    Args:
        learner: convex, as `fit` needs it.
        train: clean examples.
        validation: whose loss is to rise; never the data that the result is reported on.
        start: points and their labels, which stay; see `flipped`.
        steps: gradients taken.
        rate: Euclidean length of a point's step.
        box: lowest and highest value of a component; None for no bounds.

    Returns:
        The points with the highest validation loss on the way.

    Raises:
        TypeError: numbers of another type, labels that are no whole numbers.
        ValueError: points outside of the box; what `poisoning_gradient` refuses.
        RuntimeError: a fit that does not converge.
    """
    _check(train, start, validation)
    check_whole("steps", steps, least=1)
    check_positive("rate", rate)
    if box is not None:
        check_box(box)
    check_within(start.x, box)
    points, params = start, fit(learner, joined(train, start))
    losses = [_validation(learner, params, validation)]
    best = (losses[0], points, params)
    for _ in range(steps):
        gradient = poisoning_gradient(learner, params, train, points, validation)
        moved = points.x + steepest(gradient, rate, 2)
        points = Sample(moved if box is None else moved.clamp(*box), points.y)
        params = fit(learner, joined(train, points), params)
        losses.append(_validation(learner, params, validation))
        best = max(best, (losses[-1], points, params), key=lambda one: one[0])
    return Poisoned(best[1], best[2], torch.tensor(losses, dtype=train.x.dtype, device=train.x.device))


def _validation(learner: Learner, params: Params, validation: Sample) -> float:
    with torch.no_grad():
        return float(learner.loss(params, validation.x, validation.y).mean())


def _check(train: Sample, points: Sample, validation: Sample) -> None:
    """Reject samples that do not go together."""
    for name, sample in {"train": train, "points": points, "validation": validation}.items():
        check_within(sample.x, None)
        check_ids(f"{name}.y", sample.y, len(sample.x), way_out="Pass one label an example.")
        if sample.x.shape[1:] != train.x.shape[1:]:
            raise ValueError(
                f"`{name}` should hold examples of the shape {tuple(train.x.shape[1:])}, as the training set. Found "
                f"{tuple(sample.x.shape[1:])}. Reshape them."
            )
