"""The text of a small graph: sums over rows and all that is linear in them, run once for each environment.

It is the argument of the engine's one operation, so that a compiled graph that a cache brings to another process has all that
it needs. JSON: no code is run but torch's own operations, by their names.
"""

import functools
import json
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.fx import Node


class Rows(NamedTuple):
    """Where an operand holds rows.

    Attributes:
        dim: the dimension.
        post: how many adjacent entries are one row's; 0 where all entries of a row are adjacent, however many.
    """

    dim: int
    post: int


class Step(NamedTuple):
    """One operation of the small graph; arguments are encoded."""

    name: str
    arguments: list[Any]
    options: dict[str, Any]


class Output(NamedTuple):
    """One parameter's gradient: which value it is, and the parameter's shape and type."""

    value: int
    shape: list[int]
    dtype: str


class Plan(NamedTuple):
    """The small graph. Values are numbered: operands first, then what the steps return.

    Attributes:
        operands: where each operand has rows; None for one that belongs to no row.
        steps: in an order in which they can be run.
        outputs: the parameters' gradients.
        needs: names of the statistics beside the gradient's sum, as `packed` takes them.
    """

    operands: list[Rows | None]
    steps: list[Step]
    outputs: list[Output]
    needs: list[str]

    def text(self) -> str:
        """Return it as text."""
        return json.dumps(self)


class Program:
    """A plan ready to run: arguments that are the same in every run are read once.

    Args:
        plan: what to run.
    """

    def __init__(self, plan: Plan) -> None:
        self._outputs = [output.value for output in plan.outputs]
        self._steps: list[tuple[Any, list[Any], list[tuple[int, Any]], dict[str, Any]]] = []
        for step in plan.steps:
            fixed = [None if _varies(code) else _decoded(code, (), ()) for code in step.arguments]
            varying = [(place, code) for place, code in enumerate(step.arguments) if _varies(code)]
            options = {key: _decoded(code, (), ()) for key, code in step.options.items()}
            self._steps.append((_found(step.name), fixed, varying, options))

    def __call__(self, operands: Sequence[Tensor], sizes: Sequence[int]) -> list[Tensor]:
        """Return the outputs' values for one environment's operands, and numbers that only a call knows."""
        values: list[Any] = list(operands)
        for call, fixed, varying, options in self._steps:
            arguments = list(fixed)
            for place, code in varying:
                arguments[place] = _decoded(code, values, sizes)
            values.append(call(*arguments, **options))
        return [values[value] for value in self._outputs]


def _varies(code: Any) -> bool:  # noqa: ANN401  # an argument's code
    """Tell whether an argument holds a value or a size."""
    if isinstance(code, list):
        return any(_varies(one) for one in code)
    return isinstance(code, dict) and next(iter(code)) in ("value", "size")


@functools.lru_cache(maxsize=4096)
def read(text: str) -> Plan:
    """Return the plan that a text is of."""
    operands, steps, outputs, needs = json.loads(text)
    return Plan(
        [None if one is None else Rows(*one) for one in operands],
        [Step(*step) for step in steps],
        [Output(*output) for output in outputs],
        needs,
    )


class Part(NamedTuple):
    """A part of a plan that shares no sum with another.

    Attributes:
        plan: by itself.
        operands: its operands' places among the whole plan's.
        outputs: its outputs' places there.
    """

    plan: Plan
    operands: list[int]
    outputs: list[int]


def parts(plan: Plan) -> list[Part]:
    """Return what a plan can be carried out as, one after the other: steps that read one another are together.

    An operand that is turned is not yet a sum: parts may share it, and each turns it for itself.
    """
    first = len(plan.operands)
    reads = {value: _values(step.arguments) for value, step in enumerate(plan.steps, first)}
    turned = {value for value, step in enumerate(plan.steps, first) if step.name == _TURN and max(reads[value]) < first}
    together: dict[int, set[int]] = {}
    for value in sorted(reads.keys() - turned):
        own = {value}.union(*(together.get(read, ()) for read in reads[value]))
        together.update(dict.fromkeys(own, own))
    found = {id(own): own for own in together.values()}.values()
    return [_part(plan, own | {read for value in own for read in reads[value] if read in turned}) for own in found]


_TURN = "aten.permute.default"


def _part(plan: Plan, own: set[int]) -> Part:
    """Return a part by the values of its steps."""
    first = len(plan.operands)
    operands = sorted({read for value in own for read in _values(plan.steps[value - first].arguments) if read < first})
    number = {value: place for place, value in enumerate([*operands, *sorted(own)])}
    outputs = [place for place, output in enumerate(plan.outputs) if output.value in own]

    def renumbered(code: Any) -> Any:  # noqa: ANN401  # an argument's code
        if isinstance(code, list):
            return [renumbered(one) for one in code]
        return {"value": number[code["value"]]} if isinstance(code, dict) and "value" in code else code

    steps = [plan.steps[value - first] for value in sorted(own)]
    steps = [step._replace(arguments=renumbered(step.arguments)) for step in steps]
    of = [plan.outputs[place]._replace(value=number[plan.outputs[place].value]) for place in outputs]
    return Part(Plan([plan.operands[value] for value in operands], steps, of, plan.needs), operands, outputs)


def _values(code: Any) -> list[int]:  # noqa: ANN401  # an argument's code
    """Return the values that an argument reads."""
    if isinstance(code, list):
        return [value for one in code for value in _values(one)]
    return [code["value"]] if isinstance(code, dict) and "value" in code else []


@functools.lru_cache(maxsize=4096)
def _found(name: str) -> Any:  # noqa: ANN401  # an operation of torch
    if name == "getitem":
        return operator.getitem
    return functools.reduce(getattr, name.split("."), torch.ops)


class Encoder:
    """Turns arguments of graph nodes into what a plan's text holds.

    Args:
        values: the numbers of the values so far, by node.

    Attributes:
        sizes: nodes whose value is a number that only a call knows.
    """

    def __init__(self, values: Mapping[Node, int]) -> None:
        self.values = values
        self.sizes: list[Node] = []

    def __call__(self, value: Any) -> Any:  # noqa: ANN401  # whatever an argument may be
        """Return the code of an argument."""
        if isinstance(value, Node):
            return self._of_node(value)
        if isinstance(value, list | tuple):
            return [self(one) for one in value]
        if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
            return {"torch": str(value).removeprefix("torch.")}
        if isinstance(value, torch.device):
            return {"device": str(value)}
        return value

    def _of_node(self, node: Node) -> dict[str, int]:
        if node in self.values:
            return {"value": self.values[node]}
        if node not in self.sizes:
            self.sizes.append(node)
        return {"size": self.sizes.index(node)}


def _decoded(code: Any, values: Sequence[Any], sizes: Sequence[int]) -> Any:  # noqa: ANN401  # an argument's code
    if type(code) is dict and "value" in code:
        return values[code["value"]]
    if isinstance(code, list):
        return [_decoded(one, values, sizes) for one in code]
    if not isinstance(code, dict):
        return code
    ((kind, found),) = code.items()
    if kind == "size":
        return sizes[found]
    return torch.device(found) if kind == "device" else getattr(torch, found)


def dtype_of(name: str) -> torch.dtype:
    """Return a type by its name in a plan."""
    return getattr(torch, name)
