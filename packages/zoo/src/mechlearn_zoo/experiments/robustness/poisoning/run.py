"""Two digits: points with flipped labels are moved up the gradient of a learner's validation loss, then tried on every learner.

An attack on oneself knows the training set; a surrogate's knows another one of the same size. Both know the same validation
set, and errors are read on a third.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen

from claimlab import Positive, Preset, Row, Share, check_limits, computed, part
from mechlearn.params import Params
from mechlearn_zoo.experiments.robustness.classifiers import parts
from mechlearn_zoo.methods.robustness import Learner, Sample, flipped, poison, poisoning_gradient
from mechlearn_zoo.methods.robustness.poisoning import decision, fit, joined, logistic, ridge, squared_hinge
from mechlearn_zoo.methods.robustness.transfer import cosine

FAMILIES: dict[str, Callable[[int, float], Learner]] = {"logistic": logistic, "ridge": ridge, "svm": squared_hinge}
"""Learners by name; the support vector machine has the squared hinge loss."""

BOX = (0.0, 1.0)


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split and of the points to start from."""
    pairs: Annotated[tuple[str, ...], MinLen(1)] = ("8-9",)
    """Digits to tell apart."""
    train: Annotated[int, Ge(20)] = 100
    """Clean training examples, of learners and of surrogates each."""
    shares: Annotated[tuple[Share, ...], MinLen(1)] = (0.05, 0.1)
    """Of the training set that is poison; surrogates are tried at the last one."""
    high: Positive = 1e-3
    """Decay of the weakly regularised learners."""
    low: Positive = 0.3
    """Decay of the strongly regularised ones."""
    steps: Annotated[int, Ge(1)] = 12
    """Gradients of each attack."""
    rate: Positive = 1.0
    """Euclidean length of a point's step."""

    def __post_init__(self) -> None:
        check_limits(self)
        for pair in self.pairs:
            parts(self.seed, pair, self.train)
        if any(not 0 < share < 0.5 for share in self.shares):
            raise ValueError(f"shares should lie between 0 and 0.5. Found {self.shares}.")

    def learners(self) -> dict[tuple[str, str], Learner]:
        """Return each family at both complexities."""
        return {
            (family, complexity): make(64, decay)
            for family, make in FAMILIES.items()
            for complexity, decay in (("H", self.high), ("L", self.low))
        }

    def count(self, share: float) -> int:
        """Return how many points make up a share of clean and poison together."""
        return max(1, round(share * self.train / (1 - share)))


ALL_PAIRS = tuple(f"{first}-{second}" for first in range(10) for second in range(first + 1, 10))

PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Steps of a quarter, five times as many; fewer training examples leave more to the attacker and to the test.
    "small-steps": Preset(Config(seed=400, train=60, shares=(0.1,), steps=60, rate=0.25), seeds=20),
    "paper": Preset(Config(pairs=ALL_PAIRS, train=60, shares=(0.05, 0.15, 0.2, 0.1), steps=60, rate=0.25), seeds=10),
}


@dataclass(frozen=True)
class Board:
    """The sets of one pair of digits."""

    train: Sample
    """Clean, of the learners that are attacked."""
    surrogate: Sample
    """Clean, of the attacker."""
    validation: Sample
    """Whose loss the attacker raises."""
    test: Sample
    """On which errors are read."""


def board(config: Config, pair: str) -> Board:
    """Return a pair of digits in four sets."""
    data = parts(config.seed, pair, config.train)
    half = len(data.test.y) // 2
    first, second = (Sample(data.test.x[some], data.test.y[some]) for some in (slice(half), slice(half, None)))
    return Board(data.target, data.surrogate, first, second)


def run(config: Config) -> Iterator[Row]:
    """Yield the learners attacked by themselves, then by surrogates."""
    for pair in config.pairs:
        data, learners = board(config, pair), config.learners()
        own: dict[tuple[str, str], float] = {}
        for share in config.shares:
            start = flipped(data.validation, config.count(share), torch.Generator().manual_seed(config.seed))
            for name, learner in learners.items():
                row, own[name] = computed(f"{pair}, {share}, {' '.join(name)}", attacked, config, data, learner, start)
                yield {"kind": "own", "pair": pair, "family": name[0], "complexity": name[1], "share": share, **row}
        yield from transferred(config, pair, data, learners, own)


def attacked(config: Config, data: Board, learner: Learner, start: Sample) -> tuple[Row, float]:
    """Return what poison does to a learner that it was made on, and the rise of its test loss."""
    clean, turned = fit(learner, data.train), fit(learner, joined(data.train, start))
    found = poison(learner, data.train, data.validation, start, config.steps, config.rate, BOX)
    rise = loss(learner, found.params, data.test) - loss(learner, clean, data.test)
    row: Row = {
        "clean": error(clean, data.test), "clean_validation": error(clean, data.validation),
        "flipped": error(turned, data.test), "flipped_validation": error(turned, data.validation),
        "poisoned": error(found.params, data.test), "poisoned_validation": error(found.params, data.validation),
        "rise": rise, "foretold": foretold(learner, data, start),
    }  # fmt: skip
    return row, rise


def foretold(learner: Learner, data: Board, start: Sample, step: float = 1e-3) -> float:
    """Return the relative error of the implicit gradient against the change of loss after a small step and full retraining."""
    params = fit(learner, joined(data.train, start))
    gradient = poisoning_gradient(learner, params, data.train, start, data.validation)
    losses = [
        loss(
            learner,
            fit(learner, joined(data.train, Sample(start.x + sign * step * gradient / gradient.norm(), start.y)), params),
            data.validation,
        )
        for sign in (1, -1)
    ]
    return abs((losses[0] - losses[1]) / (2 * step) / float(gradient.norm()) - 1)


def transferred(
    config: Config, pair: str, data: Board, learners: dict[tuple[str, str], Learner], own: dict[tuple[str, str], float]
) -> Iterator[Row]:
    """Yield what each surrogate's poison does to each learner, over what poison made on that learner does."""
    start = flipped(data.validation, config.count(config.shares[-1]), torch.Generator().manual_seed(config.seed))
    clean = {name: fit(learner, data.train) for name, learner in learners.items()}
    gradients = {name: gradient(learner, data.train, start, data.validation) for name, learner in learners.items()}

    def by(surrogate: tuple[str, str]) -> Iterator[Row]:
        learner = learners[surrogate]
        points = poison(learner, data.surrogate, data.validation, start, config.steps, config.rate, BOX).points
        guess = gradient(learner, data.surrogate, start, data.validation)
        for target, other in learners.items():
            params = fit(other, joined(data.train, points))
            rise = loss(other, params, data.test) - loss(other, clean[target], data.test)
            yield {
                "kind": "pair", "pair": pair, "surrogate": surrogate[0], "surrogate_complexity": surrogate[1],
                "target": target[0], "target_complexity": target[1], "error": error(params, data.test), "rise": rise,
                "ratio": rise / own[target], "alignment": float(cosine(guess, gradients[target]).mean()),
            }  # fmt: skip

    for surrogate in learners:
        yield from part(f"{pair}, by {' '.join(surrogate)}", by(surrogate))


def gradient(learner: Learner, train: Sample, start: Sample, validation: Sample) -> torch.Tensor:
    """Return the poisoning gradient at the starting points."""
    return poisoning_gradient(learner, fit(learner, joined(train, start)), train, start, validation)


def loss(learner: Learner, params: Params, sample: Sample) -> float:
    """Return the mean loss."""
    return float(learner.loss(params, sample.x, sample.y).mean())


def error(params: Params, sample: Sample) -> float:
    """Return the share missed."""
    return float(((decision(params, sample.x) > 0).long() != sample.y).double().mean())
