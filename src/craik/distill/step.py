"""`Distillation`: one meta-step of the teacher, then N ordinary steps of the student, again and again; resumable to the bit."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Generator, Tensor, nn

from craik.distill import checks, settings
from craik.distill.examples import Batches, Examples, Labelled, Split
from craik.distill.forward.students import captured
from craik.distill.losses import Hidden, LabelLoss, SquaredError, TeachingLoss
from craik.distill.meta import check_clip, meta_gradient
from craik.distill.optimisers.inner import Inner, inner_from, rule_of
from craik.distill.optimisers.warm_start import check_pair, state_from
from craik.distill.ranges import at_least_one
from craik.distill.records import MetaRecord, Record, StudentRecord
from craik.distill.resuming import check_state, load_parts
from craik.distill.splits import Stream
from craik.distill.strategies.choices import Strategy, strategy_of
from craik.distill.teachers.descent import move_teacher
from craik.distill.teachers.hoisting import Teaching, unpack
from craik.distill.teachers.targets import Targets
from craik.params import dot


class Distillation:
    """Learning to distill trajectories: a teacher with privileged data learns to set targets for a student without.

    `step` is one round: a meta-step (`meta_step`: theta is put back after the unroll) and N student steps with the new teacher
    (`student_steps`). Student, teacher and both optimisers stay the caller's; read the student whenever you like.

    Source: thesis section 4.3.4; paper section 3.4. A meta-step is algorithm 1; clipping is that of thesis appendix C.

    Args:
        student: any module; see `meta_gradient`.
        teacher: any module over privileged data; see `meta_gradient`.
        examples: the training data (without the test set); baselines train on all of it.
        split: which rows train the student and which the teacher; see `split_rows`. Without validation rows the teacher is
            never trained: `student_steps` alone can be taken.
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
        strategy, statistics, chunk, autocast, clip: see `meta_gradient`.
        nonfinite: what a meta-step does if components of the meta-gradient are NaN or infinite: "raise", "skip" the teacher's
            step, or set them to "zero" (the published code). They are counted in the record in any case.

    Raises:
        ValueError: a split whose rows do not exist, come twice or are in both parts, fewer training rows than a batch, counts
            below 1, data that does not line up, unknown choices, moments that the student's optimiser does not keep.
        TypeError: an inner optimiser or a strategy that is none.
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
        inner: Inner | str,
        label_loss: LabelLoss,
        alpha: float,
        inner_steps: int,
        student_steps: int,
        batch_size: int,
        generator: Generator,
        teaching_loss: TeachingLoss = SquaredError(),  # noqa: B008  # a frozen dataclass
        splitting: str = "fixed",
        moments: str = "fresh",
        validation_size: int | None = None,
        strategy: Strategy | str = "unroll",
        statistics: str = "per-batch",
        chunk: int | None = None,
        autocast: torch.dtype | None = None,
        clip: float | None = 1e8,
        nonfinite: str = "raise",
    ) -> None:
        checks.check_modules(student, teacher)
        checks.check_layers(student, layers)
        counts = {"inner_steps": inner_steps, "student_steps": student_steps}
        settings.check_settings(examples, split, batch_size, counts, validation_size)
        settings.check_choices(splitting=splitting, moments=moments, nonfinite=nonfinite)
        settings.check_inner(inner)
        check_clip(clip)
        strategy_of(strategy)
        Teaching(teacher, layers, statistics=statistics, chunk=chunk, autocast=autocast)  # refuses what it cannot do
        settings.check_optimizer("student_optimizer", student_optimizer, student)
        settings.check_optimizer("meta_optimizer", meta_optimizer, teacher)
        self.student, self.teacher, self.examples, self.split = student, teacher, examples, split
        self.layers, self.inner, self.alpha = tuple(layers), inner, alpha
        self.student_optimizer, self.meta_optimizer = student_optimizer, meta_optimizer
        self.label_loss, self.teaching_loss = label_loss, teaching_loss
        self.inner_steps, self.n_student_steps, self.validation_size = inner_steps, student_steps, validation_size
        self.splitting, self.moments, self.nonfinite = splitting, moments, nonfinite
        self.strategy, self.statistics, self.clip = strategy, statistics, clip
        self.chunk, self.autocast = chunk, autocast
        self.generator = generator
        self._inner_rows = Stream(split.training, batch_size, generator)
        self._student_rows = Stream(split.training, batch_size, generator)
        rule = self._rule()  # an optimiser that has no differentiable counterpart is refused here
        if moments == "student":
            check_pair(student_optimizer, student, rule)

    def step(self) -> Record:
        """Take a meta-step, then N student steps."""
        return Record(self.meta_step(), self.student_steps())

    def meta_step(self) -> MetaRecord:
        """Move the teacher once along the meta-gradient; the student keeps its parameters (algorithm 1).

        Raises:
            ValueError: a split without validation rows.
            FloatingPointError: a loss that is not finite, or with ``nonfinite="raise"`` a component of the meta-gradient; the
                teacher was not moved then.
        """
        settings.check_validation_rows(self.split)
        if self.splitting == "redrawn":
            self._redraw()
        rule = self._rule()
        found = meta_gradient(
            self.student,
            self.teacher,
            Batches(*self.examples.rows(self._inner_rows.take(self.inner_steps))),
            self._validation(),
            layers=self.layers,
            inner=rule,
            label_loss=self.label_loss,
            alpha=self.alpha,
            teaching_loss=self.teaching_loss,
            strategy=self.strategy,
            start=state_from(self.student_optimizer, self.student, rule) if self.moments == "student" else None,
            statistics=self.statistics,
            chunk=self.chunk,
            autocast=self.autocast,
            clip=self.clip,
        )
        skipped = move_teacher(self.teacher, self.meta_optimizer, found, self.nonfinite)
        norm = math.sqrt(float(dot(found.gradients, found.gradients)))
        return MetaRecord(found.validation_loss.item(), found.training_losses, found.nonfinite, found.clipped, norm, skipped)

    def student_steps(self, count: int | None = None) -> StudentRecord:
        """Take ordinary steps of the student on L_y + alpha L_h with the present teacher; None for N.

        Raises:
            ValueError: no steps; a supervised layer that the student does not call; targets or losses of another shape.
            FloatingPointError: a loss that is not finite; the student has not taken that step.
        """
        steps = self.n_student_steps if count is None else count
        at_least_one(count=steps)
        rows = self.examples.rows(self._student_rows.take(steps))
        teaching = Teaching(self.teacher, self.layers, statistics="per-batch", chunk=self.chunk, autocast=self.autocast)
        signals, layout = teaching.signals(rows.privileged)
        label_losses: list[float] = []
        teaching_losses: list[float] = []
        with captured(self.student, self.layers) as hidden:
            for i, (x, y) in enumerate(zip(rows.x, rows.y, strict=True)):
                hidden.clear()
                label_loss, teaching_loss = self._losses(x, y, hidden, unpack([signal[i] for signal in signals], layout))
                label_losses.append(label_loss.item())
                teaching_losses.append(teaching_loss.item())
                settings.check_finite_step(label_losses[-1], teaching_losses[-1], i)
                self.student_optimizer.zero_grad()
                (label_loss + self.alpha * teaching_loss).backward()
                self.student_optimizer.step()
        self.student_optimizer.zero_grad()
        return StudentRecord(sum(label_losses) / len(label_losses), sum(teaching_losses) / len(teaching_losses))

    def _losses(self, x: Tensor, y: Tensor, hidden: Hidden, targets: Targets) -> tuple[Tensor, Tensor]:
        """Return L_y and L_h of a batch; a forward pass fills `hidden`."""
        with checks.precision("student", x, self.student):
            prediction = self.student(x)
        checks.check_called(self.layers, hidden)
        checks.check_targets(hidden, targets)
        label_losses, teaching_losses = self.label_loss(prediction, y), self.teaching_loss(hidden, targets)
        checks.check_losses("label", label_losses, len(x))
        checks.check_losses("teaching", teaching_losses, len(x))
        return label_losses.mean(), teaching_losses.mean()

    def state_dict(self) -> dict[str, Any]:
        """Return all that a resumed run needs: both modules, both optimisers, split, position in the data, generator.

        As with torch's own state dictionaries the tensors are the live ones: save it, or copy it, before going on.
        """
        return {
            **{name: part.state_dict() for name, part in self._parts().items()},
            "split": self.split._asdict(),
            "generator": self.generator.get_state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on where `state_dict` was taken, to the bit; if that fails, everything is as it was.

        Raises:
            KeyError, RuntimeError, ValueError: a state of other modules, optimisers or data.
        """
        check_state(state, self.state_dict(), len(self.examples.x))
        load_parts(self._parts(), state)
        device = self.split.training.device
        self.split = Split(**{name: rows.to(device) for name, rows in state["split"].items()})
        self.generator.set_state(state["generator"].cpu())

    def _parts(self) -> dict[str, Any]:
        return {
            "student": self.student,
            "teacher": self.teacher,
            "student_optimizer": self.student_optimizer,
            "meta_optimizer": self.meta_optimizer,
            "inner_rows": self._inner_rows,
            "student_rows": self._student_rows,
        }

    def _rule(self) -> Inner:
        # Read anew at every meta-step: a scheduler may have moved the student's learning rate.
        return inner_from(self.student_optimizer) if isinstance(self.inner, str) else rule_of(self.inner)

    def _redraw(self) -> None:
        rows = torch.cat(self.split)
        rows = rows[torch.randperm(len(rows), generator=self.generator)]
        held_out = len(self.split.validation)
        self.split = Split(rows[held_out:].sort().values, rows[:held_out].sort().values)
        self._inner_rows.restart(self.split.training)
        self._student_rows.restart(self.split.training)

    def _validation(self) -> Labelled:
        rows = self.split.validation
        if self.validation_size is not None:
            rows = rows[torch.randperm(len(rows), generator=self.generator)[: self.validation_size]]
        part = self.examples.rows(rows)
        return Labelled(part.x, part.y)
