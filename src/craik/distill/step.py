"""`Distillation`: one meta-step of the teacher, then N ordinary steps of the student, again and again; resumable to the bit."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from craik.distill.data import Examples, Split
from craik.distill.inner import Inner
from craik.distill.losses import LabelLoss, SquaredError, TeachingLoss
from craik.distill.strategies import Strategy
from craik.distill.teaching import Statistics


class MetaRecord(NamedTuple):
    """What a meta-step reports.

    Attributes:
        validation_loss: L_val at theta_n, before the teacher's step.
        training_losses: (n,) L_train = L_y + alpha L_h at each inner step.
        nonfinite: components of the meta-gradient that are NaN or infinite.
        clipped: finite components that were clipped.
        norm: of the (clipped) meta-gradient.
        skipped: the teacher was left as it was, because components were not finite (``nonfinite="skip"``).
    """

    validation_loss: float
    training_losses: Float[Tensor, " n"]
    nonfinite: int
    clipped: int
    norm: float
    skipped: bool


class StudentRecord(NamedTuple):
    """What the student's ordinary steps report: means over their N batches.

    Attributes:
        label_loss: L_y.
        teaching_loss: L_h, without alpha.
    """

    label_loss: float
    teaching_loss: float


class Record(NamedTuple):
    """What `Distillation.step` reports: the teacher's part and the student's."""

    meta: MetaRecord
    student: StudentRecord


class Distillation:
    """Learning to distill trajectories: a teacher with privileged data learns to set targets for a student without.

    `step` is one round: a meta-step (`meta_step`: theta is put back after the unroll) and N student steps with the new teacher
    (`student_steps`). Student, teacher and both optimisers stay the caller's; read the student whenever you like.

    Args:
        student: any module; see `meta_gradient`.
        teacher: any module over privileged data; see `meta_gradient`.
        examples: the training data (without the test set); baselines train on all of it.
        split: which rows train the student and which the teacher; see `split_rows`.
        layers: paths of the student's supervised layers.
        student_optimizer: torch optimiser of the student's parameters, for the ordinary steps.
        meta_optimizer: torch optimiser of the teacher's parameters.
        inner: the inner optimiser; "student" takes the differentiable counterpart of `student_optimizer`.
        label_loss: L_y, unreduced.
        alpha: the teaching coefficient.
        inner_steps: n, the length of an unroll.
        student_steps: N, the ordinary steps after each meta-step.
        batch_size: examples of an inner and of an ordinary step.
        generator: of all batches (and redrawn splits); its state is part of `state_dict`.
        teaching_loss: L_h.
        splitting: "fixed" keeps `split` for the whole run (the text); "redrawn" draws a new one of the same sizes before every
            meta-step (the published toy code; ablation AR).
        moments: "fresh" starts every unroll with new inner moments; "student" with those of `student_optimizer`.
        validation_size: validation examples of a meta-step, drawn anew; None takes all.
        strategy, statistics, chunk, clip: see `meta_gradient`.
        nonfinite: what a meta-step does if components of the meta-gradient are NaN or infinite: "raise", "skip" the teacher's
            step, or set them to "zero" (the published code). They are counted in the record in any case.

    Raises:
        ValueError: a split with an empty side or with rows that do not exist, fewer training rows than a batch, counts below 1,
            data that does not line up, unknown choices.
    """

    def __init__(
        self,
        student: nn.Module,
        teacher: nn.Module,
        examples: Examples,
        split: Split,
        *,
        layers: Sequence[str],
        student_optimizer: torch.optim.Optimizer,
        meta_optimizer: torch.optim.Optimizer,
        inner: Inner | Literal["student"],
        label_loss: LabelLoss,
        alpha: float,
        inner_steps: int,
        student_steps: int,
        batch_size: int,
        generator: Generator,
        teaching_loss: TeachingLoss = SquaredError(),  # noqa: B008  # a frozen dataclass
        splitting: Literal["fixed", "redrawn"] = "fixed",
        moments: Literal["fresh", "student"] = "fresh",
        validation_size: int | None = None,
        strategy: Strategy | str = "unroll",
        statistics: Statistics = "per-batch",
        chunk: int | None = None,
        clip: float | None = 1e8,
        nonfinite: Literal["raise", "skip", "zero"] = "raise",
    ) -> None:
        raise NotImplementedError

    def step(self) -> Record:
        """Take a meta-step, then N student steps."""
        raise NotImplementedError

    def meta_step(self) -> MetaRecord:
        """Move the teacher once along the meta-gradient; the student keeps its parameters (algorithm 1)."""
        raise NotImplementedError

    def student_steps(self, count: int | None = None) -> StudentRecord:
        """Take ordinary steps of the student on L_y + alpha L_h with the present teacher; None for N."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs: both modules, both optimisers, split, position in the data, generator."""
        raise NotImplementedError

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken, to the bit."""
        raise NotImplementedError
