"""Backends of `torch.compile` that rewrite the joint graph before it is partitioned."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from torch._dynamo import config as dynamo
from torch._dynamo.backends.common import aot_autograd
from torch._functorch._aot_autograd.utils import make_boxed_func
from torch._functorch.partitioners import default_partition, min_cut_rematerialization_partition
from torch._inductor import config as inductor
from torch._inductor.compile_fx import compile_fx
from torch._inductor.custom_graph_pass import CustomPartitionerFn
from torch._inductor.decomposition import select_decomp_table
from torch.fx import GraphModule

from mechlearn.agreement.compiled.rewriting import rewrite

if not hasattr(dynamo, "trace_autograd_ops"):
    raise ImportError("torch._dynamo.config has no trace_autograd_ops")

Backend = Callable[[GraphModule, Sequence[Any]], Callable[..., Any]]


class Partitioner(CustomPartitionerFn):
    """Rewrite a joint graph, then part it into forward and backward pass as Inductor does."""

    def __call__(self, gm: GraphModule, joint_inputs: Sequence[object], **kwargs: Any) -> tuple[GraphModule, GraphModule]:  # noqa: ANN401
        """Rewrite and partition."""
        rewrite(gm, joint_inputs)
        return min_cut_rematerialization_partition(gm, joint_inputs, **kwargs)

    def uuid(self) -> str:
        """Return what the caches of compiled graphs go by: a hash of the engine's sources."""
        return _digest()


@functools.cache
def _digest() -> str:
    folder = Path(__file__).parent
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()


def _inductor(options: dict[str, Any]) -> Backend:
    def backend(module: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]:
        # Around this call alone, so that nothing global is left on.
        with inductor.patch({**options, "custom_partitioner_fn": Partitioner()}):
            found: Any = compile_fx(module, inputs)  # pyright: ignore[reportArgumentType]
            return found

    return backend


def _partitioned(module: GraphModule, inputs: Sequence[object], **options: Any) -> tuple[GraphModule, GraphModule]:  # noqa: ANN401
    rewrite(module, inputs)
    return default_partition(module, inputs, **options)


def _uncompiled(module: GraphModule, inputs: Sequence[object]) -> Callable[..., Any]:
    del inputs
    return make_boxed_func(module.forward)


def backend_of(name: str, options: dict[str, Any] | None = None) -> Backend:
    """Return a backend by its name: "inductor", or "aot_eager", which runs the rewritten graph without a compiler.

    Args:
        name: which.
        options: Inductor's.
    """
    if name == "inductor":
        return _inductor(options or {})
    return aot_autograd(
        fw_compiler=_uncompiled,
        bw_compiler=_uncompiled,
        partition_fn=_partitioned,
        decompositions=select_decomp_table(),
    )
