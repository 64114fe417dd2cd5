"""Early stopping on the spirals: accuracy on held-out environments says when, and accuracy on test data what it gives.

Held-out environments are those of `SpiralsData.validation`, which nothing trains on: a draw of their own, as the test data are.
A look is a pass without gradients in evaluation mode; it draws nothing and changes nothing of the training.
"""

from collections.abc import Iterator

from torch import nn

from claimlab import EarlyStopping
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.tasks.boards.spirals import SpiralsData


def accuracies(model: nn.Module, data: SpiralsData) -> dict[str, float]:
    """Return a model's accuracies on held-out environments and on test data; its mode stays as it was."""
    mode = model.training
    model.eval()
    found = {"validation_accuracy": training.accuracy(model, data.validation)}
    found["test_accuracy"] = training.accuracy(model, data.test)
    model.train(mode)
    return found


def look(stopping: EarlyStopping, share: float, model: nn.Module, data: SpiralsData) -> None:
    """Look at a model after a share of its training, where a look is due."""
    if stopping.due(share):
        found = accuracies(model, data)
        stopping.look(share, found["validation_accuracy"], {**found})


def looked_at(
    reports: Iterator[training.Progress], steps: int, stopping: EarlyStopping, model: nn.Module, data: SpiralsData
) -> Iterator[training.Progress]:
    """Pass on what a training reports, and look at its model wherever a look is due by then."""
    for report in reports:
        look(stopping, report.step / steps, model, data)
        yield report
