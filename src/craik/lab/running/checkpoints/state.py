"""State as JSON and tensors: what models, optimisers, schedules, generators and data orders hold. Nothing is pickled."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from craik.lab.errors import LabError

TAG = "craik"
"""The key by which JSON says that an object stands for something else."""


@runtime_checkable
class Stateful(Protocol):
    """Modules, optimisers, schedules, and whatever else says its state as they do."""

    def state_dict(self) -> Any: ...  # noqa: ANN401, D102  # torch's own signatures differ
    def load_state_dict(self, state: Any, /) -> Any: ...  # noqa: ANN401, D102


def state_of(part: object) -> object:
    """What a part holds.

    Args:
        part: a module, an optimiser, a schedule, or anything with `state_dict` and `load_state_dict`; a tensor; a generator of
            torch, of numpy or of `random`; a list of numbers, texts and the like.

    Raises:
        LabError: it is none of these.
    """
    if isinstance(part, random.Random):
        return part.getstate()
    if isinstance(part, list):
        return list(cast("list[object]", part))
    if isinstance(part, np.random.Generator):
        return part.bit_generator.state
    if isinstance(part, Stateful):
        return part.state_dict()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(part, torch.Generator):
        return part.get_state()  # pyright: ignore[reportAttributeAccessIssue] # a generator
    if torch is not None and isinstance(part, torch.Tensor):
        return part
    kind = type(part).__name__
    rule = "a checkpoint holds modules, optimisers, tensors, generators and lists"
    raise LabError(f"{rule}, but found a {kind}; give it a state_dict")


def restore(part: Any, state: Any) -> None:  # noqa: ANN401
    """Puts a state back where `state_of` took it, in place."""
    torch = sys.modules.get("torch")
    if isinstance(part, random.Random):
        part.setstate(state)
    elif isinstance(part, list):
        part[:] = state
    elif isinstance(part, np.random.Generator):
        part.bit_generator.state = state
    elif isinstance(part, Stateful):
        part.load_state_dict(state)
    elif torch is not None and isinstance(part, torch.Generator):
        part.set_state(state)
    else:
        part.detach().copy_(state)


def is_generator(part: object) -> bool:
    """Whether numbers are drawn from it."""
    torch = sys.modules.get("torch")
    return isinstance(part, random.Random | np.random.Generator) or (torch is not None and isinstance(part, torch.Generator))


def packed(value: object, tensors: dict[str, Any], name: str) -> Any:  # noqa: ANN401  # one return a kind
    """A value as JSON; its tensors and arrays go to `tensors`, by name.

    Raises:
        LabError: a value of another kind.
    """
    if value is None or (isinstance(value, bool | int | float | str) and type(value) in (type(None), bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return packed(value.item(), tensors, name)
    if isinstance(value, np.ndarray):
        return _named("array", value.copy(), tensors, name)
    if _is_tensor(value):
        return _named("tensor", value.detach().cpu().clone().contiguous(), tensors, name)  # pyright: ignore[reportAttributeAccessIssue] # a tensor
    if isinstance(value, Mapping):
        kind = "counter" if isinstance(value, Counter) else "dict"
        pairs = [[packed(k, tensors, f"{name}.key"), packed(v, tensors, f"{name}.{k}")] for k, v in value.items()]
        return {TAG: kind, "pairs": pairs}
    if isinstance(value, list | tuple):
        items = [packed(one, tensors, f"{name}.{place}") for place, one in enumerate(value)]
        return items if isinstance(value, list) else {TAG: "tuple", "items": items}
    rule = "a checkpoint holds tensors, numbers, texts, and lists, tuples and dicts of them"
    raise LabError(f"{rule}, but {name} is a {type(value).__name__}; leave it out of state_dict")


def unpacked(value: Any, tensors: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """The value that `packed` has packed."""
    if isinstance(value, list):
        return [unpacked(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    kind = value[TAG]
    if kind == "tuple":
        return tuple(unpacked(one, tensors) for one in value["items"])
    if kind in ("dict", "counter"):
        found = {unpacked(k, tensors): unpacked(v, tensors) for k, v in value["pairs"]}
        return Counter(found) if kind == "counter" else found
    found = tensors[value["name"]]
    return found.numpy() if kind == "array" and _is_tensor(found) else found


def _named(kind: str, value: Any, tensors: dict[str, Any], name: str) -> dict[str, str]:  # noqa: ANN401
    tensors[name] = value
    return {TAG: kind, "name": name}


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
