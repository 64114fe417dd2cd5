"""Parts of environments, between which their gradients are seen to vary: single examples or random halves.

A partition into clusters is one into environments, so that whatever forms environments' gradients forms theirs; only the
losses' weights stay those of the environments.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Float
from torch import Generator, Tensor

from mechlearn.environments import Environments


@dataclass(frozen=True)
class Clusters(Environments):
    """A partition of a batch into clusters, each environment's next to each other.

    Attributes:
        environments: the partition that this one is finer than.
        counts: (E,) how many clusters each environment has, at least two.
    """

    environments: Environments
    counts: tuple[int, ...]

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """By how much each cluster's square counts: how many times larger than it its environment is."""
        totals = (n for n, count in zip(self.environments.sizes, self.counts, strict=True) for _ in range(count))
        return tuple(total / size for total, size in zip(totals, self.sizes, strict=True))

    def mean_weights(self, losses: Float[Tensor, " b"]) -> Float[Tensor, " b"]:
        """Return what makes the environments' mean losses: a cluster's gradient is what it contributes to theirs."""
        return self.environments.mean_weights(losses)


def unit_of(groups: Environments) -> str:
    """Return what a partition's parts are called."""
    if not isinstance(groups, Clusters):
        return "environment"
    return "environment's example" if max(groups.sizes) == 1 else "environment's half"


def by_example(groups: Environments) -> Clusters:
    """Return the partition in which every example is a cluster."""
    check_two(groups)
    batch = len(groups.index)
    places = torch.arange(batch, device=groups.index.device)
    index = places if groups.order is None else torch.empty_like(places).index_copy_(0, groups.order, places)
    return Clusters(places.cpu(), index, (1,) * batch, groups.order, groups, groups.sizes)


def by_halves(groups: Environments, generator: Generator) -> Clusters:
    """Return the partition of each environment into two random halves, the first larger by one of an odd number.

    Args:
        groups: the environments.
        generator: on the CPU.
    """
    check_two(groups)
    index, device = groups.index.cpu(), groups.index.device
    shuffled = torch.randperm(len(index), generator=generator)
    order = shuffled[torch.argsort(index[shuffled], stable=True)]
    sizes = tuple(size for n in groups.sizes for size in (n - n // 2, n // 2))
    clusters = torch.arange(len(sizes))
    of_example = torch.empty_like(index).index_copy_(0, order, clusters.repeat_interleave(torch.tensor(sizes)))
    counts = (2,) * groups.count
    return Clusters(clusters, of_example.to(device), sizes, order.to(device), groups, counts)


def check_two(groups: Environments) -> None:
    """Reject an environment of one example, whose gradient has no standard error."""
    for position, size in enumerate(groups.sizes):
        if size < 2:
            raise ValueError(
                "A rule that tests for conflict should have two examples or more of every environment, as their spread is its "
                f"yardstick. Found one of environment {groups.named(position)}. Draw more of it or leave it out of the step; "
                "where single examples are the environments, AndMask is the rule: a sign test."
            )
