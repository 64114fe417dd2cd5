"""Linear models on the linear unit tests, by averaging and by rules that ask for agreement or for conflict.

All examples of every environment are in every step, so standard errors are small and what masks is the real difference between
environments. One setting for all methods; nothing is searched.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits, mse_loss

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, computed
from mechlearn_zoo.experiments.own_data.linear_units.unit_tests import EXAMPLES, UnitTest, unit_test_twice
from mechlearn_zoo.learners.shortcuts.methods import METHODS, Method, after_step, agreement_of
from mechlearn_zoo.tasks.streams import stream

OWN_UNITS = ", own units"
"""Ends the name of a method whose environments' losses are divided by what they are, so that none has a louder voice."""

COMPARED = (
    "mean", "and-mask", "qualitative-decay", "homogeneous", "homogeneous-decay",
    f"mean{OWN_UNITS}", f"homogeneous-decay{OWN_UNITS}",
)  # fmt: skip


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the data and the initial weights."""
    environments: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (3, 8)
    """Numbers of training environments."""
    examples: Annotated[int, Ge(2)] = 1000
    """Examples in each."""
    steps: Annotated[int, Ge(1)] = 1200
    """Full-batch steps of Adam."""
    learning_rate: Positive = 1e-2
    """Adam's."""


PRESETS = {"units": Preset(Config(), seeds=6), "units-paper": Preset(Config(examples=10_000, steps=5000), seeds=20)}


def losses_of(example: str, outputs: Tensor, targets: Tensor) -> Tensor:
    """Return each example's loss."""
    return (mse_loss if example == "regression" else binary_cross_entropy_with_logits)(outputs, targets, reduction="none")


def error_on(example: str, model: nn.Linear, x: Tensor, y: Tensor) -> float:
    """Return a model's mean squared error of the regression, else its share of wrong labels, on all environments."""
    with torch.no_grad():
        outputs, targets = model(x.flatten(0, 1))[:, 0], y.flatten()
    if example == "regression":
        return float((outputs - targets).square().mean())
    return float(((outputs > 0) != (targets > 0.5)).float().mean())


def in_own_units(losses: Tensor, environments: int) -> Tensor:
    """Divide each environment's losses by their mean, and a thousandth of the mean over environments, as constants."""
    means = losses.detach().view(environments, -1).mean(1)
    return losses / (means + 1e-3 * means.mean()).repeat_interleave(len(losses) // environments)


class Boards(NamedTuple):
    """Examples to train on, which test once their spurious inputs are shuffled, and others of the same environments."""

    data: UnitTest
    other: UnitTest


def boards(config: Config, example: str, environments: int) -> Boards:
    """Draw an example's boards."""
    generators = torch.Generator().manual_seed(config.seed), stream(config.seed, "validation")
    return Boards(*unit_test_twice(example, environments, config.examples, *generators))


def train(config: Config, example: str, drawn: Boards, method: Method, own_units: bool = False) -> tuple[nn.Linear, Row]:
    """Return a trained linear model, the mean share of components it kept and its error where validation stops it."""
    data = drawn.data
    torch.manual_seed(config.seed)  # of the initial weights, torch's own
    model = nn.Linear(data.x.shape[-1], 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    agreement, stopping = agreement_of(model, method), EarlyStopping(best="lowest")
    x, y = data.x.flatten(0, 1), data.y.flatten()
    ids = torch.arange(len(data.x)).repeat_interleave(data.x.shape[1])
    shares = 0.0
    for step in range(1, config.steps + 1):
        optimizer.zero_grad()
        losses = losses_of(example, model(x)[:, 0], y)
        record = agreement.backward(in_own_units(losses, len(data.x)) if own_units else losses, ids)
        shares += record.share
        optimizer.step()
        after_step(model, record, method, config.learning_rate)
        if stopping.due(step / config.steps):
            test, other = (error_on(example, model, board.test_x, board.y) for board in drawn)
            stopping.look(step / config.steps, other, {"test_error": test})
    return model, {"kept": shares / config.steps, **stopping.row}


def run(config: Config) -> Iterator[Row]:
    """Yield the errors of every method on every example and number of environments."""
    for example in EXAMPLES:
        for environments in config.environments:
            drawn = boards(config, example, environments)
            for name in COMPARED:
                ends = computed(f"{example}, {environments}, {name}", errors, config, example, drawn, name)
                yield {"kind": "final", "example": example, "environments": environments, "method": name, **ends}


def errors(config: Config, example: str, drawn: Boards, name: str) -> Row:
    """Return a method's errors on the training environments and with the spurious inputs shuffled, and what it keeps."""
    model, more = train(config, example, drawn, METHODS[name.removesuffix(OWN_UNITS)], name.endswith(OWN_UNITS))
    data = drawn.data
    return {
        "train_error": error_on(example, model, data.x, data.y),
        "test_error": error_on(example, model, data.test_x, data.y),
        **more,
    }
