"""The one backward pass: every read's incoming gradient is used up where it arrives, and no weight gradient is formed."""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor
from torch.autograd.graph import GradientEdge, Node, _engine_run_backward  # pyright: ignore[reportPrivateUsage]
from torch.utils.hooks import RemovableHandle

from craik.agreement.onepass import reads as formulas
from craik.agreement.onepass.proof.rows import Read
from craik.agreement.onepass.proof.stages import Stage, stages_of
from craik.agreement.onepass.proof.walk import Survey
from craik.agreement.onepass.recomputed import Recomputed, checkpoint_of, recompute
from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments

Taken = dict[str, list[formulas.Use]]
Roots = tuple[Sequence[Tensor | GradientEdge], Sequence[Tensor]]
"""Where autograd starts, and with which gradients."""


class LayerPass:
    """One backward pass of the sum of the environments' mean losses, which fills the sums of the covered parameters.

    Autograd is asked for the incoming gradients of the reads that lie deepest, and never for a weight's: what lies above is
    executed, and hooks on its nodes see what comes in. Nor is a node executed whose formula gives all that it sends on.

    Args:
        graph: of the losses.
        reads: of the parameters to treat, complete, by name.
        groups: the partition of the batch.
        sums: where to add, by parameter name.
        complete: told a parameter's name as soon as its sums are complete.
        partitions: of parameters that have another than ``groups``, by name.
    """

    def __init__(
        self,
        graph: Survey,
        reads: Mapping[str, Sequence[Read]],
        groups: Environments,
        sums: Mapping[str, RunningSums],
        complete: Callable[[str], None],
        partitions: Mapping[str, Environments] | None = None,
    ) -> None:
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

    def run(self, losses: Tensor, weights: Tensor, others: Sequence[Tensor] = (), *, retain_graph: bool) -> list[Tensor | None]:
        """Run the pass.

        Args:
            losses: (B,) unreduced.
            weights: (B,) what each is multiplied by.
            others: leaves whose ordinary gradients are wanted.
            retain_graph: keep the graph for another pass.

        Returns:
            The gradients of ``others``, None for those that are not reached.
        """
        kinds = self._graph.kinds
        carriers = [node for node in self._at if kinds[node].joining and formulas.carries(node) and checkpoint_of(node) is None]
        found: list[Tensor | None] = [None] * len(others)
        roots: Roots = ((losses,), (weights,))
        for stage in stages_of(self._graph, self._at, others, carriers):
            if not roots[0]:
                break
            reached, roots = self._run(stage, roots, [others[position] for position in stage.others], retain_graph)
            for position, gradient in zip(stage.others, reached, strict=True):
                found[position] = gradient
        self._finish()
        return found

    def _run(
        self, stage: Stage, roots: Roots, leaves: Sequence[Tensor], retain_graph: bool
    ) -> tuple[Sequence[Tensor | None], Roots]:
        """Run a stage; return the gradients of leaves, and what the next one starts from."""
        edges = [GradientEdge(node, number) for node in stage.ends for number in range(self._outputs(node))]
        inputs = (*edges, *leaves)
        if not inputs:
            return (), ((), ())
        handles: list[RemovableHandle] = []
        try:
            for node in stage.hooked:
                handles.append(node.register_prehook(self._hook(node)))
            # What torch.autograd.grad calls once it has checked what we know: a small step's checks cost as much as its work.
            found = _engine_run_backward(*roots, retain_graph, False, inputs, True, accumulate_grad=False)
        finally:
            for handle in handles:
                handle.remove()
        deltas = iter(found)
        sent: list[tuple[GradientEdge, Tensor]] = []
        for node in stage.ends:
            carried = self._receive(node, tuple(next(deltas) for _ in range(self._outputs(node))), node in stage.carriers)
            if carried is not None:
                child, number = self._graph.slots[node][0]
                assert child is not None  # else it would carry nothing
                sent.append((GradientEdge(child, number), carried))
        return list(deltas), (tuple(edge for edge, _ in sent), tuple(gradient for _, gradient in sent))

    def _hook(self, node: Node) -> Callable[[tuple[Tensor | None, ...]], None]:
        def hook(deltas: tuple[Tensor | None, ...]) -> None:
            self._receive(node, deltas)

        return hook

    def _receive(self, node: Node, deltas: tuple[Tensor | None, ...], carries: bool = False) -> Tensor | None:
        """Take what the reads of one node add; a parameter whose reads are all taken is added up.

        Returns:
            What a node that ``carries`` sends to its first slot.
        """
        reads = self._at[node]
        carried: Tensor | None = None
        self._done.add(node)
        if any(delta is not None for delta in deltas):
            delta: Any = deltas if self._graph.kinds[node].joining else deltas[0]
            node_seen = self._seen(node)
            for alike, groups in self._of_one_partition(reads):
                if carries and carried is None:
                    uses, carried = formulas.carry(alike, node_seen, delta, groups)
                else:
                    uses = formulas.take(alike, node_seen, delta, groups)
                for read, use in zip(alike, uses, strict=True):
                    self._taken[read.name].append(use)
        for read in reads:
            self._missing[read.name] -= 1
            if not self._missing[read.name]:
                self._add(read.name)
        return carried

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
            formulas.add(uses, self._sums[name])
        else:
            self._sums[name].add_silent(self._partitions.get(name, self._groups).count)
        self._complete(name)

    def _finish(self) -> None:
        """Add up what some reads of which no gradient reached."""
        for name in list(self._taken):
            self._add(name)


def _of_one_kind(reads: list[Read]) -> Iterable[list[Read]]:
    """Group reads of one node by whose rows are whose: the same for all slots, but for a parameter that is read elsewise."""
    first = reads[0].rows
    if all(read.rows is first or (read.rows.owners is None and read.rows == first) for read in reads):
        return (reads,)
    return ([read] for read in reads)


@contextmanager
def silent(leaves: Iterable[Tensor]) -> Generator[None]:
    """Keep the users' hooks on leaves from running in the passes within: they run once, when the gradient is delivered."""
    hooks = [found for leaf in leaves if (found := leaf._backward_hooks)]
    if not hooks:
        yield
        return
    kept = [dict(found) for found in hooks]
    try:
        for found in hooks:
            found.clear()
        yield
    finally:
        for found, before in zip(hooks, kept, strict=True):
            found.update(before)
