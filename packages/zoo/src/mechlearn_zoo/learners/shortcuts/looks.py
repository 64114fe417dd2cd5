"""What is seen of a network while it trains on the spirals: when it solves the board, and where validation would stop it.

Held-out environments are those of `SpiralsData.validation`, which nothing trains on: another draw, each with shortcuts of its
own, as test examples have. A look is a pass without gradients; it draws nothing and changes nothing of the training.
"""

from torch import nn

from claimlab import EarlyStopping, Row, Scalar
from mechlearn_zoo.learners.spirals.training import accuracy
from mechlearn_zoo.tasks.boards.spirals import SpiralsData

SOLVED = 0.95
"""Test accuracy at which a board counts as solved."""


class Looks:
    """What a training has shown so far.

    Args:
        every: steps between two looks at the test set by which `solved_at` goes; there is one at the end, too.
        steps: of the training.
        data: the test set, and the held-out environments.

    Attributes:
        accuracy: on the test set, at the last look.
        solved_at: the first step looked at with a test accuracy of `SOLVED`; None if there is none.
        stopping: what the network had where its accuracy in held-out environments was best, of twenty looks.
    """

    def __init__(self, every: int, steps: int, data: SpiralsData) -> None:
        self.every, self.steps, self.data = every, steps, data
        self.accuracy = 0.0
        self.solved_at: int | None = None
        self.stopping = EarlyStopping()

    def after(self, step: int, model: nn.Module) -> None:
        """Look at a network after a step, where a look is due."""
        if step % self.every == 0 or step == self.steps:
            self.accuracy = accuracy(model, self.data.test)
            if self.solved_at is None and self.accuracy >= SOLVED:
                self.solved_at = step
        share = step / self.steps
        if self.stopping.due(share):
            found: Row = {"accuracy": accuracy(model, self.data.test)}
            self.stopping.look(share, accuracy(model, self.data.validation), found)


def outcome(looks: Looks, **others: Scalar) -> Row:
    """Return a training's row: its accuracy at the end and when it solved the board, other numbers, and where it is stopped."""
    return {"accuracy": looks.accuracy, "solved_at": looks.solved_at, **others, **looks.stopping.row}
