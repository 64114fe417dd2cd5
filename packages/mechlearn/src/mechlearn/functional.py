"""A module called with other tensors than its own, and given back as it was: every such call of the library comes through here.

`torch.func.functional_call` puts tensors in and takes them out name by name. Of a module under two names, such as
``ModuleList([block, block])``, the second name takes out what the first has put in, and that is what stays. Here tensors go in
and out by places, a module's own dictionary and a key in it, of which each is visited once.
"""

import re
from collections import OrderedDict, deque
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

_Place = tuple[dict[str, Any], str]
"""A module's dictionary of parameters or of buffers, and a key in it."""

_CONTAINERS = (dict, OrderedDict, list, set, deque)
"""What a module may fill in a forward pass; of these the contents are kept, too, and no deeper."""


def call(
    module: nn.Module,
    tensors: Mapping[str, Tensor],
    args: Sequence[Any],
    kwargs: Mapping[str, Any] | None = None,
    *,
    whole: bool = False,
) -> Any:  # noqa: ANN401  # what the module returns
    """Return what a module makes of arguments with other parameters and buffers, which are its own again behind the call.

    A tensor that the module has at several places, shared with a module or tied, is given by any of its names and goes to all.

    Args:
        module: any; it is neither copied nor wrapped.
        tensors: by name, as in `named_parameters` and `named_buffers`. What a forward pass writes into them stays in them.
        args: positional arguments.
        kwargs: named ones.
        whole: refuse a call that leaves a parameter or buffer as it is.
    """
    _check_plain(module)
    before: list[tuple[_Place, Tensor | None]] = []
    try:
        for place, tensor in _filled(module, tensors, whole):
            holder, key = place
            before.append((place, holder[key]))
            holder[key] = tensor
        with in_a_sentence():
            return module(*args, **(kwargs or {}))
    finally:
        for (holder, key), own in before:
            holder[key] = own


_TYPES = re.compile(r"same dtype|scalar type|Promotion for Float8|not implemented for|complex numbers|to have the same type")
"""What torch says of numbers that it does not compute in, or not together."""


@contextmanager
def in_a_sentence() -> Generator[None]:
    """Say what torch says of a user's module where it cannot compute, or differentiate, what it was given."""
    try:
        yield
    except RuntimeError as error:
        said = str(error)
        if "modified by an inplace operation" in said or "has been modified inplace" in said:
            raise ValueError(
                "A module's pass should not write into a tensor that gradients are formed through. Found one that does, as by "
                "clamping a parameter in place. Clamp or normalise behind the optimizer's step, or out of place."
            ) from error
        if _TYPES.search(said):
            raise TypeError(
                "A module and what it is given should be of types that torch computes in, and alike. Found that torch says: "
                f"{said.splitlines()[0][:200].rstrip('.')}. Convert the inputs with .to(), or the module."
            ) from error
        raise


def _filled(module: nn.Module, tensors: Mapping[str, Tensor], whole: bool) -> list[tuple[_Place, Tensor]]:
    """Return what goes where."""
    places: dict[int, list[_Place]] = {}
    for layer in module.modules():
        for holder in (layer._parameters, layer._buffers):  # pyright: ignore[reportPrivateUsage]  # setattr would refuse some
            for key, own in holder.items():
                if own is not None:
                    places.setdefault(id(own), []).append((holder, key))
    named = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    given: dict[int, Tensor] = {}
    for name, tensor in tensors.items():
        if name not in named:
            raise ValueError(
                f"`tensors` should be named as in named_parameters() and named_buffers(). Found {name!r}, which is neither of "
                f"{type(module).__name__}. Look whether it was changed since."
            )
        if given.setdefault(id(named[name]), tensor) is not tensor:
            raise ValueError(
                f"A tensor at several places of a module should have one value. Found a second one for {name!r}. Leave it out."
            )
    missing = next((name for name, own in named.items() if id(own) not in given), None) if whole else None
    if missing is not None:
        raise ValueError(f"Every parameter and buffer should be given. Found none for {missing!r}. Add it.")
    return [(place, tensor) for own, tensor in given.items() for place in places[own]]


def _check_plain(module: nn.Module) -> None:
    refused = (torch.jit.ScriptModule, nn.DataParallel)
    found = next((layer for layer in module.modules() if isinstance(layer, refused)), None)
    if found is not None:
        raise TypeError(
            "A module should take other parameters than its own. Found one that was scripted or copies itself, "
            f"{type(found).__name__}. Pass the module that it was made of."
        )


@contextmanager
def borrowed(*modules: nn.Module) -> Generator[None]:
    """Give modules back as they were before the block, whatever its forward passes leave in them and however it ends.

    Each layer's attributes are kept, among them its mode, parameters, buffers, hooks and submodules. So is what its lists,
    dictionaries and sets hold, what its generators' states are, and the values of tensors that are neither parameters nor
    buffers. Values of parameters and buffers are not: calls replace these (`call`). Other objects are not looked into.
    """
    kept = [_Kept(layer) for layer in {id(layer): layer for module in modules for layer in module.modules()}.values()]
    try:
        with in_a_sentence():
            yield
    finally:
        for one in kept:
            one.put_back()


class _Kept:
    """One layer's attributes as they are now."""

    def __init__(self, layer: nn.Module) -> None:
        self._own: dict[str, Any] = vars(layer)
        self._attributes = dict(self._own)
        values = self._attributes.values()
        self._contents = [(one, one.copy()) for one in values if type(one) in _CONTAINERS]
        tensors = [one for one in values if isinstance(one, Tensor) and not one.is_inference()]
        self._tensors = [(one, one._version, one.detach().clone()) for one in tensors]
        self._generators = [(one, one.get_state()) for one in values if isinstance(one, torch.Generator)]

    def put_back(self) -> None:
        if not _same(list(self._own.items()), list(self._attributes.items())):
            self._own.clear()
            self._own.update(self._attributes)
        for one, contents in self._contents:
            _refill(one, contents)
        with torch.no_grad():
            for tensor, version, value in self._tensors:
                if tensor._version != version:
                    tensor.copy_(value)
        for generator, state in self._generators:
            if not torch.equal(generator.get_state(), state):
                generator.set_state(state)


def _refill(container: Any, contents: Any) -> None:  # noqa: ANN401  # one of `_CONTAINERS`
    """Give a container its contents back, in their order; one that has them is left alone."""
    if isinstance(container, dict):
        same = _same(list(container.items()), list(contents.items()))  # pyright: ignore[reportUnknownArgumentType]
    else:
        same = len(container) == len(contents) and all(a is b for a, b in zip(container, contents, strict=True))
    if not same:
        container.clear()
        container.extend(contents) if isinstance(container, list | deque) else container.update(contents)


def _same(items: Sequence[tuple[Any, Any]], others: Sequence[tuple[Any, Any]]) -> bool:
    """Tell whether two dictionaries hold the very same objects in the same order, without asking what these are equal to."""
    return len(items) == len(others) and all(a == c and b is d for (a, b), (c, d) in zip(items, others, strict=True))
