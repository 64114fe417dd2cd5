"""The exact path, for any module: one backward pass for each environment, one environment's gradient at a time."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement.engine.analysis.cut import Cut
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.environments import Environments


def environment_gradients(
    losses: Float[Tensor, " b"], environments: Environments, parameters: Sequence[Tensor]
) -> Iterator[list[Tensor | None]]:
    """Yield, environment by environment, the gradient of its mean loss: E backward passes, exact for every module.

    This is the definition that every fast path must equal (equation 1 of the paper: g_e is the gradient of L_e). A
    parameter that an environment's loss does not reach has gradient None.

    Args:
        losses: one loss for each example; their graph is kept.
        environments: the partition of the batch.
        parameters: what to differentiate with respect to.
    """
    weights = environments.mean_weights(losses)
    for e in range(environments.count):
        own = torch.where(environments.index == e, weights, 0)
        yield list(torch.autograd.grad(losses, parameters, own, retain_graph=True, allow_unused=True))


Passes = Callable[[Sequence[Tensor]], Iterable[list[Tensor | None]]]
"""Yields some parameters' gradients, environment by environment."""


def passes_below(cut: Cut | None, delta: Tensor | None, environments: Environments) -> Passes | None:
    """Return what yields `environment_gradients` of parameters below a node, and runs only what lies below it again.

    Args:
        cut: that node, None where there is none.
        delta: what arrives there of all environments, None where nothing does.
        environments: the partition of the batch.

    Returns:
        None where the passes have to begin at the losses: nothing arrives as a plain tensor, or a hook changes what starts at
        the node, and would act twice.
    """
    if cut is None or type(delta) is not Tensor or delta.layout != torch.strided:
        return None
    (again,) = torch.autograd.grad((cut.edge,), (cut.edge,), (delta,), retain_graph=True)
    if not bool(((delta == again) | (delta.isnan() & again.isnan())).all()):
        return None

    def passes(parameters: Sequence[Tensor]) -> Iterator[list[Tensor | None]]:
        for e in range(environments.count):
            own = cut.parted(delta, environments, e)
            yield list(torch.autograd.grad((cut.edge,), parameters, (own,), retain_graph=True, allow_unused=True))

    return passes


def dense(gradient: Tensor) -> Tensor:
    """Return a gradient with every component: of a row that an embedding's sparse one leaves out it is 0."""
    return gradient if gradient.layout == torch.strided else gradient.to_dense()


def stream_environment_gradients(
    losses: Float[Tensor, " b"],
    environments: Environments,
    parameters: Mapping[str, Tensor],
    blank: Callable[[Tensor], RunningSums],
    norms: Float[Tensor, " e"] | None = None,
    passes: Passes | None = None,
) -> dict[str, RunningSums]:
    """Add up every environment's gradient, one backward pass each, holding one environment's gradient at a time.

    A parameter that no environment reaches is left out, as plain backpropagation would leave its ``.grad`` None.

    Args:
        losses: one loss for each example; their graph is kept.
        environments: the partition of the batch.
        parameters: what to differentiate with respect to, by name.
        blank: makes empty sums for a parameter.
        norms: what each environment's gradient is divided by; None for nothing.
        passes: yield them; None for `environment_gradients`.
    """
    if not parameters:
        return {}
    sums = {name: blank(parameter) for name, parameter in parameters.items()}
    reached: set[str] = set()
    leaves = list(parameters.values())
    every = environment_gradients(losses, environments, leaves) if passes is None else passes(leaves)
    for e, found in enumerate(every):
        for name, gradient in zip(parameters, found, strict=True):
            if gradient is None:
                sums[name].add_silent(1)
            else:
                reached.add(name)
                # add() overwrites its argument, and autograd may hand out one tensor for two parameters: hence the copy.
                own = dense(gradient).to(sums[name].dtype, copy=True)
                sums[name].add((own if norms is None else own.div_(norms[e].to(own.dtype)))[None])
    return {name: sums[name] for name in parameters if name in reached}
