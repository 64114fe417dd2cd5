"""State as JSON and tensors: what models, optimisers, schedules, generators and data orders hold. Nothing is pickled."""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from claimlab.errors import LabError

TAG = "claimlab"
"""The key by which JSON says that an object stands for something else."""

_HELD = "a checkpoint holds tensors and arrays of numbers, numbers, texts, and lists, tuples and dicts of them"


@runtime_checkable
class Stateful(Protocol):
    """Modules, optimisers, schedules, and whatever else says its state as they do."""

    def state_dict(self) -> Any: ...  # noqa: ANN401, D102  # torch's own signatures differ
    def load_state_dict(self, state: Any, /) -> Any: ...  # noqa: ANN401, D102


def state_of(part: object) -> object:
    """Return what a part holds: anything with `state_dict` and `load_state_dict`, a tensor, a generator, a list of numbers."""
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
    raise LabError(f"A part should be one to keep: {rule}. Found a {kind}. Give it a state_dict.")


def restore(part: Any, state: Any) -> None:  # noqa: ANN401
    """Put a state back where `state_of` took it, in place."""
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
    """Return whether numbers are drawn from it."""
    torch = sys.modules.get("torch")
    return isinstance(part, random.Random | np.random.Generator) or (torch is not None and isinstance(part, torch.Generator))


def packed(value: object, tensors: dict[str, Any], name: str) -> Any:  # noqa: ANN401  # one return a kind
    """Return a value as JSON; its tensors and arrays go to `tensors`, by name."""
    if value is None or (isinstance(value, bool | int | float | str) and type(value) in (type(None), bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return packed(value.item(), tensors, name)
    if isinstance(value, np.ndarray):
        return _of_array(value, tensors, name)
    if _is_tensor(value):
        return _of_tensor(value, tensors, name)
    if isinstance(value, Mapping):
        kind = "counter" if isinstance(value, Counter) else "dict"
        pairs = [[packed(k, tensors, f"{name}.key"), packed(v, tensors, f"{name}.{k}")] for k, v in value.items()]
        return {TAG: kind, "pairs": pairs}
    if isinstance(value, list | tuple):
        items = [packed(one, tensors, f"{name}.{place}") for place, one in enumerate(value)]
        return items if isinstance(value, list) else {TAG: "tuple", "items": items}
    raise LabError(f"A state should fit: {_HELD}. Found a {type(value).__name__} at {_path(name)}. Leave it out.")


def _of_array(value: np.ndarray[Any, Any], tensors: dict[str, Any], name: str) -> dict[str, str]:
    kind, width = value.dtype.kind, value.dtype.itemsize
    if kind not in "biufc" or width > (16 if kind == "c" else 8):
        raise LabError(f"A state should fit: {_HELD}. Found an array of {value.dtype} at {_path(name)}. Leave it out.")
    native = value.astype(value.dtype.newbyteorder("="), order="C")
    if kind == "c":
        return _named("complex array", np.stack([np.real(native), np.imag(native)], axis=-1), tensors, name)
    return _named("array", native, tensors, name)


def _of_tensor(value: Any, tensors: dict[str, Any], name: str) -> dict[str, str]:  # noqa: ANN401  # torch's
    import torch  # noqa: PLC0415  # whoever has a tensor has loaded it

    if value.layout != torch.strided:
        raise LabError(f"A state should fit: {_HELD}. Found a sparse tensor at {_path(name)}. Keep its to_dense().")
    whole = value.detach().cpu()
    if whole.is_complex():  # safetensors knows one of its widths only
        return _named("complex tensor", torch.view_as_real(whole.resolve_conj()).clone().contiguous(), tensors, name)
    return _named("tensor", whole.clone().contiguous(), tensors, name)


def _path(name: str) -> str:
    """Return the name of a value in a sentence."""
    return name.replace("\n", ", part ")


def unpacked(value: Any, tensors: Mapping[str, Any]) -> Any:  # noqa: ANN401
    """Return the value that `packed` has packed."""
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
    return _stored(kind, tensors[value["name"]])


def _stored(kind: str, found: Any) -> Any:  # noqa: ANN401
    """Return a tensor or an array as it was, of what the file holds of it."""
    if kind == "tensor":
        return found
    if kind == "complex tensor":
        import torch  # noqa: PLC0415  # whoever kept a tensor loads it

        return torch.view_as_complex(found)
    array = found.numpy() if _is_tensor(found) else found
    return array if kind == "array" else np.ascontiguousarray(array).view(f"c{2 * array.itemsize}")[..., 0]


def _named(kind: str, value: Any, tensors: dict[str, Any], name: str) -> dict[str, str]:  # noqa: ANN401
    while name in tensors:  # two keys of a state can make one path: {"net": {"weight": a}, "net.weight": b}, or 1 and "1"
        name += "'"
    tensors[name] = value
    return {TAG: kind, "name": name}


def _is_tensor(value: object) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
