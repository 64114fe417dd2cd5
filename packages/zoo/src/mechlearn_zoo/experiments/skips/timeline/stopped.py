"""Early stopping of a model whose predictions are looked into afterwards: its weights are kept where validation is best."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn

from claimlab import EarlyStopping
from mechlearn_zoo.experiments.skips.comparing.outcomes import label_accuracy
from mechlearn_zoo.experiments.skips.comparing.training import World

LOOKS = 10
"""How often a training is looked at."""


@dataclass
class Kept:
    """Keeps a model's weights where most roll-outs on validation episodes end right, as `train` goes on.

    Attributes:
        validation: episodes that nothing is trained or tested on.
        max_steps: of a roll-out.
        total: evaluations that the training may spend.
        stopping: how many looks, and what came of them.
        weights: at the best look.
    """

    validation: World
    max_steps: int
    total: int
    stopping: EarlyStopping = field(default_factory=lambda: EarlyStopping(LOOKS))
    weights: dict[str, Tensor] = field(default_factory=dict[str, Tensor])

    def __call__(self, model: nn.Module, spent: int) -> None:
        """Look, if it is time."""
        share, stopping = min(spent / self.total, 1.0), self.stopping
        if not stopping.due(share):
            return
        accuracy = label_accuracy(model, self.validation, self.max_steps).accuracy
        if stopping.improves(accuracy):
            self.weights = {name: value.clone() for name, value in model.state_dict().items()}
        stopping.look(share, accuracy, {"validation_accuracy": accuracy})

    def state_dict(self) -> dict[str, Any]:
        """Return what was looked at so far, and the weights that are kept."""
        return {"stopping": self.stopping.state_dict(), "weights": self.weights}

    def load_state_dict(self, state: Mapping[str, Any], /) -> None:
        """Go on where `state_dict` was taken."""
        self.stopping.load_state_dict(state["stopping"])
        self.weights = {name: value.clone() for name, value in state["weights"].items()}
