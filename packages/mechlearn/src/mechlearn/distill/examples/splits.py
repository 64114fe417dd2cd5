"""Which rows train the student and which the teacher."""

from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Generator, Tensor

from mechlearn import arguments

SPLITTINGS = ("fixed", "redrawn")


class Split(NamedTuple):
    """Row numbers of the two parts of the training data.

    Attributes:
        training: rows that the student's steps, inner and real, draw from.
        validation: rows whose label loss the teacher lowers. Without any the teacher is never trained.
        splitting: "fixed" keeps these rows for the whole run (the text); "redrawn" draws a new split of the same sizes before
            every meta-step (the published toy code; ablation AR).
    """

    training: Int[Tensor, " r"]
    validation: Int[Tensor, " v"]
    splitting: str = "fixed"

    def redrawn(self, generator: Generator) -> "Split":
        """Return another split of the same rows, at random and of the same sizes."""
        rows = torch.cat([self.training, self.validation])
        rows = rows[torch.randperm(len(rows), generator=generator, device=generator.device).to(rows.device)]
        held_out = len(self.validation)
        return Split(rows[held_out:].sort().values, rows[:held_out].sort().values, self.splitting)

    def rows(self) -> dict[str, Tensor]:
        """Return the rows of either part, by its name."""
        return {"training": self.training, "validation": self.validation}


def split_rows(count: int, validation: float, generator: Generator, splitting: str = "fixed") -> Split:
    """Split `count` rows at random into a training and a validation part.

    Args:
        count: number of examples.
        validation: the share, in (0, 1), of rows for validation (the paper's validation split).
        generator: of the permutation.
        splitting: "fixed" or "redrawn", see `Split`.

    Returns:
        Row numbers of both parts.

    Raises:
        ValueError: a share that leaves one of the parts empty; another word for `splitting`.
        TypeError: a number or a generator that is none.
    """
    arguments.check_one_of("splitting", splitting, SPLITTINGS)
    arguments.check_whole("count", count, 2, why="one example for either side")
    arguments.check_finite("validation", validation)
    arguments.check_generator("generator", generator)
    held_out = round(validation * count)
    if not 0 < held_out < count:
        raise ValueError(
            f"A validation split should leave examples on both sides. Found validation={validation} of {count} examples, that "
            f"is {held_out} for validation. Choose a share in between, or take more examples."
        )
    order = torch.randperm(count, generator=generator, device=generator.device)
    return Split(order[held_out:].sort().values, order[:held_out].sort().values, splitting)


def check_split(split: Split, count: int) -> None:
    """Reject rows that are no integers, do not exist, come twice, or are in both parts; and nothing to train on.

    A validation part without rows is for a teacher that is never trained: `meta_step` refuses it.
    """
    arguments.check_kind(
        "split", split, Split, "a mechlearn.distill.Split", way_out="Use mechlearn.distill.split_rows, or give rows."
    )
    arguments.check_one_of("splitting", split.splitting, SPLITTINGS)
    for name, rows in split.rows().items():
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
    arguments.check_tensor(f"split.{name}", rows)
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
    """Reject a meta-step without validation data."""
    if len(split.validation) == 0:
        raise ValueError(
            "A meta-step should have validation rows. Found a split with none. Use split_rows, or take student_steps alone."
        )


def check_validation_size(size: int | None, split: Split) -> None:
    """Refuse to draw more validation examples than there are; a split without any is another matter."""
    if size is not None and size > len(split.validation) > 0:
        raise ValueError(
            f"`validation_size` should be at most the number of validation rows. Found {size} of {len(split.validation)}. "
            "Leave it out to take all of them, or raise the validation share."
        )


def check_batch_size(size: int, split: Split) -> None:
    """Reject a batch that is longer than the training part."""
    if size > len(split.training):
        raise ValueError(
            f"A batch should fit into the training part. Found batch_size={size} with {len(split.training)} training rows. "
            "Lower the batch size, or the validation share."
        )
