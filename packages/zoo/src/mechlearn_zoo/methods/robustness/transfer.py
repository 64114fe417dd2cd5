"""What predicts that an attack made on a stand-in hurts the real model: gradient size, alignment, variability, a bound.

Source: Demontis et al. 2019, https://arxiv.org/abs/1809.02861, section 3: S is how large the target's input gradients are, R
how well the surrogate's point the same way, V how much the surrogate's loss changes with its training set. To first order an
attack of radius eps raises the target's loss by eps (steepest direction of g^) . g <= eps |g|_q; for p = 2 the ratio of the two
is the cosine of g^ and g, for other norms it is not.

For the audit of models that are yours or that you may test. The first order says little for radii at which the loss is far from
linear; `transfer_matrix` runs the attacks.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.scaling import in_range
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.robustness.closed_forms import Target
from mechlearn_zoo.methods.robustness.evasion import (
    Model,
    Objective,
    check_audit,
    check_classes,
    input_gradient_of,
    logits_of,
    loss,
    maximum_confidence,
    missed,
)
from mechlearn_zoo.methods.robustness.norms import Ball, Norm, check_norm, dual, norms, steepest

PAPER = Paper(
    "Transferability of attacks", 2019, "Demontis et al., section 3", "https://arxiv.org/abs/1809.02861",
    "an input gradient a model; the matrix an attack a surrogate",
)  # fmt: skip


def input_gradient(
    model: Model, x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], loss: Objective = loss, create_graph: bool = False
) -> Float[Tensor, "n *x"]:
    """Return the gradient of each example's loss in its input.

    Args:
        model: differentiable in x; examples must not meet in it (BatchNorm in eval mode).
        x: (n, *x).
        y: (n,) class indices.
        loss: of logits and labels, unreduced.
        create_graph: keep the graph, to train on what is made of the gradient.

    Raises:
        TypeError: no callable, tensors of other types.
        ValueError: labels outside of the model's classes, a reduced loss, a model without a gradient in x.
    """
    check_audit(model, x, y)
    leaf = x.detach().requires_grad_()
    logits = logits_of(model, leaf)
    check_classes(y, logits)
    return input_gradient_of(loss(logits, y), leaf, create_graph)


def gradient_size(
    model: Model, x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], p: Norm = 2, loss: Objective = loss
) -> Float[Tensor, " n"]:
    """Return S for each example: the dual norm of the loss's input gradient, what a unit of perturbation costs to first order.

    Measured on the loss: the margin's gradient scales with the weights and says nothing of a classifier's errors.

    Args:
        model: differentiable in x.
        x: (n, *x).
        y: (n,) class indices.
        p: the norm of perturbations.
        loss: of logits and labels, unreduced.
    """
    return norms(input_gradient(model, x, y, loss), dual(p))


def cosine(first: Float[Tensor, "n *x"], second: Float[Tensor, "n *x"]) -> Float[Tensor, " n"]:
    """Return R for each example from two gradients: their cosine, 0 where one of them is 0.

    Raises:
        ValueError: shapes that differ.
    """
    if first.shape != second.shape:
        raise ValueError(
            f"Gradients should have one shape. Found {tuple(first.shape)} and {tuple(second.shape)}. Surrogate and target "
            "should take the same inputs."
        )
    # A half type's sum of products rounds, or overflows.
    a, b = (in_range(one.flatten(1).to(torch.promote_types(one.dtype, torch.float32))) for one in (first, second))
    size = torch.linalg.vector_norm(a, dim=1) * torch.linalg.vector_norm(b, dim=1)
    return ((a * b).sum(1) / torch.where(size > 0, size, 1)).to(torch.promote_types(first.dtype, second.dtype))


def alignment(
    surrogate: Model, target: Model, x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], loss: Objective = loss
) -> Float[Tensor, " n"]:
    """Return R for each example: the cosine of the surrogate's and the target's input gradients."""
    return cosine(input_gradient(surrogate, x, y, loss), input_gradient(target, x, y, loss))


class Bound(NamedTuple):
    """The first-order effect of a transferred attack, each (n,).

    Attributes:
        achieved: eps (steepest direction of the surrogate's gradient) . g.
        limit: eps |g|_q, what an attack on the target itself gains.
        ratio: achieved over limit, 0 where the limit is 0; the gradients' cosine for p = 2.
    """

    achieved: Float[Tensor, " n"]
    limit: Float[Tensor, " n"]
    ratio: Float[Tensor, " n"]


def transfer_bound(surrogate: Float[Tensor, "n *x"], target: Float[Tensor, "n *x"], radius: float | int, p: Norm = 2) -> Bound:
    """Return what an attack along a surrogate's gradient gains on a target to first order, and what it could gain at most.

    Args:
        surrogate: (n, *x) input gradients g^ of the stand-in.
        target: (n, *x) input gradients g of the model itself.
        radius: of the attack.
        p: its norm.

    Raises:
        ValueError: shapes that differ, a negative radius, another norm.
    """
    check_norm(p)
    if surrogate.shape != target.shape:
        raise ValueError(
            f"Gradients should have one shape. Found {tuple(surrogate.shape)} and {tuple(target.shape)}. Surrogate and target "
            "should take the same inputs."
        )
    achieved = (steepest(surrogate, radius, p) * target).flatten(1).sum(1)
    limit = radius * norms(target, dual(p))
    return Bound(achieved, limit, achieved / torch.where(limit > 0, limit, 1))


def variability(
    models: Sequence[Model], x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], loss: Objective = loss
) -> Float[Tensor, " n"]:
    """Return V for each example: the variance of the loss over surrogates that were trained alike on different draws of data.

    Source: section 3.3, Var = E[l^2] - E[l]^2, so divided by their number.

    Raises:
        ValueError: fewer than two models.
    """
    if len(models) < 2:
        raise ValueError(f"`models` should be at least two: a variance over training sets. Found {len(models)}. Train more.")
    with torch.no_grad():
        losses = torch.stack([loss(logits_of(model, x), y) for model in models])
    return losses.var(0, correction=0)


class Matrix(NamedTuple):
    """Attacks made on each surrogate, tried on each target.

    Attributes:
        surrogates: s names.
        targets: t names.
        error: (s, t) share of examples that a target misses.
        rise: (s, t) mean rise of a target's loss; NaN for targets that give labels only.
        clean: (t,) share missed without an attack.
    """

    surrogates: tuple[str, ...]
    targets: tuple[str, ...]
    error: Float[Tensor, "s t"]
    rise: Float[Tensor, "s t"]
    clean: Float[Tensor, " t"]


def transfer_matrix(
    surrogates: Mapping[str, Model],
    targets: Mapping[str, Model],
    x: Float[Tensor, "n *x"],
    y: Int[Tensor, " n"],
    ball: Ball,
    steps: int = 30,
    loss: Objective = loss,
) -> Matrix:
    """Attack each surrogate and see what each target makes of it.

    Args:
        surrogates: by name; differentiable in x.
        targets: by name; a model that is both stands in both, and its entry is the attack on itself.
        x: (n, *x) examples within the box.
        y: (n,) labels.
        ball: radius, norm and box.
        steps: of `maximum_confidence`.
        loss: whose rise is measured.

    Raises:
        ValueError: no surrogate or no target, or what `maximum_confidence` refuses; the model is named.
    """
    if not surrogates or not targets:
        raise ValueError(
            f"There should be a surrogate and a target. Found {len(surrogates)} and {len(targets)}. Name one of each."
        )
    before = {name: _losses(name, model, x, y, loss) for name, model in targets.items()}
    errors: list[list[float]] = []
    rises: list[list[float]] = []
    for name, surrogate in surrogates.items():
        points = _named(name, surrogate, x, y, ball, steps)
        errors.append([float(missed(model, points, y).double().mean()) for model in targets.values()])
        rises.append([_rise(key, model, points, y, loss, before[key]) for key, model in targets.items()])
    clean = [float(missed(model, x, y).double().mean()) for model in targets.values()]
    made = (torch.tensor(numbers, dtype=x.dtype, device=x.device) for numbers in (errors, rises, clean))
    return Matrix(tuple(surrogates), tuple(targets), *made)


def _named(name: str, surrogate: Model, x: Tensor, y: Tensor, ball: Ball, steps: int) -> Tensor:
    try:
        return maximum_confidence(surrogate, x, y, ball, steps)
    except ValueError as error:
        raise ValueError(f"The surrogate {name!r} could not be attacked. {error}") from error


def _rise(name: str, model: Model, points: Tensor, y: Tensor, loss: Objective, before: Tensor) -> float:
    if isinstance(model, Target):  # its outputs are 0 and 1, of which a loss says nothing
        return torch.nan
    return float((_losses(name, model, points, y, loss) - before).mean())


def _losses(name: str, model: Model, x: Tensor, y: Tensor, loss: Objective) -> Tensor:
    with torch.no_grad():
        try:
            logits = logits_of(model, x)
        except RuntimeError as error:
            raise ValueError(
                f"Surrogates and targets should take the same inputs. Found that {name!r} does not take {tuple(x.shape)}: "
                f"{error}."
            ) from error
        check_classes(y, logits)
        return loss(logits, y)
