"""What memory a meta-gradient will take, before it is computed: one step is run and what its graph holds is counted."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from math import ceil
from typing import NamedTuple

import torch
from torch import Tensor, nn

from craik.distill.examples import Batches, Labelled
from craik.distill.forward.students import student_function
from craik.distill.losses import LabelLoss, SquaredError, TeachingLoss
from craik.distill.optimisers.inner import Inner, InnerState, rule_of
from craik.distill.strategies.choices import Adjoint, Checkpoint, Implicit, Strategy, Truncated, Unroll, strategy_of
from craik.distill.strategies.inner_problem import Point, Problem
from craik.distill.strategies.segments import segment_length
from craik.distill.teachers.hoisting import Teaching
from craik.params import count_bytes, parameters_of


class Forecast(NamedTuple):
    """Bytes that a meta-gradient will hold beyond modules and data.

    Attributes:
        peak: the largest sum at one time.
        teacher: activations of the teacher, of all batches or of a chunk.
        signals: targets and gates of all batches, and their gradients twice (step by step, and stacked).
        student: graphs and points of the unroll, and the working memory of a step's backward pass.
    """

    peak: int
    teacher: int
    signals: int
    student: int


class _Sizes(NamedTuple):
    """Bytes of the parts: a graph of an inner step, of the validation loss; parameters, and moments beside them."""

    step: int
    validation: int
    params: int
    moments: int


def forecast_memory(
    student: nn.Module,
    teacher: nn.Module,
    batches: Batches,
    validation: Labelled,
    *,
    layers: Sequence[str],
    inner: Inner | torch.optim.Optimizer,
    label_loss: LabelLoss,
    alpha: float,
    teaching_loss: TeachingLoss = SquaredError(),  # noqa: B008  # a frozen dataclass
    strategy: Strategy | str = "unroll",
    start: InnerState | None = None,
    statistics: str = "per-batch",
    chunk: int | None = None,
    autocast: torch.dtype | None = None,
) -> Forecast:
    """Forecast the memory of `meta_gradient` with the same arguments, at the price of one inner step.

    Counts tensors that graphs and strategies hold, not the allocator's or a compiler's own memory, and supposes that all steps
    are alike. In our tests what is measured lies within a factor of two.

    Args:
        student: as for `meta_gradient`, like all that follow.
        teacher: of the targets.
        batches: of the unroll; the first is run.
        validation: of the outer loss.
        layers: that are supervised.
        inner: the inner optimiser.
        label_loss: L_y.
        alpha: the teaching coefficient.
        teaching_loss: L_h.
        strategy: whose memory is asked for.
        start: the inner optimiser's state.
        statistics: of the teacher's BatchNorm.
        chunk: batches in a chunk of the teacher.
        autocast: the teacher's precision.
    """
    n = len(batches.x)
    rule = rule_of(inner)
    first = Batches(*(tensor[:1] for tensor in batches))
    teaching = Teaching(teacher, layers, statistics=statistics, chunk=None, autocast=autocast)
    with _counting() as taught:
        hoisted = teaching.hoist(first.privileged)
    params = parameters_of(student)
    point = Point(params, start if start is not None else rule.init(params))
    with student_function(student, layers) as function:
        problem = Problem(
            function, first, hoisted.signals, hoisted.layout, validation, point, rule, alpha, teaching_loss, label_loss
        )
        sizes = _measure(problem)
    signals = 3 * n * count_bytes(hoisted.signals)  # themselves, their gradients step by step, and these stacked
    held = (n if chunk is None else min(chunk, n)) * taught.total()
    unroll = _student_bytes(strategy_of(strategy), n, sizes, linear=bool(getattr(rule, "linear", False)))
    gradients = 2 * count_bytes(parameters_of(teacher).values())
    peak = held + signals + unroll if chunk is None else signals + max(held + gradients, unroll)
    return Forecast(peak, held, signals, unroll)


def _student_bytes(strategy: Strategy, n: int, sizes: _Sizes, *, linear: bool) -> int:
    point, working = sizes.params + sizes.moments, 2 * max(sizes.step, sizes.validation)
    match strategy:
        case Unroll():
            return n * sizes.step + working
        case Checkpoint(segments=segments):
            length = segment_length(n, segments)
            return ceil(n / length) * point + length * sizes.step + working
        case Truncated(last=last):
            return point + min(n, last) * sizes.step + working
        case Adjoint():
            return n * (sizes.params if linear else point) + working
        case Implicit():
            return 4 * sizes.params + working


def _measure(problem: Problem) -> _Sizes:
    start = problem.start.filled([tensor.detach().requires_grad_() for tensor in problem.start.tensors()])
    with _counting(start.tensors()) as step:
        reached, _ = problem.advance(start, problem.batch(0), problem.step_signals(0), graph=True)
    with _counting(reached.tensors()) as validation:
        problem.validation_loss({name: tensor.detach().requires_grad_() for name, tensor in start.params.items()})
    params = count_bytes(start.params.values())
    return _Sizes(step.total(), validation.total(), params, count_bytes(start.tensors()) - params)


class _Count:
    """Bytes by storage, so that views of one memory count once."""

    def __init__(self, known: Sequence[Tensor]) -> None:
        self.sizes: dict[int, int] = {}
        self.known = {tensor.untyped_storage().data_ptr() for tensor in known}
        self.kept: list[Tensor] = []  # alive, so that no memory is used, and counted, twice

    def note(self, tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in self.known and not isinstance(tensor, nn.Parameter):
            self.sizes[storage.data_ptr()] = storage.nbytes()
            self.kept.append(tensor.detach())
        return tensor

    def total(self) -> int:
        return sum(self.sizes.values())


@contextmanager
def _counting(known: Sequence[Tensor] = ()) -> Generator[_Count]:
    count = _Count(known)

    def unpack(tensor: Tensor) -> Tensor:
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(count.note, unpack):
        yield count
    count.kept.clear()
