"""What memory a meta-gradient will take, before it is computed: one step is run and what its graph holds is counted."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mechlearn import arguments
from mechlearn.distill.examples.batches import Batches, Labelled, check_batches, check_labelled
from mechlearn.distill.examples.inputs import mapped
from mechlearn.distill.forward.students import student_function
from mechlearn.distill.lesson import Lesson
from mechlearn.distill.optimisers.counterparts import rule_of, unrolled_by
from mechlearn.distill.optimisers.inner import Inner
from mechlearn.distill.strategies import Strategy, Unroll, check_strategy
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point, Sizes, leaf_point
from mechlearn.distill.teachers.hoisting import Teaching
from mechlearn.functional import borrowed
from mechlearn.params import count_bytes, parameters_of


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


@arguments.worded
def forecast_memory(
    lesson: Lesson,
    batches: Batches,
    validation: Labelled,
    inner: Inner | torch.optim.Optimizer,
    strategy: Strategy = Unroll(),  # noqa: B008  # a frozen dataclass
) -> Forecast:
    """Forecast the memory of `meta_gradient` with the same arguments, at the price of one inner step.

    Counts tensors that graphs and strategies hold, not the allocator's or a compiler's own memory, and supposes that all steps
    are alike. In our tests what is measured lies within a factor of two.

    Args:
        lesson: as for `meta_gradient`, like all that follow.
        batches: of the unroll; the first is run.
        validation: of the outer loss.
        inner: the inner optimiser.
        strategy: whose memory is asked for.

    Returns:
        Bytes by what holds them.

    Raises:
        TypeError: an optimiser or a strategy that is none.
    """
    arguments.check_kind("lesson", lesson, Lesson, "a mechlearn.distill.Lesson")
    check_strategy(strategy)
    batches, validation = check_batches(batches), check_labelled(validation)
    n, chunk, rule = len(batches.y), lesson.hoisting.chunk, rule_of(inner)
    first = batches.at(slice(1))
    teaching = Teaching(lesson.teacher, lesson.layers, replace(lesson.hoisting, chunk=None))
    own, names = parameters_of(lesson.student), unrolled_by(inner, lesson.student)
    params = {name: own[name].clone() for name in names}  # a pass may write into them
    point = Point(params, rule.init(params))
    with borrowed(lesson.student, lesson.teacher):
        with _counting() as taught:
            hoisted = teaching.hoist(mapped(torch.clone, first.privileged))  # a teacher may write into what it reads
        with student_function(lesson.student, lesson.layers, names) as function:
            sizes = _measure(InnerProblem(function, lesson, first, hoisted.signals, hoisted.layout, validation, point, rule))
    signals = 3 * n * count_bytes(hoisted.signals)  # themselves, their gradients step by step, and these stacked
    held = (n if chunk is None else min(chunk, n)) * taught.total()
    unroll = strategy.held(n, sizes) + 2 * max(sizes.step, sizes.validation)  # a step's backward pass
    gradients = 2 * count_bytes(parameters_of(lesson.teacher).values())
    peak = held + signals + unroll if chunk is None else signals + max(held + gradients, unroll)
    return Forecast(peak, held, signals, unroll)


def _measure(problem: InnerProblem) -> Sizes:
    start = leaf_point(problem.start)
    with _counting(start.tensors()) as step:
        reached, _ = problem.advance(start, problem.batch(0), problem.step_signals(0), graph=True)
    with _counting(reached.tensors()) as validation:
        problem.validation_loss({name: tensor.detach().requires_grad_() for name, tensor in start.params.items()})
    params = count_bytes(start.params.values())
    moments = count_bytes(start.tensors()) - params
    return Sizes(step.total(), validation.total(), params, moments, linear=bool(getattr(problem.inner, "linear", False)))


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
