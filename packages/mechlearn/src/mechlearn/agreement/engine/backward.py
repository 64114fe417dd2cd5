"""The one backward pass: every read's incoming gradient is used up where it arrives, and no weight gradient is formed.

Of some parameters something is made before a row comes in: weight norm, W + B A, networks of weights, a penalty. It is
treated as if it were a parameter. Each environment's gradient of it is taken to them by autograd, where no row passes.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, _engine_run_backward  # pyright: ignore[reportPrivateUsage]
from torch.utils.hooks import RemovableHandle

from mechlearn.agreement.engine import layers as formulas
from mechlearn.agreement.engine.analysis.rows import Made, Read
from mechlearn.agreement.engine.analysis.walk import Survey
from mechlearn.agreement.engine.delivery import taken
from mechlearn.agreement.engine.layers.terms import Span
from mechlearn.agreement.engine.planning import Asked, Plan
from mechlearn.agreement.engine.recomputed import Recomputed, checkpoint_of, recompute
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.variance.clusters import Clusters
from mechlearn.environments import Environments

Taken = dict[str, list[formulas.Use]]


class LayerPass:
    """One backward pass of the sum of the environments' mean losses, which fills the sums of the covered parameters.

    Autograd is asked for the incoming gradients of the reads that lie deepest, and never for a weight's: what lies above is
    executed, and hooks on its nodes see what comes in.

    Args:
        graph: of the losses.
        reads: of the parameters to treat, complete, by name.
        groups: the partition of the batch.
        sums: where to add, by parameter name.
        complete: told a parameter's name as soon as its sums are complete.
        partitions: of parameters that have another than ``groups``, by name.
        times: what is multiplied with what arrives, where the losses' weights were divided by it.
        watch: the position of an environment whose gradients are to be seen, too.

    Attributes:
        watched: the gradients of that environment, by parameter name; none where they are 0.
        arrived: the incoming gradient of the node at which the pass was to look, None where none came.
    """

    arrived: Tensor | None = None

    def __init__(
        self,
        graph: Survey,
        reads: Mapping[str, Sequence[Read]],
        groups: Environments,
        sums: Mapping[str, RunningSums],
        complete: Callable[[str], None],
        partitions: Mapping[str, Environments] | None = None,
        times: int = 1,
        watch: int | None = None,
    ) -> None:
        self._times, self._watch = times, watch
        self.watched: dict[str, Tensor] = {}
        self._partitions = partitions or {}
        self._graph, self._groups, self._sums, self._complete = graph, groups, sums, complete
        self._missing = {name: len(found) for name, found in reads.items()}
        self._taken: Taken = {name: [] for name in reads}
        self._at: dict[Node, list[Read]] = {}
        self._done: set[Node] = set()
        self._recomputed: dict[Node, Recomputed] = {}
        for found in reads.values():
            for read in found:
                self._at.setdefault(read.node, []).append(read)

    def run(
        self,
        losses: Tensor,
        weights: Tensor,
        others: Sequence[Tensor] = (),
        *,
        retain_graph: bool,
        at: GradientEdge | None = None,
    ) -> list[Tensor | None]:
        """Run the pass.

        Args:
            losses: (B,) unreduced.
            weights: (B,) what each is multiplied by.
            others: leaves whose ordinary gradients are wanted.
            retain_graph: keep the graph for another pass.
            at: where to look at what arrives.

        Returns:
            The gradients of ``others``, None for those that are not reached.
        """
        executed = self._executed(others, at)
        deepest = [node for node in self._at if node not in executed]
        edges = [GradientEdge(node, number) for node in deepest for number in range(self._outputs(node))]
        inputs = (*edges, *others) if at is None else (*edges, *others, at)
        if not inputs:
            return []
        handles: list[RemovableHandle] = []
        try:
            for node in self._at:
                if node in executed:
                    handles.append(node.register_prehook(self._hook(node)))
            # What torch.autograd.grad calls once it has checked what we know: a small step's checks cost as much as its work.
            found = _engine_run_backward((losses,), (weights,), retain_graph, False, inputs, True, accumulate_grad=False)
        finally:
            for handle in handles:
                handle.remove()
        deltas = iter(found)
        for node in deepest:
            self._receive(node, tuple(next(deltas) for _ in range(self._outputs(node))))
        self._finish()
        rest = list(deltas)
        if at is not None:
            self.arrived = rest.pop()
        return self._multiplied(rest)

    def _multiplied(self, deltas: Sequence[Tensor | None]) -> list[Tensor | None]:
        return [delta if delta is None or self._times == 1 else delta * self._times for delta in deltas]

    def _executed(self, others: Sequence[Tensor], at: GradientEdge | None) -> set[Node]:
        """Return the nodes above a read or above something else that is asked for: those that the engine executes."""
        wanted = {id(leaf) for leaf in others}
        needed: set[Node] = set() if at is None else {at.node}
        executed: set[Node] = set()
        slots = self._graph.slots
        for node in reversed(self._graph.order):
            below = slots[node]
            if not below:
                if wanted and id(getattr(node, "variable", None)) in wanted:
                    needed.add(node)
                continue
            for child, _ in below:
                if child in needed:
                    needed.add(node)
                    executed.add(node)
                    break
            else:
                if node in self._at:
                    needed.add(node)
        return executed

    def _hook(self, node: Node) -> Callable[[tuple[Tensor | None, ...]], None]:
        def hook(deltas: tuple[Tensor | None, ...]) -> None:
            self._receive(node, deltas)

        return hook

    def _receive(self, node: Node, deltas: tuple[Tensor | None, ...]) -> None:
        """Take what the reads of one node add; a parameter whose reads are all taken is added up."""
        reads = self._at[node]
        self._done.add(node)
        if self._times != 1:
            deltas = tuple(self._multiplied(deltas))
        if any(delta is not None for delta in deltas):
            delta: Any = deltas if self._graph.kinds[node].joining else deltas[0]
            node_seen = self._seen(node)
            for alike, groups in self._of_one_partition(reads):
                for read, use in zip(alike, formulas.take(alike, node_seen, delta, groups), strict=True):
                    waiting = self._taken[read.name]
                    formulas.hold(use, waiting) if self._waits(read.name) else waiting.append(use)
        for read in reads:
            self._missing[read.name] -= 1
            if not self._missing[read.name]:
                self._add(read.name)

    def _waits(self, name: str) -> bool:
        """Tell whether what was taken waits for other reads."""
        return bool(self._taken[name]) or self._missing[name] > 1

    def _seen(self, node: Node) -> Node | Recomputed:
        """Return a node whose saved tensors may be read: itself, unless it lies in a checkpoint."""
        if node in self._recomputed:
            return self._recomputed.pop(node)
        hook = checkpoint_of(node)
        if hook is None:
            return node
        self._recomputed = recompute(
            [other for other in self._at if (other is node or other not in self._done) and checkpoint_of(other) is hook]
        )
        return self._recomputed.pop(node)

    def _of_one_partition(self, reads: list[Read]) -> Iterator[tuple[list[Read], Environments]]:
        for some in _of_one_kind(reads):
            if not self._partitions:
                yield some, self._groups
                continue
            found = [self._partitions.get(read.name, self._groups) for read in some]
            for groups in {id(one): one for one in found}.values():
                yield [read for read, own in zip(some, found, strict=True) if own is groups], groups

    def _outputs(self, node: Node) -> int:
        """Return how many outputs of a node have a gradient of use: those of normalisations beyond the first have none."""
        return len(node._input_metadata) if self._graph.kinds[node].joining else 1  # pyright: ignore

    def _add(self, name: str) -> None:
        uses = self._taken.pop(name)
        if uses:
            if self._watch is not None:
                blank = torch.zeros(self._sums[name].shape, dtype=self._sums[name].dtype, device=self._sums[name].device)
                span = _span(self._partitions.get(name, self._groups), self._watch)
                self.watched[name] = formulas.gradient_of(uses, span, blank)
            formulas.add(uses, self._sums[name])
        else:
            self._sums[name].add_silent(self._partitions.get(name, self._groups).count)
        self._complete(name)

    def _finish(self) -> None:
        """Add up what some reads of which no gradient reached."""
        for name in list(self._taken):
            self._add(name)


def _span(groups: Environments, environment: int) -> Span:
    """Return the positions of an environment's clusters in a partition; of environments its own."""
    if not isinstance(groups, Clusters):
        return Span(environment, 1)
    return Span(sum(groups.counts[:environment]), groups.counts[environment])


def _of_one_kind(reads: list[Read]) -> Iterable[list[Read]]:
    """Group reads of one node by whose rows are whose: the same for all slots, but for a parameter that is read elsewise."""
    first = reads[0].rows
    if all(read.rows is first or (read.rows.owners is None and read.rows == first) for read in reads):
        return (reads,)
    return ([read] for read in reads)


class _Group:
    """Parameters, and what is made of them and of one another: none has its gradient before all is read.

    Attributes:
        made: by its name.
        names: of the parameters.
        missing: whose reads are not all taken.
        uses: of all reads that were taken, by name.
    """

    def __init__(self, made: Mapping[str, Made], names: set[str], missing: set[str]) -> None:
        self.made, self.names, self.missing = made, names, missing
        self.uses: dict[str, list[formulas.Use]] = {}


class PullingPass(LayerPass):
    """A `LayerPass` that takes gradients of what is made of parameters to these.

    Args:
        asked: what a call asks.
        plan: with what is made.
        sums: where to add, by parameter name.
        complete: told a parameter's name as soon as its sums are complete.
        times: as for `LayerPass`.
    """

    def __init__(
        self, asked: Asked, plan: Plan, sums: Mapping[str, RunningSums], complete: Callable[[str], None], times: int = 1
    ) -> None:
        reads = {**plan.reads, **{key: made.reads for key, made in plan.made.items()}}
        super().__init__(asked.graph, reads, asked.groups, sums, complete, times=times, watch=plan.watch)
        self._parameters = asked.parameters
        self._of: dict[str, _Group] = {}
        for group in _connected(plan):
            self._of |= dict.fromkeys((*group.made, *group.names), group)
            for name in group.names - group.missing:
                del self._taken[name]  # which nothing reads as it is

    def _add(self, name: str) -> None:
        group = self._of.get(name)
        if group is None:
            super()._add(name)
            return
        group.uses[name] = self._taken.pop(name)
        group.missing.remove(name)
        if not group.missing:
            self._pull(group)

    def _waits(self, name: str) -> bool:
        group = self._of.get(name)
        return super()._waits(name) or (group is not None and len(group.missing) > 1)

    def _pull(self, group: _Group) -> None:
        reached = {key: made for key, made in group.made.items() if group.uses[key]}
        pulled = _pulling(reached.values(), [self._parameters[name] for name in group.names])
        for e in range(self._groups.count):
            found = pulled(tuple(_formed(group.uses[key], e, made) for key, made in reached.items()))
            for position, name in enumerate(group.names):
                self._add_one(name, taken(found, position), group.uses.get(name, ()), e)
        for name in group.names:
            self._complete(name)

    def _add_one(self, name: str, gradient: Tensor | None, uses: formulas.Uses, environment: int) -> None:
        """Add one environment's gradient: what was pulled, and what reads of the parameter itself add."""
        sums = self._sums[name]
        if gradient is None:
            gradient = torch.zeros(sums.shape, dtype=sums.dtype, device=sums.device)
        gradient = formulas.gradient_of(uses, Span(environment, 1), gradient.to(sums.dtype))
        if environment == self._watch:
            self.watched[name] = gradient.clone()
        sums.add(gradient[None])


def _pulling(every: Iterable[Made], leaves: Sequence[Tensor]) -> Callable[[tuple[Tensor, ...]], list[Tensor | None]]:
    """Return what takes an environment's gradients of what is made to the leaves; of one number, as a penalty, by a product."""
    edges = tuple(GradientEdge(*made.edge) for made in every)
    if not edges:
        return lambda _: [None] * len(leaves)

    def pulled(incoming: tuple[Tensor, ...]) -> list[Tensor | None]:
        with torch.enable_grad():
            return list(_engine_run_backward(edges, incoming, True, False, tuple(leaves), True, accumulate_grad=False))

    node, output = edges[0].node, edges[0].output_nr
    like = node._input_metadata[output]  # pyright: ignore
    if len(edges) > 1 or math.prod(like.shape) != 1 or like.dtype not in (torch.float32, torch.float64):
        return pulled
    of_one = pulled((torch.ones(tuple(like.shape), dtype=like.dtype, device=like.device),))
    return lambda incoming: [None if gradient is None else gradient * incoming[0].reshape(()) for gradient in of_one]


def _formed(uses: formulas.Uses, environment: int, made: Made) -> Tensor:
    """Return an environment's gradient of what is made."""
    node, output = made.edge
    like = node._input_metadata[output]  # pyright: ignore
    if len(uses) == 1 and uses[0].place.whole and uses[0].place.pull is None:
        return uses[0].term.gradients(Span(environment, 1))[0].reshape(tuple(like.shape)).to(like.dtype)
    blank = torch.zeros(tuple(like.shape), dtype=like.dtype, device=like.device)
    return formulas.gradient_of(uses, Span(environment, 1), blank)


def _connected(plan: Plan) -> Iterator[_Group]:
    """Yield what shares parameters together."""
    groups: list[tuple[dict[str, Made], set[str]]] = []
    for key, made in plan.made.items():
        names = set(made.names & plan.reads.keys())
        together = [group for group in groups if group[1] & names]
        groups = [group for group in groups if not group[1] & names]
        every: dict[str, Made] = {key: made}
        for one, others in together:
            every |= one
            names |= others
        groups.append((every, names))
    for every, names in groups:
        yield _Group(every, names, {*every, *(name for name in names if plan.reads[name])})
