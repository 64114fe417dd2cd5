"""Two networks on the spirals, trained by averaging and with the AND-mask, and audited.

A network that averages gradients sews together one shortcut for each environment: its weights can be changed so that one
environment does not notice while another's loss explodes. A network trained with the AND-mask uses what all share. The
inconsistency score says so without test data.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import torch
from annotated_types import Ge
from torch import nn

from claimlab import Preset, Row, check_limits
from mechlearn.surfaces import Audit, Consistency, Subspace, audit
from mechlearn_zoo.experiments.surfaces.environments.run import by_example
from mechlearn_zoo.learners.spirals import training
from mechlearn_zoo.learners.spirals.methods import METHODS, rule_of
from mechlearn_zoo.tasks.boards.spirals import SpiralsData


@dataclass(frozen=True)
class Config:
    """Settings of one run; what is not named here is as in the quick preset of `spirals`."""

    seed: int = 0
    """First seed: of the data, the initial weights, the batches and the score's random starts."""
    environments: Annotated[int, Ge(2)] = 16
    """Number of training environments."""
    epochs: Annotated[int, Ge(1)] = 100
    """Passes over the training data."""
    hidden: Annotated[int, Ge(1)] = 256
    """Units in each of three hidden layers."""
    scored: Annotated[int, Ge(2), "pairs of the environments are compared"] = 3
    """How many environments the inconsistency score compares, pair by pair: the first ones."""
    examples: Annotated[int, Ge(1)] = 256
    """Training examples of each environment in the audit."""
    epsilon: float = 0.01
    """How far the loss of the environment that must not notice may rise."""
    ridge: float = 0.01
    """Multiple of the identity added to the Gauss-Newton matrices."""
    iterations: int = 30
    """Steps of the subspace method for a pair and a sign, at most."""
    tolerance: float = 0.05
    """Relative residual at which it stops."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.scored > self.environments:
            why = "pairs of the environments are compared"
            raise ValueError(f"scored should be at most {self.environments}: {why}. Found {self.scored}.")
        most = training_of(self).examples
        if self.examples > most:
            why = "they are training examples of one environment"
            raise ValueError(f"examples should be at most {most}: {why}. Found {self.examples}.")
        definition(self)  # refuses what the score does not take


def training_of(config: Config) -> training.Training:
    """Return how the networks are trained."""
    quick = training.TRAININGS["quick"]
    return replace(quick, seed=config.seed, environments=config.environments, epochs=config.epochs, hidden=config.hidden)


def definition(config: Config) -> Consistency:
    """Return how the score is computed."""
    return Consistency(
        epsilon=config.epsilon,
        ridge=config.ridge,
        curvature="gauss-newton",
        search=Subspace(config.iterations, config.tolerance),
        not_minimum="ignore",  # the rows have the gradient's norm
    )


PRESETS = {
    "audit": Preset(Config(), seeds=6),
    "audit-paper": Preset(Config(scored=8, examples=1024, iterations=200, tolerance=0.02), seeds=5),
}


def audited(config: Config, model: nn.Module, data: SpiralsData) -> Audit:
    """Audit a network on part of its training data."""
    first = torch.arange(config.environments)[:, None] * training_of(config).examples
    rows = (first + torch.arange(config.examples)).flatten()
    batch = (data.train.x[rows], data.train.y[rows], data.train.environments[rows])
    generator = torch.Generator().manual_seed(config.seed)
    ids = tuple(range(config.scored))
    return audit(model.eval(), by_example, [batch], definition(config), generator, ids)


def run(config: Config) -> Iterator[Row]:
    """Train one network by averaging and one with the AND-mask, and yield the rows of their audits."""
    settings = training_of(config)
    data = training.make_data(settings)
    for method in METHODS:
        model = training.make_model(settings)
        *_, last = training.train(settings, model, rule_of(method, settings), data.train, every=100)
        found = audited(config, model, data)
        score = found.score
        if score is None:
            raise RuntimeError("an audit with a definition of consistency has a score")
        for pair in score.pairs:
            walked = None if pair.walk is None else pair.walk.largest
            row: Row = {"kind": "pair", "method": method, "stays": pair.stays, "other": pair.other, "value": pair.value}
            yield {**row, "walked": walked, "converged": pair.converged, "iterations": pair.iterations}
        for row in found.parameter_rows():
            yield {"kind": "parameter", "method": method, **row}
        yield {
            "kind": "summary",
            "method": method,
            "train_loss": last.train_loss,
            "test_accuracy": training.accuracy(model, data.test),
            "lowest_cosine": found.pairs[0].cosine,
            "gradient_norm": score.gradient_norm,
            "inconsistency": score.inconsistency,
            "walked": max(0.0 if pair.walk is None else pair.walk.largest for pair in score.pairs),
            "shortcut_share": shortcut_share(model, score.displacement),
            "parameters": len(score.displacement),
            "products": score.products,
        }


def shortcut_share(model: nn.Module, displacement: torch.Tensor) -> float:
    """Return the share of the first layer's displacement, squared, in columns of shortcuts: which inputs a change concerns."""
    weight = next(iter(model.parameters()))
    moved = displacement[: weight.numel()].view_as(weight).square().sum(0)
    return float(moved[2:].sum() / moved.sum())
