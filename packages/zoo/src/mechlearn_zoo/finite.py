"""Finite Markov decision processes, in which everything is exact: values, occupancies, optima, gradients by autograd.

Index conventions: s and t are states, a actions, P[s, a, t] = p(t | s, a), R[s, a] the expected reward, all of them behind any
number of batch axes; a policy is pi[s, a] = p(a | s). A row P[s, a, :] may sum to less than 1: the rest ends the episode.
Nothing is sampled but by `step`. Values are solutions of linear systems in float64, so that gradients flow through them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import check_generator, check_share, check_tensor, check_whole

TOLERANCE = 1e-9
"""How far sums may be from 1 in float64 and still count as 1; what ends an episode with a lower probability is nothing."""

ROUNDING = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""The same for shorter types: more than what a softmax over 3,000 places leaves in them."""

SLACK = 1e-5
"""How far rows of a policy may be from 1, whatever their type: nothing of it ends an episode, so that 1 is meant."""

LONGEST = 1e12
"""Steps of an episode that can be told from one without end: I - P_pi is known to the rounding of float64, 1e-16."""


class Optimum(NamedTuple):
    """What no policy exceeds.

    Attributes:
        values: (*b, S) V*.
        q_values: (*b, S, A) Q*.
        policy: (*b, S, A) a deterministic policy that has these values; of equally good actions one.
    """

    values: Float[Tensor, "*b S"]
    q_values: Float[Tensor, "*b S A"]
    policy: Float[Tensor, "*b S A"]


class Step(NamedTuple):
    """Where actions led: (n,) next states (what ended stays where it was), rewards R[s, a], whether the episode ended."""

    states: Int[Tensor, " n"]
    rewards: Float[Tensor, " n"]
    terminated: Bool[Tensor, " n"]


class Trajectory(NamedTuple):
    """One of all trajectories.

    Attributes:
        states: the T or fewer states that were acted in, and the one after the last action unless the episode ended.
        actions: one for each step.
        rewards: R[s, a] of each step.
        probability: of the start and of all transitions, the actions given: times prod_t pi(a_t | s_t) it is the trajectory's.
    """

    states: tuple[int, ...]
    actions: tuple[int, ...]
    rewards: tuple[float, ...]
    probability: float


@dataclass(frozen=True, eq=False)
class FiniteMDP:
    """A Markov decision process of S states and A actions, or a batch of them. Everything is kept in float64.

    Tables are read as exactly as their type is. In float64 a row is taken at its word: what it lacks to 1, beyond `TOLERANCE`,
    ends the episode. In a shorter type, float32 for example, sums differ from 1 by rounding: rows within `ROUNDING` of it are
    divided by their sums in float64, and only what is lacking beyond that ends anything. An ending rarer than that needs
    float64. Rows of a policy always mean 1: those off by more than `TOLERANCE` are divided by their sums, and refused where off
    by more than `SLACK` or their type's rounding. Whether episodes end is read off the rows and what leads where, not off a
    solution.

    Args:
        transitions: (*b, S, A, S) P, probabilities; rows that sum to less than 1 end the episode with the rest.
        rewards: (*b, S, A) R, finite.
        start: (*b, S) p0, sums to 1.
        discount: gamma in [0, 1]; with 1 every policy that is evaluated must end its episodes.

    Raises:
        TypeError: no tensors, or a discount that is no number.
        ValueError: shapes that do not fit, negative probabilities, rows above 1, a start that does not sum to 1, rewards that
            are not finite, a discount outside [0, 1].
    """

    transitions: Float[Tensor, "..."]
    rewards: Float[Tensor, "..."]
    start: Float[Tensor, "..."]
    discount: float

    def __post_init__(self) -> None:
        tolerances = dict[str, float]()
        for name in ("transitions", "rewards", "start"):
            given: Tensor = getattr(self, name)
            check_tensor(name, given)
            tolerances[name] = ROUNDING.get(given.dtype, TOLERANCE)
            object.__setattr__(self, name, given.double())
        check_share("discount", self.discount)
        _check_sizes(self.transitions, self.rewards, self.start)
        for name, what in (("transitions", "rows"), ("start", "a start")):
            _check_probabilities(name, getattr(self, name), what, tolerances[name])
            if tolerances[name] > TOLERANCE:
                object.__setattr__(self, name, _whole(getattr(self, name), 0.0, tolerances[name]))
        if not bool((self.start.detach().sum(-1) - 1).abs().max() <= TOLERANCE):
            raise ValueError(
                f"`start` should sum to 1. Found {float(self.start.detach().sum(-1).min())!r}. Divide it by its sum."
            )
        if not bool(self.rewards.isfinite().all()):
            place = tuple(torch.nonzero(~self.rewards.isfinite())[0].tolist())
            raise ValueError(f"`rewards` should be finite. Found {float(self.rewards[place])!r} at {place}.")

    @property
    def states(self) -> int:
        """Return S."""
        return self.rewards.shape[-2]

    @property
    def actions(self) -> int:
        """Return A."""
        return self.rewards.shape[-1]

    @cached_property
    def ending(self) -> Float[Tensor, "*b S A"]:
        """Return the probability that an episode ends after action a in state s: what the row lacks to 1."""
        rest = 1 - self.transitions.sum(-1)
        return torch.where(rest > TOLERANCE, rest, 0.0)

    def uniform(self) -> Float[Tensor, "S A"]:
        """Return the policy that takes all actions equally often."""
        return torch.full((self.states, self.actions), 1 / self.actions, dtype=torch.float64, device=self.rewards.device)

    def chain(self, policy: Float[Tensor, "..."]) -> Float[Tensor, "*q S S"]:
        """Return P_pi[s, t] = sum_a pi(a | s) P[s, a, t]."""
        return torch.einsum("...sa,...sat->...st", policy.double(), self.transitions)

    def values(self, policy: Float[Tensor, "..."], bonus: Float[Tensor, "..."] | None = None) -> Float[Tensor, "*q S"]:
        """Return V_pi = (I - gamma P_pi)^-1 (sum_a pi R + bonus), with gradients towards the policy.

        Args:
            policy: rows that sum to 1, see above; its batch axes and those of the process are broadcast.
            bonus: a further reward of each state, such as the policy's entropy.

        Raises:
            ValueError: a policy that is none; at a discount of 1 episodes that never end, or after more than `LONGEST` steps.
        """
        policy = self._checked(policy)
        reward = (policy * self.rewards).sum(-1)
        reward = reward if bonus is None else reward + bonus.double()
        return _solve(self._system(policy), reward)

    def q_values(self, policy: Float[Tensor, "..."]) -> Float[Tensor, "*q S A"]:
        """Return Q_pi = R + gamma P V_pi."""
        return self.backup(self.values(policy))

    def backup(self, values: Float[Tensor, "..."]) -> Float[Tensor, "*q S A"]:
        """Return R + gamma P V: Bellman's operator before an action is chosen."""
        return self.rewards + self.discount * torch.einsum("...sat,...t->...sa", self.transitions, values.double())

    def occupancies(self, policy: Float[Tensor, "..."]) -> Float[Tensor, "*q S A"]:
        """Return d[s, a] = sum_t gamma^t p(s_t = s, a_t = a): expected discounted visits; the objective is sum d R."""
        policy = self._checked(policy)
        visits = _solve(self._system(policy).mT, self.start)
        return visits.unsqueeze(-1) * policy

    def objective(self, policy: Float[Tensor, "..."], bonus: Float[Tensor, "..."] | None = None) -> Float[Tensor, "*q"]:
        """Return p0 . V_pi, the expected discounted return."""
        return (self.start * self.values(policy, bonus)).sum(-1)

    def optimal(self) -> Optimum:
        """Return V*, Q* and an optimal policy by policy iteration: exact, usually in fewer than ten rounds.

        Raises:
            ValueError: a discount of 1 where episodes need not end.
        """
        actions = self._better(None, self.uniform())
        eye = torch.eye(self.actions, dtype=torch.float64, device=actions.device)
        while True:
            found = self._better(actions, eye[actions])
            if torch.equal(found, actions):
                values = self.values(eye[actions])
                return Optimum(values, self.backup(values), eye[actions])
            actions = found

    def _better(self, actions: Tensor | None, policy: Tensor) -> Tensor:
        # An action is left for one that is better by more than rounding only: ties would go in circles.
        q = self.q_values(policy)
        best = q.max(-1)
        if actions is None:
            return best.indices
        own = q.gather(-1, actions.unsqueeze(-1)).squeeze(-1)
        return torch.where(best.values > own + 1e-10 * (1 + own.abs()), best.indices, actions)

    def step(self, states: Int[Tensor, " n"], actions: Int[Tensor, " n"], generator: Generator) -> Step:
        """Draw what follows on n states and actions; for a process without batch axes.

        Raises:
            TypeError: no generator.
            ValueError: a batch of processes.
        """
        check_generator("generator", generator)
        if self.rewards.dim() != 2:
            raise ValueError(
                f"`step` takes one process. Found a batch of {tuple(self.rewards.shape[:-2])}. Choose one of them."
            )
        rows = self.transitions[states, actions].cumsum(-1)
        drawn = torch.rand(len(states), 1, dtype=torch.float64, generator=generator, device=generator.device).to(rows.device)
        # A row's sum that misses 1 by rounding ends nothing.
        whole = self.ending[states, actions] == 0
        found = torch.searchsorted(rows, torch.where(whole.unsqueeze(1), drawn * rows[:, -1:], drawn), right=True).squeeze(1)
        ended = found == self.states
        return Step(torch.where(ended, states, found), self.rewards[states, actions], ended)

    def enumerate_trajectories(self, horizon: int) -> Iterator[Trajectory]:
        """Yield every trajectory of so many steps, or fewer where the episode ends, that has a positive probability.

        Args:
            horizon: at least 0. Their number grows as (S A)^horizon: for tests of expectations on tiny processes.

        Raises:
            TypeError: a horizon that is no whole number.
            ValueError: one below 0, or a batch of processes.
        """
        check_whole("horizon", horizon)
        if self.start.dim() > 1:
            raise ValueError(
                f"Trajectories are those of one process. Found a batch of shape {tuple(self.start.shape[:-1])}. Take its "
                "processes one by one."
            )
        for state in torch.nonzero(self.start).flatten().tolist():
            yield from self._from(state, horizon, float(self.start[state]))

    def _from(self, state: int, horizon: int, probability: float) -> Iterator[Trajectory]:
        if horizon == 0:
            yield Trajectory((state,), (), (), probability)
            return
        for action in range(self.actions):
            reward = float(self.rewards[state, action])
            if (ends := float(self.ending[state, action])) > 0:
                yield Trajectory((state,), (action,), (reward,), probability * ends)
            for after in torch.nonzero(self.transitions[state, action]).flatten().tolist():
                chance = probability * float(self.transitions[state, action, after])
                for rest in self._from(after, horizon - 1, chance):
                    states, actions, rewards = (state, *rest.states), (action, *rest.actions), (reward, *rest.rewards)
                    yield Trajectory(states, actions, rewards, rest.probability)

    def _system(self, policy: Tensor) -> Tensor:
        chain = self.chain(policy)
        system = torch.eye(self.states, dtype=torch.float64, device=chain.device) - self.discount * chain
        if self.discount == 1:
            _check_ends(chain.detach(), (policy.detach() * self.ending).sum(-1) > TOLERANCE)
            _check_lengths(system.detach())
        return system

    def _checked(self, policy: Tensor) -> Tensor:
        """Return a policy in float64, with rows that sum to 1."""
        check_tensor("policy", policy)
        if policy.shape[-2:] != (self.states, self.actions):
            wanted = f"(..., {self.states}, {self.actions})"
            raise ValueError(f"`policy` should have the shape {wanted}, states by actions. Found {tuple(policy.shape)}.")
        off, most = (policy.detach().double().sum(-1) - 1).abs(), max(SLACK, ROUNDING.get(policy.dtype, 0.0))
        if not bool((policy.detach() >= 0).all()) or not bool((off <= most).all()):
            raise ValueError(
                "`policy` should hold probabilities: rows that sum to 1. "
                f"Found one {float(off.max()):.3g} off, or negative ones."
            )
        return _whole(policy.double(), TOLERANCE, most) if bool((off > TOLERANCE).any()) else policy.double()


def _whole(rows: Tensor, least: float, most: float) -> Tensor:
    """Return rows divided by their sums where these are so far from 1; all others as they are, to the bit."""
    sums = rows.sum(-1, keepdim=True)
    off = (sums.detach() - 1).abs()
    return rows / torch.where((off > least) & (off <= most), sums, 1.0)


def _solve(system: Tensor, right: Tensor) -> Tensor:
    try:
        return torch.linalg.solve(system, right.unsqueeze(-1)).squeeze(-1)
    except torch.linalg.LinAlgError as error:  # pyright: ignore[reportPrivateImportUsage]  # documented
        raise ValueError(
            "What follows a state should be determined by I - gamma P_pi. Found a matrix without inverse in float64: episodes "
            "hardly ever end, and the discount is too near to 1. Take a smaller discount."
        ) from error


def _check_sizes(transitions: Tensor, rewards: Tensor, start: Tensor) -> None:
    shape = tuple(rewards.shape)
    fits = len(shape) >= 2 and min(shape) > 0 and transitions.shape == (*shape, shape[-2])
    if not fits or start.shape != shape[:-1]:
        found = f"{tuple(transitions.shape)}, {shape} and {tuple(start.shape)}"
        raise ValueError(
            "`transitions`, `rewards` and `start` should have the shapes (..., S, A, S), (..., S, A) and (..., S). "
            f"Found {found}. Expand what a batch shares."
        )


def _check_probabilities(name: str, found: Tensor, what: str, tolerance: float) -> None:
    found = found.detach()
    if not bool((found >= 0).all()):  # also catches NaN
        raise ValueError(f"`{name}` should hold probabilities. Found {float(found.min())!r}, negative or no number.")
    if float((sums := found.sum(-1)).max()) > 1 + tolerance:
        way = "Divide them by their sums; below 1 is allowed, the rest ends the episode." if what == "rows" else ""
        raise ValueError(f"`{name}` should have {what} that sum to at most 1. Found {float(sums.max())!r}. {way}".rstrip())


def _check_ends(chain: Tensor, ends: Tensor) -> None:
    """Reject a chain with a state from which no state that may end is reached, as then I - P_pi has no inverse."""
    for _ in range(chain.shape[-1]):
        ends = ends | ((chain > 0) & ends.unsqueeze(-2)).any(-1)
    if not bool(ends.all()):
        place = tuple(torch.nonzero(~ends)[0].tolist())
        raise ValueError(
            f"With a discount of 1 every state should lead to the episode's end. Found state {place[-1]} that never does. "
            "Take a smaller discount, or rows of `transitions` that sum to less than 1."
        )


def _check_lengths(system: Tensor) -> None:
    """Reject what ends, but so late that float64 does not know when: a solution would be rounding errors."""
    try:
        steps = torch.linalg.solve(system, system.new_ones(system.shape[:-1]).unsqueeze(-1)).squeeze(-1)
    except torch.linalg.LinAlgError:  # pyright: ignore[reportPrivateImportUsage]  # documented
        steps = torch.full(system.shape[:-1], torch.inf)
    if not bool(((steps > 0) & (steps <= LONGEST)).all()):  # also catches NaN
        raise ValueError(
            f"With a discount of 1 episodes should end within {LONGEST:.0e} steps in the mean, as rounding decides beyond. "
            f"Found {float(steps.max()):.3g}. Take a smaller discount, or a policy that goes where episodes end."
        )
