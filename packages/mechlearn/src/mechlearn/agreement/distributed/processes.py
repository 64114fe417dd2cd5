"""Which processes train a model together: those of its DistributedDataParallel, or of the mesh over which FSDP2 shards it."""

import gc
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, distributed, nn
from torch.nn.modules.module import register_module_module_registration_hook
from torch.nn.parallel import DistributedDataParallel

from mechlearn.agreement.engine.collected import Collected, OfEnvironments, Survivors
from mechlearn.agreement.engine.delivery import HOOKS, cast_for
from mechlearn.agreement.engine.held import Held
from mechlearn.agreement.rules import Rule
from mechlearn.agreement.standard_errors import PLAIN, StandardErrors

_WRAPPED: "WeakSet[DistributedDataParallel]" = WeakSet()
"""Every DistributedDataParallel there is: what it wraps does not know it."""


def _remember(module: nn.Module, name: str, child: nn.Module | None) -> None:
    del name, child
    if isinstance(module, DistributedDataParallel):
        _WRAPPED.add(module)


register_module_module_registration_hook(_remember)
if distributed.is_available() and distributed.is_initialized():  # imported late: there may be some already
    _WRAPPED.update(found for found in gc.get_objects() if issubclass(type(found), DistributedDataParallel))


class Processes:
    """Knows which processes train a model together, and in which of them it is.

    A model may be wrapped or sharded after its `mechlearn.agreement.Agreement` was made, so that every step asks again.

    Args:
        model: any module.

    Raises:
        ValueError: a model whose parts lie on several processes in a way that cannot be combined.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self.ranks()

    def ranks(self) -> "Ranks | None":
        """Return the processes that train the model with this one; None where it is alone."""
        if not (distributed.is_available() and distributed.is_initialized()):
            return None
        check_parallelism(self._model)
        shards = _shards(self._model)
        if shards:
            return Ranks(self._model, shards=shards)
        wrapped = _wrappers(self._model)
        if not wrapped or distributed.get_world_size(wrapped[0].process_group) == 1:
            return None
        return Ranks(self._model, wrapped=wrapped)


class Ranks:
    """The processes that train one model, in one step.

    Args:
        model: on this rank.
        wrapped: what wraps it.
        shards: the parts of it that FSDP2 shards.
    """

    def __init__(
        self, model: nn.Module, wrapped: tuple[DistributedDataParallel, ...] = (), shards: tuple[Any, ...] = ()
    ) -> None:
        self._model, self._wrapped, self._shards = model, wrapped, shards
        self._group: Any = wrapped[0].process_group if wrapped else _group_of_shards(model, shards)
        if distributed.get_world_size(self._group) > 1:
            _check_together(model, wrapped)

    @contextmanager
    def forming(self, found: Callable[[], Collected | Held | None] = lambda: None) -> Generator[None]:
        """Have every parameter whole within, and end all ranks where one of them fails.

        Args:
            found: returns at the end what this rank has formed.
        """
        with self._answered(found):
            self._check_synchronised()
            with self.whole():
                yield

    @contextmanager
    def whole(self) -> Generator[None]:
        """Have every parameter whole within: all ranks gather them once, however many passes each of them takes."""
        before = [(group, group.reshard_after_backward) for shard in self._shards for group in _groups(shard)]
        try:
            for shard in self._shards:
                shard.unshard()
            for group, _ in before:
                group.reshard_after_backward = False
            yield
        finally:
            for group, found in before:
                group.reshard_after_backward = found
            for shard in self._shards:
                shard.reshard()

    @contextmanager
    def _answered(self, found: Callable[[], Collected | Held | None]) -> Generator[None]:
        """Let all ranks know whether one has failed, for which they would wait, or has formed what cannot be combined."""
        from mechlearn.agreement.distributed.collectives import all_gather  # noqa: PLC0415 # needs torch.distributed

        failed: Exception | None = None
        try:
            yield
        except Exception as error:
            failed = error
        device = next((parameter.device for parameter in self._model.parameters()), torch.device("cpu"))
        formed = found()
        own = [failed is not None, isinstance(formed, Held), formed is not None and bool(formed.outside)]
        mine = torch.tensor(own, dtype=torch.int32, device=device)
        flags = torch.stack(all_gather(mine, self._group)).tolist()
        if failed is not None:
            raise failed
        others = [rank for rank, (flag, *_) in enumerate(flags) if flag]
        if others:
            raise RuntimeError(
                f"Every rank should form its environments' gradients. Found an error on ranks {others}. See what they say; no "
                "gradient was changed."
            )
        if any(outside for *_, outside in flags):
            raise ValueError(
                "Losses on several ranks should depend on the model's parameters alone. Found other tensors that require a "
                "gradient, which would be each rank's own. Make the Agreement of the whole model, or freeze or detach them."
            )
        if len({hold for _, hold, _ in flags}) > 1:
            raise ValueError(
                "Every rank should pass `hold` in a step, or none. Found it on ranks "
                f"{[rank for rank, (_, hold, _) in enumerate(flags) if hold]} alone. Pass it alike; no gradient was changed."
            )

    def gather(self, held: Held) -> None:
        """Bring what several ranks hold of an environment to one of them, where it is whole then."""
        from mechlearn.agreement.distributed.gathering import gather  # noqa: PLC0415 # needs torch.distributed

        gather(held, {name: one for name, one in self._model.named_parameters() if one.requires_grad}, self._group)

    def _check_synchronised(self) -> None:
        apart = any(not wrapper.require_backward_grad_sync for wrapper in self._wrapped)
        if apart or not all(group.reduce_grads for shard in self._shards for group in _groups(shard)):
            raise ValueError(
                "`backward` should be called where ranks synchronise, as a mask is of all ranks' environments. Found it "
                "inside no_sync() or set_requires_gradient_sync(False). Call `accumulate` for every micro-batch but the last."
            )

    def combine(
        self, rule: Rule, statistics: OfEnvironments, refuse_nonfinite: bool
    ) -> tuple[dict[str, Tensor], dict[str, Tensor], Survivors]:
        """Return parameters, combined gradients and survivors of all ranks' environments, by name; the same on every rank."""
        from mechlearn.agreement.distributed.ddp import combined  # noqa: PLC0415 # needs torch.distributed

        named = {name: parameter for name, parameter in self._model.named_parameters() if parameter.requires_grad}
        gradients, survivors = combined(named, rule, statistics, group=self._group, refuse_nonfinite=refuse_nonfinite)
        return dict(named), gradients, survivors


@contextmanager
def gathered(model: nn.Module) -> Generator[None]:
    """Have every parameter whole within if FSDP2 shards the model: all its ranks gather them once."""
    shards = _shards(model)
    with Ranks(model, shards=shards).whole() if shards else nullcontext():
        yield


def hand_over(parameters: Mapping[str, Tensor], gradients: Mapping[str, Tensor]) -> None:
    """Add combined gradients to ``.grad``, of a sharded parameter its shard; users' hooks run, those of a wrapper do not."""
    for name, gradient in gradients.items():
        _hand_over(parameters[name], gradient)


@torch.no_grad()
def _hand_over(leaf: Any, gradient: Tensor) -> None:  # noqa: ANN401 # a DTensor is one
    gradient = cast_for(leaf, shard_of(leaf, gradient))
    with HOOKS:
        for hook in list((leaf._backward_hooks or {}).values()):
            changed = hook(gradient)
            gradient = gradient if changed is None else changed
        if leaf.grad is None:
            leaf.grad = gradient
        else:
            leaf.grad.add_(gradient)
        for hook in list((getattr(leaf, "_post_accumulate_grad_hooks", None) or {}).values()):
            hook(leaf)


def shard_of(parameter: Any, gradient: Tensor) -> Any:  # noqa: ANN401
    """Return the part of a whole gradient that belongs to a parameter; all of it where nothing is sharded."""
    if not _is_sharded(parameter):
        return gradient
    tensors = sys.modules["torch.distributed.tensor"]
    mesh = parameter.device_mesh
    everywhere = [tensors.Replicate()] * mesh.ndim
    return tensors.DTensor.from_local(gradient, mesh, everywhere, run_check=False).redistribute(placements=parameter.placements)


def _is_sharded(parameter: Tensor) -> bool:
    tensors = sys.modules.get("torch.distributed.tensor")
    return tensors is not None and isinstance(parameter, tensors.DTensor)


def _shards(model: nn.Module) -> tuple[Any, ...]:
    """Return the modules that `torch.distributed.fsdp.fully_shard` has sharded; a model without it has not imported it."""
    kind = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    return () if kind is None else tuple(module for module in model.modules() if isinstance(module, kind))


def _groups(shard: Any) -> list[Any]:  # noqa: ANN401
    """Return what FSDP2 keeps of a module's parameters; there are public setters of what is read here, and no getters."""
    state = shard._get_fsdp_state()
    several = getattr(state, "_fsdp_param_groups", None)
    return [one for one in ([state._fsdp_param_group] if several is None else several) if one is not None]


def _group_of_shards(model: nn.Module, shards: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """Return the group over which a model is sharded, and refuse what is sharded over several, or in another way as well."""
    for shard in shards:
        shard.reshard()
    found = [parameter for parameter in model.parameters() if parameter.requires_grad]
    meshes = {parameter.device_mesh for parameter in found if _is_sharded(parameter)}  # pyright: ignore[reportAttributeAccessIssue]
    if len(meshes) != 1 or not all(map(_is_sharded, found)):
        raise ValueError(
            "`model` should be sharded over one mesh, every parameter of it. Found "
            f"{len(meshes)} meshes and {sum(not _is_sharded(one) for one in found)} parameters that are not sharded. Call "
            "fully_shard on the whole model, with one mesh."
        )
    (mesh,) = meshes
    if mesh.ndim == 1:
        return mesh.get_group()
    if mesh.size() != distributed.get_world_size() or any(len(_dimensions(parameter)) > 1 for parameter in found):
        raise ValueError(_TENSOR_PARALLEL.format(found="a mesh of several dimensions that does not hold all processes"))
    return None


def _dimensions(parameter: Any) -> list[int]:  # noqa: ANN401
    return [k for k, placement in enumerate(parameter.placements) if not placement.is_replicate()]


_TENSOR_PARALLEL = (
    "`model` should be whole on every rank, or sharded by fully_shard alone: parts of one layer on several ranks see the same "
    "environments. Found {found}. Train data-parallel, by DistributedDataParallel or fully_shard."
)


def check_parallelism(model: nn.Module) -> None:
    """Reject what cannot be combined, whatever its ranks hold."""
    fsdp = sys.modules.get("torch.distributed.fsdp")
    pipelines = sys.modules.get("torch.distributed.pipelining")
    for name, module in model.named_modules():
        if fsdp is not None and isinstance(module, fsdp.FullyShardedDataParallel):
            raise ValueError(
                "`model` should not be sharded by FullyShardedDataParallel, which hides its parameters. Found "
                f"{f'the submodule {name!r}' if name else 'it'} sharded so. Use torch.distributed.fsdp.fully_shard (FSDP2)."
            )
        if pipelines is not None and isinstance(module, pipelines.Pipe):
            raise ValueError(
                "`model` should be whole on every rank: the losses of a pipeline are on its last one. Found a Pipe. Train "
                "data-parallel, by DistributedDataParallel or fully_shard."
            )
    if not _shards(model):
        found = next((name for name, parameter in model.named_parameters() if _is_sharded(parameter)), None)
        if found is not None:
            raise ValueError(_TENSOR_PARALLEL.format(found=f"{found!r}, a DTensor in no module that fully_shard was called on"))


def _wrappers(model: nn.Module) -> tuple[DistributedDataParallel, ...]:
    """Return what wraps a model, a part of it, or what it is a part of."""
    if not _WRAPPED:
        return ()
    own = {id(parameter) for parameter in model.parameters() if parameter.requires_grad}
    return tuple(wrapper for wrapper in list(_WRAPPED) if any(id(one) in own for one in _synchronised(wrapper)))


def _synchronised(wrapper: DistributedDataParallel) -> Iterator[Tensor]:
    for parameter in wrapper.module.parameters():
        if not getattr(parameter, "_ddp_ignored", False):
            yield parameter


def _check_together(model: nn.Module, wrapped: tuple[DistributedDataParallel, ...]) -> None:
    """Reject what only a wrapper's own backward pass would do right."""
    if any(isinstance(module, nn.SyncBatchNorm) and module.training for module in model.modules()):
        raise ValueError(
            "`model` should not take statistics over ranks, as every pass would wait for the other ranks. Found a "
            "SyncBatchNorm in train mode. Use GroupNorm, or BatchNorm with a choice of `statistics`."
        )
    if not wrapped:
        return
    if any(wrapper.static_graph for wrapper in wrapped):
        raise ValueError(
            "DistributedDataParallel should leave gradients to the agreement. Found static_graph=True, with which it counts "
            "them in its first backward pass. Wrap the model without it."
        )
    if any(wrapper._join_config.enable for wrapper in wrapped):  # pyright: ignore[reportPrivateUsage]
        raise ValueError(
            "Every rank should take every step, as masks are of all ranks' environments. Found ddp.join(). Give each rank as "
            "many batches, or pass what `collect` returns to combine_across_ranks, {} where a rank has none."
        )
    reached = {id(parameter) for wrapper in wrapped for parameter in _synchronised(wrapper)}
    missed = next((name for name, one in model.named_parameters() if one.requires_grad and id(one) not in reached), None)
    if missed is not None or len({id(wrapper.process_group) for wrapper in wrapped}) > 1:
        raise ValueError(
            "All of `model` should be wrapped by DistributedDataParallel over one group of processes. Found "
            f"{'several groups' if missed is None else f'{missed!r} outside of it'}. Wrap the whole, or make an Agreement for "
            "each part."
        )


def check_each_step(rule: Rule, keep: frozenset[str]) -> None:
    """Reject choices that look at one process's environments alone."""
    errors: StandardErrors = getattr(rule, "errors", PLAIN)
    if errors.every != 1:
        raise ValueError(
            "A rule on several ranks should decide masks at every step, as kept ones are of one process. Found "
            f"every={errors.every}. Pass every=1."
        )
    if keep:
        raise ValueError(
            "`keep` should hold no parameters' names on several ranks, as statistics by input are of one process. Found "
            f"{sorted(keep)}. Leave them out, or pass keep='masks'."
        )
