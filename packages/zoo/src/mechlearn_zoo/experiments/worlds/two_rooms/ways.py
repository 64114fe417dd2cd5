"""Five ways to abstract states: Causal InfoGAN, without information, InfoGAN on single points, contrastive, k-means."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, log_softmax, logsigmoid, one_hot, softmax

from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.worlds.two_rooms.looks import Looks
from mechlearn_zoo.experiments.worlds.two_rooms.settings import Config
from mechlearn_zoo.learners.descent import descend_apart, kept_steps
from mechlearn_zoo.methods.worlds.infogan import CausalInfoGAN, OneHot, TransitionTable, pair_losses

SAMPLES = 24
"""Pairs that are generated for a step of a plan."""


@dataclass(frozen=True)
class Abstraction:
    """What a way has learnt.

    Args:
        read: from observations (n, d) to states (n,).
        table: (K, K) transitions.
        decode: from two states and a generator to many pairs of observations (n, 2 d) of that step; None where there is only a
            centre.
        centres: (K, d) each state's mean observation.
        judge: from pairs (n, 2 d) to how real they look; None where nobody judges.
        loss: the discriminator's last loss, None where there is none.
    """

    read: Callable[[Tensor], Tensor]
    table: Tensor
    decode: Callable[[int, int, Generator], Tensor] | None
    centres: Tensor
    judge: nn.Module | None = None
    loss: float | None = None


def noise_of(config: Config) -> int:
    """Return the dimensions of G's noise: two, and for each lamp one a frame."""
    return 2 + 2 * config.lamps


def causal_infogan(
    config: Config, pairs: Tensor, generator: Generator, looks: Looks[Abstraction], information: float
) -> Abstraction:
    """Train Causal InfoGAN: Adam with betas (0.5, 0.999), the rate falling from 1e-3 to 5e-5."""
    count, seen, noise = config.states, config.seen, noise_of(config)
    networks = CausalInfoGAN(
        relu_mlp((noise + 2 * count, config.hidden, config.hidden, 2 * seen), generator),
        relu_mlp((2 * seen, config.hidden, config.hidden, 1), generator),
        relu_mlp((seen, config.hidden, config.hidden, count), generator),
        TransitionTable(count, config.stay),
        OneHot(count),
    )
    table = cast(TransitionTable, networks.transition)
    made = [*networks.generator.parameters(), *table.parameters(), *networks.posterior.parameters()]
    optimizers = [torch.optim.Adam(part, 1e-3, (0.5, 0.999)) for part in (list(networks.discriminator.parameters()), made)]
    schedules = [_falling(optimizer, config.steps) for optimizer in optimizers]
    recent = torch.zeros((), dtype=torch.float64)

    def decode(here: int, there: int, rng: Generator) -> Tensor:
        states = one_hot(torch.tensor([here, there]), count).float().flatten().expand(SAMPLES, -1)
        return networks.generator(torch.cat((torch.randn(SAMPLES, noise, generator=rng), states), -1))

    def read(points: Tensor) -> Tensor:
        return networks.posterior(points).argmax(-1)

    def make() -> Abstraction:
        centres = _centres(read, pairs, count)
        return Abstraction(read, table.probabilities(), decode, centres, networks.discriminator, float(recent))

    for done in kept_steps("training", config.steps, *networks[:4], *optimizers, *schedules, recent, generator, looks):
        some = pairs[torch.randint(len(pairs), (256,), generator=generator)]
        losses = pair_losses(networks, some, generator, noise, jitter=0.02)
        descend_apart(optimizers[0], losses.discriminator, schedules[0])
        losses = pair_losses(networks, some, generator, noise, jitter=0.02)
        descend_apart(optimizers[1], losses.generator - information * losses.information, schedules[1])
        recent += 0.01 * (float(losses.discriminator.detach()) - recent)
        looks.look((done + 1) / config.steps, make)
    for network in networks[:4]:
        cast(nn.Module, network).requires_grad_(False)
    return make()


def infogan(config: Config, pairs: Tensor, generator: Generator, looks: Looks[Abstraction]) -> Abstraction:
    """Train InfoGAN on single points: nothing links a state to what can follow it; T is counted afterwards."""
    count, seen, noise = config.states, config.seen, noise_of(config)
    made_by = relu_mlp((noise + count, config.hidden, config.hidden, seen), generator)
    judge = relu_mlp((seen, config.hidden, config.hidden, 1), generator)
    posterior = relu_mlp((seen, config.hidden, config.hidden, count), generator)
    parts = [list(judge.parameters()), [*made_by.parameters(), *posterior.parameters()]]
    optimizers = [torch.optim.Adam(part, 1e-3, (0.5, 0.999)) for part in parts]
    schedules = [_falling(optimizer, config.steps) for optimizer in optimizers]
    states = OneHot(count)

    def make() -> Abstraction:
        return counted(lambda points: posterior(points).argmax(-1), pairs, count)

    for done in kept_steps("training", config.steps, made_by, judge, posterior, *optimizers, *schedules, generator, looks):
        real = pairs[torch.randint(len(pairs), (256,), generator=generator), 0]
        code = states.sample(len(real), generator)
        made = made_by(torch.cat((torch.randn(len(real), noise, generator=generator), code), -1))
        shaken = [one + 0.02 * torch.randn(one.shape, generator=generator) for one in (real, made.detach(), made)]
        fooled = -logsigmoid(judge(shaken[0])).mean() - logsigmoid(-judge(shaken[1])).mean()
        descend_apart(optimizers[0], fooled, schedules[0])
        bound = states.log_posterior(posterior(made), code).mean()
        descend_apart(optimizers[1], -logsigmoid(judge(shaken[2])).mean() - config.information * bound, schedules[1])
        looks.look((done + 1) / config.steps, make)
    posterior.requires_grad_(False)
    return make()


def contrastive(config: Config, pairs: Tensor, generator: Generator, looks: Looks[Abstraction]) -> Abstraction:
    """Train Q and T without a GAN: InfoNCE with the score log sum_{s,s'} Q(s|o) T(s'|s) Q(s'|o') over a batch's pairs.

    The fallback that was named before the experiment was made: a method to compare with.
    """
    count = config.states
    posterior = relu_mlp((config.seen, config.hidden, config.hidden, count), generator)
    table = TransitionTable(count, config.stay)
    optimizer = torch.optim.Adam([*posterior.parameters(), *table.parameters()], 1e-3)
    schedule = _falling(optimizer, config.steps)

    def make() -> Abstraction:
        return counted(lambda points: log_softmax(posterior(points), -1).argmax(-1), pairs, count)

    for done in kept_steps("training", config.steps, posterior, table, optimizer, schedule, generator, looks):
        some = pairs[torch.randint(len(pairs), (256,), generator=generator)]
        here, there = (softmax(posterior(points), -1) for points in some.unbind(1))
        scores = (here @ table.probabilities() @ (there / there.mean(0)).T).clamp(min=1e-8).log()
        descend_apart(optimizer, cross_entropy(scores, torch.arange(len(some))), schedule)
        looks.look((done + 1) / config.steps, make)
    for one in (posterior, table):
        one.requires_grad_(False)
    return make()


def k_means(config: Config, pairs: Tensor, generator: Generator, looks: Looks[Abstraction]) -> Abstraction:
    """Cluster the points, and count T; the only look is where the clusters stand."""
    from sklearn.cluster import KMeans  # pyright: ignore[reportMissingTypeStubs]  # noqa: PLC0415  # slow to import

    seed = int(torch.randint(2**31 - 1, (1,), generator=generator))
    make: Any = KMeans  # the stubs know no number of starts
    found = make(config.states, n_init=4, random_state=seed).fit(pairs[:20_000, 0].numpy())
    centres = torch.from_numpy(found.cluster_centers_).float()
    abstraction = counted(lambda points: torch.cdist(points, centres).argmin(-1), pairs, config.states)
    looks.look(1.0, lambda: abstraction)
    return abstraction


def counted(read: Callable[[Tensor], Tensor], pairs: Tensor, count: int) -> Abstraction:
    """Return an abstraction whose T is counted from the pairs and whose states are shown by their mean point."""
    return Abstraction(read, empirical(read, pairs, count), None, _centres(read, pairs, count))


def empirical(read: Callable[[Tensor], Tensor], pairs: Tensor, count: int) -> Tensor:
    """Return the share of pairs that lead from a state to another; a state that no pair begins in keeps itself."""
    here, there = (read(points) for points in pairs.unbind(1))
    table = torch.bincount(here * count + there, minlength=count * count).view(count, count).double()
    table = table + torch.eye(count, dtype=torch.float64) * (table.sum(1, keepdim=True) == 0)
    return table / table.sum(1, keepdim=True)


def _centres(read: Callable[[Tensor], Tensor], pairs: Tensor, count: int) -> Tensor:
    points = pairs[:, 0]
    states = read(points)
    total = torch.zeros(count, points.shape[1]).index_add(0, states, points)
    return total / torch.bincount(states, minlength=count).clamp(min=1).unsqueeze(1)


def _falling(optimizer: torch.optim.Optimizer, steps: int) -> torch.optim.lr_scheduler.LRScheduler:
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: math.exp(math.log(0.05) * step / steps))
