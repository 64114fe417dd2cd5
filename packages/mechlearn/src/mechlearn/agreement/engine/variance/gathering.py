"""What an agreement keeps from step to step for a rule that tests for conflict, and which parts it compares where."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from mechlearn.agreement.engine.analysis.rows import WHOLE, Read
from mechlearn.agreement.engine.analysis.saved import output_shape, saved
from mechlearn.agreement.engine.layers.convolution import WEIGHT
from mechlearn.agreement.engine.variance.clusters import Clusters, by_example, by_halves
from mechlearn.agreement.engine.variance.memory import Memory, sizes_of
from mechlearn.agreement.engine.variance.scratch import Room
from mechlearn.agreement.engine.variance.sums import EvidenceSums
from mechlearn.agreement.kernels.compiled import Compiled
from mechlearn.agreement.standard_errors import StandardErrors
from mechlearn.environments import Environments

SMALL = 2**12
"""Parameters of at most so many components have a gradient for each example, where their formula gives one cheaply."""

POSITIONS = 16
"""From so many positions an example on, its product costs more than squaring what comes of it."""

_PRODUCTS = frozenset({"AddmmBackward0", "MmBackward0"})
_DEAR = frozenset({"MkldnnRnnLayerBackward0", "EmbeddingBagBackward0"})


class Gathering:
    """Makes the clusters of each step and the sums of each parameter.

    Args:
        errors: how standard errors are taken.
        compiled: kernels to use for what they take, or None for torch's operators.

    Attributes:
        generator: of the draw of halves.
        memories: what is remembered, by parameter name.
        ids: of the environments in it, in their order; None before the first step.
    """

    def __init__(self, errors: StandardErrors, compiled: Compiled | None = None) -> None:
        self.errors, self.compiled = errors, compiled
        self.generator = torch.Generator().manual_seed(errors.seed)
        self.memories: dict[str, Memory] = {}
        self._staged: dict[str, Memory] = {}
        self.ids: list[object] | None = None
        self._staged_ids: list[object] | None = None
        self._room = Room()

    def clusters(self, groups: Environments) -> Clusters:
        """Return the partition that is proved and that parameters without a cheaper one use."""
        if self.errors.memory:
            self._check_same(groups)
        return self._cut(groups, self.generator)

    def seen(self, groups: Environments) -> Clusters:
        """Return clusters such as a step's would be; nothing is drawn that a step would draw."""
        return self._cut(groups, torch.Generator().manual_seed(self.errors.seed))

    def _cut(self, groups: Environments, generator: torch.Generator) -> Clusters:
        return by_example(groups) if self.errors.parts == "examples" else by_halves(groups, generator)

    def partitions(
        self, parameters: Mapping[str, Tensor], groups: Environments, apart: Callable[[Clusters], Mapping[str, Sequence[Read]]]
    ) -> dict[str, Clusters]:
        """Return each parameter's partition by name; nothing where ``groups`` are environments.

        Args:
            parameters: by name.
            groups: what was proved to stay apart.
            apart: from single examples to the reads, by parameter, of which it is proved that these stay apart, too.
        """
        if not isinstance(groups, Clusters):
            return {}
        if self.errors.parts != "auto":
            return dict.fromkeys(parameters, groups)
        examples = by_example(groups.environments)
        reads = apart(examples)
        return {n: examples if n in reads and _cheap(p, reads[n]) else groups for n, p in parameters.items()}

    def sums(self, name: str, like: Tensor, needs: frozenset[str], clusters: Clusters) -> EvidenceSums:
        """Return empty sums for a parameter, with what is remembered of it."""
        if not self.errors.memory:
            return EvidenceSums(like, needs, clusters, None, self.compiled, self._room)
        groups = clusters.environments
        memory, places = self.memories.get(name), self._places_of(groups)
        if memory is None:
            sizes = sizes_of(_ids_of(groups), self.errors.rows, groups.sizes)
            in_place = [sizes[position] for position in sorted(range(groups.count), key=places.__getitem__)]
            memory = Memory(like, groups.count, self.errors.memory, in_place)
        self._staged[name] = memory = memory.next(places)
        return EvidenceSums(like, needs, clusters, memory, self.compiled, self._room)

    def keep(self) -> None:
        """Remember the step, unless what was computed in it is not finite: such a step is one that a GradScaler skips."""
        finite = [memory.is_finite() for memory in self._staged.values()]
        if finite and bool(torch.stack([one.to(finite[0].device) for one in finite]).all()):  # one wait for a device
            self.memories.update(self._staged)
            self.ids = self._staged_ids
        self.forget()

    def remember(self, memories: dict[str, Memory], ids: list[object] | None) -> None:
        """Go on with what was remembered before."""
        self.memories, self.ids = memories, ids
        self.forget()

    def forget(self) -> None:
        """Leave what is remembered as it was before the step: it failed."""
        self._staged, self._staged_ids = {}, self.ids

    def _places_of(self, groups: Environments) -> list[int]:
        """Return where each environment of a step is in what is remembered: the first step's order, whatever this one's is."""
        place = {name: position for position, name in enumerate(self._staged_ids or ())}
        return [place[name] for name in _ids_of(groups)]

    def _check_same(self, groups: Environments) -> None:
        ids = _ids_of(groups)
        if self._staged_ids is None:
            self._staged_ids = ids
            return
        present, known = set(ids), set(self._staged_ids)
        change = next((name for name in [*ids, *self._staged_ids] if (name in present) != (name in known)), None)
        if change is not None:
            raise ValueError(
                "With memory every step should have the environments of the first, all in one call. Found environment "
                f"{change!r} {'new' if change in present else 'missing'}. Draw from all of them at every call of `backward` or "
                "`accumulate`, or pass StandardErrors(memory=0)."
            )


def _ids_of(groups: Environments) -> list[object]:
    return [groups.named(position) for position in range(groups.count)]


def _cheap(parameter: Tensor, reads: Sequence[Read]) -> bool:
    """Tell whether every example's gradient is cheap: its one read tells examples apart, and what it adds up is worth a pass.

    Examples' gradients are products of matrices that take no longer than those of environments; what each costs beside is two
    passes over the parameter. With one position an example their squares are a product themselves.
    """
    read = reads[0]
    kind, rows = read.node.name(), read.rows
    if len(reads) > 1 or rows.owners is not None or rows.dim == WHOLE:
        return False
    positions = rows.outer * rows.inner
    if kind == "EmbeddingBackward0":
        return True
    if kind in _PRODUCTS and parameter.dim() == 2 and (positions == 1 or positions >= POSITIONS):
        return True
    if kind == "ConvolutionBackward0" and read.slot == WEIGHT:
        plain = saved(read.node, "groups") == 1 and not saved(read.node, "transposed")
        return plain and positions * output_shape(read.node)[2:].numel() >= POSITIONS
    return parameter.numel() <= SMALL and kind not in _DEAR
