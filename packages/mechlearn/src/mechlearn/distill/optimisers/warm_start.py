"""Warm starts: an unroll that goes on with the moments of the student's own optimiser."""

import torch
from torch import nn

from mechlearn import arguments
from mechlearn.distill.optimisers.counterparts import check_optimizer
from mechlearn.distill.optimisers.inner import Inner, InnerState
from mechlearn.params import Params, parameters_of

_MOMENTS = {"momentum": "momentum_buffer", "mean": "exp_avg", "square": "exp_avg_sq"}
"""Our names of moments and those in torch's optimisers."""


def state_from(optimizer: torch.optim.Optimizer, student: nn.Module, inner: Inner) -> InnerState:
    """Return the inner state that continues from a torch optimiser's: the student's own moments, copied ("warm start").

    The papers' released toy code starts its inner loop so; a parameter that has no moments yet starts from zero.

    Args:
        optimizer: over the student's parameters.
        student: names the parameters.
        inner: what is to go on; its moments must be those that the optimiser keeps.

    Raises:
        ValueError: the optimiser is of another module, keeps none of the moments that `inner` needs, or counts different steps
            for different parameters.
        TypeError: an optimiser or a module that is none.
    """
    arguments.check_kind("inner", inner, Inner, "an inner optimiser, such as mechlearn.distill.Adam(...)")
    arguments.check_kind("student", student, nn.Module, "a torch.nn.Module")
    check_optimizer("optimizer", optimizer, student)
    named = {name: parameter for name, parameter in student.named_parameters() if parameter.requires_grad}
    fresh = inner.init({name: parameter.detach() for name, parameter in named.items()})
    if not any(optimizer.state.get(parameter) for parameter in named.values()):
        return fresh
    moments: dict[str, Params] = {}
    for moment, zeros in fresh.moments.items():
        key = _MOMENTS.get(moment, moment)
        found = {name: optimizer.state.get(parameter, {}).get(key) for name, parameter in named.items()}
        if all(tensor is None for tensor in found.values()):
            raise _missing(key, optimizer)
        moments[moment] = {name: zeros[name] if tensor is None else tensor.detach().clone() for name, tensor in found.items()}
    steps = {int(state["step"]) for parameter in named.values() if "step" in (state := optimizer.state.get(parameter, {}))}
    if len(steps) > 1:
        raise ValueError(
            f"A warm start should find all parameters after the same number of steps. Found {sorted(steps)}. Start fresh."
        )
    return InnerState(steps.pop() if steps else 0, moments)


def check_pair(optimizer: torch.optim.Optimizer, student: nn.Module, inner: Inner) -> None:
    """Reject an inner optimiser whose moments the student's optimiser will never keep.

    Of optimisers other than torch's SGD, Adam and AdamW nothing is known before they have taken a step.
    """
    kept = _kept(optimizer)
    for moment in inner.init(parameters_of(student)).moments:
        key = _MOMENTS.get(moment, moment)
        if kept is not None and key not in kept:
            raise _missing(key, optimizer)


def _kept(optimizer: torch.optim.Optimizer) -> tuple[str, ...] | None:
    if type(optimizer) is torch.optim.SGD:
        return ("momentum_buffer",) if any(group["momentum"] for group in optimizer.param_groups) else ()
    return ("exp_avg", "exp_avg_sq") if type(optimizer) in (torch.optim.Adam, torch.optim.AdamW) else None


def _missing(key: str, optimizer: torch.optim.Optimizer) -> ValueError:
    return ValueError(
        f"A warm start should find the inner optimiser's moments in the student's optimiser. Found no {key!r} in "
        f"{type(optimizer).__name__}. Use the same kind of optimiser for both, or start fresh."
    )
