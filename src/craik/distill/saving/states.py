"""The state that a run goes on from: one of other data is refused before anything is changed, and a failure changes nothing."""

import copy
from collections.abc import Mapping
from typing import Any

import torch
from torch import Generator

from craik.distill.examples.splits import Split, check_split


def check_state(state: Mapping[str, Any], present: Mapping[str, Any], examples: int) -> None:
    """Refuse a state with missing parts, of other data, or with a generator's state that is none.

    Args:
        state: what is to be loaded.
        present: what stands in its place now.
        examples: how many there are.

    Raises:
        KeyError: a part is missing.
        ValueError: rows that cannot be drawn from these examples.
        RuntimeError: a generator's state of another kind.
    """
    missing = sorted(present.keys() - state.keys())
    if missing:
        raise KeyError(f"a state of Distillation should hold {', '.join(present)}; found no {', '.join(missing)}")
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


def load_parts(parts: Mapping[str, Any], state: Mapping[str, Any]) -> None:
    """Load each part's state; if one of them fails, all are put back.

    Raises:
        RuntimeError: a state of another module.
        ValueError: a state of another optimiser.
    """
    before = copy.deepcopy({name: part.state_dict() for name, part in parts.items()})
    try:
        for name, part in parts.items():
            part.load_state_dict(state[name])
            if isinstance(part, torch.optim.Optimizer):
                _check_kind(name, part, before[name])
    except Exception:
        for name, part in parts.items():
            part.load_state_dict(before[name])
        raise


def _check_kind(name: str, optimizer: torch.optim.Optimizer, before: Mapping[str, Any]) -> None:
    """Refuse settings that another kind of optimiser has saved; torch takes them as they come."""
    wanted = {key for group in before["param_groups"] for key in group}
    missing = sorted(key for group in optimizer.param_groups for key in wanted if key not in group)
    if missing:
        raise ValueError(
            f"The state of `{name}` should be that of a {type(optimizer).__name__}. Found one without {missing[0]!r}. Load it "
            "into a Distillation with the optimisers that it was saved with."
        )
