"""What is known of the environments of one call, or of several that were accumulated, and what is reported of them."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from craik.agreement.onepass.sums import RunningSums

Path = Literal["plain", "layer", "per-environment"]


class Record(NamedTuple):
    """What `Agreement.backward` reports.

    Attributes:
        environments: (E,) the environment ids, ascending within a call; accumulated calls come first.
        losses: (E,) each environment's mean loss, detached.
        survivors: for each parameter that received a gradient, the share of its components that the rule let through.
        paths: for each of these parameters, how its environment gradients were formed: "layer" (inside one backward
            pass) or "per-environment" (one backward pass for each environment; exact for every module); "plain" where the
            rule asks for their sum alone, or where there is one environment.
        proved: False where ``rows="independent"`` stands for a part of the proof; else what is reported is exact.
        masks: for each of these parameters, which components the rule let through; None unless the agreement keeps them.
    """

    environments: Int[Tensor, " e"]
    losses: Float[Tensor, " e"]
    survivors: dict[str, float]
    paths: dict[str, Path]
    proved: bool = True
    masks: dict[str, Bool[Tensor, "*p"]] | None = None


@dataclass
class Collected:
    """Environments, and what their losses left.

    Attributes:
        ids: (E,) the environment ids; accumulated calls come first.
        losses: (E,) each environment's mean loss.
        parameters: the model's parameters that the losses reach, by name.
        paths: how the environment gradients of each were formed.
        outside: the summed gradients of leaves outside the model.
        proved: False where the user's word stands for a part of the proof.
        sums: of each parameter; empty where they were combined as soon as they were complete.
    """

    ids: Tensor
    losses: Tensor
    parameters: dict[str, nn.Parameter] = field(default_factory=dict[str, nn.Parameter])
    paths: dict[str, Path] = field(default_factory=dict[str, Path])
    outside: dict[Tensor, Tensor] = field(default_factory=dict[Tensor, Tensor])
    proved: bool = True
    sums: dict[str, RunningSums] = field(default_factory=dict[str, RunningSums])

    def join(self, other: "Collected") -> None:
        """Add the environments of a further call."""
        for name in self.sums.keys() - other.sums.keys():
            self.sums[name].add_silent(len(other.ids))
        for name, sums in other.sums.items():
            if name in self.sums:
                self.sums[name].join(sums)
            else:
                sums.add_silent(len(self.ids))
                self.sums[name] = sums
        for leaf, gradient in other.outside.items():
            self.outside[leaf] = self.outside[leaf] + gradient if leaf in self.outside else gradient
        self.parameters |= other.parameters
        self.paths |= other.paths
        self.proved = self.proved and other.proved
        self.ids, self.losses = torch.cat([self.ids, other.ids]), torch.cat([self.losses, other.losses])
