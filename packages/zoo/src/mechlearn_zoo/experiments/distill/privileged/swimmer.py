"""Returns of a simulated body, and its future trajectory as a second target: an auxiliary head, mixed in or added by sign.

The network, the data and the auxiliary head are those of `distill-mujoco` at its quick size. Each seed has data of its own.
"""

from collections.abc import Iterator, Sequence

import torch

from claimlab import Row
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.privileged.arms import Arm, combine_all
from mechlearn_zoo.experiments.distill.training import label_loss
from mechlearn_zoo.tasks.privileged import PrivilegedData
from mechlearn_zoo.tasks.streams import stream

ENVIRONMENT = "Swimmer"
BATCHES = (16, 32)
"""Batch sizes that each arm is trained with: `distill-mujoco`'s quick grid."""


def train_all(arms: Sequence[Arm], rounds: int, seed: int) -> Iterator[Row]:
    """Train a student for each arm and batch size, and yield its errors where held-out examples stop it.

    Args:
        arms: how the gradients of the label and of the future are combined.
        rounds: of 24 updates each; errors are looked at after every tenth.
        seed: of the simulated examples, of weights and of batches.
    """
    config = bodies.Training(seed=seed, data_seed=seed, rounds=rounds)
    data = bodies.make_data(config, ENVIRONMENT)
    for arm in arms:
        for batch in BATCHES:
            yield {"arm": arm.name, "batch": batch, **summary(train(config, data, arm, batch), min)}


def train(config: bodies.Training, data: PrivilegedData, arm: Arm, batch: int) -> list[Measured]:
    """Train a student, and return its errors on held-out and on test examples now and then.

    The auxiliary head trains on its own loss: where the label does not reach, no component has its sign.
    """
    examples, wanted = data.train, data.train.privileged.flatten(1)
    student = bodies.make_student(config, examples.x.shape[1])
    head = relu_mlp((config.student_widths[-1], wanted.shape[1]), stream(config.seed, "head"))
    parameters = list(student.parameters())
    optimizer = torch.optim.Adam([*parameters, *head.parameters()], config.student_lr)
    batches, halves = Stream(torch.arange(len(wanted)), batch, stream(config.seed, "batches")), stream(config.seed, "halves")
    found: list[Measured] = []
    for step in range(1, config.rounds * config.student_steps + 1):
        rows = next(batches)
        optimizer.zero_grad()
        hidden = student[:-1](examples.x[rows])
        label = label_loss(student[-1](hidden), examples.y[rows]).mean()
        labels = torch.autograd.grad(label, parameters, retain_graph=True)
        if arm.form == "label":
            gradients = list(labels)
        else:
            future = (head(hidden) - wanted[rows]).square().mean()
            own = torch.autograd.grad(future, [*parameters, *head.parameters()], materialize_grads=True)
            for parameter, gradient in zip(head.parameters(), own[len(parameters) :], strict=True):
                parameter.grad = gradient
            stacks = [one[None] for one in labels], [one[None] for one in own[: len(parameters)]]
            gradients = [one[0] for one in combine_all([arm], *stacks, halves)]
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        if step % (config.every * config.student_steps) == 0:
            errors = [bodies.mean_error(student, split) for split in (data.selection, data.test)]
            found.append(Measured(step, *errors))
    return found
