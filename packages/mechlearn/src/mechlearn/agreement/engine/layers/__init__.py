"""Every environment's gradient of a parameter, from the places where a graph reads it: one file a kind of node.

`covers` says whether a read has a formula. `take` is called when a node's incoming gradient arrives, while what the node saved
is there, and returns what that read adds; `add` forms, signs and sums once all reads of a parameter are known.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.graph import Node

from mechlearn.agreement.engine.analysis.rows import Read
from mechlearn.agreement.engine.analysis.saved import output_dtype, slot_shape
from mechlearn.agreement.engine.layers.chain import Place, leaf_below, place_by_pull, place_of
from mechlearn.agreement.engine.layers.gradual import Spread, together
from mechlearn.agreement.engine.layers.layout import Layout
from mechlearn.agreement.engine.layers.products import Products, StackedProducts
from mechlearn.agreement.engine.layers.table import FORMULAS
from mechlearn.agreement.engine.layers.terms import CHUNK_ELEMENTS, Each, Span, Stacked, Sum, Term, chunk_length, compact, spans
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.environments import Environments

WHOLE_PLACE = Place()
"""The parameter itself, whatever its size."""


class Use(NamedTuple):
    """What one read adds to the environments' gradients of its parameter.

    Attributes:
        term: the gradients of what is read.
        place: where in the parameter that is.
    """

    term: Term
    place: Place


def covers(read: Read) -> str | None:
    """Return None where a read has a formula, else the reason why not, in words that follow "the parameter"."""
    formula = FORMULAS.get(read.node.name())
    if formula is None:
        return f"is read by {read.node.name().removesuffix('Backward0')}, for which there is no formula"
    if formula.slots is not None and read.slot not in formula.slots:
        return f"is what {read.node.name().removesuffix('Backward0')} is applied to, for which there is no formula"
    if output_dtype(read.node).is_complex:
        return "takes part in complex arithmetic, for which there is no formula"
    reason = formula.why_not(read)
    if reason is None and place_of_no_view(read):
        return "is changed on its way to where it is read, together with another parameter"
    return reason


def place_of_no_view(read: Read) -> bool:
    """Tell whether a read's chain is neither a view nor one that leads to a single leaf."""
    turned = len(read.chain) == 1 and read.chain[0].name() == "TBackward0"  # also of what several parameters make
    return bool(read.chain) and not turned and leaf_below(read.chain) is None


def take(reads: Sequence[Read], node: Node, delta: Tensor | tuple[Tensor | None, ...], groups: Environments) -> list[Use]:
    """Return what the reads of one node add, in their order. Call it while what the node saved is there, under no_grad.

    Args:
        reads: covered ones, all of one node and with the same rows.
        node: that node, or one that stands for it as what it saved is not there.
        delta: the node's incoming gradient; for a node with several outputs a tuple, None where there is none.
        groups: the partition of the batch.
    """
    slots = list({read.slot: None for read in reads})
    formula = FORMULAS[node.name()]
    seen = delta[0] if isinstance(delta, tuple) and not formula.of_all else delta
    layout = Layout(reads[0].rows, groups)
    terms = formula.take(node, slots, seen, layout)
    if layout.rows.owners is not None:
        terms = [compact(term, layout.sizes) for term in terms]
    if len(slots) == len(reads):
        return [_use(term, read) for term, read in zip(terms, reads, strict=True)]
    found = dict(zip(slots, terms, strict=True))
    return [_use(found[read.slot], read) for read in reads]


def add(uses: Sequence[Use], sums: RunningSums) -> None:
    """Add every environment's gradient of a parameter: the sum over its reads first, and only then its sign; under no_grad.

    Args:
        uses: of all reads of the parameter.
        sums: where to add.
    """
    _add(*joined(uses), sums)


def hold(use: Use, uses: list[Use]) -> None:
    """Put a use beside those of the same parameter that wait for others, in no more memory than it must.

    Products that are smaller than their factors are formed at once, and added to those that are there.
    """
    term, whole = use.term, Span(0, use.term.environments)
    if type(term) is Products and _is_all(use.place) and term.shrinks():
        for other in uses:
            if type(other.term) is Stacked and _is_all(other.place) and not other.term.lent:
                term.onto(other.term.stack, whole)
                return
        use = Use(Stacked(term.gradients(whole)), WHOLE_PLACE)
    uses.append(use)


def _is_all(place: Place) -> bool:
    return place.whole and place.pull is None


Uses = Sequence[Use]


def gradient_of(uses: Uses, span: Span, blank: Tensor) -> Tensor:
    """Return what the gradients of adjacent environments add up to; what uses hold stays.

    Args:
        uses: of all reads of a parameter.
        span: the environments.
        blank: contiguous zeros of the parameter's shape, which become the result.
    """
    for use in uses:
        use.term.onto_one(use.place.view(blank), span)
    return blank


def joined(uses: Sequence[Use]) -> tuple[list[Term], list[Place]]:
    """Return the sum of the uses of each place, and the places; what uses hold may be used up."""
    if len(uses) == 1:
        return [uses[0].term], [uses[0].place]
    by_place: dict[Place, list[Use]] = {}
    for use in uses:
        by_place.setdefault(WHOLE_PLACE if use.place.whole else use.place, []).append(use)
    return [together([use.term for use in used]) for used in by_place.values()], [used[0].place for used in by_place.values()]


def _use(term: Term, read: Read) -> Use:
    """Return a use, its matrix in the shape in which it is a sum of products and turned as the parameter lies in memory."""
    chain = read.chain
    if isinstance(term, Products | Spread):
        if len(chain) == 1 and chain[0].name() == "TBackward0":  # a linear layer's weight: no need to look any closer
            return Use(term.swapped(), WHOLE_PLACE)
        if isinstance(term, Spread) and not chain and len(_parameter_shape(read)) == 2:  # the matrix itself, as it is
            return Use(term, WHOLE_PLACE)
    elif not chain:
        return Use(term, WHOLE_PLACE)
    term = term.products() if isinstance(term, Spread) else term
    parameter = _parameter_shape(read)
    place = place_of(read, parameter)
    if place.pull is None and isinstance(term, Products) and len(place.size) != 2:
        shape = (term.left.shape[1], term.right.shape[1])
        place = place.viewed(shape) or place_by_pull(read)
    if place.pull is not None:
        pull = place.pull
        return Use(Each(term.environments, lambda e: pull(term.gradients(Span(e, 1))[0])), Place())
    if isinstance(term, Products | StackedProducts) and place.transposed:
        return Use(term.swapped(), place.turned(parameter))
    return Use(term, place)


def _parameter_shape(read: Read) -> torch.Size:
    leaf = leaf_below(read.chain) if read.chain else None
    return slot_shape(read.node, read.slot) if leaf is None else leaf.shape


def _add(terms: Sequence[Term], places: Sequence[Place], sums: RunningSums) -> None:
    if len(terms) == 1 and places[0].whole:
        terms[0].add_whole(sums) if sums.in_whole else terms[0].add(sums)
        return
    environments = terms[0].environments
    parts = None if sums.in_whole else sums.parts(environments, [place.view for place in places])
    if parts is not None:
        for term, part in zip(terms, parts, strict=True):
            term.add(part)
        return
    longest = min(chunk_length(sums.shape.numel(), CHUNK_ELEMENTS), *(term.longest for term in terms))
    for span in spans(environments, longest):
        total = torch.zeros(span.length, *sums.shape, dtype=sums.dtype, device=sums.device)
        for term, place in zip(terms, places, strict=True):
            for one, gradient in zip(total, term.gradients(span), strict=True):
                seen = place.view(one)
                seen += gradient.view(seen.shape)
        sums.add(total)


__all__ = ["Stacked", "Sum", "Use", "Uses", "add", "covers", "gradient_of", "hold", "joined", "take"]
