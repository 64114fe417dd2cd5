"""What `sweep spirals-baselines` draws: tables B.1 and B.2, as `run.draw` has them, but for IRM's learning rate of 1."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Ge

from claimlab import Choice, Objective, Positive, Ranges, Row, Share, Single
from mechlearn_zoo.experiments.spirals.baselines.run import (
    ANNEALING,
    BATCHES,
    L1,
    L2,
    LEARNING_RATES,
    METHODS,
    PENALTIES,
    Config,
    Trial,
    board,
    tried,
)


@dataclass(frozen=True)
class Settings(Config):
    """One method's trial at settings of its own; `units`, the first of `layers` and `trials` are not read."""

    method: str = "and-mask"
    """What is trained."""
    optimizer: Literal["adam", "sgd"] = "adam"
    """Adam, or SGD with momentum 0.9."""
    learning_rate: Positive = 1e-2
    """Initial learning rate."""
    batch: Annotated[int, Ge(1)] = 128
    """Examples of each environment in a step."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units of each hidden layer."""
    depth: Annotated[int, Ge(1)] = 3
    """Hidden layers."""
    dropout: Share = 0.0
    """Share of units that are dropped."""
    batch_norm: bool = False
    """Whether hidden layers are normalised."""
    l1: Annotated[float, Ge(0)] = 0.0
    """L1 regularisation."""
    l2: Annotated[float, Ge(0)] = 0.0
    """L2 regularisation."""
    penalty: Annotated[float, Ge(0)] = 0.0
    """Weight of IRM's penalty."""
    annealing: Annotated[int, Ge(0)] = 0
    """Steps before it has that weight."""


def run_one(config: Settings) -> Iterator[Row]:
    """Yield the row of one method, as the experiment's own trials do."""
    trial = Trial(
        config.optimizer,
        config.learning_rate,
        min(config.batch, config.examples),
        config.hidden,
        config.depth,
        config.dropout,
        config.batch_norm,
        config.l1,
        config.l2,
        config.penalty,
        config.annealing,
    )
    yield tried(config.method, trial, config, board(config))


def _fixed(method: str) -> dict[str, Any]:
    """What makes a trial one of a method: its regulariser is on, the others are off."""
    found: dict[str, Any] = {"method": method, "dropout": 0.5 if method == "dropout" else 0.0}
    found |= {} if method == "l1" else {"l1": 0.0}
    found |= {} if method in ("l2", "and-mask") else {"l2": 0.0}
    found |= {} if method == "irm" else {"penalty": 0.0, "annealing": 0, "batch_norm": method == "batch-norm"}
    return found | ({"depth": 2} if method == "dann" else {})


_TABLES = {
    "optimizer": Choice("adam", "sgd"),
    "learning_rate": Choice(*LEARNING_RATES),
    "batch": Choice(*BATCHES),
    "l1": Choice(*L1),
    "l2": Choice(*L2),
    "batch_norm": Choice(False, True),
    "penalty": Choice(*PENALTIES),
    "annealing": Choice(*ANNEALING),
}
_QUICK = Ranges(
    _TABLES,
    Objective(("validation_accuracy",)),
    {method: _fixed(method) for method in METHODS},
    Single(lambda config: Settings(**asdict(config)), run_one),
)

RANGES = {"quick": _QUICK, "paper": replace(_QUICK, of=_TABLES | {"hidden": Choice(256, 512), "depth": Choice(3, 5)})}
"""At `quick` width and depth stay."""
