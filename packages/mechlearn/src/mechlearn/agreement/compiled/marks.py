"""Marks in a traced graph: which tensors are by rows, where the losses are, and whose gradients are wanted.

They are identities of their own name. The rewritten graph holds none of them.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

LIBRARY = torch.library.Library("mechlearn", "FRAGMENT")
"""The namespace of the engine's operations; it must live as long as they do."""

_TAGS = [torch.Tag.pt2_compliant_tag]

LIBRARY.define("rows(Tensor x) -> Tensor", tags=_TAGS)
LIBRARY.define("rows_gradient(Tensor x) -> Tensor", tags=_TAGS)
LIBRARY.define("tangent(Tensor x) -> Tensor", tags=_TAGS)
LIBRARY.define("losses(Tensor losses, Tensor starts, Tensor[] parameters, Tensor[] carriers, str needs) -> Tensor", tags=_TAGS)

ROWS = torch.ops.mechlearn.rows.default
"""Identity of a tensor of the batch: dimension 0 is the row."""

ROWS_GRADIENT = torch.ops.mechlearn.rows_gradient.default
"""Identity: the gradient of what `ROWS` returns."""

TANGENT = torch.ops.mechlearn.tangent.default
"""Identity: the gradient of the losses, one number for each row."""

LOSSES = torch.ops.mechlearn.losses.default
"""Identity of the (B,) losses. It names what belongs to them: ``starts`` (E + 1 offsets of environments, on the CPU), the
parameters, ``carriers`` (whose gradients the statistics become) and the statistics' names."""


def _copied(x: Tensor, *_: object) -> Tensor:
    return x.clone()


def _like(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


def _like_losses(losses: Tensor, starts: Tensor, *_: object) -> Tensor:
    if losses.dim() != 1 or not losses.is_floating_point():
        raise ValueError("losses are not one number for each row")  # the eager engine says it to the user
    return torch.empty_like(losses)


for _name in ("rows", "rows_gradient", "tangent", "losses"):
    LIBRARY.impl(_name, _copied, "CompositeExplicitAutograd")
    torch.library.register_fake(f"mechlearn::{_name}", _like_losses if _name == "losses" else _like, lib=LIBRARY)


def _gradient_of_rows(_: object, gradient: Tensor) -> Tensor:
    return ROWS_GRADIENT(gradient)


def _keep(ctx: Any, inputs: Sequence[Any], output: Tensor) -> None:  # noqa: ANN401  # autograd's context, by that name
    del output
    _, _, parameters, carriers, _ = inputs
    ctx.parameters = len(parameters)
    ctx.save_for_backward(*carriers)


def _gradient_of_losses(context: Any, gradient: Tensor) -> tuple[Any, ...]:  # noqa: ANN401  # autograd's context
    blank = [torch.zeros_like(carrier) for carrier in context.saved_tensors]
    return TANGENT(gradient), None, [None] * context.parameters, blank, None


torch.library.register_autograd("mechlearn::rows", _gradient_of_rows, lib=LIBRARY)
torch.library.register_autograd("mechlearn::rows_gradient", _gradient_of_rows, lib=LIBRARY)
torch.library.register_autograd("mechlearn::losses", _gradient_of_losses, setup_context=_keep, lib=LIBRARY)
