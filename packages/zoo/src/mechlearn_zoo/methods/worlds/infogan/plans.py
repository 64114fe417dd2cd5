"""Plans of Causal InfoGAN: through abstract states, and one observation for each of them."""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from mechlearn.arguments import (
    check_all_finite,
    check_callable,
    check_data,
    check_each,
    check_floats,
    check_result,
    check_returned,
    check_share,
    check_whole,
)


class Plan(NamedTuple):
    """A path through abstract states, start and goal among them, and its log probability under T."""

    states: tuple[int, ...]
    log_probability: float


def waypoints(table: Float[Tensor, "k k"], start: int, goal: int, least: float = 0.0) -> Plan | None:
    """Return the likeliest path by Dijkstra's algorithm on - log T; None where there is none.

    Args:
        table: T(s'|s), a row each s; rows sum to 1.
        start: a state.
        goal: a state.
        least: transitions below this probability are not taken.

    Raises:
        ImportError: scipy is not installed.
        TypeError: states that are no whole numbers, a table that is not of floating ones.
        ValueError: no table of probabilities, states that it does not have, or a bound outside [0, 1].
    """
    check_share("least", least)
    check_floats("table", table, "k", "k")
    check_data("table", table)
    count = len(table)
    rows = table.detach().double()
    if bool((rows < 0).any()) or not torch.allclose(rows.sum(1), rows.new_ones(count), atol=1e-4):
        found = f"a row that sums to {float(rows.sum(1)[(rows.sum(1) - 1).abs().argmax()]):g}, or a negative number"
        raise ValueError(f"`table` should be of probabilities whose rows sum to 1. Found {found}. Use probabilities().")
    for name, state in {"start": start, "goal": goal}.items():
        check_whole(name, state, 0)
        if state >= count:
            raise ValueError(f"`{name}` should be one of {count} states. Found {state}.")
    return _shortest(rows.cpu().numpy(), start, goal, least)


def _shortest(table: np.ndarray, start: int, goal: int, least: float) -> Plan | None:
    from scipy.sparse import csr_matrix  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to import, and only plans need it
    from scipy.sparse.csgraph import dijkstra  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415

    rows, columns = np.nonzero((table > 0) & (table >= least))
    lengths = -np.log(np.minimum(table[rows, columns], 1))  # zeros stay: a sparse graph keeps those that are stored
    graph = csr_matrix((lengths, (rows, columns)), shape=table.shape)
    far, before = dijkstra(graph, indices=start, return_predecessors=True)
    if not np.isfinite(far[goal]):
        return None
    path = [goal]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return Plan(tuple(reversed(path)), -float(far[goal]))


def interpolate(a: Float[Tensor, " d"], b: Float[Tensor, " d"], count: int) -> Float[Tensor, "n d"]:
    """Return a plan through continuous states: a straight line of `count` states from a to b, both included.

    Raises:
        TypeError: states that are no floating numbers, both of one type.
        ValueError: fewer than two, states of different sizes or not finite.
    """
    check_whole("count", count, 2)
    check_floats("a", a, "d")
    check_floats("b", b, len(a), like=a)
    check_all_finite("a", a)
    check_all_finite("b", b)
    return torch.lerp(a, b, torch.linspace(0, 1, count, dtype=a.dtype, device=a.device).unsqueeze(1))


def most_plausible(discriminator: nn.Module, stages: Sequence[Tensor]) -> Float[Tensor, "n o"]:
    """Return one observation of each stage, so that D likes the least plausible leg best: exactly, of all choices.

    A widest path from stage to stage: as many calls of D as there are legs, m x m pairs each.

    Args:
        discriminator: from pairs (b, 2 o) to logits (b, 1).
        stages: (m, o) candidates for each point of a plan; those of start and goal have one row.

    Raises:
        TypeError: no discriminator, stages that are no tensors of floating numbers.
        ValueError: fewer than two stages, an empty one, observations of different sizes, or judged by what is not finite.
    """
    check_callable("discriminator", discriminator, "a module that judges pairs of observations")
    check_each("stages", stages, Tensor, "tensors of candidates")
    if len(stages) < 2 or not all(len(stage) for stage in stages):
        raise ValueError(f"`stages` should be two or more, none empty. Found sizes {[len(stage) for stage in stages]}.")
    for place, stage in enumerate(stages):
        check_floats(f"stages[{place}]", stage, "m", stages[0].shape[-1], like=stages[0])
    widest, before = stages[0].new_full((len(stages[0]),), math.inf, dtype=torch.float32), list[Tensor]()
    for here, there in pairwise(stages):
        pairs = torch.cat((here.unsqueeze(1).expand(-1, len(there), -1), there.expand(len(here), -1, -1)), -1)
        with torch.no_grad():
            found = discriminator(pairs.flatten(0, 1))
        check_returned("discriminator", found, "a logit for each pair", len(here) * len(there), 1)
        logits = found.view(len(here), len(there))
        check_result(logits, {"stages": pairs}, way_out="Look at the discriminator's weights.")
        widest, best = torch.minimum(widest.unsqueeze(1), logits).max(0)
        before.append(best)
    chosen = [int(widest.argmax())]
    for best in reversed(before):
        chosen.append(int(best[chosen[-1]]))
    return torch.stack([stage[index] for stage, index in zip(stages, reversed(chosen), strict=True)])
