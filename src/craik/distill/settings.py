"""What `Distillation` refuses of its settings, each with a sentence or two."""

import math
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from craik.distill.examples import Examples, Split
from craik.distill.optimisers.inner import Inner

CHOICES = {
    "splitting": ("fixed", "redrawn"),
    "moments": ("fresh", "student"),
    "nonfinite": ("raise", "skip", "zero"),
}


def check_choices(**given: str) -> None:
    """Refuse unknown names."""
    for name, value in given.items():
        if value not in CHOICES[name]:
            raise ValueError(f"`{name}` should be one of {', '.join(CHOICES[name])}. Found {value!r}.")


def check_inner(inner: Inner | str) -> None:
    """Refuse a name other than "student"."""
    if isinstance(inner, str) and inner != "student":
        raise ValueError(f"`inner` should be an inner optimiser or 'student', that is the student's own. Found {inner!r}.")


def check_settings(
    examples: Examples, split: Split, batch_size: int, counts: Mapping[str, int], validation_size: int | None
) -> None:
    """Refuse examples that do not line up, a split that cannot be, counts below 1."""
    sizes = {name: len(part) for name, part in examples._asdict().items()}
    if len(set(sizes.values())) != 1:
        raise ValueError(
            f"Inputs, privileged data and labels should have one row for each example. Found {sizes}. Drop the rows without a "
            "counterpart."
        )
    check_split(split, sizes["x"])
    for name, count in {**counts, "batch_size": batch_size, "validation_size": validation_size}.items():
        if count is not None and count < 1:
            raise ValueError(f"`{name}` should be at least 1. Found {count}.")
    if batch_size > len(split.training):
        raise ValueError(
            f"A batch should fit into the training part. Found batch_size={batch_size} with {len(split.training)} "
            f"training rows. "
            "Lower the batch size, or the validation share."
        )


def check_split(split: Split, count: int) -> None:
    """Refuse rows that are no integers, do not exist, come twice, or are in both parts; and nothing to train on.

    A validation part without rows is for a teacher that is never trained: `meta_step` refuses it.
    """
    for name, rows in split._asdict().items():
        _check_rows(name, rows, count)
    if len(split.training) == 0:
        raise ValueError(
            f"A split should leave examples to train on. Found no training rows of {count}. Use split_rows, or give rows."
        )
    both = split.training[torch.isin(split.training, split.validation)]
    if len(both):
        raise ValueError(
            f"A split should keep training and validation apart. Found {len(both)} rows in both, such as {int(both[0])}. Use "
            "split_rows; for a teacher that is never trained leave validation empty, torch.arange(0)."
        )


def _check_rows(name: str, rows: Tensor, count: int) -> None:
    if rows.dtype not in (torch.int64, torch.int32) or rows.dim() != 1:
        raise ValueError(
            f"A split's rows should be integers, in a tensor of one dimension. Found {name} rows of {rows.dtype} and shape "
            f"{tuple(rows.shape)}. Of a mask take mask.nonzero().flatten()."
        )
    if len(rows) and (int(rows.min()) < 0 or int(rows.max()) >= count):
        raise ValueError(
            f"A split's rows should be among the {count} examples. Found {name} rows from {int(rows.min())} to "
            f"{int(rows.max())}. Make the split for these examples."
        )
    different = len(rows.unique())
    if different < len(rows):
        raise ValueError(
            f"A split should name each row once. Found {different} {name} rows among {len(rows)}. Leave the repeated ones out."
        )


def check_validation_rows(split: Split) -> None:
    """Refuse a meta-step without validation data."""
    if len(split.validation) == 0:
        raise ValueError(
            "A meta-step should have validation rows. Found a split with none. Use split_rows, or take student_steps alone."
        )


def check_optimizer(name: str, optimizer: torch.optim.Optimizer, module: nn.Module) -> None:
    """Refuse an optimiser that does not hold the module's trainable parameters."""
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    missing = [key for key, parameter in module.named_parameters() if parameter.requires_grad and id(parameter) not in held]
    if missing:
        raise ValueError(
            f"`{name}` should hold all trainable parameters of its module. Found {len(missing)} that it does not, such as "
            f"{missing[0]!r}. Make it from the module's parameters, or freeze them."
        )


def check_finite_step(label_loss: float, teaching_loss: float, step: int) -> None:
    """Refuse a student step along a loss that is no number."""
    if not (math.isfinite(label_loss) and math.isfinite(teaching_loss)):
        raise FloatingPointError(
            f"The student's losses should be finite. Found a label loss of {label_loss} and a teaching loss of "
            f"{teaching_loss} at "
            f"step {step + 1}. Lower the student's learning rate or alpha; that step was not taken."
        )
