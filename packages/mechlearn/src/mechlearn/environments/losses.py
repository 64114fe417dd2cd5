"""What losses by environment must be, and their gradients: for public doors, in sentences."""

import math
from collections.abc import Mapping

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm  # pyright: ignore[reportPrivateUsage]  # the base class of all BatchNorms
from torch.nn.parameter import is_lazy

from mechlearn.arguments import FLOATS


def check_trainable(model: object) -> None:
    """Reject anything but a model, and one with nothing to train or with complex parameters.

    Raises:
        TypeError: no module, or a complex parameter.
        ValueError: no parameter that requires a gradient, or one that has no size yet.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(
            "`model` should be a module with parameters to train. Found "
            f"{model.__name__ + ', a class' if isinstance(model, type) else type(model).__name__}. Pass an instance of one."
        )
    trained = {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
    if not trained:
        raise ValueError(
            "`model` should have at least one parameter that requires a gradient. Found none. "
            "Unfreeze what is to be trained, for example with model.requires_grad_()."
        )
    for name, parameter in trained.items():
        if is_lazy(parameter):
            raise ValueError(
                f"Every parameter should have its size. Found {name!r} without, as in a lazy layer. Run the model once before."
            )
        if parameter.is_complex():
            raise TypeError(
                "Every parameter should be real, as complex numbers have no sign that environments could agree on. Found "
                f"{name!r} of dtype {parameter.dtype}. Train its real and imaginary parts, and put torch.complex in the model."
            )


def check_unreduced(losses: object) -> None:
    """Reject losses that are not one real number for each example.

    Raises:
        TypeError: no tensor, or complex numbers.
        ValueError: reduced losses, or an empty batch.
    """
    if not isinstance(losses, Tensor):
        way_out = (
            "torch.stack(losses) keeps the graph of a list of scalars."
            if isinstance(losses, list | tuple)
            else "Build the loss with torch and reduction='none', and pass what it returns."
        )
        raise TypeError(
            "`losses` should be a tensor that holds one unreduced loss for each example. Found an object of type "
            f"{type(losses).__name__}. {way_out}"
        )
    if losses.is_complex():
        raise TypeError(
            f"`losses` should be real: of complex numbers none is the least. Found dtype {losses.dtype}. Take the real part or "
            "the magnitude, losses.real or losses.abs()."
        )
    if losses.is_floating_point() and losses.dtype not in FLOATS:
        raise TypeError(
            f"`losses` should be floats of two bytes or more. Found dtype {losses.dtype}, which torch does not add. Convert "
            "them with losses.float()."
        )
    if losses.layout != torch.strided or losses.is_nested:
        raise TypeError(
            f"`losses` should be dense. Found {'a nested tensor' if losses.is_nested else losses.layout}. Call "
            "losses.to_dense(), or take a mean for each example."
        )
    if losses.dim() == 0:
        raise ValueError(
            "`losses` should hold one unreduced loss for each example. Found a scalar, already reduced. "
            "Build the loss with reduction='none'."
        )
    if losses.numel() == 0:
        raise ValueError(
            f"`losses` should hold at least one example's loss. Found shape {tuple(losses.shape)}, an empty batch. "
            "Skip the step, on all ranks if there are several."
        )
    if losses.dim() != 1:
        raise ValueError(
            f"`losses` should hold one loss for each example, shape (B,). Found shape {tuple(losses.shape)}. "
            "Sum or average the loss over everything but the examples, for example losses.flatten(1).mean(1)."
        )


def check_differentiable(losses: Tensor) -> None:
    """Reject losses without a graph."""
    if losses.grad_fn is None:
        raise ValueError(
            "`losses` should be computed from the model's output with gradients enabled. Found losses without a graph. "
            "Leave torch.no_grad() and do not detach the output."
        )


def check_finite_sums(name: str, gradient: Tensor) -> None:
    """Reject a NaN or infinite sum of environment gradients: a mask would turn it into a 0 without a word."""
    # A sum is one pass over the memory, a test of every component two; only a suspicion pays for the second.
    if not math.isfinite(gradient.sum()) and not bool(torch.isfinite(gradient).all()):
        raise _not_finite(name)


def check_finite_together(found: Mapping[str, Bool[Tensor, ""]]) -> None:
    """Reject what `check_finite_sums` does, with one wait for a device: by name, whether all of a sum was finite."""
    if found and not all(answers := torch.stack(list(found.values())).tolist()):
        raise _not_finite(next(name for name, fine in zip(found, answers, strict=True) if not fine))


def _not_finite(name: str) -> FloatingPointError:
    return FloatingPointError(
        f"Every gradient should be finite. Found NaN or infinity in the gradient of {name!r}. Lower the learning rate, or "
        "pass refuse_nonfinite=False where a GradScaler is to find overflows; no gradient was changed."
    )


def batch_norms_in_train_mode(model: nn.Module) -> list[str]:
    """Return the names of the layers whose batch statistics couple the examples of a batch.

    Without running statistics a layer normalises with the batch's in eval mode too.
    """
    return [
        name
        for name, module in model.named_modules()
        if isinstance(module, _BatchNorm) and (module.training or module.running_mean is None)
    ]
