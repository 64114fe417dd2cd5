"""The student as a function of its parameters: prediction and supervised activations of any module, by forward hooks."""

from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from mechlearn.distill.examples.inputs import Inputs, mapped
from mechlearn.distill.forward.calls import by_path, check_called
from mechlearn.distill.forward.precision import precision
from mechlearn.distill.forward.versions import all_writes, put_back, writes
from mechlearn.functional import call as call_with
from mechlearn.params import Params, constants_of, parameters_of

OUTPUT = ""
"""The name of the student's own output as a supervised layer: in `named_modules` the whole module is called so."""

StudentFunction = Callable[[Params, Inputs], tuple[Tensor, dict[str, Tensor]]]
"""From parameters and inputs to the prediction and the supervised layers' outputs h, by name."""


Result = TypeVar("Result")


class Captured:
    """What the supervised layers have returned in a forward pass, before whatever comes after them.

    What a later layer writes into, such as an activation that works in place, is kept as a copy, and a pass that writes into
    its inputs gets a copy of them. Which these are the first pass tells, which is then taken again. All others are not copied.

    Attributes:
        hidden: their outputs h, by name; a layer of several calls has a name for each (see `forward.calls`).
        counts: how often each of their modules was called, by path.
    """

    def __init__(self) -> None:
        self.hidden: dict[str, Tensor] = {}
        self.counts: Counter[str] = Counter()
        self._written: dict[str, int] = {}
        self._copied: set[str] = set()
        self._writes_inputs: bool | None = None

    @property
    def begins(self) -> bool:
        """Whether no pass was taken yet."""
        return self._writes_inputs is None

    def note(self, name: str, output: Tensor) -> None:
        """Keep what a layer returned."""
        self.hidden[name] = output.clone() if name in self._copied else output
        self._written[name] = writes(self.hidden[name])

    def passed(self, run: Callable[[Inputs], Result], x: Inputs, undo: Callable[[], None] | None = None) -> Result:
        """Take a forward pass and note what the supervised layers return.

        Args:
            run: the pass.
            x: its inputs, which are left as they are.
            undo: takes back what the first pass leaves behind, where it is taken again; needed where a pass leaves anything.
        """
        backup = mapped(torch.clone, x) if self.begins else None
        while True:
            self.hidden.clear()
            self.counts.clear()
            given = mapped(torch.clone, x) if self._writes_inputs else x
            before = all_writes(x)
            result = run(given)
            inputs = all_writes(x) != before
            outputs = {name for name, h in self.hidden.items() if writes(h) != self._written[name]}
            if not inputs and not outputs:
                self._writes_inputs = bool(self._writes_inputs)
                return result
            if backup is None:
                raise ValueError(
                    "A forward pass should overwrite the same tensors for every batch. Found that one overwrote "
                    f"{f'what {min(outputs)!r} returns' if outputs else 'its inputs'}, and the first did not. Turn off what "
                    "works in place, such as inplace=True."
                )
            if inputs:
                self._writes_inputs = True
                put_back(x, backup)
            self._copied |= outputs
            if undo is not None:
                undo()


@contextmanager
def captured(student: nn.Module, layers: Sequence[str]) -> Generator[Captured]:
    """Note what the named layers return while the block runs; the hooks are removed at its end, whatever happens.

    Yields:
        What each forward pass fills (`Captured.passed`). A name without the number of a call refuses a second call.
    """
    modules = dict(student.named_modules())
    found = Captured()
    handles = [modules[path].register_forward_hook(_note(found, path, names)) for path, names in by_path(student, layers)]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _note(found: Captured, path: str, names: Mapping[int | None, str]) -> Callable[[nn.Module, Any, Any], None]:
    def hook(module: nn.Module, inputs: object, output: Any) -> None:  # noqa: ANN401  # a user's module may return anything
        del module, inputs
        call = found.counts[path]
        found.counts[path] += 1
        name = names.get(call, names.get(None))
        if name is not None:
            check_captured(name, output, again=name in found.hidden)
            found.note(name, output)

    return hook


@contextmanager
def student_function(
    student: nn.Module, layers: Sequence[str], trained: Collection[str] | None = None
) -> Generator[StudentFunction]:
    """Make the student a function of its trainable parameters while the block runs.

    Frozen parameters are constants. Buffers are copied for every call, so that what a forward pass writes to them (BatchNorm's
    running averages) is dropped. The module keeps its parameters, buffers, gradients and mode; inputs that it writes into are
    copied for it, and outputs that a later layer writes into. Attention runs in the block by its formula (torch's kernel MATH),
    which can be differentiated twice.

    Args:
        student: any module in which no example depends on random numbers (dropout in train mode is refused).
        layers: the paths of the supervised modules, as in `named_modules`; "" for the student's output; "path@k" for call k.
        trained: the names of those trainable parameters that it is a function of; the others are constants, too. None: all.
    """
    constants = constants_beside(student, trained)
    buffers = {name for name, _ in student.named_buffers()}
    # Attention's fast kernels have no second derivative.
    with captured(student, layers) as found, sdpa_kernel(SDPBackend.MATH):

        def call(params: Params, x: Inputs) -> tuple[Tensor, dict[str, Tensor]]:
            def run(x: Inputs) -> Tensor:
                fresh = {name: tensor.clone() if name in buffers else tensor for name, tensor in constants.items()}
                with precision("student", x, student):
                    return call_with(student, fresh | params, (x,), whole=True)

            prediction = found.passed(run, x)
            check_called(layers, found.hidden, found.counts)
            return prediction, {name: found.hidden[name] for name in layers}

        yield call


def constants_beside(student: nn.Module, trained: Collection[str] | None) -> Params:
    """Return what a pass reads beside the parameters that are trained, in memory of its own: a pass may write into it."""
    own = parameters_of(student)
    others = {name: tensor for name, tensor in own.items() if trained is not None and name not in trained}
    frozen = {name for name, _ in student.named_parameters() if name not in own}
    beside = others | constants_of(student)  # whose buffers are copies
    return {name: tensor.clone() if name in others or name in frozen else tensor for name, tensor in beside.items()}


def check_captured(name: str, output: Any, again: bool) -> None:  # noqa: ANN401  # a user's module may return anything
    """Reject a supervised layer whose output is no tensor, or that is called more than once in a pass."""
    if not isinstance(output, Tensor):
        raise ValueError(
            f"A supervised layer should return a tensor. Found {type(output).__name__} from {name!r}. Supervise a layer inside "
            "it, or one after it."
        )
    if again:
        raise ValueError(
            f"A supervised layer should be called once in a forward pass, or the call be named that a target is for. Found a "
            f"second call of {name!r}. Name its calls, '{name}@0', '{name}@1', ...: mechlearn.distill.calls({name!r}, count)."
        )
