"""Evasion of one's own model: maximum-confidence attacks by projected gradients, and security evaluation curves.

Source: Demontis et al. 2019, https://arxiv.org/abs/1809.02861, section 2.2 and algorithm 1. The attack maximises the margin by
which a wrong class wins, not the least change that flips a label, since what barely fools a stand-in fools nothing else.

For the audit of models that are yours or that you may test. It gives an upper bound on robust accuracy: an attack that fails
proves nothing, above all on models whose gradients are masked (saturated, stepwise, random).

Conventions: a model is a callable from x (n, *x) to logits (n, classes), or to one decision value an example, (n,) or (n, 1),
positive for class 1; it stays in the mode it is in, and its parameters get no gradient. y holds class indices (n,).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit

from mechlearn.arguments import check_callable, check_ids, check_kind, check_one_of, check_positive, check_tensor, check_whole
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.robustness.norms import Ball, _project, check_within, norms, steepest  # pyright: ignore[reportPrivateUsage]

PAPER = Paper(
    "Maximum-confidence evasion", 2019, "Demontis et al., algorithm 1", "https://arxiv.org/abs/1809.02861",
    "an input gradient a step",
)  # fmt: skip

Model = Callable[[Tensor], Tensor]
"""From examples (n, *x) to logits (n, classes) or decision values (n,) or (n, 1)."""

Objective = Callable[[Tensor, Tensor], Tensor]
"""From logits (n, classes) and labels (n,) to what an attack maximises, one value an example."""


def loss(logits: Float[Tensor, "n k"], y: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the cross-entropy of each example, unreduced: of two classes, the logistic loss of their difference.

    Raises:
        TypeError: labels that are no whole numbers.
        ValueError: labels of another shape, or that are none of the classes; torch's own -100 is not left out here.
    """
    check_ids("y", y, len(logits), count=logits.shape[1], way_out="Pass the place of each label among the classes.")
    return F.cross_entropy(logits, y.long(), reduction="none")


def margin(logits: Float[Tensor, "n k"], y: Int[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return by how much the best wrong class wins: max_{k != y} z_k - z_y, positive where the label is missed."""
    place = y.long()[:, None]
    return (logits.scatter(1, place, -torch.inf).amax(1, keepdim=True) - logits.gather(1, place))[:, 0]


def logits_of(model: Model, x: Float[Tensor, "n *x"]) -> Float[Tensor, "n k"]:
    """Return a model's logits; a single decision value z stands for the two logits 0 and z.

    Raises:
        TypeError: the model returns no tensor, or computes in another type than that of x.
        ValueError: it returns another shape.
    """
    try:
        found = model(x)
    except RuntimeError as error:
        _explain(error, model, x)
        raise
    check_tensor("what the model returns", found, way_out="Wrap the model so that it returns logits (n, classes).")
    if found.dim() == 1 and len(found) == len(x):
        found = found[:, None]
    if found.dim() != 2 or len(found) != len(x):
        raise ValueError(
            f"A model should return logits (n, classes) or (n,) decision values. Found {tuple(found.shape)} for {len(x)} "
            "examples. Wrap the model so that it does."
        )
    return torch.cat([torch.zeros_like(found), found], 1) if found.shape[1] == 1 else found


def _explain(error: RuntimeError, model: Model, x: Tensor) -> None:
    """Explain the failure of a model by the type of its inputs, where that is no parameter's or torch says so."""
    own = {parameter.dtype for parameter in model.parameters()} if isinstance(model, nn.Module) else set[torch.dtype]()
    known = sorted(str(kind) for kind in own if kind.is_floating_point)
    if x.dtype in own or not (known or "dtype" in str(error)):
        return
    beside = f"{', '.join(known)} in the model" if known else str(error).splitlines()[0]
    raise TypeError(
        f"`x` should have the floating-point type that the model computes in. Found {x.dtype} beside {beside}. Convert one of "
        "the two with .to()."
    ) from error


def missed(model: Model, x: Float[Tensor, "n *x"], y: Int[Tensor, " n"]) -> Bool[Tensor, " n"]:
    """Return which examples a model gets wrong; ties go to the lower class, as argmax has them.

    Raises:
        TypeError: no callable, tensors of other types.
        ValueError: examples that are not finite, another number of labels, or such as are none of the model's classes.
    """
    check_audit(model, x, y)
    with torch.no_grad():
        logits = logits_of(model, x)
    check_classes(y, logits)
    return logits.argmax(1) != y


def maximum_confidence(
    model: Model,
    x: Float[Tensor, "n *x"],
    y: Int[Tensor, " n"],
    ball: Ball,
    steps: int = 30,
    rate: float | int | None = None,
    objective: Objective = margin,
    keep: Literal["best", "last"] = "best",
) -> Float[Tensor, "n *x"]:
    """Return examples within the ball on which a model is as wrong as projected gradient ascent makes it (algorithm 1).

    x' = x + project(delta + steepest(gradient, rate)), from delta = 0. The projection on ball and box is exact; scaling first
    and clipping then, as libraries do, leaves a part of the radius unused where the box cuts.

    Args:
        model: yours; differentiable in x.
        x: (n, *x) examples within the box.
        y: (n,) their labels: what the model should say.
        ball: radius, norm and box.
        steps: gradients taken.
        rate: length of a step in the ball's norm; 2.5 radius / steps if None, as Madry et al. (2018) have it.
        objective: of logits and labels, what to maximise: the margin; `loss` is what PGD of the literature takes.
        keep: "best" returns each example where its objective was largest (the starting point included), "last" where it ended.

    Raises:
        TypeError: no callable, tensors of other types.
        ValueError: x outside of the box, labels outside of the model's classes, no step, a model without a gradient in x.
    """
    check_audit(model, x, y)
    check_kind("ball", ball, Ball, "a Ball", way_out="Write Ball(0.5, p=2, box=(0.0, 1.0)).")
    check_within(x, ball.box)
    check_whole("steps", steps, least=1)
    check_one_of("keep", keep, ("best", "last"))
    if rate is not None:
        check_positive("rate", rate)
    length = 2.5 * ball.radius / steps if rate is None else float(rate)

    def gradients(points: Tensor) -> tuple[Tensor, Tensor]:
        leaf = points.detach().requires_grad_()
        logits = logits_of(model, leaf)
        check_classes(y, logits)
        values = objective(logits, y)
        return values.detach(), input_gradient_of(values, leaf)

    return ascend(gradients, x, ball, steps, length, keep)


def ascend(
    gradients: Callable[[Tensor], tuple[Tensor, Tensor]],
    x: Float[Tensor, "n *x"],
    ball: Ball,
    steps: int,
    rate: float,
    keep: Literal["best", "last"] = "last",
) -> Float[Tensor, "n *x"]:
    """Return where projected ascent along steepest directions ends: the loop of algorithm 1.

    Args:
        gradients: from points (n, *x) to what is maximised, (n,), and its gradient, (n, *x). With "best" it is asked once more.
        x: where to start.
        ball: radius, norm and box.
        steps: gradients taken.
        rate: length of a step in the ball's norm.
        keep: the best point or the last.
    """
    delta = torch.zeros_like(x)
    best, highest = delta, torch.full((len(x),), -torch.inf, dtype=x.dtype, device=x.device)
    for _ in range(steps):
        values, gradient = gradients(x + delta)
        best, highest = _better(best, highest, delta, values) if keep == "best" else (best, highest)
        delta = _project(delta + steepest(gradient, rate, ball.p), ball, x)
    if keep == "last":
        return _within(x + delta, ball)
    best, _ = _better(best, highest, delta, gradients(x + delta)[0])
    return _within(x + best, ball)


def _better(best: Tensor, highest: Tensor, delta: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    won = values > highest
    return torch.where(won.view(-1, *[1] * (delta.dim() - 1)), delta, best), torch.where(won, values, highest)


def _within(points: Tensor, ball: Ball) -> Tensor:
    """Clip what rounding of x + delta put beyond the box."""
    return points if ball.box is None else points.clamp(*ball.box)


class Curve(NamedTuple):
    """A security evaluation curve.

    Attributes:
        radii: (r,) ascending.
        error: (r,) share of examples missed at the worst perturbation found of at most this radius; it never falls.
        norm: (r,) mean size of the perturbations that the attack at this radius ended with.
    """

    radii: Float[Tensor, " r"]
    error: Float[Tensor, " r"]
    norm: Float[Tensor, " r"]


def security_curve(
    model: Model,
    x: Float[Tensor, "n *x"],
    y: Int[Tensor, " n"],
    radii: Iterable[float | int] | Float[Tensor, " r"],
    ball: Ball,
    steps: int = 30,
    target: Model | None = None,
) -> Curve:
    """Return the error under attack against the attack's radius.

    An example that a smaller perturbation fools counts at larger radii, too, since it is allowed there. Radius 0 gives the
    clean error.

    Args:
        model: that is attacked; the surrogate where there is a target.
        x: (n, *x) examples within the box.
        y: (n,) labels.
        radii: ascending, not negative; a tensor or an array will do.
        ball: norm and box; its radius is not read.
        steps: of the attack at each radius.
        target: whose error is measured; the model itself if None.

    Raises:
        TypeError: no callable, tensors of other types.
        ValueError: radii that are none, negative or do not ascend; what `maximum_confidence` refuses, of the target, too.
    """
    check_audit(model, x, y)
    radii = [float(radius) for radius in radii]
    if not radii or radii != sorted(radii) or not radii[0] >= 0:  # also where it is not a number
        raise ValueError(f"`radii` should be at least one number, ascending from 0 or more. Found {radii}. Sort them.")
    fooled = torch.zeros(len(x), dtype=torch.bool, device=x.device)
    errors: list[Tensor] = []
    sizes: list[Tensor] = []
    for radius in radii:
        points = maximum_confidence(model, x, y, replace(ball, radius=radius), steps) if radius else x
        fooled = fooled | missed(model if target is None else target, points, y)
        errors.append(fooled.to(x.dtype).mean())
        sizes.append(norms(points - x, ball.p).mean())
    return Curve(torch.as_tensor(radii, dtype=x.dtype, device=x.device), torch.stack(errors), torch.stack(sizes))


def check_audit(model: object, x: Tensor, y: Tensor) -> None:
    """Reject anything but a model, no examples or no labels of theirs."""
    check_callable(
        "model", model, "a model: a callable from examples to logits", way_out="scikit-learn's come through as_torch."
    )
    check_within(x, None)
    check_tensor("y", y)
    if y.is_floating_point() or y.dtype == torch.bool:
        raise TypeError(f"`y` should hold class indices. Found {y.dtype}. Convert them with y.long().")
    if y.shape != (len(x),):
        raise ValueError(f"`y` should have the shape ({len(x)},). Found {tuple(y.shape)}. Pass one label an example.")


def check_classes(y: Tensor, logits: Tensor) -> None:
    """Reject labels that are none of the model's classes."""
    low, high = int(y.min()), int(y.max())
    if low < 0 or high >= logits.shape[1]:
        raise ValueError(
            f"`y` should hold indices of the model's {logits.shape[1]} classes. Found values from {low} to {high}. Use the "
            "place of each label among the classes (as_torch(...).encode gives it)."
        )


def input_gradient_of(values: Tensor, leaf: Tensor, create_graph: bool = False) -> Tensor:
    """Return the gradient of each example's value in its own input.

    Raises:
        ValueError: the values do not depend on it, or are reduced.
    """
    if values.shape != leaf.shape[:1]:
        raise ValueError(
            f"The objective should give one value an example, ({len(leaf)},). Found {tuple(values.shape)}. Do not reduce it."
        )
    if not values.requires_grad:
        raise ValueError(
            "The model should be differentiable in x. Found an output without a gradient. Leave out no_grad and argmax; use "
            "such a model as a target only."
        )
    (gradient,) = torch.autograd.grad(values.sum(), leaf, create_graph=create_graph, allow_unused=True)
    return torch.zeros_like(leaf) if gradient is None else gradient  # pyright: ignore[reportUnnecessaryComparison]  # unused
