"""What members must have in common: everything but the values of their parameters."""

import functools
import numbers
import reprlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import type_before_parametrizations


def check_members(members: Sequence[nn.Module]) -> None:
    """Reject what no stack can be of, see `mechlearn.nn.stacks.Stack`."""
    if not members:
        raise ValueError("A stack needs at least one member. Found none. Pass a list of modules.")
    for index, member in enumerate(members):
        if not isinstance(member, nn.Module):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers may be untyped
            raise TypeError(f"Members should be modules. Found {type(member).__name__} at {index}. Pass torch.nn modules.")
        if buffers := [name for name, _ in member.named_buffers()]:
            raise ValueError(
                f"Members should have parameters only. Found the buffer {buffers[0]!r} of member {index}. "
                "Leave BatchNorm out, or train one by one."
            )
    if (place := next(_closed_over(members[0]), None)) is not None:
        raise ValueError(
            "Functions that a member holds should read no part of it but what they are given: in a stack all members would use "
            f"the first one's. Found one that closes over a part, {place}. Make it a method, or a module."
        )
    first = _layout(members[0])
    if not first[1:]:
        raise ValueError("Members should have parameters. Found none. Stack networks that can be trained.")
    for index, member in enumerate(members):
        if member is not members[0] and (found := _difference(members[0], first, member)):
            raise ValueError(f"Members should have one architecture. Found at {index}: {found}. Stack each architecture apart.")


def _difference(one: nn.Module, first: list[object], other: nn.Module) -> str | None:
    own = _layout(other)
    if own != first:
        found = (f"{b} instead of {a}" for a, b in zip(first, own, strict=False) if a != b)
        return next(found, "more or fewer parameters")
    return next(_other_settings(one, other), None)


def ties(module: nn.Module) -> list[tuple[str, str]]:
    """Return the further names of parameters, each with the first one."""
    first: dict[Tensor, str] = {}
    return [(n, f) for n, p in module.named_parameters(remove_duplicate=False) if (f := first.setdefault(p, n)) != n]


def _layout(module: nn.Module) -> list[object]:
    return [
        str(module),
        *((n, tuple(p.shape), p.dtype, p.device, p.requires_grad) for n, p in module.named_parameters()),
        *(f"{name!r} shared with {other!r}" for name, other in ties(module)),
    ]


def _other_settings(one: nn.Module, other: nn.Module) -> Iterator[str]:
    """Yield in words which attributes differ, module by module: a repr need not show them."""
    others, same = dict(other.named_modules(remove_duplicate=False)), _Comparison(one, other)
    for name, module in one.named_modules(remove_duplicate=False):
        ours, theirs = (_settings(each) for each in (module, others.get(name, nn.Module())))
        for key in ours | theirs:
            wanted, found = ours.get(key, _ABSENT), theirs.get(key, _ABSENT)
            if not same(wanted, found):
                where = f"of {name!r}" if name else "of the member itself"
                yield f"{reprlib.repr(found)} instead of {reprlib.repr(wanted)} as {key!r} {where}"


def _settings(module: nn.Module) -> dict[str, object]:
    """Return what a module holds beside parameters, buffers and submodules, hooks without their running numbers."""
    held = {key: value for key, value in vars(module).items() if key not in _TORCH_S_OWN}
    hooks = {key: list(value.values()) for key, value in vars(module).items() if key.endswith("_hooks")}
    return {"class": type_before_parametrizations(module), **held, **hooks}


class _Comparison:
    """Says whether settings of two members are the same, of which a parameter has its name for a value.

    Args:
        one: a member.
        other: another of the same layout.
    """

    def __init__(self, one: nn.Module, other: nn.Module) -> None:
        self._names = [{id(p): name for name, p in each.named_parameters()} for each in (one, other)]
        self._seen: dict[tuple[int, int], tuple[object, object]] = {}  # what refers to itself is compared once

    def __call__(self, one: object, other: object) -> bool:
        """Return whether they are equal, as far as that can be seen."""
        if one is other or (isinstance(one, torch.Generator) and isinstance(other, torch.Generator)):
            return True
        if isinstance(one, _PLAIN) and isinstance(other, _PLAIN):
            return bool(one == other) or (one != one and other != other)  # noqa: PLR0124  # NaN
        if (id(one), id(other)) in self._seen:
            return True
        self._seen[id(one), id(other)] = one, other
        if (parts := _parts(one)) is not None and (others := _parts(other)) is not None:
            return self._sequences(parts, others)
        kinds: tuple[tuple[Any, Callable[[Any, Any], bool]], ...] = (
            (Tensor, self._tensors),
            (np.ndarray, self._arrays),
            ((list, tuple), self._sequences),
            (Mapping, self._mappings),
            (nn.Module, self._modules),
            (weakref.ref, self._references),
        )
        both: tuple[Any, Any] = one, other
        compare = (compare for kind, compare in kinds if isinstance(both[0], kind) and isinstance(both[1], kind))
        return next(compare, self._objects)(*both)

    def _sequences(self, one: Sequence[object], other: Sequence[object]) -> bool:
        return len(one) == len(other) and all(map(self, one, other))

    def _references(self, one: weakref.ref[Any], other: weakref.ref[Any]) -> bool:
        return self(one(), other())

    def _modules(self, one: nn.Module, other: nn.Module) -> bool:
        owned = ({key: vars(each)[key] for key in ("_parameters", "_buffers", "_modules")} for each in (one, other))
        return self(_settings(one), _settings(other)) and self(*owned)

    def _tensors(self, one: Tensor, other: Tensor) -> bool:
        first, second = (names.get(id(each)) for names, each in zip(self._names, (one, other), strict=True))
        if first is not None or second is not None:
            return first == second
        alike = one.shape == other.shape and one.dtype == other.dtype and one.device == other.device
        try:
            return alike and bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124  # NaN
        except (RuntimeError, NotImplementedError):  # of tensors without values, on the meta device
            return False

    def _arrays(self, one: np.ndarray, other: np.ndarray) -> bool:
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if one.dtype == object:
            return self(one.tolist(), other.tolist())
        return bool(((one == other) | ((one != one) & (other != other))).all())  # noqa: PLR0124  # NaN

    def _mappings(self, one: Mapping[object, object], other: Mapping[object, object]) -> bool:
        if len(one) != len(other):
            return False
        if all(isinstance(key, tuple | _PLAIN) for key in one):
            return all(self(value, other.get(key, _ABSENT)) for key, value in one.items())
        return self(list(one.items()), list(other.items()))

    def _objects(self, one: object, other: object) -> bool:
        if isinstance(one, type) or isinstance(other, type):
            return False  # two classes may do anything, whatever their names
        if type(one) is not type(other):
            return False
        held, others = _held(one), _held(other)
        return bool(one == other) if held is None or others is None else self(held, others)


def _held(value: object) -> dict[str, object] | None:
    """Return an object's attributes, or None where it has none to look at: of a type that is not written in Python."""
    slots = [name for kind in type(value).__mro__ for name in _slots(kind)]
    if not (hasattr(value, "__dict__") or slots):
        return None
    return {name: getattr(value, name, _ABSENT) for name in slots} | getattr(value, "__dict__", {})


def _slots(kind: type) -> list[str]:
    found: str | Iterable[str] = vars(kind).get("__slots__", ())
    names = [found] if isinstance(found, str) else [name for name in found if name not in ("__dict__", "__weakref__")]
    private = f"_{kind.__name__.lstrip('_')}"
    return [private + name if name.startswith("__") and not name.endswith("__") else name for name in names]


def _closed_over(member: nn.Module) -> Iterator[str]:
    """Yield where a function that a member holds closes over a part of it: of a copy, it would still read this one's."""
    own = {id(part) for part in (*member.parameters(), *member.modules())}
    for name, module in member.named_modules():
        for key, value in _settings(module).items():
            for each in _flat(value):
                parts = _flat(_parts(each)) if isinstance(each, FunctionType) else ()
                if any(id(getattr(part, "__self__", part)) in own for part in parts):
                    yield f"{key!r} of {name!r}" if name else f"{key!r} of the member itself"


def _flat(value: object) -> Iterator[object]:
    """Yield what containers hold, at any depth."""
    left, seen = [value], dict[int, object]()
    while left:
        each = left.pop()
        if isinstance(each, list | tuple | Mapping) and id(each) not in seen:
            seen[id(each)] = each
            left += list(each.values()) if isinstance(each, Mapping) else list(each)
        else:
            yield each


def _parts(value: object) -> tuple[object, ...] | None:
    """Return what makes a function, None for anything else; functions that it calls by name are left out."""
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, MethodType):
        return value.__func__, value.__self__
    if isinstance(value, FunctionType):
        held = tuple(cell.cell_contents for cell in value.__closure__ or () if cell != CellType())  # an empty one has none
        return value.__code__, value.__defaults__, value.__kwdefaults__, held, vars(value)
    if isinstance(value, CodeType):
        return value.co_code.hex(), value.co_names, value.co_consts
    return None


_TORCH_S_OWN = frozenset(vars(nn.Module())) - {"training"}
"""Attributes of any module: its parameters, submodules and hooks."""

_ABSENT = "nothing"

_PLAIN = numbers.Number | str | bytes | None | torch.dtype | torch.device | Enum | BuiltinFunctionType
