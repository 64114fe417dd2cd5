"""Early stopping of a model of pictures: looks at how often its roll-outs end right, spread over what a training may spend."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from claimlab import EarlyStopping, Row, number
from mechlearn_zoo.experiments.skips.comparing.outcomes import Comparison, Worlds, label_accuracy, train_and_read
from mechlearn_zoo.experiments.skips.comparing.training import Method, World


@dataclass
class Looks:
    """Keeps how roll-outs on test episodes end where most of those on validation episodes end right, as `train` goes on.

    Test episodes are rolled out only where validation is better than before: elsewhere nothing is kept of them.

    Attributes:
        validation: episodes that nothing is trained or compared on.
        test: episodes.
        max_steps: of a roll-out.
        total: evaluations, or episodes, that the training may spend.
        stopping: how many looks, and what came of them.
    """

    validation: World
    test: World
    max_steps: int
    total: int
    stopping: EarlyStopping

    def __call__(self, model: nn.Module, spent: int) -> None:
        """Look, if it is time."""
        share, stopping = min(spent / self.total, 1.0), self.stopping
        if not stopping.due(share):
            return
        accuracy = label_accuracy(model, self.validation, self.max_steps).accuracy
        if stopping.improves(accuracy):
            found = label_accuracy(model, self.test, self.max_steps)._asdict()
            tested = {f"test_{name}": value for name, value in found.items()}
            stopping.look(share, accuracy, {"validation_accuracy": accuracy, **tested})

    def state_dict(self) -> dict[str, Any]:
        """Return what was looked at so far, and what is kept of it."""
        return self.stopping.state_dict()

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        self.stopping.load_state_dict(state)


def train_and_stop(settings: Comparison, method: Method, worlds: Worlds, looks: int) -> Iterator[Row]:
    """Train with one method; its final row has what `train_and_read` gives, and what validation would have stopped at.

    Args:
        settings: of the experiment, with its budget and checks.
        method: how predictions are matched.
        worlds: what to train on and to measure on.
        looks: how many, spread over the budget, and the end beside them where training goes beyond the last one.
    """
    budget, stopping = settings.budget, EarlyStopping(looks)
    watch = Looks(worlds.validation, worlds.test, settings.max_steps, budget.total, stopping)
    for row in train_and_read(settings, method, worlds, budget, settings.checks, watch):
        if row["kind"] == "final":
            tested = {name: value for name, value in row.items() if name.startswith("test_")}
            accuracy = number(row, "validation_accuracy")
            stopping.look(1.0, accuracy, {"validation_accuracy": accuracy, **tested})
            yield {**row, **stopping.row}
        else:
            yield row
