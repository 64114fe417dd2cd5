"""Two networks on the spirals, one trained by averaging and one with the AND-mask.

Every environment shares two interlocked spirals and has a shortcut of its own that separates its labels linearly. A network
that averages gradients learns the shortcuts and is at chance where they are random; one that keeps only what all
environments agree on learns the spirals. The loop is `training.train`, which the family's other experiments use, too.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import torch
from annotated_types import MinLen
from torch import nn

from claimlab import Choice, Objective, Options, Preset, Ranges, Row, Saved, checkpoint, number
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import METHODS, Method, rule_of
from mechlearn_zoo.tasks.boards.spirals import SpiralsData
from mechlearn_zoo.tasks.streams import same_stream

BOUNDARY_SIZE = 96
BOUNDARY_EXTENT = 2.7
"""The picture of the decision boundary: points a side, and half its width in standard deviations of the plane."""


@dataclass(frozen=True)
class Config(training.Training):
    """Settings of one run: those of a training, and what is trained."""

    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """What to train with: averaging, the AND-mask, or both."""
    stop_as_printed: bool = False
    """Stop a trial when training accuracy exceeds 97 % and test accuracy is below 60 %: the paper's rule, which saves time."""


PRESETS = {
    "quick": Preset(Config(**asdict(training.TRAININGS["quick"])), seeds=5),
    "paper": Preset(Config(**asdict(training.TRAININGS["paper"]), stop_as_printed=True), seeds=10),
}

_OBJECTIVE = Objective(("validation_accuracy",))
# No trial ends by the paper's rule: it looks at test data.
_METHODS = {method: {"methods": (method,), "stop_as_printed": False} for method in METHODS}
_TABLE = {
    "optimizer": Choice("adam", "sgd"),
    "learning_rate": Choice(1e-3, 1e-2, 1e-1),
    "batch": Choice(64, 128, 256),
    "init": Choice("kaiming", "default"),
    # Never combined, says the table's caption.
    "penalty": Options(
        {"none": {"l1": 0.0, "l2": 0.0}}
        | {f"l1 {strength:g}": {"l1": strength, "l2": 0.0} for strength in (1e-6, 1e-5, 1e-4)}
        | {f"l2 {strength:g}": {"l1": 0.0, "l2": strength} for strength in (1e-5, 1e-4, 1e-3)}
    ),
}

RANGES = {
    "quick": Ranges(_TABLE, _OBJECTIVE, _METHODS),
    "paper": Ranges(_TABLE | {"hidden": Choice(256, 512), "layers": Choice(3, 5)}, _OBJECTIVE, _METHODS),
}
"""Table B.1 and, beside it, the initial weights, which the texts do not name; at `quick` width and depth stay."""


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield learning curves, the final accuracies and the decision boundary on the spiral plane."""
    data = training.make_data(config)
    for method in config.methods:
        saved = checkpoint(method)
        yield from saved.values
        if not saved.finished:
            yield from train(config, method, data, saved)


def train(config: Config, method: Method, data: SpiralsData, saved: Saved) -> Iterator[Row]:
    """Train with one method, from where it was; yield the rows that come."""
    model, stopped = training.make_model(config), ""
    row: Row = saved.values[-1] if saved.values else {}
    per_epoch = config.examples // config.batch
    for report in training.train(config, model, rule_of(method, config), data.train, per_epoch, saved):
        row = {"kind": "curve", "method": method, "steps": training.steps_of(config), **report._asdict()}
        row["validation_accuracy"] = training.accuracy(model, data.validation)
        # The paper's rule looks at the test set; it can only end a trial that has already failed.
        if config.stop_as_printed and report.train_accuracy > 0.97 and training.accuracy(model, data.test) < 0.6:
            stopped = "the paper's rule: training accuracy above 97 %, test accuracy below 60 %"
            break
        yield saved.keep(report.step, row)
    final = {
        **row,
        "kind": "final",
        "test_accuracy": training.accuracy(model, data.test),
        "converged": number(row, "train_loss") < training.CONVERGED,
        "stopped": stopped,
    }
    picture: Row = {"kind": "boundary", "method": method, "grid": boundary(model, config)}
    yield from saved.finish(*([row] if stopped else []), final, picture)


def boundary(model: nn.Module, config: Config) -> str:
    """Return the probability of label 1 over the spiral plane, averaged over random shortcuts: a digit 0-9 for each point."""
    line = torch.linspace(-BOUNDARY_EXTENT, BOUNDARY_EXTENT, BOUNDARY_SIZE)
    plane = torch.cartesian_prod(line, line)
    generator = same_stream(config.seed)
    total = torch.zeros(len(plane))
    draws = 8
    with torch.no_grad():
        for _ in range(draws):
            shortcuts = config.shortcut_scale * torch.randn(len(plane), config.shortcut_dims, generator=generator)
            total += model(torch.cat([plane, shortcuts], dim=1))[:, 0].sigmoid()
    return "".join(str(min(9, int(10 * p))) for p in (total / draws).tolist())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, and the accuracy on held-out environments."""
    method = str(row["method"])
    before = [str(name) for name in config.methods].index(method)
    if row["kind"] == "boundary":
        return (before + 1) / len(config.methods), f"{method}  done"
    done = number(row, "step") / number(row, "steps") if row["kind"] == "curve" else 1.0
    text = f"{method}  accuracy {number(row, 'validation_accuracy'):.2f}"
    if row["kind"] == "final" and not row["converged"]:
        text += f"  not converged, training loss {number(row, 'train_loss'):.2f}"
    return (before + done) / len(config.methods), text
