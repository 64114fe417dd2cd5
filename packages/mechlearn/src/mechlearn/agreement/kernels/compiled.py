"""The compiled CPU kernels (`signs.c`, `evidence.c`, `temporal.c`): built on first use where there is a C compiler.

They are kept in the user's cache. Plain C through ctypes: no build system, no headers of Python's or torch's.
`mechlearn.agreement.kernels.library` builds and loads them. The file's name in the cache has a hash of the source, the
compiler, its options and the processor's features, so that no other machine's code is ever run, and a digest of the file
itself, which is compared before it is loaded.
"""

import ctypes
import functools
import warnings
from collections.abc import Callable

import torch
from jaxtyping import Float, Int8, Shaped
from torch import Tensor

from mechlearn.agreement.kernels.library import BuildError, loaded


class Compiled:
    """The functions of `signs.c` and `evidence.c` for contiguous float32 tensors on the CPU.

    Args:
        library: the shared library they were built into.

    Attributes:
        library: its functions, those of `temporal.c` too, which `mechlearn.agreement.kernels.steps` calls.
    """

    def __reduce__(self) -> tuple[Callable[[], "Compiled | None"], tuple[()]]:
        # Code is not copied: where a copy is used the kernels are loaded again, or done without.
        return again, ()

    def __init__(self, library: ctypes.CDLL) -> None:
        self.library = library
        at, size = ctypes.c_void_p, ctypes.c_int64
        self.library.mechlearn_add_signs.argtypes = self.library.mechlearn_add_signs_in_bytes.argtypes = [
            at,
            size,
            size,
            at,
            at,
            size,
        ]
        self.library.mechlearn_sign_products.argtypes = [at, at, size, size, size, at, at]
        number = ctypes.c_float
        self.library.mechlearn_add_sides.argtypes = [at, at, size, number, number, at, at, at]
        self.library.mechlearn_moments.argtypes = [at, size, size, size, at, at]
        self.library.mechlearn_and_mask.argtypes, self.library.mechlearn_and_mask.restype = [at, at, size, size, size], size

    @staticmethod
    def takes(*tensors: Tensor) -> bool:
        """Tell whether all tensors are of the kind that the functions read."""
        return all(t.dtype == torch.float32 and t.device.type == "cpu" and t.is_contiguous() for t in tensors)

    def add_signs(
        self, gradients: Float[Tensor, "c *p"], total: Float[Tensor, "*p"], sign: Shaped[Tensor, "*p"], fresh: bool = False
    ) -> None:
        """Add the sum of environment gradients to ``total`` and the sum of their signs to ``sign``, in one pass.

        Args:
            gradients: of c environments.
            total: where their sum is added.
            sign: where the sum of their signs is added: float32, or bytes that have room for it.
            fresh: begin both sums with the first environment, whatever their memory holds.
        """
        add = self.library.mechlearn_add_signs_in_bytes if sign.dtype == torch.int8 else self.library.mechlearn_add_signs
        add(gradients.data_ptr(), len(gradients), total.numel(), total.data_ptr(), sign.data_ptr(), fresh)

    def sign_products(self, deltas: Float[Tensor, "e o"], inputs: Float[Tensor, "e i"]) -> Int8[Tensor, "o i"]:
        """Return sum_e sign(delta_e) sign(a_e)^T of at most 127 environments, by counting bits."""
        environments, rows, columns = (*deltas.shape, inputs.shape[1])
        work = torch.empty(2 * -(-environments // 64) * (rows + columns), dtype=torch.int64)
        result = torch.empty(rows, columns, dtype=torch.int8)
        tensors = deltas.data_ptr(), inputs.data_ptr()
        self.library.mechlearn_sign_products(*tensors, environments, rows, columns, work.data_ptr(), result.data_ptr())
        return result

    def add_sides(
        self,
        gradient: Float[Tensor, "*p"],
        squares: Float[Tensor, "*p"],
        limits: tuple[float, float],
        into: tuple[Float[Tensor, "*p"], Float[Tensor, "*p"], Float[Tensor, "*p"]],
    ) -> None:
        """Add an environment's gradient to a sum, and its evidence to the product of its side, in one pass.

        Args:
            gradient: g, of one environment.
            squares: M, sums of its clusters' squares.
            limits: the least M and the largest share g^2 / M.
            into: the sum, and the products of 1 - g^2 / M where g is above 0 and where it is below.
        """
        total, up, down = (t.data_ptr() for t in into)
        sizes = gradient.numel(), *limits
        self.library.mechlearn_add_sides(gradient.data_ptr(), squares.data_ptr(), *sizes, total, up, down)

    def moments(self, contributions: Float[Tensor, "e k *p"]) -> tuple[Float[Tensor, "e *p"], Float[Tensor, "e *p"]]:
        """Return sum_k h_k and sum_k h_k^2 of every environment, which is read once."""
        environments, clusters, *shape = contributions.shape
        gradients, squares = (contributions.new_empty(environments, *shape) for _ in range(2))
        sizes = environments, clusters, torch.Size(shape).numel()
        self.library.mechlearn_moments(contributions.data_ptr(), *sizes, gradients.data_ptr(), squares.data_ptr())
        return gradients, squares

    def and_mask(self, gradient: Float[Tensor, "*p"], sign: Int8[Tensor, "*p"], environments: int, count: int) -> int | None:
        """Turn the sum of gradients into the masked mean and sums of signs into the mask, in place and in one pass.

        Returns:
            The number of components with at least ``count`` signs in agreement; None where a gradient is not finite.
        """
        sizes = gradient.numel(), environments, count
        survivors = self.library.mechlearn_and_mask(gradient.data_ptr(), sign.data_ptr(), *sizes)
        return None if survivors < 0 else survivors


@functools.cache
def load() -> Compiled:
    """Return the kernels, built if they are not in the cache; once in a process.

    Raises:
        BuildError: there is no compiler, or it fails; the message is one sentence.
    """
    return Compiled(loaded())


def again() -> Compiled | None:
    """Return the kernels for a copy of what used them, None with a warning where they cannot be built."""
    try:
        return load()
    except BuildError as reason:
        warnings.warn(
            f"A copy should find a C compiler, as what it was made of had one. Found {reason}. torch's operators are used, "
            "with the "
            "same masks.",
            stacklevel=2,
        )
        return None


def IMPLEMENTATION() -> str:  # noqa: N802  # the name by which the lab asks every module for the way that it took
    """What the record of a run says: whether this process has loaded the kernels."""
    return "compiled kernels" if load.cache_info().currsize else "torch's operators"
