"""Tensors of a shape, a type and a place, their values, and generators of random numbers."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Generator, Tensor

from mechlearn.arguments.kinds import check_kind
from mechlearn.arguments.sentences import named, sentence, typed

FLOATS = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
"""The real types that torch computes in; those of one byte it stores and multiplies, and no more."""


def check_tensor(name: str, value: object, *, way_out: str = "Convert it with torch.as_tensor.") -> None:
    """Reject anything but a tensor: arrays, lists, dictionaries, None; and a sparse or a nested one."""
    check_kind(name, value, Tensor, "a tensor", way_out=way_out)
    if isinstance(value, Tensor):
        _check_dense(name, value)


def check_data(name: str, value: Tensor) -> None:
    """Reject a tensor whose numbers cannot be read: a sparse or a nested one, and one on the device meta, which has none."""
    _check_dense(name, value)
    if value.is_meta:
        raise TypeError(sentence(name, "hold data", "a tensor on the device meta", "Move the data with .to(device)."))


def check_numbers(name: str, value: object, *, way_out: str = "Convert it with torch.as_tensor.") -> None:
    """Reject anything but a tensor of real numbers; whole ones are."""
    check_tensor(name, value, way_out=way_out)
    if isinstance(value, Tensor) and value.is_complex():
        raise TypeError(sentence(name, "hold real numbers", str(value.dtype), "Split them with torch.view_as_real."))


def check_shape(name: str, tensor: object, *sizes: int | str, way_out: str = "") -> None:
    """Reject anything but a tensor of a shape; a letter stands for any size of at least 1, the same wherever it stands.

    "..." in front stands for any axes, or none, that are not empty.

    >>> import torch
    >>> check_shape("mask", torch.ones(3), "B", 3, way_out="Add a dimension.")
    Traceback (most recent call last):
    ValueError: `mask` should have the shape (B, 3). Found (3,). Add a dimension.
    """
    if isinstance(tensor, Tensor):
        _check_dense(name, tensor)
        if _fits(tensor.shape, sizes):
            return
    shape = f"have the shape ({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
    if not isinstance(tensor, Tensor):
        raise TypeError(sentence(name, f"be a tensor and {shape}", typed(tensor), way_out))
    raise ValueError(sentence(name, shape, str(tuple(tensor.shape)), way_out))


def check_floats(name: str, value: object, *sizes: int | str, like: Tensor | None = None, way_out: str = "") -> None:
    """Reject anything but a tensor of floating numbers of a shape.

    Args:
        name: of the argument.
        value: what was passed.
        sizes: of its axes, as `check_shape` takes them; none is a scalar's shape.
        like: what it is computed with, a layer's weight for example: on the same device, and of the same type, which under
            autocast is not looked at.
        way_out: where the shape is another one.
    """
    check_shape(name, value, *sizes, way_out=way_out)
    if not isinstance(value, Tensor):
        return
    if not value.is_floating_point():
        raise TypeError(sentence(name, "hold floating numbers", str(value.dtype), "Convert it with .float()."))
    if value.dtype not in FLOATS:
        raise TypeError(sentence(name, "hold floats of two bytes or more", str(value.dtype), "Convert it with .float()."))
    if like is None or not like.is_floating_point():
        return
    if value.device != like.device:
        raise ValueError(sentence(name, f"be on the device {like.device}", str(value.device), "Move it with .to(device)."))
    if value.dtype != like.dtype and not torch.is_autocast_enabled(value.device.type):
        raise TypeError(sentence(name, f"be of the type {like.dtype}", str(value.dtype), f"Convert it with .to({like.dtype})."))


def check_returned(name: str, found: object, what: str, *sizes: int | str, floats: bool = True, way_out: str = "") -> None:
    """Reject what a function of the user's returned, where it is no dense tensor of a shape with data, or not of floats.

    >>> check_returned("loss", None, "one value for each example", 3)
    Traceback (most recent call last):
    TypeError: `loss` should return one value for each example, shape (3,). Found None.

    Args:
        name: of the function.
        found: what it returned.
        what: it should return.
        sizes: of the result's axes, as `check_shape` takes them.
        floats: whether it holds real floats.
        way_out: where the shape is another one.
    """
    rule = f"return {what}, shape ({', '.join(map(str, sizes))}{',' if len(sizes) == 1 else ''})"
    if not isinstance(found, Tensor):
        raise TypeError(sentence(name, rule, named(found), ""))
    if found.is_nested or found.layout != torch.strided or found.is_meta:
        kind = "nested" if found.is_nested else "on the device meta" if found.is_meta else found.layout
        raise TypeError(sentence(name, rule, f"a tensor that is {kind}", ""))
    if not _fits(found.shape, sizes):
        raise ValueError(sentence(name, rule, f"shape {tuple(found.shape)}", way_out))
    if floats and not found.is_floating_point():
        raise TypeError(sentence(name, "return floats", str(found.dtype), "Convert its result with .float()."))


def check_ids(name: str, value: object, *sizes: int | str, count: int | None = None, way_out: str = "") -> None:
    """Reject anything but a tensor of whole numbers of a shape, see `check_shape`; with ``count`` from 0 to count - 1."""
    check_shape(name, value, *sizes, way_out=way_out)
    if not isinstance(value, Tensor):
        return
    if value.is_floating_point() or value.is_complex() or value.dtype == torch.bool:
        raise TypeError(sentence(name, "hold whole numbers", str(value.dtype), way_out or "Convert it with .long()."))
    check_data(name, value)
    found = () if count is None else ends(value)
    if count is not None and found and (found[0] < 0 or found[1] >= count):
        raise ValueError(sentence(name, f"be numbers from 0 to {count - 1}", f"{found[0]} to {found[1]}", way_out))


def check_mask(name: str, value: object, *sizes: int | str, way_out: str = "True for what counts, as in ids != 0.") -> None:
    """Reject anything but a tensor of booleans of a shape, see `check_shape`."""
    check_shape(name, value, *sizes, way_out=way_out)
    if isinstance(value, Tensor) and value.dtype != torch.bool:
        raise TypeError(sentence(name, "hold booleans", str(value.dtype), way_out))
    if isinstance(value, Tensor):
        check_data(name, value)


def check_all_finite(name: str, value: Tensor, *, way_out: str = "") -> None:
    """Reject NaN and infinity, at the cost of a sum; see `all_finite` for where nothing is looked at.

    >>> import torch
    >>> check_all_finite("starts", torch.tensor([[0.0, 1.0], [float("nan"), 2.0]]), way_out="Leave such rows out.")
    Traceback (most recent call last):
    ValueError: `starts` should be finite. Found nan at (1, 0). Leave such rows out.
    """
    if not all_finite(value):
        raise ValueError(sentence(name, "be finite", _first_bad(value), way_out))


def check_result(result: Tensor, inputs: Mapping[str, Tensor], *, way_out: str) -> None:
    """Reject a result with NaN or infinity, and name the input it comes of: of a finite one only the sum is taken.

    Args:
        result: of a loss, for example: few numbers.
        inputs: what it was computed from, by name.
        way_out: where all inputs are finite, and what comes of them is not.
    """
    if all_finite(result):
        return
    for name, value in inputs.items():
        check_all_finite(name, value)
    listed = ", ".join(f"`{name}`" for name in inputs)
    raise ValueError(f"What comes of {listed} should be finite. Found {_first_bad(result)}. {way_out}")


def all_finite(value: Tensor) -> bool:
    """Return whether all numbers are finite; True where values cannot be looked at.

    That is under `torch.compile`, inside `torch.func.vmap`, and on the meta device.
    """
    if not value.is_floating_point() or _hidden(value):
        return True
    try:  # the sum of finite numbers may overflow: then, and only then, each is looked at
        return math.isfinite(value.detach().sum()) or bool(value.detach().isfinite().all())
    except RuntimeError:  # what torch.func.vmap says of a batch that it hides
        return True


def first_nonfinite(tensors: Sequence[Tensor]) -> int | None:
    """Return the position of a tensor that holds NaN or infinity, None where there is none; with one wait for a device.

    >>> import torch
    >>> first_nonfinite([torch.ones(2), torch.tensor([1.0, torch.nan])])
    1
    """
    if not tensors:
        return None
    sums = [tensor.detach().sum() for tensor in tensors]  # of finite numbers a sum may overflow: then each is looked at
    finite = torch.stack([one.isfinite().to(sums[0].device) for one in sums]).tolist()
    for place, (tensor, fine) in enumerate(zip(tensors, finite, strict=True)):
        numbers = tensor.detach().coalesce().values() if tensor.is_sparse else tensor
        if not fine and not all_finite(numbers):
            return place
    return None


def ends(value: Tensor) -> tuple[float | int, ...]:
    """Return the least and the greatest number, NaN where one is; () where none can be looked at, see `all_finite`.

    >>> import torch
    >>> ends(torch.tensor([3, -1, 2]))
    (-1, 3)
    """
    if not value.numel() or _hidden(value):
        return ()
    try:
        return tuple(end.item() for end in value.detach().aminmax())
    except RuntimeError:  # what torch.func.vmap says of a batch that it hides, and a trace of what it has not computed
        return ()


def check_generator(name: str, value: object, beside: Tensor | None = None) -> None:
    """Reject anything but a generator of random numbers of torch's, ours never come from the global one; and one elsewhere.

    Args:
        name: of the argument.
        value: what was passed.
        beside: a tensor of the device on which the numbers are drawn; None where that is the generator's own.
    """
    check_kind(name, value, Generator, "a torch.Generator", way_out="Use torch.Generator().manual_seed(0).")
    if isinstance(value, Generator) and beside is not None and value.device.type != beside.device.type:
        way_out = f"Use torch.Generator({str(beside.device)!r}).manual_seed(0)."
        raise ValueError(sentence(name, f"be on the device {beside.device}", str(value.device), way_out))


def _check_dense(name: str, value: Tensor) -> None:
    """Reject what is sparse or nested: most operations of torch know neither."""
    if value.is_nested or value.layout != torch.strided:
        found = "a nested one" if value.is_nested else str(value.layout)
        raise TypeError(sentence(name, "be dense", found, "Call .to_dense()."))


def _fits(found: torch.Size, sizes: tuple[int | str, ...]) -> bool:
    if found == sizes:
        return True
    if sizes[:1] == ("...",):
        sizes = sizes[1:]
        free = max(0, len(found) - len(sizes))
        if 0 in found[:free]:
            return False
        found = found[free:]
    letters: dict[str, int] = {}
    return len(found) == len(sizes) and all(
        own == size if isinstance(size, int) else 0 < own == letters.setdefault(size, own)
        for own, size in zip(found, sizes, strict=True)
    )


def _hidden(value: Tensor) -> bool:
    return torch.compiler.is_compiling() or value.is_meta


def _first_bad(value: Tensor) -> str:
    place = tuple((~value.detach().isfinite()).nonzero()[0].tolist())
    return f"{float(value.detach()[place])}{f' at {place}' if place else ''}"


def check_graphs(rule: str) -> None:
    """Refuse to differentiate where torch keeps no graphs.

    Args:
        rule: what should be done elsewhere, as the sentence begins.

    Raises:
        RuntimeError: within torch.inference_mode(); torch.no_grad() is no trouble.
    """
    if torch.is_inference_mode_enabled():
        raise RuntimeError(f"{rule} outside torch.inference_mode(). Found it enabled. Leave it out.")
