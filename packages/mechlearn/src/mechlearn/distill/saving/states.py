"""The state that a run goes on from: one of other data is refused before anything is changed, and a failure changes nothing."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator, Tensor

from mechlearn import arguments
from mechlearn.distill.examples.splits import Split, check_split


def check_state(state: Mapping[str, Any], present: Mapping[str, Any], examples: int) -> None:
    """Reject a state with missing parts, of other data, or with a generator's state that is none.

    Args:
        state: what is to be loaded.
        present: what stands instead now.
        examples: how many there are.
    """
    arguments.check_kind("state", state, Mapping, "a state of Distillation", way_out="Pass what state_dict() has returned.")
    _check_keys("Distillation", state, present)
    for name, part in present.items():
        if isinstance(part, Mapping):
            arguments.check_kind(f"state[{name!r}]", state[name], Mapping, "a dictionary", way_out=_ANEW)
    for name in ("split", "inner_rows", "student_rows"):
        _check_keys(name, state[name], present[name])
        for key in present[name]:
            arguments.check_tensor(f"state[{name!r}][{key!r}]", state[name][key], way_out=_ANEW)
    arguments.check_tensor("state['generator']", state["generator"], way_out=_ANEW)
    split = Split(**state["split"])
    check_split(split, examples)
    found, wanted = ({name: len(rows) for name, rows in part["split"].items()} for part in (state, present))
    if found != wanted:
        raise ValueError(
            f"A state should be of a split with as many rows on either side. Found {found} beside {wanted}. Load it into a "
            "Distillation with the examples and the split that it was saved with."
        )
    for name in ("inner_rows", "student_rows"):
        rows, order = state[name]["rows"].cpu(), state[name]["order"].cpu()
        if not torch.equal(rows, split.training.cpu()) or not bool(torch.isin(order, rows).all()):
            raise ValueError(f"A state's {name} should be the rows of its split's training part. Found others. Save it anew.")
    Generator(present["generator"].device).set_state(state["generator"].cpu())


_ANEW = "Pass what state_dict() has returned."


def _check_keys(what: str, state: Mapping[str, Any], present: Mapping[str, Any]) -> None:
    missing = sorted(present.keys() - state.keys())
    if missing:
        raise KeyError(f"a state of {what} should hold {', '.join(present)}; found no {', '.join(missing)}")


def load_parts(parts: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Load each part's state; if one of them fails, all are put back."""
    before = copy.deepcopy({name: part.state_dict() for name, part in parts.items()})
    try:
        for name, part in parts.items():
            if isinstance(part, torch.optim.Optimizer):
                _check_moments(name, part, state[name])
            part.load_state_dict(state[name])
            if isinstance(part, torch.optim.Optimizer):
                _check_kind(name, part, before[name])
    except Exception:
        for name, part in parts.items():
            part.load_state_dict(before[name])
        raise


_MOMENTS = ("momentum_buffer", "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "square_avg", "grad_avg", "acc_delta", "sum")
"""What torch's optimisers keep of the shape of a parameter."""


def _check_moments(name: str, optimizer: torch.optim.Optimizer, state: Mapping[str, Any]) -> None:
    """Reject moments of other parameters; torch takes them as they come, and fails, or broadcasts, at the next step."""
    _check_keys(f"`{name}`", state, optimizer.state_dict())
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    numbers = [number for group in state["param_groups"] for number in group["params"]]
    for number, parameter in zip(numbers, parameters, strict=False):  # of another number of them torch says so
        for moment in _MOMENTS:
            found = state["state"].get(number, {}).get(moment)
            if isinstance(found, Tensor) and found.shape != parameter.shape:
                raise ValueError(
                    f"The state of `{name}` should be of its parameters. Found {moment!r} of shape {tuple(found.shape)} for "
                    f"one of shape {tuple(parameter.shape)}. Load it into a Distillation with the modules and optimisers "
                    "that it was saved with."
                )


def _check_kind(name: str, optimizer: torch.optim.Optimizer, before: Mapping[str, Any]) -> None:
    """Reject settings that another kind of optimiser has saved; torch takes them as they come."""
    wanted = {key for group in before["param_groups"] for key in group}
    missing = sorted(key for group in optimizer.param_groups for key in wanted if key not in group)
    if missing:
        raise ValueError(
            f"The state of `{name}` should be that of a {type(optimizer).__name__}. Found one without {missing[0]!r}. Load it "
            "into a Distillation with the optimisers that it was saved with."
        )
