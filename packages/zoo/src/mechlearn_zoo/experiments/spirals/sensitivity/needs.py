"""The thesis' spirals by the AND-mask, with one thing taken away at a time: L2, Adam's hand in it, the shortcuts' coordinates.

A component that the mask always holds back has no gradient but L2's, and Adam divides that by its own size: the weight moves a
whole learning rate a step towards 0, however small L2 is. AdamW shrinks all weights alike instead, by lr * decay a step.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from claimlab import Preset, Row, computed
from mechlearn.agreement import Agreement, AndMask, Mean, Rule, decay_masked
from mechlearn_zoo.learners.shortcuts.looks import Looks, outcome
from mechlearn_zoo.learners.shortcuts.training import Board, Training, batches, make_data, make_model, rotation
from mechlearn_zoo.tasks.streams import same_stream

AND = AndMask(1.0, rescale=True)


class Variant(NamedTuple):
    """One way to train.

    Attributes:
        rule: that combines the environments' gradients.
        l2: added to the gradient after the mask, so that it goes through Adam's moments.
        decoupled: AdamW's decay: all weights shrink by lr * decoupled a step.
        masked: decay of what the step's mask holds back, alone, by lr * masked.
        rotated: the inputs under one random rotation.
    """

    rule: Rule = AND
    l2: float = 0.0
    decoupled: float = 0.0
    masked: float = 0.0
    rotated: bool = False


VARIANTS: dict[str, Variant] = {
    "averaging": Variant(Mean(), l2=1e-5),
    "as the texts": Variant(l2=1e-5),
    "no L2": Variant(),
    "AdamW 1e-5": Variant(decoupled=1e-5),
    "AdamW 0.01": Variant(decoupled=0.01),
    "AdamW 1": Variant(decoupled=1.0),
    "no L2, masked decay 5": Variant(masked=5.0),
    "rotated": Variant(l2=1e-5, rotated=True),
}
"""By the name that rows have. 1e-5 is the L2 of `spirals`, 0.01 what torch's AdamW has unless told otherwise; 1 shrinks a
masked weight to a thousandth in 700 steps."""


@dataclass(frozen=True)
class Config(Training):
    """Settings of one run; a quarter of the width of `spirals`, and all of its steps."""

    seed: int = 100
    """First seed: of the data, the rotation, the initial weights and the batches."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of three hidden layers."""
    steps: Annotated[int, Ge(1)] = 800
    """Optimiser steps; the last quarter has a tenth of the learning rate."""
    every: Annotated[int, Ge(1)] = 20
    """Steps between two looks at the test set."""
    shortcuts: Annotated[int, Ge(1)] = 16
    """Inputs that go with the label, in a way of each environment's own."""


PRESETS = {"needs": Preset(Config(), seeds=6), "needs-paper": Preset(Config(hidden=256), seeds=6)}


def on_shortcuts(config: Config, model: nn.Sequential, rotated: bool) -> float:
    """Return the norm of the first layer's weights on the shortcuts, in whose coordinates they are told."""
    weight: Tensor = next(model.parameters()).detach()
    if rotated:  # inputs are x @ turn, so that the weight on x is weight @ turn.T
        weight = weight @ rotation(2 + config.shortcuts, same_stream(config.seed)).T
    return float(weight[:, 2:].norm())


def train(config: Config, variant: Variant) -> Row:
    """Train one network and return how it ends, and where validation stops it."""
    board = Board(config.shortcuts, rotated=variant.rotated)
    data, model = make_data(config, board), make_model(config, board)
    drawn = on_shortcuts(config, model, variant.rotated)
    # With a decay of 0 AdamW's step is Adam's; L2 is Adam's own, inside the moments.
    kind, decay = (torch.optim.AdamW, variant.decoupled) if variant.decoupled else (torch.optim.Adam, variant.l2)
    optimizer = kind(model.parameters(), lr=config.learning_rate, weight_decay=decay)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.steps)], gamma=0.1)
    agreement = Agreement(model, variant.rule, keep="masks" if variant.masked else ())
    shares, loss, looks = 0.0, float("nan"), Looks(config.every, config.steps, data)
    for step, (x, y, environments) in enumerate(batches(config, data.train), start=1):
        optimizer.zero_grad()
        record = agreement.backward(cross_entropy(model(x)[:, 0], y, reduction="none"), environments)
        shares += record.share
        optimizer.step()
        if variant.masked:
            decay_masked(model, record, float(scheduler.get_last_lr()[0]), variant.masked)
        scheduler.step()
        loss = float(record.losses.mean())
        looks.after(step, model)
    left = on_shortcuts(config, model, variant.rotated) / drawn
    return outcome(looks, kept=shares / config.steps, train_loss=loss, left=left)


def run(config: Config) -> Iterator[Row]:
    """Yield how each variant ends; `left` is what the shortcuts' weights have left of the norm that they were drawn with."""
    for name, variant in VARIANTS.items():
        yield {"kind": "final", "method": name, **computed(name, train, config, variant)}
