"""Networks that clone an expert from images, the grid world's and the texts' ResNet-18, and how far they are from it."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from mechlearn_zoo.tasks.pictures.cloning import States


class Residual(nn.Module):
    """Two 3x3 convolutions beside a short cut (He et al., 2016)."""

    def __init__(self, inputs: int, outputs: int, stride: int, norm: Literal["batch", "group"]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False),
            _norm(norm, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1, bias=False),
            _norm(norm, outputs),
        )
        same = stride == 1 and inputs == outputs
        projection = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), _norm(norm, outputs))
        self.short_cut = nn.Identity() if same else projection

    def forward(self, x: Float[Tensor, "b i h w"]) -> Float[Tensor, "b o h2 w2"]:
        """Body plus short cut."""
        return torch.relu(self.body(x) + self.short_cut(x))


def make_network(kind: Literal["small", "resnet-18"], side: int, actions: int, seed: int) -> nn.Sequential:
    """Return a residual network over images whose initial weights depend on the seed alone."""
    with torch.device("meta"):  # elsewhere the layers would draw their default weights from the global generator
        network = nn.Sequential(*(_small(side, actions) if kind == "small" else _resnet_18(actions)))
    _initialise(network.to_empty(device="cpu"), Generator().manual_seed(seed))
    last = network[-1]
    if kind == "small" and isinstance(last, nn.Linear):
        with torch.no_grad():
            last.weight.mul_(0.1)  # a nearly uniform policy at first, from which more settings find the goal
    return network


def _small(side: int, actions: int) -> list[nn.Module]:
    """A convolution that sees one cell at a time, a block over cells, and no pooling: where things are is what matters."""
    features = 24 * (side // 3) ** 2
    body: list[nn.Module] = [nn.Conv2d(3, 24, 3, stride=3), nn.ReLU(), Residual(24, 24, 1, "group")]
    return [*body, nn.Flatten(), nn.Linear(features, 64), nn.ReLU(), nn.Linear(64, actions)]


def _resnet_18(actions: int) -> list[nn.Module]:
    modules: list[nn.Module] = [nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
    for inputs, width, stride in ((64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)):
        modules += [Residual(inputs, width, stride, "batch"), Residual(width, width, 1, "batch")]
    return [*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, actions)]


def _norm(kind: Literal["batch", "group"], width: int) -> nn.Module:
    return nn.BatchNorm2d(width) if kind == "batch" else nn.GroupNorm(4, width)


@torch.no_grad()
def _initialise(network: nn.Sequential, generator: Generator) -> None:
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, generator=generator)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.BatchNorm2d | nn.GroupNorm):
            module.reset_parameters()  # ones and zeros


def divergence(network: nn.Module, states: States, chosen: Tensor) -> Float[Tensor, " b"]:
    """KL(pi*(. | s) || pi(. | s)) of the chosen states."""
    frames = states.frames[chosen].permute(0, 3, 1, 2).float() / 255 - 0.5
    policy = states.policy[chosen]
    return (torch.xlogy(policy, policy) - policy * network(frames).log_softmax(dim=1)).sum(dim=1)


@torch.no_grad()
def evaluate(network: nn.Module, states: States) -> float:
    """Mean divergence over all states, in eval mode."""
    network.eval()
    chunks = torch.arange(len(states.levels)).split(500)
    mean = torch.cat([divergence(network, states, chunk) for chunk in chunks]).mean().item()
    network.train()
    return mean
