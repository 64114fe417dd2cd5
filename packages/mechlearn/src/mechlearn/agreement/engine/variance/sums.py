"""Running sums of one parameter that also see how environments' gradients vary between clusters of their examples.

Index conventions: k a cluster, e an environment of E, c adjacent ones of either.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.engine.variance.clusters import Clusters
from mechlearn.agreement.engine.variance.memory import Memory
from mechlearn.agreement.engine.variance.moments import SIDES, WEIGHTS, add_evidence, moments, squared_error
from mechlearn.agreement.engine.variance.scratch import Room
from mechlearn.agreement.engine.variance.sides import Sides
from mechlearn.agreement.kernels.compiled import Compiled

TILE = 2**16
"""Components whose evidence is taken at a time: what it takes several passes over stays in cache."""

SHORT = 2**12
"""With fewer components than this, environments' gradients are formed many at a time: a call costs more than its work."""

OWN = SIDES | WEIGHTS
"""What the spread of clusters is read for."""


class EvidenceSums(RunningSums):
    """The statistics of one parameter while the gradients of clusters stream by, each environment's one after another.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
        clusters: the partition that the gradients added are of.
        memory: of earlier steps, for this parameter; None has none.
        compiled: kernels to use for what they take, or None for torch's operators.
        room: for what is computed on the way; None makes its own.
    """

    def __init__(
        self,
        like: Tensor,
        needs: frozenset[str],
        clusters: Clusters,
        memory: Memory | None = None,
        compiled: Compiled | None = None,
        room: Room | None = None,
    ) -> None:
        super().__init__(like, needs, compiled)
        self.clusters, self.memory, self.room = clusters, memory, room or Room()
        self._next = 0
        self._environment = 0
        self._in_it = 0
        self._pending: tuple[Tensor, Tensor] | None = None
        self._into: dict[str, Tensor] | None = None

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add what c further clusters contribute to their environments' gradients; their memory is left as it is."""
        gradients = gradients.to(self.dtype)
        while len(gradients):
            gradients = gradients[self._take(gradients) :]

    def _take(self, gradients: Float[Tensor, "c *p"]) -> int:
        """Use up the first clusters, whole environments of equal clusters at once, and return how many."""
        counts, sizes = self.clusters.counts, self.clusters.sizes
        whole = 0 if self._pending is not None else self._whole(len(gradients))
        if whole:
            each, total = counts[self._environment], self.clusters.environments.sizes[self._environment]
            some = gradients[: whole * each].unflatten(0, (whole, each))
            weights = [total / size for size in sizes[self._next : self._next + each]]
            self._advance(whole * each)
            alike = range(self._environment, self._environment + whole)
            self.add_moments(*moments(some, weights, self.room, self.compiled), alike)
            self._environment += whole
            return whole * each
        left = counts[self._environment] - self._in_it
        some = gradients[:left]
        total = self.clusters.environments.sizes[self._environment]
        weights = [total / size for size in sizes[self._next : self._next + len(some)]]
        gradient, squares = (found[0] for found in moments(some[None], weights, self.room, self.compiled))
        if self._pending is not None:
            gradient, squares = self._pending[0].add_(gradient), self._pending[1].add_(squares)
        self._pending = gradient, squares
        self._in_it += len(some)
        self._advance(len(some))
        if self._in_it == counts[self._environment]:
            self._pending, self._in_it = None, 0
            self.add_moments(gradient[None], squares[None], range(self._environment, self._environment + 1))
            self._environment += 1
        return len(some)

    def _whole(self, available: int) -> int:
        """Return how many whole environments, alike in their clusters, come next."""
        counts, sizes = self.clusters.counts, self.clusters.sizes
        each, found, at = counts[self._environment], 0, self._next
        pattern = sizes[at : at + each]
        while (
            self._environment + found < len(counts)
            and counts[self._environment + found] == each
            and (found + 1) * each <= available
            and sizes[at + found * each : at + (found + 1) * each] == pattern
        ):
            found += 1
        return found

    def _advance(self, clusters: int) -> None:
        self._next += clusters

    def add_moments(
        self, gradients: Float[Tensor, "c *p"], squares: Float[Tensor, "c *p"], environments: Sequence[int]
    ) -> None:
        """Add the gradients of c whole environments, alike in numbers of clusters and examples.

        Args:
            gradients: g_e; overwritten.
            squares: sum_k (n / n_k) h_k^2; overwritten.
            environments: their positions.
        """
        degrees = self.clusters.counts[environments[0]] - 1
        if self._into is None:
            for name in self.needs & OWN - self.held.keys():
                self.held[name] = torch.zeros(self.shape, dtype=self._dtype_of(name), device=self.device)
            self._into = {name: self.held[name] for name in self.needs & OWN}
        into = self._into
        if self.memory is None:
            add_evidence(gradients, squares, degrees, into)
        else:
            self._remember(self.memory, gradients, squares, environments, into)
        super().add(gradients)

    def _remember(
        self, memory: Memory, gradients: Tensor, squares: Tensor, environments: Sequence[int], into: dict[str, Tensor]
    ) -> None:
        """Update the memory by a step's environments and add the evidence of what is remembered."""
        first = environments[0]
        degrees, examples = self.clusters.counts[first] - 1, self.clusters.environments.sizes[first]
        memory.update(environments, gradients, squared_error(gradients, squares, degrees), examples)
        for e in environments:
            gradient, variance, freedom = memory.recall(e, degrees, examples)
            squares = variance.mul_(freedom).add_(gradient.square())
            add_evidence(gradient[None], squares[None], freedom, into)

    def in_parts(self, environments: int, rows: int) -> Iterator[tuple[slice, "RunningSums"]]:
        """As the base's; all clusters are added to every part, and ``environments`` counts clusters."""
        del environments
        return super().in_parts(self.clusters.environments.count, rows)

    def parts(self, environments: int, views: Sequence[Callable[[Tensor], Tensor]]) -> list["RunningSums"] | None:
        """As the base's; all clusters are added to every part, and ``environments`` counts clusters."""
        del environments
        return super().parts(self.clusters.environments.count, views)

    def _part_like(self, like: Tensor, view: Callable[[Tensor], Tensor]) -> "EvidenceSums":
        memory = None if self.memory is None else self.memory.part(view)
        return EvidenceSums(like, self.needs, self.clusters, memory, self.compiled, self.room)

    def add_silent(self, environments: int) -> None:
        """Add so many clusters whose losses do not reach the parameter: all of them are environments without evidence."""
        if environments == self.clusters.count and self._next == 0:
            if self.memory is not None:
                zero = torch.zeros(1, *self.shape, dtype=self.dtype, device=self.device)
                for e in range(self.clusters.environments.count):
                    self.memory.update([e], zero, zero, self.clusters.environments.sizes[e])
            super().add_silent(self.clusters.environments.count)
            return
        for _ in range(environments):
            self.add(torch.zeros(1, *self.shape, dtype=self.dtype, device=self.device))

    def add_products(self, left: Float[Tensor, "b o"], right: Float[Tensor, "b i"], *, turned: bool = False) -> None:
        """Add gradients that are products of factors with one row for each example, and every example a cluster.

        sum_k h_k^2 is then a product too, of the factors' squares: (left_k right_k^T)^2 = left_k^2 (right_k^2)^T.

        Args:
            left: one factor.
            right: the other.
            turned: form them transposed, where no memory is in the way.
        """
        left, right = left.to(self.dtype), right.to(self.dtype)  # squares of two bytes' numbers have too few digits
        groups = self.clusters.environments
        if groups.equal and self.shape.numel() < SHORT and left.device.type == "cpu":
            n = groups.sizes[0]
            at_once = max(1, 2 * TILE // max(1, self.shape.numel()))
            for first in range(0, groups.count, at_once):
                some = range(first, min(groups.count, first + at_once))
                rows = slice(some[0] * n, (some[-1] + 1) * n)
                a, b = (t[rows].unflatten(0, (len(some), n)) for t in (left, right))
                gradients = torch.bmm(a.mT, b)
                squared = torch.mul(b, b, out=self.room.of("squares", b.shape, b))
                squares = torch.bmm(a.square().mul_(n).mT, squared)
                self.add_moments(gradients, squares, some)
        elif turned and self.memory is None:
            like = right.new_empty(self.shape[::-1])
            across = EvidenceSums(like, self.needs, self.clusters, None, self.compiled, self.room)
            across.add_products(right, left)
            every = {name: tensor.T.contiguous() for name, tensor in across.held.items()}
            self._add_all(groups.count, across.statistics().gradient.T.contiguous(), every)
        else:
            self._add_product_tiles(left, right)
        self._next, self._environment = self.clusters.count, groups.count

    def _add_product_tiles(self, left: Tensor, right: Tensor) -> None:
        groups = self.clusters.environments
        sizes, whole = groups.sizes, self._height(right) >= self.shape[0]
        lefts, rights = ([t[some] for some in groups.slices()] for t in (left, right))
        turned = [t.T for t in lefts]
        if whole:
            # One tile asks for an environment's squares once: they take the last one's memory, and stay in cache.
            squared = [self.room.of(name, (max(sizes), t.shape[1]), t) for name, t in (("left", left), ("right", right))]
        else:
            squared = [left.square(), right.square()]
        ones, others = ([t[: sizes[e]] if whole else t[some] for e, some in enumerate(groups.slices())] for t in squared)
        ones_turned = [t.T for t in ones]

        def fill(e: int, some: slice, gradient: Tensor, squares: Tensor) -> None:
            if whole:
                torch.mul(lefts[e], lefts[e], out=ones[e])
                torch.mul(rights[e], rights[e], out=others[e])
            own, one = (turned[e], ones_turned[e]) if whole else (turned[e][some], ones_turned[e][some])
            torch.mm(own, rights[e], out=gradient)
            torch.addmm(squares, one, others[e], beta=0, alpha=sizes[e], out=squares)

        self._add_filled(right, fill)

    def add_tiles(self, left: Sequence[Float[Tensor, "o _"]], right: Sequence[Float[Tensor, "_ i"]]) -> None:
        """Add gradients of all clusters, each a product of two factors, some rows o at a time: a tile stays in cache.

        Args:
            left: a factor a cluster.
            right: a factor a cluster.
        """
        groups, counts = self.clusters.environments, self.clusters.counts
        weights = self.clusters.shares
        left, right = (
            [t.to(self.dtype) for t in left],
            [t.to(self.dtype) for t in right],
        )  # squares of two bytes' have few digits
        ends = list(accumulate(counts))
        scratch: dict[int, Tensor] = {}

        def fill(e: int, some: slice, gradient: Tensor, squares: Tensor) -> None:
            first, *others = range(ends[e] - counts[e], ends[e])
            one = scratch.setdefault(len(gradient), torch.empty_like(gradient))
            torch.mm(left[first][some], right[first], out=gradient)
            torch.mul(gradient, gradient, out=squares).mul_(weights[first])
            for k in others:
                torch.mm(left[k][some], right[k], out=one)
                gradient.add_(one)
                squares.addcmul_(one, one, value=weights[k])

        self._add_filled(right[0], fill)
        self._next, self._environment = self.clusters.count, groups.count

    def add_rows(self, gradients: Float[Tensor, "n *k"], clusters: Int[Tensor, " n"], rows: Int[Tensor, " n"]) -> None:
        """Add what clusters contribute to some of the parameter's rows; all others are 0.

        Args:
            gradients: one for each pair of a cluster and a row.
            clusters: whose each is, ascending.
            rows: where each belongs.
        """
        weights = torch.tensor(self.clusters.shares, dtype=self.dtype, device=gradients.device)[clusters]
        squares = gradients.square().mul_(weights.view(-1, *[1] * (gradients.dim() - 1)))
        ends = torch.tensor(list(accumulate(self.clusters.counts)), device=clusters.device)
        first = 0
        for e, last in enumerate(torch.searchsorted(clusters, ends).tolist()):
            some, first = slice(first, last), last
            own, squared = (t.new_zeros(1, *self.shape).index_add_(1, rows[some], t[some][None]) for t in (gradients, squares))
            self.add_moments(own, squared, [e])
        self._next, self._environment = self.clusters.count, self.clusters.environments.count

    def _add_filled(self, right: Tensor, fill: Callable[[int, slice, Tensor, Tensor], None]) -> None:
        """Add every environment's moments tile by tile, which ``fill`` puts into memory that is used again.

        Args:
            right: any factor (_, i), whose columns a tile has.
            fill: is given an environment's position, a tile's rows, and where its gradient and its squares are to go.
        """
        counts, columns, height = self.clusters.counts, right.shape[1], self._height(right)
        tile, other = (self.room.of(name, (height, columns), right) for name in ("gradient", "squares"))
        logarithmic = min(counts) > 3  # fewer degrees of freedom than three have a form of their own
        alone = logarithmic and self.memory is None and self.needs <= SIDES
        for some, part in self.in_parts(self.clusters.count, height):
            assert isinstance(part, EvidenceSums)  # _part_like makes them
            size = part.shape[0]
            gradient, squares = tile[:size], other[:size]
            sides = part.sides(gradient.shape) if alone else None
            for e, count in enumerate(counts):
                fill(e, some, gradient, squares)
                if sides is not None:
                    sides.add(gradient, squares, count - 1)
                else:
                    part.add_moments(gradient.view(1, *part.shape), squares.view(1, *part.shape), [e])
            if sides is not None:
                sides.finish()

    def sides(self, shape: Sequence[int]) -> Sides:
        """Return what adds to these sums, which are there, environments that come in a shape."""
        assert self.gradient is not None  # in_parts has made it
        held = {name: tensor.view(shape) for name, tensor in self.held.items()}
        return Sides(self.gradient.view(shape), held, self.room, self.compiled)

    def _height(self, right: Tensor) -> int:
        """Return how many of the parameter's rows make a tile, whose columns a factor (_, i) has."""
        return min(self.shape[0], max(1, TILE // max(1, right.shape[1]))) if right.device.type == "cpu" else self.shape[0]


def settled(sums: RunningSums) -> RunningSums:
    """Return sums without what made them, once all clusters are added, and other sums as they are."""
    if not isinstance(sums, EvidenceSums):
        return sums
    plain = RunningSums(torch.empty(sums.shape, dtype=sums.dtype, device=sums.device), sums.needs)
    plain.environments, plain.gradient, plain.held = sums.environments, sums.gradient, sums.held
    return plain
