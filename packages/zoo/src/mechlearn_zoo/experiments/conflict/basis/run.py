"""Masks of weights, masks of directions, and each layer's choice between them by environments held out.

A mask of single weights takes out what sits in single weights, and fails where the inputs are rotated. A mask of directions
finds the rotated shortcuts, and fails where there are as many shortcuts as environments: one direction agrees in all of them
exactly. But it does not agree in environments that it was not decided on. So every layer keeps two marks: what either mask,
decided on half of the environments, leaves of the disagreement in the other half. It takes the one that leaves less.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import Preset, Row, Share, computed
from mechlearn_zoo.experiments.conflict.basis.masks import (
    Components,
    Mask,
    disagreement,
    moments,
    of_components,
    of_directions,
    of_eigenbasis,
    of_units,
)
from mechlearn_zoo.experiments.conflict.shortcuts.directions import backward, forward
from mechlearn_zoo.experiments.conflict.shortcuts.looks import Looks, outcome
from mechlearn_zoo.experiments.conflict.shortcuts.training import Board, Training, batches, make_data, make_model

BOARDS = {
    "16": Board(),
    "4 rotated": Board(4, 0.2, rotated=True),
    "none": Board(shortcuts=0),
}
"""By name: as many shortcuts as environments in coordinates of their own; four strong ones, rotated; none."""

Basis = Literal["components", "directions", "chosen", "units", "eigenbasis"]
BASES: tuple[Basis, ...] = ("components", "directions", "chosen", "units", "eigenbasis")
"""Single weights, directions of the inputs, what leaves less; and two that were proposed: whole units, K-FAC's eigenbasis."""


@dataclass(frozen=True)
class Config(Training):
    """Settings of one run; half the length and a quarter of the width of `spirals`."""

    seed: int = 100
    """First seed: of the data, the rotation, the initial weights, the batches and the halves of the environments."""
    environments: Annotated[int, Ge(4), "two or more decide, and two or more are held out"] = 16
    """Number of training environments."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of three hidden layers."""
    decay: Annotated[float, Ge(0)] = 5.0
    """Times the learning rate: how fast weights shrink where the mask holds back."""
    marks_every: Annotated[int, Ge(1)] = 4
    """Steps between two looks at environments held out."""
    memory: Share = 0.9
    """Weight of what was seen before in a layer's marks."""
    bases: Annotated[tuple[Basis, ...], MinLen(1)] = ("components", "directions", "chosen")
    """What is compared."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "rivals": Preset(Config(bases=("units", "eigenbasis")), seeds=6),
    "paper": Preset(Config(hidden=256, steps=800), seeds=3),
}


class Choosing:
    """A layer's marks, and the basis that it takes.

    Args:
        basis: one for good, or "chosen".
        memory: weight of what was seen before.
    """

    def __init__(self, basis: Basis, memory: float) -> None:
        self.basis, self.memory = basis, memory
        self.marks = (0.0, 0.0)

    def look(self, seen: tuple[float, float]) -> None:
        """Take in what masks of components and of directions leave."""
        components, directions = (
            self.memory * old + (1 - self.memory) * new for old, new in zip(self.marks, seen, strict=True)
        )
        self.marks = (components, directions)

    def directions(self) -> bool:
        """Return whether the layer's mask is one of directions; on a tie it is not."""
        return self.basis == "directions" or (self.basis == "chosen" and self.marks[1] < self.marks[0])


def masks_of(
    loss: Tensor, seen: list[Tensor], layers: list[Choosing], config: Config, held_out: torch.Generator | None
) -> list[Mask]:
    """Fill every parameter's gradient and return each layer's mask; look at halves of the environments if given a generator."""
    found: list[Mask] = []
    for (inputs, deltas), layer in zip(backward(loss, seen, config.environments), layers, strict=True):
        own = moments(inputs, deltas)
        if held_out is not None and layer.basis == "chosen":
            layer.look(disagreement(own, held_out))
        if layer.basis == "units":
            found.append(of_units(own))
        elif layer.basis == "eigenbasis":
            found.append(of_eigenbasis(inputs, deltas))
        else:
            found.append(of_directions(own) if layer.directions() else of_components(own))
    return found


def train(config: Config, board: Board, basis: Basis) -> Row:
    """Train one network with masks of every linear layer's weights in a basis; return how it ends and where it is stopped."""
    data, model = make_data(config, board), make_model(config, board)
    linear = [module for module in model if isinstance(module, nn.Linear)]
    layers = [Choosing(basis, config.memory) for _ in linear]
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    generator = torch.Generator().manual_seed(config.seed + 2**34)
    taken, loss, looks = [0] * len(linear), float("nan"), Looks(config.every, config.steps, data)
    for step, (x, y, _) in enumerate(batches(config, data.train), start=1):
        optimizer.zero_grad()
        seen = forward(model, x, linear)
        losses = cross_entropy(seen.pop(), y)
        masks = masks_of(losses, seen, layers, config, generator if (step - 1) % config.marks_every == 0 else None)
        taken = [count + layer.directions() for count, layer in zip(taken, layers, strict=True)]
        before = [layer.weight.detach().clone() for layer in linear]
        for layer, mask in zip(linear, masks, strict=True):
            layer.weight.grad = mask.keeps(cast("Tensor", layer.weight.grad))
        optimizer.step()
        shrink = float(scheduler.get_last_lr()[0]) * config.decay
        with torch.no_grad():
            for layer, mask, old in zip(linear, masks, before, strict=True):
                new = layer.weight
                if not isinstance(mask, Components):  # Adam turns a projected gradient back into all directions
                    new = old + mask.keeps(new - old)
                layer.weight.copy_(new - shrink * (new - mask.keeps(new)))
        scheduler.step()
        loss = float(losses.detach())
        looks.after(step, model)
    shares = {f"directions_{place}": count / config.steps for place, count in enumerate(taken)}
    return outcome(looks, train_loss=loss, **shares)


def run(config: Config) -> Iterator[Row]:
    """Yield how each basis ends on each board; `directions_0` is the share of steps with directions in the first layer."""
    for name, board in BOARDS.items():
        for basis in config.bases:
            yield {"kind": "final", "board": name, "method": basis, **computed(f"{name}, {basis}", train, config, board, basis)}
