"""Decay of what is masked: what the environments disagree on must also go."""

import torch
from torch import Tensor, nn

from mechlearn.agreement.distributed.processes import shard_of
from mechlearn.agreement.engine.collected import Record, Survivors
from mechlearn.arguments import check_kind, check_not_negative


def decay_masked(model: nn.Module, record: Record | Survivors, lr: int | float, factor: int | float = 5.0) -> None:
    """Shrink the components that a step's masks held back: w <- w (1 - lr * factor) where the mask is 0.

    A masked weight gets no gradient, so it stays where it was drawn or had come to, and still lets through what the mask was to
    keep out. Call this after ``optimizer.step()``. It is decoupled: no optimiser's moments see it, so that it is the same with
    every optimiser, and with accumulated gradients or several ranks, which all have the same masks
    (`mechlearn.agreement.distributed.ddp.combine_across_ranks` returns them).

    What survives is not touched, nor is a parameter without a mask in the record.

    Args:
        model: whose parameters decay in place.
        record: of the step, by an `Agreement` with ``keep="masks"``, or what combining its environments across ranks returns.
        lr: the optimiser's present learning rate.
        factor: how fast beside it: 1 / (lr * factor) steps to a fall by e. 5 or 10 have served; 0 leaves all as it is.

    Raises:
        TypeError: no module, no record, or rates that are no numbers.
        ValueError: a record without masks or of another model, or a decay above 1 a step.

    Example:
        >>> import torch
        >>> from mechlearn.agreement import Agreement, Qualitative, decay_masked
        >>> model = torch.nn.Linear(2, 1, bias=False)
        >>> _ = torch.nn.init.ones_(model.weight)
        >>> agreement = Agreement(model, Qualitative(alpha=0.2), keep="masks")
        >>> x = torch.tensor([[1.0, 1.0], [1.1, 1.0], [1.0, -1.0], [1.2, -1.0]])  # the second feature changes sides
        >>> losses = 10.0 * x[:, 0] - (3.0 - model(x)[:, 0]).abs() * torch.tensor([1.0, 1.1, 1.2, 1.0])
        >>> record = agreement.backward(losses, environments=[0, 0, 1, 1])
        >>> decay_masked(model, record, lr=0.01, factor=5.0)
        >>> print(*(round(value, 2) for value in model.weight[0].tolist()))
        1.0 0.95
    """
    check_kind("model", model, nn.Module, "the module that the agreement was built with")
    way_out = "Pass what `Agreement.backward` or `combine_across_ranks` returned."
    check_kind("record", record, (Record, Survivors), "a step's record", way_out=way_out)
    check_not_negative("lr", lr, way_out="It is the optimiser's learning rate.")
    check_not_negative("factor", factor, way_out="5 or 10 have served.")
    if lr * factor > 1:
        raise ValueError(
            f"`lr` times `factor` should be at most 1, else weights change their sign. Found {lr} times {factor}. Lower the "
            "factor."
        )
    if record.masks is None:
        raise ValueError(
            "`record` should hold the step's masks. Found a record without. Build the agreement with keep='masks'."
        )
    parameters = dict(model.named_parameters())
    _check_fits(parameters, record.masks)
    with torch.no_grad():
        for name, mask in record.masks.items():
            kept = 1 - (lr * factor) * (~mask).to(parameters[name].dtype)
            parameters[name].mul_(shard_of(parameters[name], kept))


def _check_fits(parameters: dict[str, nn.Parameter], masks: dict[str, Tensor]) -> None:
    for name, mask in masks.items():
        if name not in parameters or parameters[name].shape != mask.shape:
            found = f"shape {tuple(parameters[name].shape)}" if name in parameters else "no such parameter"
            raise ValueError(
                f"`record` should be of a step of this model. Found a mask of shape {tuple(mask.shape)} for {name!r} and "
                f"{found}. Pass the model that the agreement was built with."
            )
