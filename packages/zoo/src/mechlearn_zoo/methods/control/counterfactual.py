"""Counterfactual evaluation and policy search in a library of scenarios (Buesing et al. 2018).

A partially observed process as a structural causal model: a scenario u (which level this is) and what is glimpsed at each step
are drawn once, everything else follows: s' = f(s, a, u), o = g(s, u), a ~ pi. Counterfactual inference: infer what could not be
seen, u ~ p(u | h), put pi in the place of the logged policy, and let f run on. If the model is right then
E_h[p^do(pi)(. | h)] = p^do(pi) (lemma 1); if its *prior* over scenarios is wrong, evidence mends it. Here the posterior is
exact: scenarios are a library, each explains a history or does not. A history h is all that an agent meets: what it glimpses,
where its moves lead, what they pay, and whether the episode ends there. A policy is then searched on counterfactual roll-outs;
its step, its network and its optimiser are the user's.

Index conventions: k a scenario of K, b an episode of B, t a step of T, s a cell of S, a an action of A. Time first.

Not for: dynamics that are themselves unknown (only the prior is corrected), or evidence that was logged by a policy that saw u.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_callable,
    check_generator,
    check_ids,
    check_mask,
    check_numbers,
    check_one_of,
    check_shape,
    check_share,
    check_tensor,
    check_whole,
)
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "CF-GPS", 2018, "Buesing et al., algorithms 1 and 2", "https://arxiv.org/abs/1811.06272",
    "B x K likelihoods; roll-outs in the model",
)  # fmt: skip

UNSEEN = -1
"""What is known of a cell that was never glimpsed."""


class View(NamedTuple):
    """What an agent goes by: (B, S) what it has glimpsed of each cell, `UNSEEN` elsewhere, and (B,) where it stands."""

    known: Int[Tensor, "B S"]
    cells: Int[Tensor, " B"]


ViewPolicy = Callable[[View, Generator], tuple[Tensor, Tensor]]
"""From what the agents go by to (B,) actions and the logarithms (B,) of their probabilities."""


@dataclass(frozen=True, eq=False)
class Scenarios:
    """A library of deterministic worlds over the same cells, and what a model thinks of how likely each is.

    Args:
        next: (K, S, A) where each action leads; kept in int64, as pictures are.
        picture: (K, S) what each cell is, whole numbers from 0 on.
        rewards: (K, S) paid on arrival in a cell.
        ends: (K, S) 1 where arriving ends the episode, else 0.
        prior: (K,) sums to 1.
        start: the cell in which all begin.
        glimpse: probability that a cell is seen in a step, each cell by itself.

    Raises:
        TypeError: no tensors, cells or pictures that are no whole numbers.
        ValueError: shapes that do not fit, cells that do not exist, rewards that are not finite, ends other than 0 and 1, a
            prior that does not sum to 1, a probability outside [0, 1].
    """

    next: Int[Tensor, "..."]
    picture: Int[Tensor, "..."]
    rewards: Float[Tensor, "..."]
    ends: Float[Tensor, "..."]
    prior: Float[Tensor, "..."]
    start: int = 0
    glimpse: float = 0.1

    def __post_init__(self) -> None:
        for name in ("next", "picture", "rewards", "ends", "prior"):
            check_numbers(name, getattr(self, name))
        check_share("glimpse", self.glimpse)
        check_whole("start", self.start)
        shape = tuple(self.picture.shape)
        if len(shape) != 2 or 0 in shape or any(tuple(part.shape) != shape for part in (self.rewards, self.ends)):
            raise ValueError(f"`picture`, `rewards` and `ends` should be (K, S), scenarios by cells. Found `picture` {shape}.")
        if self.next.dim() != 3 or tuple(self.next.shape[:2]) != shape or self.prior.shape != shape[:1]:
            found = f"{tuple(self.next.shape)} and {tuple(self.prior.shape)}"
            raise ValueError(f"`next` should be (K, S, A) and `prior` (K,) for `picture` {shape}. Found {found}.")
        check_ids("next", self.next, *shape, "A")
        check_ids("picture", self.picture, *shape)
        if not 0 <= int(self.next.min()) <= int(self.next.max()) < shape[1] or self.start >= shape[1]:
            raise ValueError(f"`next` and `start` should be cells from 0 to {shape[1] - 1}. Found {int(self.next.max())}.")
        check_all_finite("rewards", self.rewards, way_out="Look at what the world pays there.")
        if bool((other := (self.ends != 0) & (self.ends != 1)).any()):
            found = float(self.ends[other][0])
            raise ValueError(f"`ends` should be 1 where arriving ends the episode, else 0: nothing is drawn. Found {found}.")
        _check_distribution("prior", self.prior)
        for name in ("next", "picture"):  # places for indices; and in uint8, UNSEEN would be 255
            object.__setattr__(self, name, getattr(self, name).long())

    def process(self, discount: float) -> FiniteMDP:
        """Return all scenarios as a batch of K processes, in which a memoryless policy's value is exact."""
        count, cells, actions = self.next.shape
        goes = torch.nn.functional.one_hot(self.next, cells).double()
        goes = goes * (1 - self.ends.double())[:, None, None]  # arriving ends: nothing follows
        pays = self.rewards.double().gather(1, self.next.flatten(1)).view(count, cells, actions)
        start = torch.zeros(count, cells, dtype=torch.float64, device=goes.device)
        start[:, self.start] = 1
        return FiniteMDP(goes, pays, start, discount)


class Episodes(NamedTuple):
    """B episodes of at most T steps, one in each column; what follows an episode's end is not alive.

    Attributes:
        scenarios: (B,) the scenario of each.
        cells: (T + 1, B) where the agent stood.
        glimpsed: (T, B, S) which cells were seen at each step: part of what a counterfactual keeps.
        known: (T, B, S) what was known of each before acting.
        actions: (T, B).
        log_mu: (T, B) logarithms of their probabilities under the policy that acted.
        rewards: (T, B), 0 where not alive.
        alive: (T, B) whether the step took place.
    """

    scenarios: Int[Tensor, " B"]
    cells: Int[Tensor, "T1 B"]
    glimpsed: Bool[Tensor, "T B S"]
    known: Int[Tensor, "T B S"]
    actions: Int[Tensor, "T B"]
    log_mu: Float[Tensor, "T B"]
    rewards: Float[Tensor, "T B"]
    alive: Bool[Tensor, "T B"]

    def take(self, columns: Int[Tensor, " n"]) -> "Episodes":
        """Return some of the episodes, in any order and as often as wanted."""
        return Episodes(self.scenarios[columns], *(part[:, columns] for part in self[1:]))

    def returns(self, discount: float) -> Float[Tensor, " B"]:
        """Return sum_t gamma^t r_t of each episode."""
        rewards = self.rewards.double()
        return discount ** torch.arange(len(rewards), dtype=torch.float64, device=rewards.device) @ rewards


class Estimate(NamedTuple):
    """A policy's value: the mean over logged episodes, with its standard error."""

    value: float
    error: float


def log_likelihood(
    scenarios: Scenarios, episodes: Episodes, steps: int, *, misread: float = 0.0, pictures: int = 4
) -> Float[Tensor, "B K"]:
    """Return ln p(h | k) up to a constant, which is what all scenarios make equally likely: the actions and the masks.

    Evidence is, of each of the first steps: the cells glimpsed, where the move led, what it paid, and whether the episode went
    on. Of the last step that was logged nobody knows whether the episode went on, and nothing is concluded from it. Rewards are
    compared in the shorter of both types.

    Args:
        scenarios: the library.
        episodes: what was logged.
        steps: how many steps of evidence count; 0 is none.
        misread: probability that a glimpse shows another picture, evenly. With 0 a scenario explains all or nothing. Moves,
            rewards and ends are never misread.
        pictures: how many different ones there are; cells are some of 0 to pictures - 1.

    Raises:
        TypeError: numbers of another type, pictures that are no whole numbers.
        ValueError: numbers out of their range, fewer than two pictures, a library that shows others.
    """
    check_whole("steps", steps)
    check_share("misread", misread)
    check_whole("pictures", pictures, 2, why="a glimpse that is misread shows another", way_out="Of one alone say 2.")
    way_out = "Pass as many `pictures` as there are."
    check_ids("scenarios.picture", scenarios.picture, "K", "S", count=pictures, way_out=way_out)
    used = min(steps, len(episodes.actions))
    seen = (episodes.glimpsed & episodes.alive.unsqueeze(-1))[:used].any(0)  # (B, S)
    shown = torch.where(seen, scenarios.picture[episodes.scenarios], UNSEEN)
    kinds = torch.arange(pictures, device=shown.device)[:, None, None]
    right = ((shown == kinds).float() @ (scenarios.picture == kinds).float().mT).sum(0).double()  # (B, K)
    wrong = seen.sum(1, keepdim=True) - right
    reads, misreads = torch.tensor([1 - misread, misread / (pictures - 1)], dtype=torch.float64, device=right.device)
    found = torch.xlogy(right, reads) + torch.xlogy(wrong, misreads)
    fits = _moves_fit(scenarios, episodes, used) & _arrivals_fit(scenarios, episodes, used)
    return torch.where(fits, found, -torch.inf)


def _moves_fit(scenarios: Scenarios, episodes: Episodes, steps: int) -> Tensor:
    """(B, K): whether every logged move leads in a scenario where it led."""
    _, cells, actions = scenarios.next.shape
    number = (episodes.cells[:-1] * actions + episodes.actions) * cells + episodes.cells[1:]

    def contradicted(moves: Tensor) -> Tensor:
        return scenarios.next.flatten(1)[:, moves // cells] != moves % cells

    return _never(contradicted, number[:steps], episodes.alive[:steps])


def _arrivals_fit(scenarios: Scenarios, episodes: Episodes, steps: int) -> Tensor:
    """(B, K): whether arriving pays and ends in a scenario as it did; whether it ended is unknown of the last step."""
    went_on, ended, unknown = range(3)
    alive = episodes.alive[:steps]
    end = torch.full_like(episodes.actions, unknown)
    end[:-1] = torch.where(episodes.alive[1:], went_on, ended)
    rewards, paid = torch.unique(episodes.rewards[:steps], return_inverse=True)
    kinds = 3 * max(1, len(rewards))

    def contradicted(arrivals: Tensor) -> Tensor:
        after, end, paid = arrivals // kinds, arrivals % 3, rewards[arrivals % kinds // 3]
        other_end = (end != unknown) & ((scenarios.ends[:, after] != 0) != (end == ended))
        return _differ(scenarios.rewards[:, after], paid) | other_end

    return _never(contradicted, episodes.cells[1:][:steps] * kinds + paid * 3 + end[:steps], alive)


def _never(contradicted: Callable[[Tensor], Tensor], events: Tensor, alive: Tensor) -> Tensor:
    """(B, K): whether nothing that happened is contradicted. Few events (T, B) are different: each is looked up once."""
    different, which = torch.unique(events[alive], return_inverse=True)
    made = torch.zeros(alive.shape[1], len(different), device=alive.device)
    made[alive.nonzero()[:, 1], which] = 1
    return made @ contradicted(different).float().T == 0


def _differ(ours: Tensor, theirs: Tensor) -> Tensor:
    """Where rewards differ, in the type with fewer digits: a log in float32 is no contradiction to a world in float64."""
    both = [one.dtype for one in (ours, theirs) if one.is_floating_point()]
    common = max(both, key=lambda dtype: torch.finfo(dtype).eps, default=torch.float64)
    return ours.to(common) != theirs.to(common)


def posterior(
    prior: Float[Tensor, " K"], log_likelihood: Float[Tensor, "B K"], *, unexplained: Literal["refuse", "prior"] = "refuse"
) -> Float[Tensor, "B K"]:
    """Return p(k | h) for each history, in log space, float64.

    Args:
        prior: what the model thinks of each scenario beforehand.
        log_likelihood: (B, K), -inf where a scenario does not explain a history.
        unexplained: what becomes of histories that no scenario with a positive prior explains.

    Raises:
        TypeError: no tensors.
        ValueError: such a history, with its number, unless they fall back to the prior; NaN and infinity; likelihoods of
            another shape: (B, 1) would be every scenario's.
    """
    check_numbers("prior", prior)
    _check_distribution("prior", prior)
    check_shape("log_likelihood", log_likelihood, "B", len(prior), way_out="One for each history and scenario.")
    check_numbers("log_likelihood", log_likelihood)
    check_one_of("unexplained", unexplained, ("refuse", "prior"))
    if bool((wrong := log_likelihood.isnan() | (log_likelihood == torch.inf)).any()):
        episode, scenario = wrong.nonzero()[0].tolist()
        found = "NaN" if bool(log_likelihood[episode, scenario].isnan()) else "inf"
        raise ValueError(f"`log_likelihood` should hold numbers or -inf. Found {found} in episode {episode}.")
    joint = prior.double().log() + log_likelihood.double()
    total = joint.logsumexp(1, keepdim=True)
    lost = total == -torch.inf
    if unexplained == "refuse" and bool(lost.any()):
        raise ValueError(
            f"Some scenario of the library should explain every history. Found none for episode {int(lost.nonzero()[0, 0])}. "
            'Allow for misreading, or pass unexplained="prior".'
        )
    return torch.where(lost, prior.double(), (joint - torch.where(lost, 0.0, total)).exp())


def rollouts(
    scenarios: Scenarios,
    chosen: Int[Tensor, " B"],
    policy: ViewPolicy,
    steps: int,
    generator: Generator,
    *,
    glimpsed: Bool[Tensor, "T0 B S"] | None = None,
) -> Episodes:
    """Act in chosen scenarios.

    Args:
        scenarios: the library.
        chosen: (B,) the scenario of each episode.
        policy: see `ViewPolicy`; it never sees the scenario.
        steps: T.
        generator: of glimpses, handed to the policy too.
        glimpsed: (T0, B, S) glimpses to begin with, a logged episode's; later ones are drawn.

    Raises:
        TypeError: no generator, a policy that is none, actions that are no whole numbers, glimpses that are no booleans.
        ValueError: scenarios that do not exist, no steps, glimpses of another shape, actions that there are not, or not one for
            each episode.
    """
    check_callable("policy", policy, "a function of a View and a generator")
    check_generator("generator", generator)
    check_whole("steps", steps, 1)
    count, size, choices = scenarios.next.shape
    check_ids("chosen", chosen, "B", way_out="One scenario for each episode.")
    if chosen.numel() == 0 or not 0 <= int(chosen.min()) <= int(chosen.max()) < count:
        raise ValueError(f"`chosen` should be scenarios from 0 to {count - 1}, one at least. Found {chosen.tolist()[:8]}.")
    chosen = chosen.long()
    drawn = torch.rand(steps, len(chosen), size, generator=generator, device=generator.device)
    seen = drawn.to(chosen.device) < scenarios.glimpse
    if glimpsed is not None:
        check_tensor("glimpsed", glimpsed)
        check_mask("glimpsed", glimpsed, *glimpsed.shape[:1], len(chosen), size, way_out="One for each episode and cell.")
        given = min(steps, len(glimpsed))
        seen[:given] = glimpsed[:given]
    cells, alive = torch.full_like(chosen, scenarios.start), torch.ones_like(chosen, dtype=torch.bool)
    picture = scenarios.picture[chosen]
    known = torch.full_like(picture, UNSEEN)
    rows: list[tuple[Tensor, ...]] = []
    for t in range(steps):
        known = torch.where(seen[t], picture, known)
        actions, log_mu = policy(View(known, cells), generator)
        check_ids("actions", actions, len(chosen), count=choices, way_out="The policy gives one for each episode.")
        check_shape("log_mu", log_mu, len(chosen), way_out="The policy gives one for each episode.")
        actions = actions.long()
        after = torch.where(alive, scenarios.next[chosen, cells, actions], cells)
        rows.append((after, known, actions, log_mu, scenarios.rewards[chosen, after] * alive, alive))
        alive = alive & (scenarios.ends[chosen, after] == 0)
        cells = after
    after, *parts = (torch.stack(column) for column in zip(*rows, strict=True))
    places = torch.cat([torch.full_like(chosen, scenarios.start).unsqueeze(0), after])
    known, actions, log_mu, rewards, lived = parts
    return Episodes(chosen, places, seen, known, actions, log_mu, rewards, lived)


def counterfactual_rollouts(
    scenarios: Scenarios,
    logged: Episodes,
    beliefs: Float[Tensor, "B K"],
    policy: ViewPolicy,
    steps: int,
    generator: Generator,
    *,
    evidence: int,
) -> Episodes:
    """Re-run logged episodes with another policy: a scenario from each posterior, glimpses as they were while evidence lasts.

    Args:
        scenarios: the library.
        logged: what happened.
        beliefs: (B, K) from `posterior`.
        policy: in the place of the one that acted.
        steps: T.
        generator: of scenarios, later glimpses and actions.
        evidence: how many logged steps the beliefs rest on: glimpses of these are kept, as they do not depend on actions.

    Raises:
        TypeError: no tensors; what `rollouts` refuses.
        ValueError: beliefs of other scenarios, or not one row for each logged episode; what `rollouts` refuses.
    """
    check_whole("evidence", evidence)
    check_generator("generator", generator)
    check_shape("beliefs", beliefs, "B", len(scenarios.prior), way_out="One row for each logged episode.")
    cells = scenarios.picture.shape[1]
    check_mask("logged.glimpsed", logged.glimpsed, "T", len(beliefs), cells, way_out="As many episodes as beliefs.")
    drawn = torch.multinomial(beliefs.to(generator.device), 1, generator=generator).squeeze(1).to(beliefs.device)
    return rollouts(scenarios, drawn, policy, steps, generator, glimpsed=logged.glimpsed[:evidence])


def evaluate(values: Float[Tensor, " K"], beliefs: Float[Tensor, "B K"]) -> Estimate:
    """Return counterfactual policy evaluation where a policy's value in each scenario is known: the mean of sum_k p(k | h) V_k.

    Args:
        values: (K,) the policy's value in each scenario, such as ``scenarios.process(gamma).objective(policy)``.
        beliefs: (B, K) from `posterior`; B copies of the prior give model-based evaluation.

    Raises:
        TypeError: no tensors.
        ValueError: beliefs of no history, or another number of values.
    """
    check_shape("values", values, "K", way_out="One for each scenario.")
    check_shape("beliefs", beliefs, "B", len(values), way_out="One for each history and scenario.")
    found = beliefs.double() @ values.double()
    spread = float(found.std(correction=1)) if len(found) > 1 else 0.0
    return Estimate(float(found.mean()), spread / len(found) ** 0.5)


def _check_distribution(name: str, found: Tensor) -> None:
    if found.dim() != 1 or not bool((found >= 0).all()) or abs(float(found.sum()) - 1) > 1e-5:
        total = float(found.sum())
        raise ValueError(f"`{name}` should be K probabilities that sum to 1. Found {tuple(found.shape)} with sum {total:.6g}.")
