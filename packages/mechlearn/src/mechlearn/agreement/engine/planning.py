"""What a call asks, all of it checked: losses, whose they are, what they depend on; and which path each parameter takes."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.graph import Node

from mechlearn.agreement.engine import layers as formulas
from mechlearn.agreement.engine.analysis.cut import Cut, cut_above
from mechlearn.agreement.engine.analysis.refusals import check_batch_norm, check_graph, check_reached, may_hide
from mechlearn.agreement.engine.analysis.rows import Made, Read
from mechlearn.agreement.engine.analysis.walk import Proof, Survey, prove, survey
from mechlearn.agreement.engine.variance.clusters import Clusters
from mechlearn.environments import EnvironmentIds, Environments, check_differentiable, check_unreduced, partition


class Asked(NamedTuple):
    """One call's losses and what they depend on.

    Attributes:
        losses: (B,) unreduced.
        groups: the partition of the batch.
        weights: (B,) what each loss is multiplied by, so that they add up to the sum over environments of their mean losses.
        graph: of the losses.
        parameters: the model's that are reached, by name.
        outside: leaves outside the model.
        model: whose parameters they are.
    """

    losses: Tensor
    groups: Environments
    weights: Tensor
    graph: Survey
    parameters: dict[str, nn.Parameter]
    outside: list[Tensor]
    model: nn.Module


MANY = 2**17
"""Of more ids than these each call's are looked at anew: 1 MiB of them is kept."""


_FEW = 2**12
"""Of no more ids than these a comparison is a call and little else."""


class Partitions:
    """Partitions of batches: that of the call before where all ids are equal to its ids, which is one comparison."""

    def __init__(self) -> None:
        self._latest: tuple[Tensor, torch.device, Environments] | None = None

    def of(self, environments: EnvironmentIds, losses: Tensor) -> Environments:
        """Return the partition of a call's losses.

        Raises:
            TypeError, ValueError: as `mechlearn.environments.partition`.
        """
        if type(environments) is not Tensor or environments.numel() > MANY:
            return partition(environments, len(losses), losses.device)
        if environments.dtype != torch.int64 or environments.layout != torch.strided:
            return partition(environments, len(losses), losses.device)
        latest = self._latest  # read once: another thread may write it
        if latest is not None:
            ids, device, found = latest
            same = ids.shape == losses.shape and environments.device == ids.device and device == losses.device
            if same and _equal(environments, ids):
                return found
        found = partition(environments, len(losses), losses.device)
        self._latest = environments.detach().clone(), losses.device, found
        return found


def _equal(ids: Tensor, others: Tensor) -> bool:
    """Tell whether ids of one device and number are the same; arrays are compared several at a time, tensors one by one."""
    if ids.device.type != "cpu" or len(ids) <= _FEW:
        return torch.equal(ids, others)
    return bool((ids.numpy() == others.numpy()).all())


def _named(model: nn.Module, leaves: Mapping[int, Tensor]) -> dict[str, nn.Parameter]:
    """Return those of a model's parameters that are among leaves, by name: what `named_parameters` says of them."""
    if type(model).named_parameters is not nn.Module.named_parameters:
        return {name: parameter for name, parameter in model.named_parameters() if id(parameter) in leaves}
    found: dict[str, nn.Parameter] = {}
    missing = set(leaves)  # a parameter of several names has the first
    seen: set[nn.Module] = set()

    def look(module: nn.Module, prefix: str) -> None:
        seen.add(module)
        for name, parameter in module._parameters.items():  # pyright: ignore[reportPrivateUsage]
            if id(parameter) in missing:
                missing.discard(id(parameter))
                found[prefix + name] = parameter  # pyright: ignore[reportArgumentType]  # None is no leaf
        for name, child in module._modules.items():  # pyright: ignore[reportPrivateUsage]
            if child is not None and child not in seen:
                look(child, f"{prefix}{name}.")

    look(model, "")
    return found


def ask(model: nn.Module, losses: Tensor, environments: EnvironmentIds, partitions: Partitions) -> Asked:
    """Check a call's losses and ids, and find what the losses depend on.

    Raises:
        TypeError, ValueError: as `mechlearn.agreement.Agreement.backward`.
    """
    check_unreduced(losses)
    check_differentiable(losses)
    groups = partitions.of(environments, losses)
    graph = survey(losses)
    check_graph(graph)
    leaves = graph.leaves
    parameters = _named(model, leaves)
    check_reached(parameters)
    outside: list[Tensor] = []
    if len(parameters) < len(leaves):
        own = set(map(id, parameters.values()))
        outside = [leaf for key, leaf in leaves.items() if key not in own]
    return Asked(losses, groups, groups.mean_weights(losses), graph, parameters, outside, model)


class Plan(NamedTuple):
    """How each parameter's environment gradients are to be formed.

    Attributes:
        reads: of those that one backward pass serves, by name.
        reasons: why the others take one backward pass an environment, by name.
        proved: False where the user's word stands for a part of the proof.
        by_example: see `mechlearn.agreement.engine.analysis.walk.Proof`.
        hooked: see there.
        made: what is read of functions of several parameters, which are among ``reads`` with their other reads.
        cut: where the passes for the others may begin; None for the losses.
        watch: the position of an environment that is to be compared with the definition; None for none.
    """

    reads: dict[str, list[Read]]
    reasons: dict[str, str]
    proved: bool
    by_example: bool = True
    hooked: bool = False
    watch: int | None = None
    made: Mapping[str, Made] = {}
    cut: Cut | None = None


def paths_of(asked: Asked, statistics: str | None, *, vouched: bool, pulling: bool = False) -> Plan:
    """Prove what can be proved of a graph, and choose each parameter's path.

    Args:
        asked: what a call asks.
        statistics: for models that couple the examples of a batch, as `mechlearn.agreement.Agreement` says.
        vouched: take for granted that operations that are not known keep rows apart and first.
        pulling: whether environments' gradients of a function of several parameters can be taken to these.

    Raises:
        ValueError: BatchNorm used batch statistics, and no choice of ``statistics`` allows that.
    """
    names = {id(parameter): name for name, parameter in asked.parameters.items()}
    proof = prove(asked.graph, names, asked.groups, vouched)
    if proof.batch_norm or (proof.lost and may_hide(asked.graph, asked.model)):
        whole = asked.groups.environments if isinstance(asked.groups, Clusters) else asked.groups
        check_batch_norm(asked.graph, asked.model, statistics, whole.count)
    reads: dict[str, list[Read]] = {}
    reasons: dict[str, str] = {}
    for made in proof.made.values():
        found = (formulas.covers(read) for read in made.reads)
        reason = next((one for one in found if one is not None), None if pulling else _SEVERAL)
        proof.lost |= {name: reason for name in made.names if reason is not None and name not in proof.lost}
    through = set[str]().union(*(made.names for made in proof.made.values()))
    for name in through - proof.lost.keys():
        proof.reads.setdefault(name, [])
    for name in asked.parameters:
        reason = _reason(name, proof, through)
        if reason is None:
            reads[name] = proof.reads[name]
        else:
            reasons[name] = reason
    made = {key: one for key, one in proof.made.items() if not one.names.isdisjoint(reads)}
    below = {id(asked.parameters[name]) for name in reasons}
    cut = cut_above(asked.graph, proof, asked.groups, below) if below and not proof.hooked else None
    return Plan(reads, reasons, not proof.vouched, proof.by_example, proof.hooked, made=made, cut=cut)


_SEVERAL = "is read through a function of several parameters"


def reads_of_examples(asked: Asked, plan: Plan, clusters: Clusters, *, vouched: bool) -> dict[str, list[Read]]:
    """Return those of a plan's reads whose rows are single examples', where it was proved of larger clusters only.

    Args:
        asked: what a call asks.
        plan: of the clusters.
        clusters: the same examples, each a cluster.
        vouched: as in `paths_of`.
    """
    if plan.by_example:
        return plan.reads
    proof = prove(asked.graph, {id(parameter): name for name, parameter in asked.parameters.items()}, clusters, vouched)
    found = {name: reads for name, reads in proof.reads.items() if name in plan.reads and name not in proof.lost}
    return {name: plan.reads[name] for name, reads in found.items() if _where(reads) == _where(plan.reads[name])}


def _where(reads: Sequence[Read]) -> list[tuple[Node, int, tuple[int, int, int], bool]]:
    """Return where a parameter is read, along which dimension its rows lie, and whether they are known by example."""
    return [(read.node, read.slot, read.rows[:3], read.rows.owners is None) for read in reads]


def only_products(reads: Mapping[str, Sequence[Read]]) -> bool:
    """Tell whether parameters are read once each, by products of matrices or as their biases, with a row an example.

    What is to be held of such reads is no more than their layers' outputs.
    """
    return all(
        len(found) == 1
        and found[0].node.name() in ("AddmmBackward0", "MmBackward0")
        and found[0].rows.dim == 0
        and found[0].rows.owners is None
        and found[0].rows.outer * found[0].rows.inner == 1
        for found in reads.values()
    )


def _reason(name: str, proof: Proof, through: Collection[str]) -> str | None:
    """Return why a parameter takes the definition's path, None where one pass serves it."""
    if name in proof.lost:
        return proof.lost[name]
    found = proof.reads.get(name)
    if not found and name not in through:
        return "no read of it was found"
    for read in found or ():
        reason = formulas.covers(read)
        if reason is not None:
            return reason
    return None


def described(reasons: Mapping[str, str]) -> str:
    """Return a few parameters' names for each reason."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in reasons.items():
        by_reason.setdefault(reason, []).append(name)
    parts: list[str] = []
    for reason, names in by_reason.items():
        shown = ", ".join(repr(name) for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        parts.append(f"{shown} ({reason})")
    return "; ".join(parts)


def mean_losses(losses: Tensor, groups: Environments) -> Tensor:
    """Return each environment's mean loss, bit for bit as `Environments.means`, by operations that a small step has used."""
    if groups.equal and groups.order is None and losses.dtype in (torch.float32, torch.float64):
        return losses.reshape(groups.count, -1).sum(1).div_(groups.sizes[0])
    return groups.means(losses)
