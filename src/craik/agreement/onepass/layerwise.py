"""The layer-by-layer path: which parameters may take it, and the one backward pass it needs."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, cast

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge

from craik.agreement.onepass.capture import Capture
from craik.agreement.onepass.graph import Reads
from craik.agreement.onepass.layers import Formula, Use, add_all, formulas_of
from craik.agreement.onepass.sums import RunningSums
from craik.environments import Environments


class Call(NamedTuple):
    """One read of a parameter by a captured layer call, and the formula of its environment gradients there."""

    capture: Capture
    formula: Formula


Calls = dict[str, list[Call]]
"""For each parameter, by its name in the model, everything that reads it."""


def has_formulas(layer: nn.Module) -> bool:
    """Tell whether a layer's parameters can take the layer-by-layer path."""
    return bool(formulas_of(layer))


def covered_calls(captures: Sequence[Capture], reads: Reads, parameters: Mapping[str, Tensor], examples: int) -> Calls:
    """Return the calls of every parameter that the graph reads in captured layer calls and nowhere else.

    A parameter that is also read elsewhere (a norm in the loss, a functional call, a tied layer without formulas) is left
    out: its environment gradients are more than its layer's formula. So is one whose layer did not keep examples first.
    """
    names = {id(parameter): name for name, parameter in parameters.items()}
    calls: Calls = {}
    for capture in captures:
        if capture.node in reads.nodes and capture.examples == examples:
            formulas = formulas_of(capture.layer)
            for role, parameter in capture.layer.named_parameters(recurse=False):
                if id(parameter) in names and role in formulas:
                    calls.setdefault(names[id(parameter)], []).append(Call(capture, formulas[role]))
    return {name: uses for name, uses in calls.items() if reads.counts[id(parameters[name])] == len(uses)}


def layer_pass(
    total: Tensor,
    calls: Calls,
    sums: Mapping[str, RunningSums],
    groups: Environments,
    complete: Callable[[str], None],
    others: Sequence[Tensor] = (),
    retain_graph: bool = False,
    examine: Callable[[Capture, Tensor], bool] | None = None,
) -> list[Tensor | None]:
    """Run one backward pass and add every environment's gradient of the covered parameters to their running sums.

    Ordinary weight gradients are not computed: the pass asks autograd for the outputs of the first layers only, and each
    layer's output gradient is used up in a hook as it arrives.

    Args:
        total: the sum over environments of their mean losses.
        calls: the parameters to treat, from `covered_calls`.
        sums: where to add, by parameter name.
        groups: the partition of the batch.
        complete: told a parameter's name as soon as its sums are complete.
        others: further leaves to differentiate with respect to: all that lie below a covered layer and are not covered.
        retain_graph: keep the graph for another pass.
        examine: shown each layer call's output gradient, tells whether to use it; a call that is left out leaves the sums of
            what it reads incomplete.

    Returns:
        The gradients of ``others``, None for those that are not reached.
    """
    uses: dict[str, list[tuple[Formula, Use]]] = {name: [] for name in calls}
    captures = {id(capture): capture for reads in calls.values() for capture, _ in reads}
    readers: dict[int, list[tuple[str, Formula]]] = {key: [] for key in captures}
    for name, reads in calls.items():
        for capture, formula in reads:
            readers[id(capture)].append((name, formula))

    def receive(capture: Capture, delta: Tensor) -> None:
        reads = readers[id(capture)]
        if examine is not None and not examine(capture, delta):
            return
        inputs = capture.take_inputs(keep=retain_graph)
        # A bias alone does not read the inputs, so they need not be put in order.
        inputs = groups.grouped(inputs) if any(formula.reads_inputs for _, formula in reads) else inputs
        use = Use(capture.layer, inputs, groups.grouped(delta), capture.training)
        for name, formula in reads:
            uses[name].append((formula, use))
            if len(uses[name]) == len(calls[name]):
                _add(sums[name], uses.pop(name), groups)
                complete(name)

    return _differentiate(total, list(captures.values()), receive, others, retain_graph)


def _differentiate(
    total: Tensor,
    captures: Sequence[Capture],
    receive: Callable[[Capture, Tensor], None],
    others: Sequence[Tensor],
    retain_graph: bool,
) -> list[Tensor | None]:
    """Run the backward pass, each layer's output gradient received as it arrives, and return the others' gradients."""
    roots: list[GradientEdge | Tensor] = [capture.edge for capture in captures if capture.is_root]
    if not roots and not others:
        return []
    inputs = cast("Sequence[Tensor]", [*roots, *others])  # the stub knows all tensors or all edges; mixtures work
    for capture in captures:
        capture.on_delta = receive
    try:
        gradients = torch.autograd.grad(total, inputs, retain_graph=retain_graph, allow_unused=True)
    finally:
        for capture in captures:
            capture.on_delta = None
    return list(gradients[len(roots) :])


def _add(sums: RunningSums, uses: Sequence[tuple[Formula, Use]], groups: Environments) -> None:
    if len(uses) == 1:
        ((formula, use),) = uses
        formula.add(sums, use, groups)
    else:
        add_all(sums, uses, groups)
