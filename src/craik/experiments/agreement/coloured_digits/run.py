"""Coloured digits: eight ways to train on two environments, three ways to choose their settings, one budget.

The colour goes with the label in both training environments, 90 % and 80 % of the time, and against it in the test
environment. Both environments' gradients agree that the colour helps; they disagree on how much. So this is no home game for
a mask of signs, and which settings are selected matters as much as the method.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from craik.agreement import Agreement, AndMask, Mean, Rule, SandMask
from craik.experiments.agreement.coloured_digits.figures import CLAIMS, methods
from craik.lab import Row, Rows, number
from craik.lab.limits import at_least, between
from craik.methods import fishr_penalty, iga_penalty, irm_penalty, vrex_penalty
from craik.methods.environments import fishr_penalty, iga_penalty, irm_penalty, vrex_penalty
from craik.nn.adversarial import Adversarial
from craik.nn.perceptrons import Adversarial, mlp
from craik.tasks.pictures.coloured_digits import ColouredDigits, Split, coloured_digits

REPRODUCES = "a benchmark of domain generalisation beside thesis section 3.3: ColoredMNIST's construction on real digits"

METHODS = ("erm", "irm", "vrex", "fishr", "iga", "dann", "sand-mask", "and-mask")
PENALISED = ("irm", "vrex", "fishr", "iga")

__all__ = ["CLAIMS", "PRESETS", "REPRODUCES", "SEEDS", "Config", "figures", "progress", "run"]


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    seed: int = 0
    """First seed: of the data, the drawn settings and the initial weights."""
    trials: int = 12
    """Settings drawn for each method: the budget, equal for all."""
    steps: int = 150
    """Steps of a training run, each on all training examples."""
    hidden: int = 64
    """Units in each of the network's layers."""
    agreement: tuple[float, ...] = (0.9, 0.8)
    """How often the colour agrees with the label in each training environment."""
    test_agreement: float = 0.1
    """The same in the test environment."""

    def __post_init__(self) -> None:
        at_least(self, 1, "trials", "steps", "hidden")
        between(self, 0, 1, "agreement", "test_agreement")
        if len(self.agreement) < 2:
            raise ValueError(f"agreement should have two environments or more to compare. Found {self.agreement}. Give more.")


PRESETS = {"quick": Config(), "paper": Config(trials=20, steps=400, hidden=256)}
SEEDS = {"quick": 3, "paper": 5}


@dataclass(frozen=True)
class Trial:
    """Drawn settings; what a method has no use for is drawn all the same, so that all methods see the same draws."""

    learning_rate: float
    weight_decay: float
    strength: float
    annealing: float
    rescale: bool


def draw(seed: int, trial: int) -> Trial:
    """Draw a trial's settings: the same for every method.

    Learning rate 10^[-3, -1.5], weight decay 10^[-5, -1], strength of a penalty (or steepness of the SAND-mask, or a hundred
    times DANN's factor) 10^[0, 4], share of the steps before a penalty has its strength 0, 1/4 or 1/2, rescaling after the
    AND-mask on or off.
    """
    generator = np.random.default_rng([seed, trial])
    exponents = [float(generator.uniform(*limits)) for limits in ((-3, -1.5), (-5, -1), (0, 4))]
    return Trial(
        *(10**exponent for exponent in exponents),
        annealing=(0.0, 0.25, 0.5)[int(generator.integers(3))],
        rescale=bool(generator.integers(2)),
    )


class Network(nn.Module):
    """A network of two hidden layers whose features and output can be had apart."""

    def __init__(self, hidden: int, generator: Generator) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), mlp(128, hidden, generator, hidden, layers=1), nn.LeakyReLU())
        self.head = mlp(hidden, 1, generator, layers=0)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, shape (b, 1)."""
        return self.head(self.body(x))


class Flattened(Adversarial):
    """DANN on images."""

    def forward(self, x: Tensor) -> Tensor:
        """Return the classifier's logits."""
        return super().forward(x.flatten(1))


def unreduced(logits: Tensor, labels: Tensor) -> Tensor:
    """Return each example's cross-entropy."""
    return binary_cross_entropy_with_logits(logits, labels, reduction="none")


def penalty(method: str, model: Network, split: Split) -> tuple[Tensor, Tensor]:
    """Return each example's loss, and a method's penalty, unweighted."""
    features = model.body(split.x)
    logits = model.head(features)
    losses = unreduced(logits[:, 0], split.y)
    ids = split.environments
    penalties: dict[str, Callable[[], Tensor]] = {
        "irm": lambda: irm_penalty(logits[:, 0], split.y, ids, unreduced),
        "vrex": lambda: vrex_penalty(losses, ids),
        "fishr": lambda: fishr_penalty(losses, ids, features, logits),
        "iga": lambda: iga_penalty(losses, ids, list(model.parameters())),
    }
    return losses, penalties[method]()


def weight_of(method: str, trial: Trial, early: bool) -> float:
    """Return what a method's penalty, or DANN's discrimination of environments, is multiplied by at a step."""
    if method == "dann":
        return trial.strength / 100
    return trial.strength if method in PENALISED and not early else 1.0


def plain_loss(model: nn.Module, split: Split) -> Tensor:
    """Return each example's loss under a network."""
    return unreduced(model(split.x)[:, 0], split.y)


def backward(method: str, model: nn.Module, split: Split, weight: float, agreement: Agreement) -> None:
    """Fill the gradients of one step on two environments or more."""
    if isinstance(model, Adversarial):
        (plain_loss(model, split).mean() + weight * model.domain_loss(split.x.flatten(1), split.environments)).backward()
    elif method in PENALISED and isinstance(model, Network):
        losses, value = penalty(method, model, split)
        ((losses.mean() + weight * value) / weight).backward()
    else:
        agreement.backward(plain_loss(model, split), split.environments)


def train(method: str, split: Split, trial: Trial, config: Config) -> nn.Module:
    """Return a trained network.

    Under a penalty the whole loss, L2 included, is divided by the penalty's weight, as in IRM's published code, so that a
    strong penalty does not raise the learning rate. L2 is Adam's, so it is divided there.
    """
    generator = Generator().manual_seed(config.seed)
    environments = 1 + int(split.environments.max())
    model = Flattened(128, environments, config.hidden, generator) if method == "dann" else Network(config.hidden, generator)
    rules: dict[str, Rule] = {"and-mask": AndMask(1.0, trial.rescale), "sand-mask": SandMask(0.5, k=trial.strength)}
    optimizer = torch.optim.Adam(model.parameters(), lr=trial.learning_rate, weight_decay=trial.weight_decay)
    alone = len(split.environments.unique()) == 1  # nothing to compare with: every method is plain training then
    with Agreement(model, rules.get(method, Mean())) as agreement:
        for step in range(config.steps):
            optimizer.zero_grad()
            if alone:
                plain_loss(model, split).mean().backward()
            else:
                weight = weight_of(method, trial, step < trial.annealing * config.steps)
                backward(method, model, split, weight, agreement)
                optimizer.param_groups[0]["weight_decay"] = trial.weight_decay / (weight if method in PENALISED else 1.0)
            optimizer.step()
    return model


def accuracy(model: nn.Module, split: Split) -> float:
    """Return a model's accuracy."""
    with torch.no_grad():
        return float(((model(split.x)[:, 0] > 0) == (split.y > 0.5)).float().mean())


def of(split: Split, chosen: Tensor) -> Split:
    """Return the chosen examples."""
    return Split(split.x[chosen], split.y[chosen], split.environments[chosen])


def leave_one_out(method: str, data: ColouredDigits, trial: Trial, config: Config) -> float:
    """Return the mean accuracy on a training environment that was left out."""
    scores: list[float] = []
    for environment in range(len(config.agreement)):
        model = train(method, of(data.train, data.train.environments != environment), trial, config)
        scores.append(accuracy(model, of(data.held_out, data.held_out.environments == environment)))
    return float(np.mean(scores))


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each method and trial: its settings, what each selection rule would look at, and test accuracy."""
    data = coloured_digits(config.seed, config.agreement, config.test_agreement)
    left_out: dict[tuple[str, int], float] = {}
    for method in METHODS:
        for index in range(config.trials):
            trial = draw(config.seed, index)
            model = train(method, data.train, trial, config)
            # With one environment left all methods are plain training, DANN with a network of its own: done once for all.
            plain = method if len(config.agreement) > 2 or method == "dann" else "erm"
            if (plain, index) not in left_out:
                left_out[plain, index] = leave_one_out(plain, data, trial, config)
            yield {
                "method": method,
                "trial": index,
                **asdict(trial),
                "train_accuracy": accuracy(model, data.train),
                "training-domain": accuracy(model, data.held_out),
                "leave-one-out": left_out[plain, index],
                "oracle": accuracy(model, data.oracle),
                "test_accuracy": accuracy(model, data.test),
            }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = METHODS.index(str(row["method"])) * config.trials + number(row, "trial") + 1
    return done / (len(METHODS) * config.trials), f"{row['method']}, trial {row['trial']}"


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw test accuracy of every method under each selection rule."""
    return {"methods": methods(rows)}
