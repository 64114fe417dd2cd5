"""`match`: run a dynamics model along trajectories and match what it predicts with later frames (thesis algorithm 1)."""

from collections import abc
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Protocol, get_args, runtime_checkable

import torch
from torch import Generator, Tensor
from torch.nn import Module
from torch.optim import Optimizer

from mechlearn.arguments import check_kind, check_one_of, first_nonfinite, worded
from mechlearn.skips.dynamics import Dynamics, check_dynamics
from mechlearn.skips.matched import Average, Matched, Steps
from mechlearn.skips.predicting import Predictor
from mechlearn.trajectories import Trajectories


@runtime_checkable
class Matching(Protocol):
    """A way to match predictions with frames: `Greedy`, `Fixed`, `Aligned`, or one of your own.

    It is a choice and holds no state. `mechlearn.testing.check_matching` tries one of your own on what every matching owes.
    """

    def along(self, predictor: Predictor) -> Steps:
        """Predict along every trajectory of a batch and match; `mechlearn.skips.follow` does it step by step."""
        ...


@worded
def match(
    dynamics: Dynamics,
    trajectories: Trajectories,
    matching: Matching,
    *,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    average: Average = "trajectories",
    keep_predictions: bool = False,
) -> Matched:
    """Predict along every trajectory, match each prediction with a later frame, and return the loss of the matches.

    Thesis algorithm 1, lines 1 to 15, for a batch. Trajectories advance together, each at its own pace; one that has reached
    its last frame costs no further evaluation. Gradients flow into every matched prediction, and through predictions that
    were fed back into the model. Which frame is matched depends on the values alone: a loss with a method `ranking` (see
    `mechlearn.losses`) is ranked by matrix-vector products, any other by evaluating it on the whole window; the result is the
    same.

    Random numbers: trajectory b has three for each of its steps, whatever else is in the batch. From one generator they are
    drawn trajectory by trajectory, in the order of the batch, so two batches give what one of both gives. With a generator for
    each trajectory the batch's composition and order do not matter either. Numbers are drawn where `exploration` or
    `teacher_forcing` lies strictly between 0 and 1 (or exploration is 1), and only there.

    Args:
        dynamics: the model, its loss, and what the model sees beside frames.
        trajectories: at least two frames each.
        matching: `Greedy`, `Fixed`, `Aligned`, or one of your own.
        teacher_forcing: epsilon, the probability that the next input is the matched true frame and not the prediction
            (scheduled sampling, thesis algorithm 1, line 13).
        generator: of random numbers, on the CPU: one, or one for each trajectory.
        average: "trajectories": the mean of a trajectory's step losses, then over the batch (the thesis); "steps": the mean of
            all steps of the batch (the published code).
        keep_predictions: return the predictions, too.

    Returns:
        The loss, which has a graph, and which frame each prediction was matched with, see `Matched`.

    Raises:
        TypeError: what is no matching, random numbers are needed and no generator is given, or a transform of `torch.func`
            around it: matches are chosen by values, which it hides.
        ValueError: a trajectory without a transition, a probability outside [0, 1], a context or targets that do not fit, a
            prediction whose shape the loss does not expect, or an alignment with what it cannot know in time: teacher forcing
            below 1, or `Actions` with ``inputs="predictions"``.
        FloatingPointError: a loss that is not finite, a prediction that is not where it had to be ranked or is kept, or no
            alignment of finite loss.
    """
    if isinstance(matching, type) or not isinstance(matching, Matching):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            "`matching` should be Greedy(...), Fixed(...) or Aligned(...) of mechlearn.skips, or have a method `along`. Found "
            f"{matching!r}."
        )
    check_one_of("average", average, get_args(Average))
    predictor = Predictor(dynamics, trajectories, teacher_forcing, generator, keep_predictions)
    _check_seen(trajectories)
    matched = matching.along(predictor).matched(average)
    _check_finite(matched)
    return matched


@worded
def training_step(
    dynamics: Dynamics,
    trajectories: Trajectories,
    matching: Matching,
    optimizer: Optimizer,
    *,
    teacher_forcing: float = 1.0,
    generator: Generator | Sequence[Generator] | None = None,
    average: Average = "trajectories",
    keep_predictions: bool = False,
) -> Matched:
    """Match a batch, differentiate its loss and let the optimiser take its step (thesis algorithm 1, with line 16).

    For loops that need nothing between matching and the optimiser: it is `match`, zero_grad, backward and step, in this order.
    Clip gradients, accumulate or scale by writing these four lines in your own loop.

    Args:
        dynamics: the model, its loss, and what the model sees beside frames.
        trajectories: the batch.
        matching: `Greedy`, `Fixed`, `Aligned`, or one of your own.
        optimizer: of the model's parameters.
        teacher_forcing: epsilon, the probability that the next input is the matched true frame.
        generator: of random numbers, on the CPU: one, or one for each trajectory.
        average: "trajectories" (the thesis) or "steps" (the published code).
        keep_predictions: return the predictions, too.

    Returns:
        What `match` returned.

    Raises:
        TypeError, ValueError: those of `match`; what is no optimiser, one of another model, or LBFGS, which needs a closure; a
            loss that no parameter has a part in, of a frozen model or within `torch.no_grad`.
        FloatingPointError: the loss is not finite, or a gradient of it, or a prediction that is kept; parameters, gradients
            and optimiser are as they were.
    """
    check_optimizer(dynamics, optimizer)
    matched = match(
        dynamics,
        trajectories,
        matching,
        teacher_forcing=teacher_forcing,
        generator=generator,
        average=average,
        keep_predictions=keep_predictions,
    )
    _check_loss(matched)
    with _gradients_put_back(dynamics, optimizer):
        optimizer.zero_grad()
        matched.loss.backward()
        _check_gradients(optimizer)
    optimizer.step()
    return matched


def check_optimizer(dynamics: Dynamics, optimizer: Optimizer) -> None:
    """Reject anything but an optimiser, and one that would train nothing of the model.

    Raises:
        TypeError, ValueError: that.
    """
    check_kind("optimizer", optimizer, Optimizer, "a torch.optim.Optimizer", way_out="torch.optim.Adam(model.parameters()).")
    if isinstance(optimizer, torch.optim.LBFGS):
        raise TypeError(
            "`optimizer` should step with the gradients it finds. Found LBFGS, which evaluates the loss again at each step. "
            "Write a loop with `match` in the closure of its step, or take another."
        )
    check_dynamics(dynamics)
    if not isinstance(dynamics.model, Module):
        return
    own = {id(parameter) for parameter in dynamics.model.parameters()}
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    if own and not own & held:
        raise ValueError(
            f"`optimizer` should hold parameters of the dynamics' model. Found none of its {len(own)}: it would train nothing. "
            "Make it from model.parameters()."
        )


def _check_seen(trajectories: Trajectories) -> None:
    """Refuse to match where values are hidden: torch says so of the first that is read."""
    try:
        trajectories.lengths.numpy()
    except RuntimeError as error:
        raise TypeError(
            "Matches are chosen by the values of predictions. Found a transform of torch.func (grad, vmap, ...) around "
            "`match`, which hides them. Differentiate the loss with backward() or torch.autograd.grad."
        ) from error


@contextmanager
def _gradients_put_back(dynamics: Dynamics, optimizer: Optimizer) -> abc.Generator[None]:
    """Put the gradients of optimiser and model back as they were, if the block fails."""
    held: list[Tensor] = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    # An optimiser's are replaced; those of the rest are added to, where they are.
    others = list(dynamics.model.parameters()) if isinstance(dynamics.model, Module) else []
    own = {id(parameter) for parameter in held}
    before: list[tuple[Tensor, Tensor | None, Tensor | None]] = [(parameter, parameter.grad, None) for parameter in held]
    for parameter in others:
        if id(parameter) not in own:
            before.append((parameter, parameter.grad, None if parameter.grad is None else parameter.grad.clone()))
    try:
        yield
    except BaseException:
        for parameter, gradient, value in before:
            parameter.grad = gradient if value is None else value
        raise


def _check_gradients(optimizer: Optimizer) -> None:
    """Reject gradients that are not finite, as a finite loss may have: of a root at 0, or of a factor of 0 at infinity."""
    held: list[Tensor] = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    gradients = [parameter.grad for parameter in held if parameter.grad is not None]
    place = first_nonfinite(gradients)
    if place is not None:
        raise FloatingPointError(
            f"Every gradient should be finite. Found NaN or infinity in one of shape {tuple(gradients[place].shape)}, of a "
            "loss that is finite. Look for roots, logarithms and divisions in model and loss; nothing was changed."
        )


def _check_finite(matched: Matched) -> None:
    if not torch.isfinite(matched.loss):
        bad = (~matched.trajectory_losses.detach().isfinite()).nonzero().flatten().tolist()
        where = f", from trajectory {bad[0]} of the batch" if bad else ""
        raise FloatingPointError(
            f"The loss should be finite. Found {float(matched.loss.detach())}{where}. Lower the learning rate or clip "
            "gradients; nothing was changed."
        )


def _check_loss(matched: Matched) -> None:
    if not matched.loss.requires_grad:
        found = "torch.no_grad() around the step" if not torch.is_grad_enabled() else "a model without trainable parameters"
        raise ValueError(
            f"The loss should depend on parameters that are trained. Found {found}, or a model that detaches what it predicts. "
            "Leave no_grad out, or set requires_grad_() on what is to be trained; `match` alone needs neither."
        )
