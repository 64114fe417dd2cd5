"""Running sums of one parameter that also see how environments' gradients vary between clusters of their examples.

Index conventions: k a cluster, e an environment of E, c adjacent ones of either.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

import torch
from jaxtyping import Float, Int
from torch import Tensor

from craik.agreement.onepass.evidence.clusters import Clusters
from craik.agreement.onepass.evidence.memory import Memory
from craik.agreement.onepass.sums import LONG, RunningSums

TILE = 2**16
"""Components whose evidence is taken at a time: what it takes several passes over stays in cache."""


class EvidenceSums(RunningSums):
    """The statistics of one parameter while the gradients of clusters stream by, each environment's one after another.

    Args:
        like: the parameter.
        needs: the optional statistics that the rule reads.
        clusters: the partition that the gradients added are of.
        memory: of earlier steps, for this parameter; None has none.
    """

    def __init__(self, like: Tensor, needs: frozenset[str], clusters: Clusters, memory: Memory | None = None) -> None:
        super().__init__(like, needs)
        self.clusters, self.memory = clusters, memory
        self._next = 0
        self._environment = 0
        self._in_it = 0
        self._pending: tuple[Tensor, Tensor] | None = None
        self._into: dict[str, Tensor] | None = None

    def add(self, gradients: Float[Tensor, "c *p"]) -> None:
        """Add what c further clusters contribute to their environments' gradients; their memory is overwritten."""
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
            squares = _squares(some, weights)
            self._advance(whole * each)
            self.add_moments(_summed(some), squares, range(self._environment, self._environment + whole))
            self._environment += whole
            return whole * each
        left = counts[self._environment] - self._in_it
        some = gradients[:left]
        total = self.clusters.environments.sizes[self._environment]
        weights = [total / size for size in sizes[self._next : self._next + len(some)]]
        squares, gradient = _squares(some[None], weights)[0], _summed(some[None])[0]
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
            for name in self.needs & _OWN - self.held.keys():
                self.held[name] = torch.zeros(self.shape, dtype=self._dtype_of(name), device=self.device)
            self._into = {name: self.held[name] for name in self.needs & _OWN}
        into = self._into
        if self.memory is None:
            _add_evidence(gradients, squares, degrees, into)
        else:
            self._remember(self.memory, gradients, squares, environments, into)
        super().add(gradients)

    def _remember(
        self, memory: Memory, gradients: Tensor, squares: Tensor, environments: Sequence[int], into: dict[str, Tensor]
    ) -> None:
        """Update the memory by a step's environments and add the evidence of what is remembered."""
        first = environments[0]
        degrees, examples = self.clusters.counts[first] - 1, self.clusters.environments.sizes[first]
        memory.update(environments, gradients, _variance(gradients, squares, degrees), examples)
        for e in environments:
            gradient, variance, freedom = memory.recall(e, degrees, examples)
            squares = variance.mul_(freedom).add_(gradient.square())
            _add_evidence(gradient[None], squares[None], freedom, into)

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
        return EvidenceSums(like, self.needs, self.clusters, memory)

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

    def add_products(self, left: Float[Tensor, "b o"], right: Float[Tensor, "b i"]) -> None:
        """Add gradients that are products of factors with one row for each example, and every example a cluster.

        sum_k h_k^2 is then a product too, of the factors' squares: (left_k right_k^T)^2 = left_k^2 (right_k^2)^T.
        """
        left, right = left.to(self.dtype), right.to(self.dtype)  # squares of two bytes' numbers have too few digits
        groups = self.clusters.environments
        rows = list(groups.slices())
        if groups.equal and self.shape.numel() < LONG and left.device.type == "cpu":
            n = groups.sizes[0]
            at_once = max(1, LONG * 2 // max(1, self.shape.numel()))
            for first in range(0, groups.count, at_once):
                some = range(first, min(groups.count, first + at_once))
                some_rows = slice(some[0] * n, (some[-1] + 1) * n)
                a, b = (t[some_rows].unflatten(0, (len(some), n)) for t in (left, right))
                gradients = torch.bmm(a.mT, b)
                squares = torch.bmm(a.square().mul_(n).mT, b.square())
                self.add_moments(gradients, squares, some)
        else:
            self._add_product_tiles(left, right, rows)
        self._next, self._environment = self.clusters.count, groups.count

    def _add_product_tiles(self, left: Tensor, right: Tensor, rows: Sequence[slice]) -> None:
        sizes = self.clusters.environments.sizes
        lefts = [left[some].T for some in rows]
        rights = [right[some] for some in rows]
        squared = [(t.square().mul_(n), r.square()) for t, r, n in zip(lefts, rights, sizes, strict=True)]

        def fill(e: int, some: slice, gradient: Tensor, squares: Tensor) -> None:
            torch.mm(lefts[e][some], rights[e], out=gradient)
            torch.mm(squared[e][0][some], squared[e][1], out=squares)

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
        counts, columns = self.clusters.counts, right.shape[1]
        height = min(self.shape[0], max(1, TILE // columns)) if right.device.type == "cpu" else self.shape[0]
        tile, other = (right.new_empty(height, columns) for _ in range(2))
        logarithmic = min(counts) > 3  # fewer degrees of freedom than three have a form of their own
        alone = logarithmic and self.memory is None and self.needs <= _SIDES
        for some, part in self.in_parts(self.clusters.count, height):
            assert isinstance(part, EvidenceSums)  # _part_like makes them
            size = part.shape[0]
            gradient, squares = tile[:size], other[:size]
            sides = Sides(part, gradient) if alone else None
            for e, count in enumerate(counts):
                fill(e, some, gradient, squares)
                if sides is not None:
                    sides.add(gradient, squares, count - 1)
                else:
                    part.add_moments(gradient.view(1, *part.shape), squares.view(1, *part.shape), [e])
            if sides is not None:
                sides.finish()


class Sides:
    """Q+ and Q- of one tile of a parameter, while its environments come one by one.

    A sum of logarithms is one of a product: of several environments with the same degrees of freedom one logarithm is taken.
    As 1 - g^2 / M is at least 8 units in the last place, a product of six of them is within float32's range, and of twenty
    within float64's.

    Args:
        part: where to add; its sums are there.
        like: of the shape in which environments come; of equally many components.
    """

    def __init__(self, part: EvidenceSums, like: Tensor) -> None:
        assert part.gradient is not None  # in_parts has made it
        held = [part.held.get("positive"), part.held.get("negative")]
        self._total, *self._sides = (None if t is None else t.view(like.shape) for t in (part.gradient, *held))
        limits = torch.finfo(part.dtype)
        self._tiny, self._top = limits.tiny, 1 - 8 * limits.eps
        self._most = 6 if part.dtype == torch.float32 else 20
        self._products = [torch.ones_like(like) for _ in self._sides]
        self._share, self._half = (torch.empty_like(product) for product in self._products)
        self._degrees, self._count = 0, 0

    def add(self, gradient: Tensor, squares: Tensor, degrees: int) -> None:
        """Add an environment's gradient and evidence; ``squares`` is overwritten."""
        assert self._total is not None
        self._total.add_(gradient)
        if degrees != self._degrees or self._count == self._most:
            self.finish()
            self._degrees = degrees
        share, half, (up, down) = self._share, self._half, self._products
        torch.abs(gradient, out=share).mul_(gradient).div_(squares.clamp_(min=self._tiny))
        torch.clamp(share, 0, self._top, out=half)
        up.addcmul_(up, half, value=-1)
        torch.clamp(share, -self._top, 0, out=half)
        down.addcmul_(down, half)
        self._count += 1

    def finish(self) -> None:
        """Take the logarithms of what there is."""
        if self._count:
            for product, held in zip(self._products, self._sides, strict=True):
                if held is not None:
                    held.add_(product.log_(), alpha=-_wallace(self._degrees))
                product.fill_(1)
        self._count = 0


_WIDE = frozenset({"precision", "weighted", "weighted_square", "variance"})
_SIDES = frozenset({"positive", "negative"})
_OWN = _SIDES | _WIDE


def settled(sums: RunningSums) -> RunningSums:
    """Return sums without what made them, once all clusters are added, and other sums as they are."""
    if not isinstance(sums, EvidenceSums):
        return sums
    plain = RunningSums(torch.empty(sums.shape, dtype=sums.dtype, device=sums.device), sums.needs)
    plain.environments, plain.gradient, plain.held = sums.environments, sums.gradient, sums.held
    return plain


def _summed(contributions: Float[Tensor, "e k *p"], weights: Sequence[float] | None = None) -> Float[Tensor, "e *p"]:
    """Return sum_k w_k h_k, as a product of matrices: a sum over a dimension in the middle is several times slower."""
    count, clusters = contributions.shape[:2]
    if clusters < FEW or contributions.numel() == 0:
        total = contributions[:, 0] * (1.0 if weights is None else weights[0])
        for k in range(1, clusters):
            total.add_(contributions[:, k], alpha=1.0 if weights is None else weights[k])
        return total
    row = contributions.new_ones(clusters) if weights is None else contributions.new_tensor(weights)
    return torch.bmm(row.expand(count, 1, -1), contributions.flatten(2)).view(count, *contributions.shape[2:])


def _squares(contributions: Float[Tensor, "e k *p"], weights: Sequence[float]) -> Float[Tensor, "e *p"]:
    """Return sum_k w_k h_k^2."""
    return _summed(contributions.square(), weights)


FEW = 4
"""Fewer clusters than this are added one by one."""


def _variance(gradients: Tensor, squares: Tensor, degrees: int | float) -> Tensor:
    """Return s^2 = (M - g^2) / (K - 1), at least 0: a difference, of which rounding is all that is left where z^2 is 10^7."""
    return squares.addcmul(gradients, gradients, value=-1).clamp_(min=0).div_(degrees)


def _add_evidence(gradients: Tensor, squares: Tensor, degrees: int | float, into: dict[str, Tensor]) -> None:
    """Add the evidence of c environments; ``squares`` is overwritten.

    As 1 + t^2 / v = M / (M - g^2), evidence is a function of g^2 / M: nothing is subtracted but from 1.
    """
    if into.keys() & _WIDE:
        _add_weights(gradients, squares, degrees, into)
    if not into.keys() & {"positive", "negative"}:
        return
    limits = torch.finfo(gradients.dtype)
    share = gradients.square().div_(squares.clamp_(min=limits.tiny)).clamp_(max=1 - 8 * limits.eps)
    deviates, factor = _deviates(share, degrees)
    signed = deviates.copysign_(gradients)
    if "positive" in into:
        into["positive"].add_(_total(signed.clamp(min=0)), alpha=factor)
    if "negative" in into:
        into["negative"].sub_(_total(signed.clamp_(max=0)), alpha=factor)


def _deviates(share: Tensor, degrees: int | float) -> tuple[Tensor, float]:
    """Return squared normal deviates of Student's t from g^2 / M = t^2 / (t^2 + v), but for a factor and sign.

    The tail of t has a closed form for one and two degrees of freedom, of which halves have one; from three on Wallace's
    approximation is within 1.5 % of z.
    """
    if degrees in (1, 2):
        root = share.sqrt_()
        inner = root.asin_().mul_(2 / math.pi) if degrees == 1 else root
        return inner.clamp_(max=1 - torch.finfo(share.dtype).eps).erfinv_().square_(), 2.0
    return share.neg_().log1p_(), _wallace(degrees)


def _wallace(degrees: int | float) -> float:
    return degrees * ((8 * degrees + 1) / (8 * degrees + 3)) ** 2


def _add_weights(gradients: Tensor, squares: Tensor, degrees: int | float, into: dict[str, Tensor]) -> None:
    g = gradients.double()
    floor = 8 * torch.finfo(gradients.dtype).eps * g.square()  # no more than what rounding leaves of the difference
    variance = torch.maximum(squares.double().addcmul(g, g, value=-1), floor).div_(degrees)
    if "variance" in into:
        into["variance"].add_(_total(variance))
    if into.keys() & {"precision", "weighted", "weighted_square"}:
        precision = torch.where(variance > 0, variance.reciprocal(), 0)
        parts = {"precision": precision, "weighted": precision * g, "weighted_square": precision * g * g}
        for name, part in parts.items():
            if name in into:
                into[name].add_(_total(part))


def _total(values: Float[Tensor, "c *p"]) -> Float[Tensor, "*p"]:
    return values[0] if len(values) == 1 else values.sum(0)
