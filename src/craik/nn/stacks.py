"""Many small networks of one architecture as one: a leading axis of members on every parameter.

Configurations, folds and seeds train side by side in one batched run, each member exactly as it would alone: its own rows,
learning rate, weight decay and step count; a member that has stopped stays where it is. Index convention: m a member of M.

>>> import torch
>>> from craik.nn.perceptrons import relu_mlp
>>> stack = Stack([relu_mlp((3, 8, 2), torch.Generator().manual_seed(seed)) for seed in range(4)])
>>> optimizer = StackedAdam(stack.parameters(), rates=[0.1, 0.03, 0.01, 0.003])
>>> x, y = torch.randn(4, 16, 3), torch.randint(2, (4, 16))
>>> losses = torch.nn.functional.cross_entropy(stack(x).movedim(-1, 1), y, reduction="none").mean(1)  # one for each member
>>> losses.sum().backward()  # a member's parameters see its own loss only
>>> optimizer.step(running=losses > 0.1)
"""

import copy
import functools
import numbers
import reprlib
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.modules import module as torch_module
from torch.nn.modules.dropout import _DropoutNd  # pyright: ignore[reportPrivateUsage]  # the base class of all dropouts
from torch.nn.utils.parametrize import type_before_parametrizations

from craik.arguments import check_decay, check_not_negative, check_positive
from craik.params import Params


class Stack(nn.Module):
    """M networks of one architecture, evaluated together.

    Its parameters are the members' with a leading axis and dots of their names written as "-"; they are this module's own.
    `torch.optim` and `craik.agreement.Agreement` take them as they take any other's: sum the members' losses, and each
    gradient is what the member alone would have. It starts in its members' mode; `train` and `eval` change that of all.

    Args:
        members: at least one; the same classes, settings, modes, shapes, dtype and device. They are left as they are.

    Raises:
        TypeError: something that is no module.
        ValueError: no member, members that differ in more than values of parameters, or buffers (BatchNorm's): a stack has
            parameters only. All else that a member holds is compared: numbers, strings, tensors and arrays by value; functions
            with what they close over, methods with whose they are, hooks, and other objects by their attributes. What cannot
            be compared should be one object. Generators are left out, for no member may draw. Or names of parameters that
            would be one with "-" for dots, or that the stack has an attribute of, such as "member".
    """

    def __init__(self, members: Sequence[nn.Module]) -> None:
        super().__init__()
        _check_members(members)
        # Only its classes and settings are read; in a tuple it is no submodule, so its parameters are not the stack's.
        self._ties = _ties(members[0])
        self._architecture = (_tied(copy.deepcopy(members[0]).to("meta"), self._ties),)
        self.training = members[0].training
        trained, _ = stack_module_state(list(members))
        self._names = {name: name.replace(".", "-") for name in trained}
        self._check_names()
        for name, values in trained.items():
            wanted = members[0].get_parameter(name).requires_grad
            self.register_parameter(self._names[name], nn.Parameter(values.detach().clone(), requires_grad=wanted))

    def __len__(self) -> int:
        """Return M."""
        return len(next(self.parameters()))

    def train(self, mode: bool = True) -> "Stack":
        """Put all members in train mode, or in eval mode; return the stack.

        Raises:
            ValueError: a mode that is no boolean.
        """
        super().train(mode)
        self._architecture[0].train(mode)
        return self

    def forward(self, x: Float[Tensor, "m *input"]) -> Float[Tensor, "m *output"]:
        """Return each member's output on its own rows.

        Args:
            x: (M, n, *features), rows for each member; ``rows.expand(len(stack), *rows.shape)`` gives all the same.

        Raises:
            ValueError: another number of members, or members that draw random numbers (dropout in train mode).
        """
        if x.dim() == 0 or len(x) != len(self):
            raise ValueError(
                f"`x` should have one batch for each of the {len(self)} members, shape ({len(self)}, n, ...). Found "
                f"{tuple(x.shape)}. Where all see the same rows, pass rows.expand({len(self)}, *rows.shape)."
            )
        (architecture,) = self._architecture
        if (layers := dense_layers(architecture)) is not None:
            return through(layers, self.stacked(), x)

        def alone(params: Params, rows: Tensor) -> Tensor:
            return functional_call(architecture, params, (rows,))

        try:
            return vmap(alone)(self.stacked(), x)
        except RuntimeError as error:
            if "randomness" not in str(error):
                raise
            raise _drawn(architecture) from error

    def stacked(self) -> Params:
        """Return the parameters under the members' own names, (M, *shape) each."""
        return {name: cast(Tensor, getattr(self, own)) for name, own in self._names.items()}

    def member(self, index: int) -> nn.Module:
        """Return a copy of one member, an ordinary module.

        Raises:
            IndexError: there is no such member.
        """
        (architecture,) = self._architecture
        alone = _tied(copy.deepcopy(architecture).to_empty(device=next(self.parameters()).device), self._ties)
        with torch.no_grad():
            for name, values in self.stacked().items():
                parameter = alone.get_parameter(name)
                parameter.data = values[index].detach().clone()
        return alone

    def _check_names(self) -> None:
        """Refuse names of parameters that the stack could not keep apart from others of its own."""
        first: dict[str, str] = {}
        for name, own in self._names.items():
            taken = (
                "an attribute of the stack" if hasattr(self, own) else f"what {first[own]!r} is, too" if own in first else ""
            )
            if taken:
                raise ValueError(
                    f"A member's parameters should have names that are the stack's own with '-' for dots. Found {name!r}, as "
                    f"{own!r} {taken}. Rename the layer or the parameter."
                )
            first[own] = name


def dense_layers(network: nn.Module) -> nn.Sequential | None:
    """Return the network where it is a perceptron, whose stack needs no vmap; None for anything else.

    Batched products do it, weight norm included, for which vmap would fall back to a loop. Layers with hooks are something
    else: nothing would call these. So are layers that share a tensor.
    """
    plain = type(network) is nn.Sequential and "forward" not in vars(network) and not _hooked(network)
    plain = plain and all(_dense_layer(layer) for layer in cast(nn.Sequential, network))
    alone = sum(len(list(layer.parameters())) for layer in network.children()) == len(list(network.parameters()))
    return cast(nn.Sequential, network) if plain and alone else None


def through(layers: nn.Sequential, params: Params, x: Float[Tensor, "m *n j"]) -> Float[Tensor, "m *n k"]:
    """Return what each member of a stack of perceptrons makes of its rows.

    Args:
        layers: of `dense_layers`; their classes are read, not their parameters. A layer may stand at several places.
        params: every parameter once a member, (M, *shape); a layer's under the name of its first place.
        x: rows for each member.
    """
    shape, x = x.shape, x.reshape(len(x), -1, x.shape[-1])
    first: dict[nn.Module, str] = {}
    for place, layer in layers._modules.items():  # pyright: ignore[reportPrivateUsage]  # children come once
        if not isinstance(layer, nn.Linear):
            x = layer(x)
            continue
        name = first.setdefault(layer, place)
        weight, bias = _weight(params, name).mT, params.get(f"{name}.bias")
        x = x @ weight if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)
    return x.reshape(*shape[:-1], x.shape[-1])


_ELEMENTWISE = {nn.ReLU, nn.LeakyReLU, nn.Tanh, nn.Sigmoid, nn.GELU, nn.SiLU, nn.ELU, nn.Softplus, nn.Identity}
"""Layers that work element by element, and so on a batch of members as on one."""


def _dense_layer(layer: nn.Module) -> bool:
    if "forward" in vars(layer):  # of the instance: whatever its class does, this does not
        return False
    kind = type_before_parametrizations(layer)
    return type(layer) in _ELEMENTWISE or type(layer) is nn.Linear or (kind is nn.Linear and _normalised(layer))


def _hooked(network: nn.Module) -> bool:
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    everywhere = any(getattr(torch_module, f"_global{name}") for name in hooks)
    return everywhere or any(getattr(module, name) for module in network.modules() for name in hooks)


def _normalised(layer: nn.Module) -> bool:
    # torch's weight norm as relu_mlp makes it: of the weight alone, a length and a direction for each unit.
    parametrised = cast(nn.ModuleDict, layer.parametrizations) if hasattr(layer, "parametrizations") else nn.ModuleDict()
    kinds = [kind for name in parametrised for kind in cast(nn.ModuleList, parametrised[name])]
    first = kinds[0] if len(kinds) == 1 and "weight" in parametrised else None
    return type(first).__name__ == "_WeightNorm" and getattr(first, "dim", None) == 0


def _weight(params: Params, layer: str) -> Tensor:
    length, direction = (params.get(f"{layer}.parametrizations.weight.original{part}") for part in (0, 1))
    if length is None or direction is None:
        return params[f"{layer}.weight"]
    return direction * (length / direction.norm(dim=-1, keepdim=True))


class StackedAdam(torch.optim.Optimizer):
    """Adam for the parameters of a `Stack`, with a learning rate and a weight decay for each member.

    Each member moves as with `torch.optim.Adam` (`decoupled=False`: the decay is an L2 penalty's gradient) or
    `torch.optim.AdamW` (`decoupled=True`) of its own. The rates are the tensor ``param_groups[0]["lr"]``, (M,): change it
    between steps, as in ``.mul_(0.5)``. torch's schedulers set one number a group and do not take it ("fill_ only supports
    0-dimension").

    Args:
        params: parameters with a leading axis of M members.
        rates: M learning rates, or one for all.
        decays: M weight decays, or one for all.
        decoupled: shrink the weights beside Adam instead of through its gradient.
        betas: decay rates of the two moments.
        eps: added to the root of the second moment.

    Raises:
        TypeError: rates or decays that are no numbers.
        ValueError: no parameters, a leading axis of different lengths, or numbers out of their range.
    """

    def __init__(
        self,
        params: Iterable[Tensor],
        rates: Sequence[float] | Tensor | float = 1e-3,
        decays: Sequence[float] | Tensor | float = 0.0,
        decoupled: bool = False,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        parameters = list(params)
        members = _members(parameters)
        for index, beta in enumerate(betas):
            check_decay(f"betas[{index}]", beta)
        check_positive("eps", eps)
        numbers = {"lr": _each("rates", rates, members), "weight_decay": _each("decays", decays, members)}
        super().__init__(parameters, {**numbers, "decoupled": decoupled, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure: None = None, running: Bool[Tensor, " m"] | None = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step with the members that run; the others keep parameters, moments and step counts.

        Args:
            closure: not taken, there is one gradient.
            running: (M,) True where a member goes on; all if None.

        Raises:
            TypeError: a closure, or a mask that is no tensor of booleans.
            ValueError: a mask of another length.
        """
        if closure is not None:
            raise TypeError("A stack is stepped with the gradients it has. Found a closure. Call backward, then step().")
        for group in self.param_groups:
            members = len(group["lr"])
            mask = torch.ones(members, dtype=torch.bool) if running is None else _mask(running, members)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._move(parameter, group, mask)

    def _move(self, parameter: Tensor, group: dict[str, Any], mask: Tensor) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros(len(mask), dtype=torch.float64)  # as Python's floats, which Adam's own corrections are
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(parameter), torch.zeros_like(parameter)
        state["step"] = state["step"].cpu()  # as are rates: a checkpoint may have been loaded to another device
        state["step"] += mask
        (beta1, beta2), steps = group["betas"], state["step"].clamp(min=1)
        rate, decay = group["lr"].cpu(), group["weight_decay"].cpu()

        def along(numbers: Tensor) -> Tensor:  # one number a member, as a factor of its parameters
            return numbers.to(parameter).view(-1, *[1] * (parameter.dim() - 1))

        runs = along(mask.double())
        gradient = cast(Tensor, parameter.grad)
        if bool(decay.any()):
            if group["decoupled"]:
                parameter.mul_(along(1 - rate * decay * mask))
            else:
                gradient = gradient + along(decay) * parameter
        # What a stopped member computes (NaN, where it diverged) must not be multiplied by 0 but left out.
        gradient = gradient if bool(mask.all()) else torch.where(runs > 0, gradient, 0.0)
        first, second = state["exp_avg"], state["exp_avg_sq"]
        first.lerp_(gradient, runs * (1 - beta1))
        second.mul_(1 - runs * (1 - beta2)).add_(gradient.square() * (1 - beta2))
        size = rate / (1 - beta1**steps) * mask
        spread = second.sqrt().div_(along((1 - beta2**steps).sqrt())).add_(group["eps"])
        parameter.sub_(torch.where(runs > 0, first / spread * along(size), 0.0))


def _drawn(architecture: nn.Module) -> ValueError:
    found = (
        f"{type(module).__name__} at {name!r} in train mode"
        for name, module in architecture.named_modules()
        if isinstance(module, _DropoutNd) and module.training
    )
    return ValueError(
        "A stack's members should draw no random numbers: each would need draws of its own. Found "
        f"{next(found, 'an operation that draws')}. Call eval() on the stack, leave it out, or train one by one."
    )


def _check_members(members: Sequence[nn.Module]) -> None:
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


def _ties(module: nn.Module) -> list[tuple[str, str]]:
    """Return the further names of parameters, each with the first one."""
    first: dict[Tensor, str] = {}
    return [(n, f) for n, p in module.named_parameters(remove_duplicate=False) if (f := first.setdefault(p, n)) != n]


def _tied(module: nn.Module, ties: Sequence[tuple[str, str]]) -> nn.Module:
    """Share parameters again that a move to another device has parted; return the module."""
    for name, first in ties:
        owner, _, own = name.rpartition(".")
        module.get_submodule(owner).register_parameter(own, module.get_parameter(first))
    return module


def _layout(module: nn.Module) -> list[object]:
    return [
        str(module),
        *((n, tuple(p.shape), p.dtype, p.device, p.requires_grad) for n, p in module.named_parameters()),
        *(f"{name!r} shared with {other!r}" for name, other in _ties(module)),
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


def _members(parameters: list[Tensor]) -> int:
    lengths = {len(parameter) if parameter.dim() else 0 for parameter in parameters}
    if len(lengths) != 1 or 0 in lengths:
        raise ValueError(
            f"Parameters should share a leading axis of members. Found lengths {sorted(lengths)}. Pass those of a Stack."
        )
    return lengths.pop()


def _each(name: str, values: Sequence[float] | Tensor | float, members: int) -> Tensor:
    listed = values.tolist() if isinstance(values, Tensor) else values
    numbers = [listed] * members if isinstance(listed, int | float) else list(listed)
    if len(numbers) != members:
        raise ValueError(
            f"`{name}` should hold one number for each of {members} members. Found {len(numbers)}. Pass one for all."
        )
    for index, number in enumerate(numbers):
        check_not_negative(f"{name}[{index}]", number)
    return torch.tensor(numbers, dtype=torch.float64)


def _mask(running: Tensor, members: int) -> Tensor:
    if not isinstance(running, Tensor) or running.dtype != torch.bool:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(
            f"`running` should be a tensor of booleans. Found {type(running).__name__}. Compare, as in losses > 0.1."
        )
    if running.shape != (members,):
        raise ValueError(
            f"`running` should have the shape ({members},). Found {tuple(running.shape)}. Give one for each member."
        )
    return running.detach().cpu()
