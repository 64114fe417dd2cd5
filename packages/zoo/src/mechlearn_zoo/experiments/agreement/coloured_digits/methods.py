"""Eight ways to train on two environments, and three more: their drawn settings, networks, penalties and gradients."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mechlearn.agreement import Agreement, AndMask, Mean, MedianSign, Rule, SandMask, SignalToNoiseMask
from mechlearn.nn.perceptrons import mlp
from mechlearn.penalties import fishr_penalty, irm_penalty, pcgrad_gradients, vrex_penalty
from mechlearn_zoo.methods.environments import iga_penalty
from mechlearn_zoo.nn.adversarial import Adversarial
from mechlearn_zoo.tasks.pictures.coloured_digits import Split

METHODS = ("erm", "irm", "vrex", "fishr", "iga", "dann", "sand-mask", "and-mask")
RIVALS = ("erm", "and-mask", "signal-to-noise", "median-sign", "pcgrad")
"""What the preset of that name compares: other ways to ask environments whether they agree."""
PENALISED = ("irm", "vrex", "fishr", "iga")


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

    Learning rate 10^[-3, -1.5], weight decay 10^[-5, -1], strength of a penalty 10^[0, 4] (also the steepness of the SAND-mask,
    a hundred times DANN's factor, the square of ten times the ratio of signal to noise), share of the steps before a penalty
    has its strength 0, 1/4 or 1/2, rescaling after the AND-mask on or off.
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


def rule_of(method: str, trial: Trial) -> Rule:
    """Return what combines the environments' gradients; averaging for what does so otherwise, or not at all."""
    rules: dict[str, Rule] = {
        "and-mask": AndMask(1.0, trial.rescale),
        "sand-mask": SandMask(0.5, k=trial.strength),
        # 10^[-1, 1]. At 1 it is the AND-mask here: a mean of two is as large as their spread where they have one sign.
        "signal-to-noise": SignalToNoiseMask(trial.strength**0.5 / 10, trial.rescale),
        "median-sign": MedianSign(1.0),
    }
    return rules.get(method, Mean())


def plain_loss(model: nn.Module, split: Split) -> Tensor:
    """Return each example's loss under a network."""
    return unreduced(model(split.x)[:, 0], split.y)


def backward(method: str, model: nn.Module, split: Split, weight: float, agreement: Agreement, generator: Generator) -> None:
    """Fill the gradients of one step on two environments or more; PCGrad draws its orders."""
    if isinstance(model, Adversarial):
        (plain_loss(model, split).mean() + weight * model.domain_loss(split.x.flatten(1), split.environments)).backward()
    elif method in PENALISED and isinstance(model, Network):
        losses, value = penalty(method, model, split)
        ((losses.mean() + weight * value) / weight).backward()
    elif method == "pcgrad":
        parameters = list(model.parameters())
        summed = pcgrad_gradients(plain_loss(model, split), split.environments, parameters, generator)
        for parameter, gradient in zip(parameters, summed, strict=True):
            parameter.grad = gradient / len(split.environments.unique())
    else:
        agreement.backward(plain_loss(model, split), split.environments)
