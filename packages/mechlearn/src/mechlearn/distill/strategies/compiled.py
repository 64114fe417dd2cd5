"""The adjoint's two steps, traced to one flat graph of tensor operations each and compiled.

A trace holds what Python decided while it was made: shapes, modes, settings, losses. The compiled steps of a student are kept
as long as the student lives and are used again while all of these are the same. The learning rate of `SGD` and `Adam` goes in
as a tensor, so that a schedule needs no second compilation; another alpha does, unless it is a tensor, as a relative one is.

What cannot be compared, such as a slope that was changed inside an activation or a factor inside a loss, is looked for by what
it does: each unroll runs the traces of a step and of the product behind that, and the student as it is now, and
compiles again where either moves otherwise. What makes no difference on the last batch, within half the digits of the numbers'
type, is not found: after such a change, compile again by giving the lesson a copy of the student.

A trace is made with the first batch, and looked at on the last: numbers that a pass takes out of the data (``.tolist()``,
``.numpy()``) are the first batch's in it for ever, and are refused so.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx

from mechlearn.distill.examples.inputs import Inputs, build
from mechlearn.distill.examples.inputs import tensors as tensors_of
from mechlearn.distill.forward.students import constants_beside
from mechlearn.distill.optimisers.adam import Adam
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.distill.optimisers.sgd import SGD
from mechlearn.distill.strategies.inner_problem import InnerProblem, Point
from mechlearn.distill.strategies.recursion import Steps, step_product
from mechlearn.distill.teachers.signals import Signals
from mechlearn.params import Params

Flat = list[Tensor]
Numbers = tuple[Tensor, Tensor]
"""Learning rate, and alpha where it is a tensor."""


class _Kept(NamedTuple):
    """Compiled steps with all that they hold for constant."""

    key: tuple[Any, ...]
    forward: "_Compiled"
    backward: "_Compiled"


class _Compiled(NamedTuple):
    """A trace, which does what the student did operation by operation, and what was compiled of it."""

    trace: Callable[..., Any]
    run: Callable[..., Any]


_kept: "WeakKeyDictionary[nn.Module, _Kept]" = WeakKeyDictionary()


def compiled_steps(problem: InnerProblem, backend: str) -> Steps:
    """Return the inner step and its product, compiled for this student, or those that were compiled before."""
    student = problem.lesson.student
    constants = constants_beside(student, problem.start.params)
    key = (backend, *_key(problem, constants))
    kept = _kept.get(student)
    if kept is None or kept.key != key or not _agrees(problem, kept, constants):
        _kept.pop(student, None)
        kept = _compile(problem, key, constants, backend)
        if problem.steps > 1 and not _agrees(problem, kept, constants):
            raise RuntimeError(
                "Adjoint(compile=True) should be able to compile an inner step: the same operations on tensors for every "
                "batch. Found that the step of the first batch, compiled, is not what the student does with batch "
                f"{problem.steps}. Look for numbers that the student or a loss takes out of the data, as .tolist() and "
                ".numpy() do, or use Adjoint()."
            )
        _kept[student] = kept
    return _bound(problem, kept, constants)


def _key(problem: InnerProblem, constants: Params) -> tuple[Any, ...]:
    x, y = problem.batch(0)
    tensors = [*problem.start.tensors(), *constants.values(), *tensors_of(x), y, *problem.step_signals(0)]
    return (
        build(x),
        tuple(problem.start.params),
        tuple((tuple(tensor.shape), tensor.dtype, tensor.device) for tensor in tensors),
        tuple((name, type(module), module.training) for name, module in problem.lesson.student.named_modules()),
        problem.layout,
        _at_rate(problem.inner, 0.0),
        "tensor" if isinstance(problem.lesson.alpha, Tensor) else problem.lesson.alpha,
        problem.lesson.teaching_loss,
        problem.lesson.label_loss,
    )


def _at_rate(inner: Inner, rate: float | Tensor) -> Inner:
    """Return an inner optimiser of ours with another learning rate; any other as it is."""
    return replace(inner, lr=rate) if isinstance(inner, SGD | Adam) else inner


def _compile(problem: InnerProblem, key: tuple[Any, ...], constants: Params, backend: str) -> _Kept:
    point, names = problem.start, list(constants)

    def at(tensors: Flat, step: Tensor) -> Point:
        filled = point.filled(tensors)
        return Point(filled.params, InnerState(step, filled.state.moments))

    def given(numbers: Numbers, held: Flat) -> InnerProblem:
        rate, alpha = numbers
        lesson = replace(problem.lesson, alpha=alpha) if isinstance(problem.lesson.alpha, Tensor) else problem.lesson
        fixed = dict(zip(names, held, strict=True))

        def student(params: Params, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
            return problem.student(fixed | params, x)

        return replace(problem, student=student, lesson=lesson, inner=_at_rate(problem.inner, rate))

    def forward(
        tensors: Flat, step: Tensor, numbers: Numbers, held: Flat, x: Inputs, y: Tensor, signals: Signals
    ) -> tuple[Flat, Tensor]:
        end, loss = given(numbers, held).advance(at(tensors, step), (x, y), signals, graph=False)
        # A parameter of no dimensions takes on the float64 of step counter and learning rate.
        return [new.to(old.dtype) for new, old in zip(end.tensors(), tensors, strict=True)], loss

    def backward(
        tensors: Flat, step: Tensor, numbers: Numbers, held: Flat, x: Inputs, y: Tensor, signals: Signals, weights: Flat
    ) -> tuple[Flat, Signals]:
        return step_product(given(numbers, held), at(tensors, step), (x, y), signals, weights)[:2]

    example = _arguments(problem, point, 0, constants)
    # Tensors of their own: one that came in twice would be one and the same input of the trace.
    weights = [torch.ones_like(tensor) for tensor in point.tensors()]
    return _Kept(key, _compiled(forward, example, backend), _compiled(backward, (*example, weights), backend))


def _compiled(function: Callable[..., Any], example: tuple[Any, ...], backend: str) -> _Compiled:
    try:
        graph = make_fx(function)(*example)
        graph.graph.eliminate_dead_code()
        graph.recompile()
        # The trace is torch.compile's eager backend already; tracing it once more would take longer than running it.
        compiled = graph if backend == "eager" else torch.compile(graph, fullgraph=True, dynamic=False, backend=backend)
        with torch.no_grad():
            compiled(*example)
    except Exception as error:
        raise RuntimeError(
            f"Adjoint(compile=True) should be able to compile an inner step. Found {type(error).__name__}: "
            f"{str(error).splitlines()[0] if str(error) else ''} Look whether a C++ compiler is installed, or use Adjoint()."
        ) from error
    return _Compiled(torch.no_grad()(graph), torch.no_grad()(compiled))


def _arguments(problem: InnerProblem, point: Point, i: int, constants: Params) -> tuple[Any, ...]:
    inner, alpha = problem.inner, problem.lesson.alpha
    numbers = float(point.state.step), float(inner.lr) if isinstance(inner, SGD | Adam) else 0.0
    step, rate = (torch.tensor(number, dtype=torch.float64) for number in numbers)
    # A number of its own memory: a trace takes two inputs that are one tensor for one input.
    coefficient = alpha.clone() if isinstance(alpha, Tensor) else torch.zeros((), dtype=torch.float64)
    return point.tensors(), step, (rate, coefficient), list(constants.values()), *problem.batch(i), problem.step_signals(i)


def _bound(problem: InnerProblem, kept: _Kept, constants: Params) -> Steps:
    """Return the compiled steps with this problem's data."""

    def forward(point: Point, i: int) -> tuple[Point, Tensor]:
        tensors, loss = kept.forward.run(*_arguments(problem, point, i, constants))
        reached = point.filled(tensors)
        return Point(reached.params, reached.state._replace(step=point.state.step + 1)), loss

    def backward(point: Point, i: int, weights: Sequence[Tensor]) -> tuple[Flat, Signals, None]:
        return *kept.backward.run(*_arguments(problem, point, i, constants), list(weights)), None

    return Steps(forward, backward)


def _agrees(problem: InnerProblem, kept: _Kept, constants: Params) -> bool:
    """Tell whether the traced step, and its product, are with the last batch those of the student as it is now."""
    last = problem.steps - 1  # a trace was made with the first batch, whose numbers it may hold
    start, batch, signals = problem.start, problem.batch(last), problem.step_signals(last)
    before = start.tensors()
    given = _arguments(problem, start, last, constants)
    end, loss = problem.advance(start, batch, signals, graph=False)
    traced, traced_loss = kept.forward.trace(*given)
    if not _alike([*traced, traced_loss], [*end.tensors(), loss], [*before, torch.zeros_like(loss)]):
        return False
    # Weights without a pattern that a layer's symmetry would cancel, such as that of a softmax.
    weights = [torch.linspace(1, 40, tensor.numel()).cos().view(tensor.shape).to(tensor) for tensor in before]
    found, rows, _ = step_product(problem, start, batch, signals, weights)
    traced_found, traced_rows = kept.backward.trace(*given, weights)
    return _alike([*traced_found, *traced_rows], [*found, *rows], [*weights, *map(torch.zeros_like, rows)])


def _alike(some: Sequence[Tensor], others: Sequence[Tensor], origins: Sequence[Tensor]) -> bool:
    """Tell whether tensors lie in the same direction and as far from their origins, up to half the digits of their type."""
    for one, other, origin in zip(some, others, origins, strict=True):
        if not other.is_floating_point():
            if not torch.equal(one, other):
                return False
            continue
        eps = torch.finfo(other.dtype).eps
        kind = torch.promote_types(other.dtype, torch.float32)
        moved, wanted = (tensor.to(kind) - origin.to(kind) for tensor in (one, other))
        rounding = 4 * eps * origin.to(kind).norm()
        if not bool((moved - wanted).norm() <= math.sqrt(eps) * wanted.norm() + rounding):
            return not bool(wanted.isfinite().all())  # a step that is no number is refused elsewhere
    return True
