"""The compiled step: forward and backward pass of a function of losses, and what environments agree on in ``.grad``."""

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Sequence, Sized
from itertools import accumulate, count
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from mechlearn.agreement.compiled.marks import LOSSES, ROWS
from mechlearn.agreement.compiled.operation import kernels
from mechlearn.agreement.compiled.packed import SERVED, carriers, names, unpack
from mechlearn.agreement.compiled.tags import RefusedError
from mechlearn.agreement.compiled.verification import TracedCheck
from mechlearn.agreement.engine.collected import Collected, Record
from mechlearn.agreement.engine.forward import Complete, Form
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.verification import SpotChecks
from mechlearn.agreement.rules import EACH
from mechlearn.environments import EnvironmentIds, Environments, check_differentiable, check_finite_losses, partition


class Doors(NamedTuple):
    """What the step uses of an agreement.

    Attributes:
        model: whose parameters are trained.
        backward: combine what a function forms, and fill ``.grad``.
        accumulate: add what a function forms to what waits for the next step.
        form: the eager engine's: from losses and ids, what the rule needs, and where sums go.
        reads: what is kept of every parameter beside what the rule needs.
        refusal: why the eager engine must take a call with such needs; None where it need not.
        refuse_nonfinite: refuse losses that are not finite.
        checks: which calls are to be compared with the definition.
    """

    model: nn.Module
    backward: Callable[[Form, Sized], Record]
    accumulate: Callable[[Form], None]
    form: Callable[..., Collected]
    reads: frozenset[str]
    refusal: Callable[[frozenset[str]], str | None]
    refuse_nonfinite: bool
    checks: SpotChecks


class CompiledStep:
    """A step of an agreement whose losses are traced and compiled; `Agreement.compile` makes it.

    Args:
        doors: of the agreement.
        losses_of: from the batch's tensors to (B,) losses.
        backend: "inductor" or "aot_eager".
        options: of Inductor, by name.

    Attributes:
        reason: why the eager engine took the latest call, with the operation where examples of different environments meet or
            the line that could not be traced; None where the compiled one did.
    """

    def __init__(
        self, doors: Doors, losses_of: Callable[..., Tensor], backend: str, options: dict[str, Any] | None = None
    ) -> None:
        self._doors, self._losses_of = doors, losses_of
        self._carriers: tuple[object, list[Tensor]] = (None, [])
        self._refused: dict[object, str] = {}
        self._warned = False
        self.reason: str | None = None
        self._lacking: str | None = None
        try:
            from mechlearn.agreement.compiled.backends import backend_of  # noqa: PLC0415  # it loads the compiler
        except ImportError as error:
            self._lacking = (
                f"`compile` takes torch 2.13, or a later one with its hooks, and this is {torch.__version__} ({error})"
            )
            return
        # Dynamo counts traces by code object, up to a limit: each step has its own. Checks of annotations are not traced.
        source = inspect.unwrap(_marked_losses)
        name = f"{source.__name__}_{next(_COUNT)}"  # what it knows of sizes that change it knows by a function's name
        fresh = FunctionType(source.__code__.replace(co_name=name), source.__globals__, name)
        self._traced = torch.compile(fresh, backend=backend_of(backend, options), fullgraph=True)
        self._dynamo: Any = importlib.import_module("torch._dynamo")
        # Made once: each that is made leaves something behind in the thread's context.
        self._tracing = self._dynamo.config.patch(trace_autograd_ops=True, recompile_limit=64)

    def __call__(self, *batch: Any, environments: EnvironmentIds) -> Record:  # noqa: ANN401  # tensors, or trees of them
        """Run forward and backward pass, and add the combined gradient of the environments' mean losses to ``.grad``.

        Args:
            batch: what ``losses_of`` takes: tensors of (B, ...), or lists, tuples and dicts of them; anything else in them is a
                constant, for each of whose values the losses are traced again.
            environments: B ids, in any order.

        Returns:
            As `Agreement.backward` does. `Record.paths` says "compiled" of a parameter that the compiled graph served.

        Raises:
            TypeError, ValueError, FloatingPointError: as `Agreement.backward`; a tensor of the batch without a row for each id.
        """
        rows = _rows(batch)
        return self._doors.backward(self._forming(batch, environments), range(rows))

    def accumulate(self, *batch: Any, environments: EnvironmentIds) -> None:  # noqa: ANN401  # as above
        """Add a micro-batch of further environments, as `Agreement.accumulate` does; the next step combines all of them.

        Args:
            batch: as for a call.
            environments: as for a call.

        Raises:
            TypeError, ValueError: as a call.
        """
        _rows(batch)
        self._doors.accumulate(self._forming(batch, environments))

    def _forming(self, batch: Sequence[Any], environments: EnvironmentIds) -> Form:
        def form(needs: frozenset[str], complete: Complete, together: bool) -> Collected:
            found = self._form(batch, environments, needs | self._doors.reads if needs else needs, complete)
            if found is None:
                losses = self._losses_of(*batch)
                return self._doors.form(losses, environments, needs, complete, self._doors.refuse_nonfinite, together=together)
            return found

        return form

    def _form(
        self, batch: Sequence[Any], environments: EnvironmentIds, needs: frozenset[str], complete: Complete
    ) -> Collected | None:
        """Form the sums by the compiled graph, or return None and say why not."""
        tensors = _tensors(batch)
        rows = len(tensors[0])
        if not rows:
            return None  # the eager engine says what is wrong with an empty batch
        groups = partition(environments, rows, tensors[0].device)
        key = self._key(batch, needs) if self._refused else None
        self.reason = self._lacking or self._doors.refusal(needs) or self._refused.get(key)
        if self.reason is None and rows == 1:
            self.reason = "the batch has one row, which a traced graph takes for a constant"
        if self.reason is None and any(one.grad_fn is not None for one in tensors):
            self.reason = "the batch was computed with gradients enabled: parameters may be reached outside of the trace"
        if self.reason is None:
            from torch._dynamo.exc import TorchDynamoException  # noqa: PLC0415  # loaded with the compiler

            try:
                return self._run(batch, groups, needs, complete)
            except TorchDynamoException as error:
                self.reason = self._refused[self._key(batch, needs)] = _explained(error)
        self._warn()
        return None

    def _run(self, batch: Sequence[Any], groups: Environments, needs: frozenset[str], complete: Complete) -> Collected:
        parameters = {name: p for name, p in self._doors.model.named_parameters() if p.requires_grad}
        carried = names(needs, groups.count)
        held = self._carriers_of(parameters, carried)
        inputs = _Sorted(batch, groups)
        watch = self._doors.checks.environment(groups.count) if carried and groups.count > 1 else None
        check = None if watch is None else TracedCheck(self._doors.model, inputs.groups, watch)
        starts = torch.tensor([0, *accumulate(groups.sizes)])
        self._dynamo.mark_dynamic(starts, 0)
        arguments = list(parameters.values()), held, ",".join(carried)

        def traced() -> Tensor:
            with self._tracing:
                return self._traced(self._losses_of, inputs.batch, starts, *arguments)

        losses = traced()
        check_differentiable(losses)
        with torch.no_grad():
            means = inputs.groups.means(losses.detach())
            if self._doors.refuse_nonfinite:
                check_finite_losses(means, groups)
            weights = inputs.groups.mean_weights(losses)
        outside = list(_outside(losses, [*parameters.values(), *held]))
        gradients: list[Tensor | None] = list(torch.autograd.grad(losses, [*held, *outside], weights, allow_unused=True))
        ids = groups.ids.clone() if isinstance(groups.ids, Tensor) else groups.ids
        found = Collected(ids, means, parameters, groups.sizes)

        def sums(own: Tensor) -> Sequence[Tensor | None]:
            return torch.autograd.grad(traced(), held, own, allow_unused=True)

        if check and check.run(lambda: self._losses_of(*inputs.batch), weights, parameters, carried, sums):
            found.proved = "checked"
        beyond = zip(outside, gradients[len(held) :], strict=True)
        found.outside = {inputs.original(leaf): inputs.back(leaf, g) for leaf, g in beyond if g is not None}
        self._hand_over(found, gradients, carried, groups.count, complete)
        return found

    def _hand_over(
        self, found: Collected, gradients: list[Tensor | None], carried: Sequence[str], count: int, complete: Complete
    ) -> None:
        """Hand the sums of every parameter that the losses reach over."""
        each = 1 + len(carried)
        needs = frozenset(name.partition(":")[0] for name in carried)
        for number, (name, parameter) in enumerate(found.parameters.items()):
            gradient, *more = gradients[number * each : (number + 1) * each]
            gradients[number * each : (number + 1) * each] = [None] * each
            if gradient is None:
                continue
            sums = RunningSums(parameter, needs, kernels() if parameter.device.type == "cpu" else None)
            statistics = {
                one.partition(":")[0]: unpack(one, tensor, parameter.shape)
                for one, tensor in zip(carried, more, strict=True)
                if tensor is not None
            }
            sums.add_sums(count, gradient, **statistics)
            found.paths[name] = "compiled"
            complete(name, sums)
        found.parameters = {name: found.parameters[name] for name in found.paths}

    def _carriers_of(self, parameters: dict[str, nn.Parameter], carried: Sequence[str]) -> list[Tensor]:
        key = tuple(carried), tuple((id(p), p.shape, p.dtype, p.device) for p in parameters.values())
        if self._carriers[0] != key:
            self._carriers = key, [carrier for p in parameters.values() for carrier in carriers(p, carried)]
        return self._carriers[1]

    def _key(self, batch: Sequence[Any], needs: frozenset[str]) -> object:
        """Return what a refusal depends on, as far as it is remembered."""
        leaves, tree = pytree.tree_flatten(tuple(batch))
        shapes = tuple((one.shape[1:], one.dtype) if isinstance(one, Tensor) else repr(one) for one in leaves)
        model = self._doors.model
        flags = tuple(module.training for module in model.modules()), tuple(p.requires_grad for p in model.parameters())
        return shapes, str(tree), flags, needs

    def _warn(self) -> None:
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"The losses should be traced as one graph in which environments stay apart. Found that {self.reason}. The "
                "eager engine takes such calls, with the same result.",
                stacklevel=7,
            )


_COUNT = count()


def _marked_losses(
    losses_of: Callable[..., Tensor],
    batch: Sequence[Any],
    starts: Tensor,
    parameters: Sequence[Tensor],
    held: Sequence[Tensor],
    needs: str,
) -> Tensor:
    """Return the losses of a batch, with marks; what is traced."""
    marked = pytree.tree_map_only(torch.Tensor, ROWS, batch)
    return LOSSES(losses_of(*marked), starts, parameters, held, needs)


def _tensors(batch: Sequence[Any]) -> list[Tensor]:
    return [one for one in pytree.tree_leaves(tuple(batch)) if isinstance(one, Tensor)]


def _rows(batch: Sequence[Any]) -> int:
    """Return B, of which every tensor of the batch has as many rows."""
    shapes = [tuple(one.shape) for one in _tensors(batch)]
    if not shapes or any(not shape or shape[0] != shapes[0][0] for shape in shapes):
        raise ValueError(
            f"Every tensor of the batch should have a row for each example, shape (B, ...). Found shapes {shapes}. Pass what "
            "is by example, and let the function close over the rest."
        )
    return shapes[0][0]


class _Sorted:
    """A batch with each environment's rows adjacent, in tensors that no other graph has made.

    Args:
        batch: what the losses are a function of.
        groups: the partition of its rows.

    Attributes:
        batch: the same, sorted.
        groups: the partition of the sorted rows.
    """

    def __init__(self, batch: Sequence[Any], groups: Environments) -> None:
        order = groups.order
        self.groups = groups if order is None else Environments(groups.ids, groups.index[order], groups.sizes, None)
        self._order = order
        self._originals: dict[int, Tensor] = {}
        self.batch = pytree.tree_map_only(Tensor, self._taken, tuple(batch))

    def _taken(self, tensor: Tensor) -> Tensor:
        if self._order is None and (not tensor.requires_grad or tensor.is_leaf):
            return tensor
        found = tensor.detach() if self._order is None else tensor.detach().index_select(0, self._order)
        if tensor.requires_grad:
            found.requires_grad_()
            self._originals[id(found)] = tensor
        return found

    def original(self, leaf: Tensor) -> Tensor:
        """Return what a leaf of the sorted batch was made of; another leaf as it is."""
        return self._originals.get(id(leaf), leaf)

    def back(self, leaf: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient of `original`."""
        if id(leaf) not in self._originals or self._order is None:
            return gradient
        return torch.empty_like(gradient).index_copy_(0, self._order, gradient)


def _outside(losses: Tensor, known: Sequence[Tensor]) -> Iterator[Tensor]:
    """Yield the leaves that the losses reach beside those that are known."""
    seen = set(map(id, known))
    nodes: set[object] = set()
    waiting: list[Any] = [losses.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in nodes:
            continue
        nodes.add(node)
        leaf = getattr(node, "variable", None)
        if leaf is not None and id(leaf) not in seen:
            seen.add(id(leaf))
            yield leaf
        waiting += [one for one, _ in node.next_functions]


def _explained(error: BaseException) -> str:
    """Return the sentence that says why a function could not be traced or rewritten."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, RefusedError):
            return f"examples of different environments may meet: {inner}"
        inner = getattr(inner, "inner_exception", None) or inner.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    where = [*re.finditer(r'File "(.+)", line (\d+), in .+\n\s*(.+)', str(error))][-1:]
    at = "".join(f", at {Path(one[1]).name}:{one[2]}, `{one[3].strip()}`" for one in where)
    return f"torch could not trace them: {lines[0] if lines else type(error).__name__}{at}"


def refusal(needs: frozenset[str], statistics: str | None, normalise: object) -> str | None:
    """Return why the eager engine must take calls of an agreement with such settings; None where it need not."""
    if statistics is not None:
        return f"statistics={statistics!r} asks for environments that meet"
    if normalise:
        return "`normalise` divides whole gradients of environments, which the compiled engine does not hold"
    if needs >= EACH:
        return "`hold`, or the rule, asks for the gradient of each environment"
    lacking = sorted(needs - SERVED)
    return f"the rule reads {', '.join(lacking)}, which asks how the examples of an environment vary" if lacking else None
