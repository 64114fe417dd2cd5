"""The functions of `temporal.c` on lists of tensors: one call for all of them, however many there are."""

import ctypes
import functools
from array import array
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from torch import Tensor

from mechlearn.agreement.kernels.compiled import load
from mechlearn.agreement.kernels.library import BuildError

DTYPES = (torch.float32, torch.float64)

SHARE = 2**19
"""Components that are worth a thread: half a millisecond's work, of which starting a thread takes a tenth."""

NUMBERS = 12
"""How many numbers `temporal.c` reads: the constants of its second enum."""


class Steps:
    """`temporal.c` for contiguous float32 or float64 tensors on the CPU.

    Args:
        library: the shared library that holds it.
    """

    def __init__(self, library: Any) -> None:  # noqa: ANN401 # a ctypes.CDLL, whose functions are attributes of any name
        ranges = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64]
        self._advance: dict[torch.dtype, Callable[..., None]] = {}
        self._look: dict[torch.dtype, Callable[..., int]] = {}
        for dtype, name in zip(DTYPES, ("float32", "float64"), strict=True):
            advance, look = (getattr(library, f"mechlearn_{kind}_{name}") for kind in ("temporal_step", "first_nonfinite"))
            advance.argtypes, advance.restype = [*ranges, ctypes.c_void_p], None
            look.argtypes, look.restype = ranges, ctypes.c_int64
            self._advance[dtype], self._look[dtype] = advance, look

    def advance(self, rows: Sequence[Sequence[Tensor]], numbers: Sequence[float]) -> None:
        """Take a step in place; a row holds theta, g, m, v and a of one parameter, all rows of one type."""
        if len(numbers) != NUMBERS:
            raise ValueError(f"`numbers` should hold {NUMBERS} numbers, as temporal.c lists them. Found {len(numbers)}.")
        values = array("d", numbers)
        where = values.buffer_info()[0]
        call = self._advance[rows[0][0].dtype]
        _share(lambda *part: call(*part, where), [tensor for row in rows for tensor in row], [row[0].numel() for row in rows])

    def first_nonfinite(self, tensors: Sequence[Tensor]) -> int | None:
        """Return the position of a tensor that holds NaN or infinity, the first that is met; None where there is none."""
        found = _share(self._look[tensors[0].dtype], tensors, [tensor.numel() for tensor in tensors])
        return min((position for position in found if position >= 0), default=None)


def _share(call: Callable[..., Any], tensors: Sequence[Tensor], sizes: list[int]) -> list[Any]:
    """Call with a table of addresses: once, or, where there is work for several of torch's threads, once in each."""
    table, lengths = array("Q", [tensor.data_ptr() for tensor in tensors]), array("q", sizes)
    fixed = (table.buffer_info()[0], lengths.buffer_info()[0], len(sizes))
    total = sum(sizes)
    threads = min(torch.get_num_threads(), total // SHARE)
    if threads < 2:
        return [call(*fixed, 0, total)]
    parts = [(*fixed, total * k // threads, total * (k + 1) // threads) for k in range(threads)]
    # ctypes lets go of the interpreter during a call. Threads of this call's own, as a pool's would not survive a fork.
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(call, *zip(*parts, strict=True)))


@functools.cache
def steps() -> Steps | None:
    """Return the functions, built on first use; None where they cannot be built. Once in a process."""
    try:
        return Steps(load().library)
    except BuildError:
        return None
