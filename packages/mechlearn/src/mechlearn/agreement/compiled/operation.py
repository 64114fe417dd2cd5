"""The engine's one operation: sums over environments of what a plan's small graph returns for each, and of its signs."""

import functools
from collections.abc import Sequence

import torch
from torch import Tensor

from mechlearn.agreement.compiled.bodies import body
from mechlearn.agreement.compiled.marks import LIBRARY
from mechlearn.agreement.compiled.packed import IN_BYTES, layout
from mechlearn.agreement.compiled.plan import dtype_of, read
from mechlearn.agreement.compiled.sinks import Lean, Sink, Wide, lean
from mechlearn.agreement.kernels.compiled import Compiled, load
from mechlearn.agreement.kernels.library import BuildError

LIBRARY.define(
    "environment_sums(Tensor[] operands, Tensor starts, str plan, SymInt[] sizes) -> Tensor[]",
    tags=[torch.Tag.pt2_compliant_tag, torch.Tag.flexible_layout],
)

ENVIRONMENT_SUMS = torch.ops.mechlearn.environment_sums.default


@functools.cache
def kernels() -> Compiled | None:
    """Return the kernels of a CPU, None where no compiler builds them."""
    try:
        return load()
    except BuildError:
        return None


def _environment_sums(operands: Sequence[Tensor], starts: Tensor, plan: str, sizes: Sequence[int]) -> list[Tensor]:
    """Return, for each parameter of the plan, the sum of its environments' gradients and their statistics."""
    found = read(plan)
    first = operands[0]
    compiled = kernels() if first.device.type == "cpu" else None
    if compiled is not None and lean(compiled, found.needs, operands) and all(one.dtype == "float32" for one in found.outputs):
        sinks: list[Sink] = [Lean(compiled, output.shape, found.needs == [IN_BYTES]) for output in found.outputs]
    else:
        like = [first.new_empty((), dtype=dtype_of(output.dtype)).expand(output.shape) for output in found.outputs]
        sinks = [Wide(one, found.needs, compiled) for one in like]
    body(plan)(operands, starts.tolist(), sizes, sinks)
    return [tensor for sink in sinks for tensor in sink.packed()]


def _blank(operands: Sequence[Tensor], starts: Tensor, plan: str, sizes: Sequence[int]) -> list[Tensor]:
    del starts, sizes
    found = read(plan)
    layouts = [
        layout(name, output.shape, dtype_of(output.dtype)) for output in found.outputs for name in ("gradient", *found.needs)
    ]
    return [operands[0].new_empty(shape, dtype=dtype) for shape, dtype in layouts]


LIBRARY.impl("environment_sums", _environment_sums, "CompositeExplicitAutograd")
torch.library.register_fake("mechlearn::environment_sums", _blank, lib=LIBRARY)
