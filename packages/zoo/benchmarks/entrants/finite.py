"""Finite methods of control: capacity, disagreement and planning, beside the literal loops.

"capacity": 81 states of a slippery 9 x 9 grid, two steps of five actions, upper less lower bound at most 1e-8; the literal
baseline is the batched multiplicative update on all 25 messages. "disagreement": Jensen and Renyi's divergence of 32 members at
4096 predictions of 18 numbers; the literal baseline loops over all pairs in float64. "planner": CRAR's, depth 6, 4 actions,
breadth 2, 128 states; the literal baseline is the recursion on one state at a time, timed on 2 of them and scaled. "posterior":
200 episodes, 400 scenarios, 25 steps; the literal baseline goes scenario by scenario. Processor seconds. `exact`: the
values agree, capacities within 2e-8 bits, the others within rounding.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

import torch
from mechlearn_zoo_benchmarks.measuring.timing import interleaved, ratio
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from claimlab import Row
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.methods.control.counterfactual import Episodes, Scenarios, View, log_likelihood, posterior, rollouts
from mechlearn_zoo.methods.control.crar import Model, Planner
from mechlearn_zoo.methods.control.disagreement import jensen_renyi
from mechlearn_zoo.methods.control.empowerment import capacity, n_step_channel
from mechlearn_zoo.tasks.finite.grids import open_grid
from mechlearn_zoo.tasks.finite.scenarios import levels


class Size(Protocol):
    """What is read of the settings of `mechlearn bench control`."""

    @property
    def repeats(self) -> int: ...  # noqa: D102
    @property
    def turn(self) -> float: ...  # noqa: D102
    @property
    def threads(self) -> int: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102
    @property
    def small(self) -> bool: ...  # noqa: D102


class Workload(NamedTuple):
    """What is timed: the literal way and ours, how many times the literal one's work all of it is, how near they must be."""

    literal: Callable[[], Tensor]
    ours: Callable[[], Tensor]
    times: float
    near: float


def rows(name: str, make: "Callable[[Size], Workload]", config: Size) -> Iterator[Row]:
    """Measure a workload; the denominator's row comes first."""
    work = make(config)
    steps = {"literal loop": work.literal, "mechlearn": work.ours}
    rounds, clean = dict.fromkeys(steps, config.repeats), dict.fromkeys(steps, _nothing)
    generator = Generator().manual_seed(config.seed)
    times = interleaved(steps, clean, rounds, config.turn, generator, "cpu")
    times["literal loop"] = [work.times * one for one in times["literal loop"]]
    literal, ours = work.literal(), work.ours()
    apart = float((literal - ours[: len(literal)]).abs().max())
    for method, taken in times.items():
        found = ratio(taken, times["literal loop"])
        yield {
            "workload": name,
            "method": method,
            "ratio": found.median,
            "low": found.low,
            "high": found.high,
            "memory_ratio": None,
            "exact": None if method == "literal loop" else apart <= work.near,
            "seconds": statistics.median(taken),
            "rounds": found.rounds,
            "threads": config.threads,
            "seed": config.seed,
            "note": "the denominator" if method == "literal loop" else "",
        }


def of_capacity(config: Size) -> Workload:
    """Make the channel of a slippery grid."""
    side = 4 if config.small else 9
    channel = n_step_channel(open_grid(side, side, stay=True).transitions(0.2), 2)

    def literal() -> Tensor:
        q = torch.full(channel.shape[:2], 1 / channel.shape[1], dtype=torch.float64)
        while True:
            received = (q.unsqueeze(1) @ channel).squeeze(1)
            d = (torch.xlogy(channel, channel) - torch.xlogy(channel, received.unsqueeze(1))).sum(-1) / math.log(2)
            weights = q * d.exp2()
            lower = weights.sum(1).log2()
            if float((d.max(1).values - lower).max()) <= (1e-3 if config.small else 1e-8):
                return lower
            q = weights / weights.sum(1, keepdim=True)

    return Workload(literal, lambda: capacity(channel, 1e-8).bits, 1.0, 1e-3 if config.small else 2e-8)


def of_disagreement(config: Size) -> Workload:
    """Make predictions of an ensemble."""
    generator = Generator().manual_seed(config.seed)
    members, count, d = (4, 10, 3) if config.small else (32, 4096, 18)
    means = torch.randn(members, count, d, generator=generator)
    variances = torch.rand(members, count, d, generator=generator) + 0.1

    # Members second and float64, products instead of logarithms: the layout of the published code's slow version.
    second = [part.transpose(0, 1).contiguous() for part in (means, variances)]

    def literal() -> Tensor:
        mu, var = (part.double() for part in second)
        total = torch.zeros(count, dtype=torch.float64)
        for i in range(members):
            for j in range(members):
                width = var[:, i] + var[:, j]
                exponent = ((mu[:, i] - mu[:, j]).square() / width).sum(1)
                total += (-0.5 * exponent).exp() / width.prod(1).sqrt()
        own = 0.5 * (var.log().sum(2) + d * math.log(4 * math.pi)).mean(1)
        return 0.5 * d * math.log(2 * math.pi) - (total / members**2).log() - own

    return Workload(literal, lambda: jensen_renyi(means, variances), 1.0, 1e-4)


def of_planner(config: Size) -> Workload:
    """Make small networks and states."""
    generator = Generator().manual_seed(config.seed)
    depth, count, some = (2, 3, 1) if config.small else (6, 128, 2)
    q, *heads = (relu_mlp((size, 32, outputs), generator) for size, outputs in ((3, 4), (7, 3), (7, 1), (7, 1)))
    x = torch.randn(count, 3, generator=generator)
    transition, reward, discount = (_model(head) for head in heads)
    planner = Planner(q, transition, reward, discount, depth, 2)

    @torch.no_grad()
    def value(row: Tensor, action: int, left: int) -> Tensor:
        if left == 0:
            return q(row)[0, action]
        one = one_hot(torch.tensor([action]), 4).float()
        after = row + transition(row, one)
        best = q(after)[0].topk(2).indices.tolist()
        ahead = torch.stack([value(after, a, left - 1) for a in best]).max()
        return reward(row, one)[0] + discount(row, one)[0] * ahead

    def literal() -> Tensor:
        rows = [
            torch.stack([torch.stack([value(x[i : i + 1], a, m) for a in range(4)]) for m in range(depth + 1)]).mean(0)
            for i in range(some)
        ]
        return torch.stack(rows)

    return Workload(literal, lambda: planner(x), count / some, 1e-5)


def of_posterior(config: Size) -> Workload:
    """Make a library and logged episodes."""
    generator = Generator().manual_seed(config.seed)
    count, logged, steps = (10, 5, 3) if config.small else (400, 200, 25)
    made = levels(count, generator)
    prior = torch.full((count,), 1 / count, dtype=torch.float64)
    model = Scenarios(made.next, made.picture, made.rewards, made.ends, prior, made.start)

    def wander(view: View, source: Generator) -> tuple[Tensor, Tensor]:
        return torch.randint(4, view.cells.shape, generator=source), torch.zeros(view.cells.shape)

    episodes = rollouts(model, torch.randint(count, (logged,), generator=generator), wander, steps, generator)
    return Workload(
        lambda: _enumerated(model, episodes, prior),
        lambda: posterior(prior, log_likelihood(model, episodes, steps)),
        1.0,
        1e-12,
    )


def _enumerated(model: Scenarios, episodes: Episodes, prior: Tensor) -> Tensor:
    """Scenario by scenario, all episodes at once."""
    columns: list[Tensor] = []
    seen = (episodes.glimpsed & episodes.alive.unsqueeze(2)).any(0)
    shown = model.picture[episodes.scenarios]
    for k in range(len(prior)):
        alike = ((model.picture[k] == shown) | ~seen).all(1)
        after = episodes.cells[1:]
        fits = (model.next[k, episodes.cells[:-1], episodes.actions] == after) & (model.rewards[k, after] == episodes.rewards)
        fits[:-1] &= (model.ends[k, after[:-1]] == 0) == episodes.alive[1:]
        columns.append((alike & (fits | ~episodes.alive).all(0)) * prior[k])
    joint = torch.stack(columns, 1)
    return joint / joint.sum(1, keepdim=True)


def _model(head: torch.nn.Module) -> Model:
    def found(x: Tensor, a: Tensor) -> Tensor:
        return head(torch.cat([x, a], 1)).squeeze(1)

    return found


def _nothing() -> None:
    pass


WORKLOADS: dict[str, Callable[[Size], Workload]] = {
    "capacity of 81 noisy states": of_capacity,
    "disagreement of 32 members at 4096 predictions": of_disagreement,
    "planner of depth 6, 128 states": of_planner,
    "posterior of 200 episodes over 400 scenarios": of_posterior,
}
