"""Attacks along what several surrogates agree on, and what that costs a target: surrogates as environments (ours).

Surrogates of several kinds or training sets share some of their input gradients, and each has its own. What is its own does not
transfer. A rule of `mechlearn.agreement` keeps what they share: `AndMask(1.0)` the components on whose sign all agree, `Mean()`
is the usual attack on an ensemble (Liu et al. 2017, https://arxiv.org/abs/1611.02770). The other way round, what surrogates
agree on is where a target should be flat: `transferred_gain` is the first-order rise of a target's loss, to be added to what it
is trained on, a linear form of ensemble adversarial training (Tramer et al. 2018, https://arxiv.org/abs/1705.07204).

For the audit of models that are yours or that you may test. With two surrogates of one kind nearly all signs agree, and the
mask does nothing; with a dozen of many kinds full agreement leaves nothing in most examples: lower the threshold.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.agreement import AndMask, Rule, combine
from mechlearn.arguments import check_kind, check_positive, check_whole
from mechlearn.scaling import in_range
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.robustness.evasion import Model, Objective, ascend, loss
from mechlearn_zoo.methods.robustness.norms import Ball, check_within
from mechlearn_zoo.methods.robustness.transfer import input_gradient

PAPER = Paper(
    "Attacks along agreement (ours)", 2026, "after Liu et al., the ensemble", "https://arxiv.org/abs/1611.02770",
    "an input gradient a surrogate and step",
)  # fmt: skip


class Agreed(NamedTuple):
    """What surrogates' input gradients have in common.

    Attributes:
        gradient: (n, *x) what the rule makes of them.
        kept: (n,) share of an example's components that the rule lets through.
    """

    gradient: Float[Tensor, "n *x"]
    kept: Float[Tensor, " n"]


def agreed_gradient(
    models: Sequence[Model], x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], rule: Rule | None = None, loss: Objective = loss
) -> Agreed:
    """Combine surrogates' input gradients, each example's scaled to length 1 first, so that no surrogate counts for its scale.

    Args:
        models: surrogates, at least two.
        x: (n, *x).
        y: (n,) class indices.
        rule: of `mechlearn.agreement`, the surrogates as environments; AndMask(1.0) if None.
        loss: of logits and labels, unreduced.

    Raises:
        ValueError: fewer than two surrogates; what `input_gradient` refuses.
    """
    if len(models) < 2:
        raise ValueError(f"`models` should be at least two: one has nothing to agree with. Found {len(models)}. Train another.")
    gradients = torch.stack([_unit(input_gradient(model, x, y, loss)) for model in models])
    found = combine(AndMask(1.0) if rule is None else rule, gradients)
    return Agreed(found.gradient, (found.survives != 0).flatten(1).to(x.dtype).mean(1))


def agreement_score(gradients: Float[Tensor, "m n *x"]) -> Float[Tensor, " n"]:
    """Return each example's mean of abs(mean over surrogates of sign g): 1 where all agree, about m^-1/2 for noise.

    Raises:
        ValueError: fewer than two surrogates.
    """
    if len(gradients) < 2:
        raise ValueError(f"`gradients` should come from at least two surrogates. Found {len(gradients)}. Stack them.")
    return gradients.sign().mean(0).abs().flatten(1).mean(1)


def agreed_attack(
    models: Sequence[Model],
    x: Float[Tensor, "n *x"],
    y: Int[Tensor, " n"],
    ball: Ball,
    steps: int = 30,
    rule: Rule | None = None,
    rate: float | int | None = None,
) -> Float[Tensor, "n *x"]:
    """Return examples within the ball that projected ascent along what surrogates agree on ends with.

    Where they agree on nothing, an example stays where it is.

    Args:
        models: surrogates, at least two.
        x: (n, *x) examples within the box.
        y: (n,) labels.
        ball: radius, norm and box.
        steps: of ascent; each takes a gradient of every surrogate.
        rule: of `mechlearn.agreement`; AndMask(1.0) if None.
        rate: length of a step in the ball's norm; 2.5 radius / steps if None.

    Raises:
        ValueError: fewer than two surrogates, x outside of the box, no step; what `input_gradient` refuses.
    """
    check_kind("ball", ball, Ball, "a Ball", way_out="Write Ball(0.5, p=2, box=(0.0, 1.0)).")
    check_within(x, ball.box)
    check_whole("steps", steps, least=1)
    if rate is not None:
        check_positive("rate", rate)

    def gradients(points: Tensor) -> tuple[Tensor, Tensor]:
        gradient = agreed_gradient(models, points, y, rule).gradient
        return gradient.new_zeros(len(points)), gradient

    return ascend(gradients, x, ball, steps, 2.5 * ball.radius / steps if rate is None else float(rate))


def transferred_gain(
    model: Model, directions: Float[Tensor, "n *x"], x: Float[Tensor, "n *x"], y: Int[Tensor, " n"], loss: Objective = loss
) -> Float[Tensor, " n"]:
    """Return how far each example's loss rises along a perturbation, to first order and with its graph: a penalty for training.

    Args:
        model: the target.
        directions: perturbations, such as `steepest` of what surrogates agree on; they get no gradient.
        x: (n, *x).
        y: (n,) class indices.
        loss: of logits and labels, unreduced.

    Raises:
        ValueError: directions of another shape; what `input_gradient` refuses.
    """
    if directions.shape != x.shape:
        raise ValueError(
            f"`directions` should have the shape of `x`, {tuple(x.shape)}. Found {tuple(directions.shape)}. Pass one an "
            "example."
        )
    return (input_gradient(model, x, y, loss, create_graph=True) * directions.detach()).flatten(1).sum(1)


def _unit(gradient: Tensor) -> Tensor:
    flat = in_range(gradient.flatten(1))
    size = torch.linalg.vector_norm(flat, dim=1, keepdim=True)
    return (flat / torch.where(size > 0, size, 1)).view_as(gradient)
