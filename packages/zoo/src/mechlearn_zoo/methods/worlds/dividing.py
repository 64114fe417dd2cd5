"""Divide-and-conquer search: plans by sub-goals in any order (Parascandolo, Buesing, ..., Neitz, Weber 2020; DC-MCTS).

Nothing is known of the world but v(s, t), the probability that a low-level policy gets from s to t, and what it costs is asking
for v. V*(s, t) = max(v(s, t), max_m V*(s, m) V*(m, t)) is the value of the best plan through sub-goals m. `closure` computes it
where v is known for all pairs; `divide_and_conquer` searches where asking is dear and there are good proposals, which
`mechlearn_zoo.experiments.worlds.dividing.relabelling` makes of walked paths: every pair on such a path is a solved problem.

Index conventions: s is where a problem starts, t where it ends, m a sub-goal between them, all of them numbers of states.

Use the search where goals are far and a trained network can say what lies between. Not where v is cheap for all pairs (take
`closure`), where transitions of single steps are known (take Dijkstra's algorithm), and not without proposals: a plan of n legs
has 2 n - 1 problems, and one bad sub-goal spoils it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_callable,
    check_data,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_one_of,
    check_whole,
)
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Divide-and-conquer search",
    2020,
    "Parascandolo, Buesing et al., algorithm 1",
    "https://arxiv.org/abs/2004.11410",
    "a question to the low-level policy a problem, and one to the proposals",
)

Order = Literal["any", "forward"]
"""Which halves of a problem may be divided again: both, or only the second, as a sequential planner does."""


class Proposals(NamedTuple):
    """Sub-goals of a problem, and the prior probability p(m|s, t) of each."""

    states: Sequence[int]
    probabilities: Sequence[float]


@dataclass(frozen=True)
class Planning:
    """What a search may ask.

    Args:
        low_level: v(s, t) in [0, 1]; it is asked once for each problem, and counted.
        propose: from (s, t) to `Proposals`; s and t among them are left out, and where nothing is left there is no division.
        value: from (s, t) to a guess of V* in [0, 1], by which new problems are valued; None for v itself. With guesses the
            values of a search may lie above V*; those of its plans never do.

    Raises:
        TypeError: what is no function.
    """

    low_level: Callable[[int, int], float]
    propose: Callable[[int, int], Proposals]
    value: Callable[[int, int], float] | None = None

    def __post_init__(self) -> None:
        check_callable("low_level", self.low_level, "a function of two states")
        check_callable("propose", self.propose, "a function of two states that returns Proposals(states, probabilities)")
        if self.value is not None:
            check_callable("value", self.value, "a function of two states, or None")


@dataclass(frozen=True)
class Effort:
    """How hard is searched, and in which order.

    Args:
        budget: how often v may be asked.
        exploration: c, the weight of proposals that were tried less often than their prior says.
        depth: how often a problem may be divided, counted from the first one.
        order: "any", or "forward": only what follows a sub-goal is divided further, and the way to it is v's alone. That is
            sequential tree search over sub-goals, with the same proposals, values and counts.
        patience: after so many passes in a row that asked nothing new, the search ends.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range, or another word.
    """

    budget: int = 200
    exploration: float = 1.0
    depth: int = 20
    order: Order = "any"
    patience: int = 100

    def __post_init__(self) -> None:
        for name in ("budget", "depth", "patience"):
            check_whole(name, getattr(self, name), 1)
        check_not_negative("exploration", self.exploration)
        check_one_of("order", self.order, get_args(Order))


@dataclass
class Problem:
    """What a search knows of getting from s to t.

    Attributes:
        low_level: v(s, t).
        states: its sub-goals.
        priors: their probabilities.
        counts: how often each was tried.
        value: V(s, t), the mean of what passes brought back.
        visits: N(s, t).
        best: the product of v along the best plan so far.
        plan: its states, s and t included.
    """

    low_level: float
    states: tuple[int, ...]
    priors: tuple[float, ...]
    value: float
    best: float
    plan: tuple[int, ...]
    counts: list[int] = field(default_factory=list)
    visits: int = 1


class Search(NamedTuple):
    """What a search found.

    Attributes:
        plan: the states of the best plan, start and goal included; (start, goal) where nothing better is known.
        value: the product of v along it, never above V*(start, goal).
        estimate: V(start, goal), the mean that steers the search.
        queries: how often v was asked.
        improved: how many questions had been asked, and the value, each time that a better plan was found.
        tree: every problem that was looked at, by (s, t).
    """

    plan: tuple[int, ...]
    value: float
    estimate: float
    queries: int
    improved: tuple[tuple[int, float], ...]
    tree: Mapping[tuple[int, int], Problem]


def closure(low_level: Float[Tensor, "..."]) -> Float[Tensor, "*batch S S"]:
    """Return V*, the value of the best plan between every two states: Floyd and Warshall's algorithm with products and maxima.

    Args:
        low_level: (..., S, S) v in [0, 1]; a row is where a problem starts.

    Raises:
        TypeError: no tensor of floats.
        ValueError: another shape, or numbers outside [0, 1].
    """
    check_floats("low_level", low_level, "...", "S", "S")
    check_data("low_level", low_level)
    if not bool(((low_level >= 0) & (low_level <= 1)).all()):
        raise ValueError("`low_level` should hold probabilities in [0, 1]. Found others, or NaN.")
    if low_level.requires_grad and torch.is_grad_enabled():
        values = low_level
        for m in range(values.shape[-1]):
            values = torch.maximum(values, values[..., :, m, None] * values[..., m, None, :])
        return values
    # In place, the same numbers: the S x S products of every m lie in one piece of memory.
    values, products = low_level.clone(), torch.empty_like(low_level)
    for m in range(values.shape[-1]):
        torch.mul(values[..., :, m, None], values[..., m, None, :], out=products)
        torch.maximum(values, products, out=values)
    return values


def divide_and_conquer(start: int, goal: int, problem: Planning, effort: Effort, generator: Generator) -> Search:
    """Search for a plan from start to goal (algorithm 1).

    A pass begins at (start, goal). A problem that was seen before picks the sub-goal with the greatest
    V(s, m) V(m, t) + c p(m|s, t) sqrt(N(s, t)) / (1 + N(s, m, t)), both halves are passed through, and the product comes back;
    a new one asks v and is valued. Problems are shared between passes, wherever they come up again. A plan is kept for each
    problem as it is found, so that the plan that is returned has exactly the value that is reported; the text extracts one
    greedily by V. The search ends early with a plan of value 1, than which there is none better.

    Args:
        start: a state.
        goal: a state.
        problem: what may be asked.
        effort: how often, and in which order.
        generator: of the order in which equal sub-goals are tried.

    Raises:
        TypeError: arguments of another type.
        ValueError: v or a guess outside [0, 1], or proposals that are no probabilities, one for each sub-goal.
    """
    for name, state in {"start": start, "goal": goal}.items():
        check_whole(name, state)
    check_kind("problem", problem, Planning, "Planning(low_level, propose)")
    check_kind("effort", effort, Effort, "Effort(budget, ...)")
    check_generator("generator", generator)
    searching = _Searching(problem, effort, generator)
    root, improved, idle = searching.expand(start, goal), list[tuple[int, float]](), 0
    known = 0.0
    while True:
        if root.best > known:
            known = root.best
            improved.append((searching.queries, known))
        if known >= 1 or searching.queries >= effort.budget or idle >= effort.patience:
            break
        asked = searching.queries
        searching.traverse(start, goal, effort.depth)
        idle = idle + 1 if searching.queries == asked else 0
    return Search(root.plan, root.best, root.value, searching.queries, tuple(improved), searching.tree)


class _Searching:
    """A search under way: its problems and how often v was asked."""

    def __init__(self, problem: Planning, effort: Effort, generator: Generator) -> None:
        self.problem, self.effort, self.generator = problem, effort, generator
        self.tree: dict[tuple[int, int], Problem] = {}
        self.under_way = set[tuple[int, int]]()
        self.queries = 0

    def expand(self, s: int, t: int) -> Problem:
        """Ask v and the proposals of a new problem."""
        self.queries += 1
        low_level = _probability("low_level", self.problem.low_level(s, t))
        guess = 0.0 if self.problem.value is None else _probability("value", self.problem.value(s, t))
        states, priors = _shuffled(self.problem.propose(s, t), (s, t), self.generator)
        found = Problem(low_level, states, priors, max(low_level, guess), low_level, (s, t), [0] * len(states))
        self.tree[s, t] = found
        return found

    def traverse(self, s: int, t: int, depth: int) -> float:
        """Pass through a problem and return what came of it, G."""
        found = self.tree.get((s, t))
        if found is None:
            return self.expand(s, t).value if self.queries < self.effort.budget else 0.0
        if found.best >= 1 or (s, t) in self.under_way:  # solved, or a plan in a circle, which is never better
            return found.best
        gained = found.low_level
        if depth and found.states:
            self.under_way.add((s, t))
            gained = max(gained, self._divide(found, s, t, depth - 1))
            self.under_way.remove((s, t))
        found.value = (found.value * found.visits + gained) / (found.visits + 1)
        found.visits += 1
        return gained

    def _divide(self, found: Problem, s: int, t: int, depth: int) -> float:
        """Pass through both halves of a problem and return the product."""
        chosen = self._select(found, s, t)
        m = found.states[chosen]
        found.counts[chosen] += 1
        if self.effort.order == "any":
            left = self.traverse(s, m, depth)
        else:
            known = self.tree.get((s, m)) or (self.expand(s, m) if self.queries < self.effort.budget else None)
            left = 0.0 if known is None else known.low_level
        # Forward, a step that cannot be taken leads nowhere: what would follow is not asked.
        right = self.traverse(m, t, depth) if left or self.effort.order == "any" else 0.0
        self._keep(found, s, m, t)
        return left * right

    def _select(self, found: Problem, s: int, t: int) -> int:
        """Return the sub-goal with the greatest value and bonus; of equals the first."""
        bonus = self.effort.exploration * math.sqrt(found.visits)
        scores = [
            self._value(s, m) * self._value(m, t) + bonus * prior / (1 + count)
            for m, prior, count in zip(found.states, found.priors, found.counts, strict=True)
        ]
        return scores.index(max(scores))

    def _value(self, s: int, t: int) -> float:
        known = self.tree.get((s, t))
        return 0.0 if known is None else known.value

    def _keep(self, found: Problem, s: int, m: int, t: int) -> None:
        """Keep the plan through m where it is better than the best so far."""
        first, second = self.tree.get((s, m)), self.tree.get((m, t))
        if first is None or second is None:
            return
        legs = (first.low_level, (s, m)) if self.effort.order == "forward" else (first.best, first.plan)
        if legs[0] * second.best > found.best:
            found.best, found.plan = legs[0] * second.best, (*legs[1], *second.plan[1:])


def _probability(name: str, found: float) -> float:
    if not 0 <= found <= 1:
        raise ValueError(f"`{name}` should return a probability in [0, 1]. Found {found!r}.")
    return float(found)


def _shuffled(proposals: Proposals, ends: tuple[int, int], generator: Generator) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return proposals without a problem's own ends, the greatest prior first and equals in random order."""
    states, probabilities = proposals
    if len(states) != len(probabilities) or any(not 0 <= p < math.inf for p in probabilities):
        raise ValueError(
            f"`propose` should return a probability for each sub-goal. Found {len(states)} sub-goals and {len(probabilities)} "
            "probabilities, or some that are negative or not finite."
        )
    order = torch.randperm(len(states), generator=generator, device=generator.device).tolist()
    pairs = [(int(states[i]), float(probabilities[i])) for i in order if int(states[i]) not in ends]
    pairs.sort(key=lambda pair: -pair[1])
    return tuple(state for state, _ in pairs), tuple(p for _, p in pairs)
