"""Single examples as environments: wrong labels and random ones, by averaging, by counting signs, by a t-test, by clipping.

Nothing can be tested within an example, so that no rule that divides by standard errors applies. What is left is to count heads
(the AND-mask: a sign test over the batch), to take the examples' spread for a standard error (a t-test of their mean), or to
bound how far each example may pull (a robust mean, which masks nothing).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, NamedTuple, cast

import torch
from annotated_types import Ge, Interval
from torch import Generator, Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from claimlab import Positive, Preset, Row, check_limits
from mechlearn.agreement import AndMask, Mean, Rule, SignalToNoiseMask, combine
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.agreement.label_noise.clipping import clipped_mean
from mechlearn_zoo.experiments.agreement.label_noise.run import mislabelled
from mechlearn_zoo.experiments.agreement.per_example import batches
from mechlearn_zoo.learners.evaluation import accuracy
from mechlearn_zoo.tasks.pictures.digits import CLASSES, digits
from mechlearn_zoo.tasks.pictures.images import Images
from mechlearn_zoo.tasks.streams import same_stream


class Combination(NamedTuple):
    """What becomes of the examples' gradients: by a rule on their sums, or clipped at a multiple of the median size.

    Attributes:
        rule: on sums over examples.
        clip: the multiple, in place of the rule; 0 for none.
        t: how large the mean has to be in standard errors of the batch; a rule that depends on its size. 0 for none.
    """

    rule: Rule = Mean()
    clip: float = 0.0
    t: float = 0.0

    def of(self, batch: int) -> Callable[[Tensor], Tensor]:
        """Return what makes one gradient of (B, *p) of them."""
        if self.clip:
            return lambda gradients: clipped_mean(gradients, self.clip)
        # t = mean / (std / sqrt(B)), with the standard deviation divided by B as in the rule
        rule = SignalToNoiseMask(self.t / batch**0.5) if self.t else self.rule
        return lambda gradients: combine(rule, gradients).gradient


METHODS: dict[str, Combination] = {
    "averaging": Combination(),
    "AND 0.2": Combination(AndMask(0.2)),
    "AND 0.3": Combination(AndMask(0.3)),
    "t 2": Combination(t=2.0),
    "clipped 1": Combination(clip=1.0),
    "clipped 3": Combination(clip=3.0),
}
"""By the name that rows have."""

BOARDS = {"wrong labels": tuple(METHODS), "random labels": ("averaging", "AND 0.2", "clipped 3")}
"""What is trained where some labels are wrong, and where all are random."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split, the labels, the initial weights and the batches."""
    examples: Annotated[int, Ge(2)] = 480
    """Training digits."""
    noise: Annotated[float, Interval(gt=0, lt=1), "some labels are wrong and some are right"] = 0.25
    """Share of the labels that are redrawn where some are wrong; where all are random it is 1."""
    batch: Annotated[int, Ge(2), "every example is an environment"] = 80
    """Examples, so environments, in a step."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of two hidden layers."""
    epochs: Annotated[int, Ge(1)] = 80
    """Passes over the training digits."""
    learning_rate: Positive = 5e-3
    """Adam's; the last quarter has a tenth of it."""
    l2: Annotated[float, Ge(0)] = 1e-6
    """Added to the gradient after the mask."""
    reports: Annotated[int, Ge(1)] = 10
    """Points of each learning curve."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.batch > self.examples:
            raise ValueError(f"batch should be at most {self.examples}: it comes from the examples. Found {self.batch}.")


PRESETS = {
    "conflict-examples": Preset(Config(), seeds=6),
    "conflict-examples-paper": Preset(Config(examples=1000, hidden=256, epochs=120), seeds=6),
}


def by_example(model: nn.Sequential) -> Callable[[Tensor, Tensor], dict[str, Tensor]]:
    """Return a function from images (B, 64) and labels to each example's gradient (B, *p), by parameter."""

    def loss(parameters: Mapping[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return cross_entropy(cast("Tensor", functional_call(model, dict(parameters), (x[None],))), y[None])

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))
    return lambda x, y: gradients({name: value.detach() for name, value in model.named_parameters()}, x, y)


def train(config: Config, images: Images, method: Combination) -> Iterator[tuple[int, nn.Module]]:
    """Train a network, every example an environment; yield the epochs done and the network, at each report."""
    model = mlp(64, CLASSES, Generator().manual_seed(config.seed), config.hidden, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * config.epochs)], gamma=0.1)
    gradients_of, combined = by_example(model), method.of(config.batch)
    generator = same_stream(config.seed)
    x = images.x.flatten(1)
    every = max(1, config.epochs // config.reports)
    for epoch in range(1, config.epochs + 1):
        for rows in batches(len(x), config.batch, 1, generator):
            found = gradients_of(x[rows], images.y[rows]).values()
            for parameter, gradients in zip(model.parameters(), found, strict=True):
                parameter.grad = combined(gradients)
            optimizer.step()
        scheduler.step()
        if epoch % every == 0 or epoch == config.epochs:
            yield epoch, model


def run(config: Config) -> Iterator[Row]:
    """Yield learning curves of every method on both boards; `fitted` is of the labels that are not the true ones."""
    data = digits(config.seed, train=config.examples)
    for board, methods in BOARDS.items():
        share = config.noise if board == "wrong labels" else 1.0
        images, wrong = mislabelled(data.train, share, same_stream(config.seed))
        for name in methods:
            for epoch, model in train(config, images, METHODS[name]):
                yield {
                    "kind": "final" if epoch == config.epochs else "curve",
                    "board": board,
                    "method": name,
                    "epoch": epoch,
                    "fitted": accuracy(model, wrong.x.flatten(1), wrong.y),
                    "validation_accuracy": accuracy(model, data.validation.x.flatten(1), data.validation.y),
                    "test_accuracy": accuracy(model, data.test.x.flatten(1), data.test.y),
                }
