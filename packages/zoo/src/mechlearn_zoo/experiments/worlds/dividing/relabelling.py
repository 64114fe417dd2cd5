"""Solved problems from what was walked: proposals of sub-goals are trained on them, without a search and without rewards.

Whoever walked from a state to a later one has shown that the states between are sub-goals of that problem (after hindsight
experience replay, as in https://arxiv.org/abs/2004.11410). `mechlearn_zoo.methods.worlds.dividing` searches with such
proposals.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor

from mechlearn.arguments import check_kind, check_one_of, check_whole

Split = Literal["middle", "every"] | int
"""Which sub-goal of a solved problem is taught."""


def hindsight(paths: Sequence[Sequence[int]], split: Split = "middle") -> Tensor:
    """Return solved problems (n, 3), each s, m, t: what proposals are trained on, by cross-entropy of p(m|s, t).

    Args:
        paths: states in the order in which they were walked, in steps that the low-level policy can do; `without_loops` of
            walks, or the frames that `mechlearn.skips` matched (`matched_states`).
        split: which sub-goal of a problem with places i < j on its path: the one in the "middle", (i + j) / 2 rounded down;
            "every" one between; or a whole number of places after i, but never j: what a forward search should propose.
    """
    if not isinstance(split, str):
        check_whole("split", split, 1, way_out='Or "middle", or "every".')
    else:
        check_one_of("split", split, ("middle", "every"), way_out="Or a whole number of places.")
    found: list[tuple[int, int, int]] = []
    check_kind("paths", paths, Iterable, "a list of paths", way_out="One walk alone is [walk].")
    for path in paths:
        check_kind("paths", path, Iterable, "a list of paths, each of states", way_out="One walk alone is [walk].")
        for state in path:
            check_whole("paths", state)
        for i in range(len(path)):
            for j in range(i + 2, len(path)):
                found += [(path[i], path[k], path[j]) for k in _between(i, j, split)]
    if not found:
        raise ValueError("`paths` should hold one of three states or more. Found none. Walk farther.")
    return torch.tensor(found)


def without_loops(path: Sequence[int]) -> list[int]:
    """Return a walk with its loops left out, in the order in which they close: no state comes twice.

    >>> without_loops([0, 1, 2, 1, 3])
    [0, 1, 3]
    """
    found: list[int] = []
    places: dict[int, int] = {}
    for state in path:
        if state in places:
            for left in found[places[state] + 1 :]:
                del places[left]
            del found[places[state] + 1 :]
        else:
            places[state] = len(found)
            found.append(state)
    return found


def _between(i: int, j: int, split: Split) -> Sequence[int]:
    if split == "every":
        return range(i + 1, j)
    return [(i + j) // 2 if isinstance(split, str) else min(i + int(split), j - 1)]
