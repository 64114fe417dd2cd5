"""What the engine refuses, each with a sentence or two: the rule, what was found, the way out."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from craik.distill.teachers.targets import Targets

_RANDOM = (nn.modules.dropout._DropoutNd, nn.RReLU, nn.FractionalMaxPool2d, nn.FractionalMaxPool3d)  # pyright: ignore[reportPrivateUsage]  # all dropouts
_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)


def check_layers(student: nn.Module, layers: Sequence[str]) -> None:
    """Refuse names that are no modules of the student; suggest the nearest."""
    if not layers:
        raise ValueError(
            "`layers` should name at least one layer of the student for the teacher to supervise. Found none. Names are "
            "those of "
            'student.named_modules(); "" is the student\'s output.'
        )
    names = [name for name, _ in student.named_modules()]
    for name in layers:
        if name not in names:
            near = get_close_matches(name, names, n=1, cutoff=0.0)
            raise ValueError(
                f"Every supervised layer should be a module of the student. Found {name!r}, which is none; did you mean "
                f"{near[0] if near else ''!r}? Names are those of student.named_modules()."
            )
    if len(set(layers)) != len(layers):
        raise ValueError(f"Every supervised layer should be named once. Found {list(layers)}. Leave the repeated one out.")


def check_captured(name: str, output: Any, again: bool) -> None:  # noqa: ANN401  # a user's module may return anything
    """Refuse a supervised layer whose output is no tensor, or that is called more than once in a pass."""
    if not isinstance(output, Tensor):
        raise ValueError(
            f"A supervised layer should return a tensor. Found {type(output).__name__} from {name!r}. Supervise a layer inside "
            "it, or one after it."
        )
    if again:
        raise ValueError(
            f"A supervised layer should be called once in a forward pass, so that its target is for one activation. Found a "
            f"second call of {name!r}. Supervise another layer, or use two modules."
        )


def check_modules(student: nn.Module, teacher: nn.Module) -> None:
    """Refuse modules that cannot be run as functions, or that have nothing to train."""
    for what, module in (("student", student), ("teacher", teacher)):
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise ValueError(
                f"The {what} should have at least one parameter that requires a gradient. Found none. Unfreeze it, for example "
                f"with {what}.requires_grad_()."
            )
        for name, layer in module.named_modules():
            if hasattr(layer, "_orig_mod") or getattr(layer, "_compiled_call_impl", None) is not None:
                raise ValueError(
                    f"The {what} should not be compiled: a compiled graph runs with its own parameters. Found {name!r} "
                    f"compiled. "
                    "Pass the module as it was before, and strategy=Adjoint(compile=True)."
                )
            if _draws(layer):
                raise ValueError(
                    f"The {what} should not draw random numbers: an unroll and its backward pass would see different ones, and "
                    f"they come from the global generator. Found {name!r} ({type(layer).__name__}) in train mode. Put it in "
                    "eval mode, or set its probability to 0."
                )


def _draws(layer: nn.Module) -> bool:
    if not layer.training:
        return False
    if isinstance(layer, nn.modules.dropout._DropoutNd):  # pyright: ignore[reportPrivateUsage]  # all dropouts
        return layer.p > 0
    if isinstance(layer, _WITH_DROPOUT):
        return bool(layer.dropout)
    return isinstance(layer, _RANDOM)


@contextmanager
def precision(what: str, x: Tensor, module: nn.Module) -> Generator[None]:
    """Explain the failure of a forward pass in the block by the type of its inputs, where that is no parameter's.

    Inputs of another type are not refused beforehand, because a module may convert them.

    Raises:
        TypeError: in the place of torch's own error.
    """
    try:
        yield
    except RuntimeError as error:
        known = {parameter.dtype for parameter in module.parameters() if parameter.is_floating_point()}
        if not x.is_floating_point() or x.dtype in known:
            raise
        raise TypeError(
            f"The {what}'s inputs should have the floating-point type of its parameters, or be converted by it. Found "
            f"{x.dtype} beside {', '.join(sorted(map(str, known)))}. Convert one of the two with .to()."
        ) from error


def check_batches(x: Tensor, privileged: Tensor, y: Tensor) -> None:
    """Refuse batches that do not line up, and an unroll of no steps."""
    if len(x) == 0:
        raise ValueError("An unroll should take n >= 1 inner steps. Found n = 0 batches. Give batches of shape (n, B, ...).")
    for what, tensor in (("privileged data", privileged), ("labels", y)):
        if tensor.shape[:2] != x.shape[:2]:
            raise ValueError(
                f"Inputs, privileged data and labels should have the same n batches of B examples. Found {what} with (n, B) = "
                f"{tuple(tensor.shape[:2])} beside inputs with {tuple(x.shape[:2])}. Give one row for each example to "
                f"all three."
            )
    if x.dim() < 2 or x.shape[1] == 0:
        raise ValueError(
            f"Batches should have shape (n, B, ...) with B >= 1. Found inputs of shape {tuple(x.shape)}. Stack one "
            f"batch for each "
            "inner step."
        )


def check_labelled(what: str, x: Tensor, y: Tensor) -> None:
    """Refuse validation data that is empty or does not line up."""
    if len(x) == 0 or len(x) != len(y):
        raise ValueError(
            f"{what} should hold at least one example, and a label for each. Found {len(x)} inputs and {len(y)} labels. "
            f"Choose a "
            "split that leaves examples on both sides."
        )


def check_called(layers: Sequence[str], hidden: Mapping[str, Tensor]) -> None:
    """Refuse supervised layers that a forward pass did not call."""
    missing = [name for name in layers if name not in hidden]
    if missing:
        raise ValueError(
            f"Every supervised layer should be called in a forward pass. Found that {missing[0]!r} was not. Name a "
            "layer that the student's forward calls as a module."
        )


def check_targets(hidden: Mapping[str, Tensor], targets: Targets) -> None:
    """Refuse signals whose shapes differ from the supervised layers' outputs; both by layer name, for one batch."""
    for name, h in hidden.items():
        for what, tensor in zip(("targets", "gates"), targets[name], strict=True):
            if tensor is not None and tensor.shape != h.shape:
                raise ValueError(
                    f"The teacher's {what} for a layer should have the shape of that layer's output. Found "
                    f"{tuple(tensor.shape)} "
                    f"for {name!r}, whose output has {tuple(h.shape)}. Change the teacher's last layer, or the "
                    f"supervised layers."
                )


def check_losses(what: str, losses: Any, examples: int) -> None:  # noqa: ANN401  # a user's loss may return anything
    """Refuse losses that are not one number for each example."""
    if not isinstance(losses, Tensor) or losses.shape != (examples,):
        found = f"shape {tuple(losses.shape)}" if isinstance(losses, Tensor) else type(losses).__name__
        raise ValueError(
            f"The {what} loss should be unreduced, one value for each of {examples} examples. Found {found}. Build it with "
            "reduction='none', and average over everything but the examples."
        )


def check_finite_steps(losses: Tensor) -> None:
    """Refuse an unroll that left the numbers; say at which inner step."""
    bad = (~torch.isfinite(losses)).nonzero().flatten().tolist()
    if bad:
        raise FloatingPointError(
            f"Every inner step's training loss should be finite. Found {losses[bad[0]].item()} at inner step {bad[0] + 1} of "
            f"{len(losses)}. Lower the inner learning rate or alpha; nothing was changed."
        )


def check_finite_validation(loss: Tensor, steps: int) -> None:
    """Refuse a validation loss that is no number."""
    if not bool(torch.isfinite(loss)):
        raise FloatingPointError(
            f"The validation loss after the unroll should be finite. Found {loss.item()} after {steps} inner steps, "
            f"whose losses "
            "were finite. Lower the inner learning rate or alpha, or look at the validation data; nothing was changed."
        )
