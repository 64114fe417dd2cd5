"""Digits with few labels, and a second label for more of them: a helpful, a useless and a harmful one."""

from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import Row
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.privileged.arms import Arm, combine_all
from mechlearn_zoo.tasks.pictures.digits import CLASSES, digits
from mechlearn_zoo.tasks.streams import stream

Second = Literal["helpful", "useless", "harmful"]
LABELLED, HELD_OUT, TESTED = 60, 200, 700
"""Digits with a label for training, for choosing, and for testing; the other 837 have the second label alone."""
EVERY = 10
"""Updates between two evaluations on held-out digits."""


def second_labels(second: Second, y: Tensor, seed: int) -> Tensor:
    """Return the second label of digits: pairs of classes, a random pair each, or the next class."""
    if second == "helpful":
        return y // 2
    if second == "useless":
        return torch.randint(CLASSES // 2, y.shape, generator=stream(seed, "useless"))
    return (y + 1) % CLASSES


class Student(nn.Module):
    """A hidden layer, a head for the label and an auxiliary one."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.trunk = nn.Sequential(relu_mlp((64, 32), stream(seed, "trunk")), nn.ReLU())
        self.head = relu_mlp((32, CLASSES), stream(seed, "head"))
        self.auxiliary = relu_mlp((32, CLASSES // 2), stream(seed, "auxiliary"))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits of the label and of the second label."""
        hidden = self.trunk(x.flatten(1))
        return self.head(hidden), self.auxiliary(hidden)


def train_all(second: Second, arms: Sequence[Arm], updates: int, seed: int) -> Iterator[Row]:
    """Train a student for each arm on whole batches, and yield what it scores where held-out digits stop it.

    The harmful label goes through the label's own head, as an annotator's who is off by one. The others have an auxiliary
    head, which trains on its own loss in every arm: where the label does not reach, no component has its sign.
    """
    data = digits(seed, train=1797 - HELD_OUT - TESTED, validation=HELD_OUT, test=TESTED)
    x, y = data.train.x, data.train.y
    other = second_labels(second, y, seed)
    for arm in arms:
        student, halves = Student(seed), stream(seed, "halves")
        parameters = list(student.parameters())
        optimizer = torch.optim.Adam(parameters, 3e-3)
        best, at, test = -1.0, 0, 0.0
        for update in range((2 if arm.form == "label" else 1) * updates + 1):
            if update % EVERY == 0:
                with torch.no_grad():
                    scores = [100 * float((student(p.x)[0].argmax(1) == p.y).double().mean()) for p in data[1:3]]
                if scores[0] > best:
                    best, at, test = scores[0], update, scores[1]
            if update % updates == 0 and update:
                row: Row = {"arm": arm.name, "updates": update, "stopped_at": at, "held_out": best, "test": test}
                yield row
            label = cross_entropy(student(x[:LABELLED])[0], y[:LABELLED])
            both = cross_entropy(student(x[LABELLED:])[0 if second == "harmful" else 1], other[LABELLED:])
            gradients = [torch.autograd.grad(one, parameters, materialize_grads=True) for one in (label, both)]
            labels, seconds = ([one[None] for one in some] for some in gradients)
            found = combine_all([arm], labels, seconds, halves)
            for (name, parameter), gradient, own in zip(student.named_parameters(), found, seconds, strict=True):
                parameter.grad = (own if name.startswith("auxiliary") else gradient)[0]
            optimizer.step()
