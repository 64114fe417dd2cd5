"""Networks on a small table with columns known in training only: untaught, with an auxiliary head, and taught by LDT.

Each has four settings, two learning rates and two strengths of its own. A third of the rows chooses among them and stops each
early; LDT's teacher learns from it, too. All losses are squared errors on standardised columns. Index conventions: n rows, J
inputs, Q privileged columns, K targets.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from craik.distill import Distillation, Examples, Lesson, Split, UnitsTeacher, Unrolling
from craik.estimators.tables import Numbers, Scaling
from craik.nn.perceptrons import relu_mlp
from craik.nn.stacks import Stack, StackedAdam

HIDDEN, RATES = 32, (1e-3, 1e-2)
DECAYS, WEIGHTS, ALPHAS = (0.0, 1e-1), (0.3, 3.0), (0.3, 3.0)
"""Strengths: decay of the untaught network, weight of the auxiliary head, and LDT's alpha, which is relative to the loss."""
ROUNDS, UNROLLED, BETWEEN = 30, 8, 16
"""Of LDT; steps of an unroll, and of the student between two."""
STEPS, EVERY = ROUNDS * BETWEEN, 8
"""Of all networks, and between two looks at the rows left out; LDT's is looked at twice between two unrolls."""

Predict = Callable[[Numbers], Numbers]
"""From inputs to targets, in their own units."""


class Known(NamedTuple):
    """Training rows.

    Attributes:
        x: (n, J).
        privileged: (n, Q), known in training only.
        y: (n, K).
    """

    x: Numbers
    privileged: Numbers
    y: Numbers


class Prepared(NamedTuple):
    """Standardised rows and which of them are trained on."""

    examples: Examples
    split: Split
    x: Scaling
    y: Scaling

    @property
    def columns(self) -> tuple[Tensor, Tensor, Tensor]:
        """x, privileged and y, of which all here are tables."""
        return cast("tuple[Tensor, Tensor, Tensor]", tuple(self.examples))


def prepare(known: Known, seed: int) -> Prepared:
    """Standardise and split."""
    scalings = [Scaling.of(values) for values in known]
    columns = (torch.tensor(scaling.applied(values)).float() for scaling, values in zip(scalings, known, strict=True))
    order = torch.randperm(len(known.x), generator=Generator().manual_seed(seed))
    held_out = len(order) // 3
    split = Split(order[held_out:].sort().values, order[:held_out].sort().values)
    return Prepared(Examples(*columns), split, scalings[0], scalings[2])


def fitted(known: Known, seed: int) -> dict[str, Predict]:
    """Return "network", "auxiliary head" and "LDT", each at its best setting and step by the rows left out."""
    prepared = prepare(known, seed)
    taught = (_taught(prepared, seed, rate, alpha) for rate in RATES for alpha in ALPHAS)
    return {**_side_by_side(prepared, seed), "LDT": _best(prepared, taught)}


class Look(NamedTuple):
    """A network during its training: its loss on the rows left out, and what it is."""

    loss: float
    network: nn.Module


def _best(prepared: Prepared, runs: Iterator[Iterator[Look]]) -> Predict:
    found: tuple[float, nn.Module | None] = (float("inf"), None)
    for run in runs:
        for look in run:
            if look.loss < found[0]:
                found = look.loss, _copy(look.network)
    return _predictor(prepared, found[1])


def _copy(network: nn.Module) -> nn.Module:
    return Stack([network]).member(0)


def _predictor(prepared: Prepared, network: nn.Module | None) -> Predict:
    outputs = prepared.examples.y.shape[1]

    def predict(x: Numbers) -> Numbers:
        if network is None:  # every loss was NaN: the mean
            return np.repeat(prepared.y.mean[None], len(x), axis=0)
        with torch.no_grad():
            found = network(torch.tensor(prepared.x.applied(x)).float())[:, :outputs]
        return found.double().numpy() * prepared.y.spread + prepared.y.mean

    return predict


def _side_by_side(prepared: Prepared, seed: int) -> dict[str, Predict]:
    """Untaught networks and such with an auxiliary head are one stack: the last layer's further outputs are the head."""
    (x, privileged, y), (training, validation, _) = prepared.columns, prepared.split
    widths = (x.shape[1], HIDDEN, HIDDEN, y.shape[1] + privileged.shape[1])
    start = relu_mlp(widths, Generator().manual_seed(seed))
    settings = [(rate, decay, 0.0) for rate in RATES for decay in DECAYS]
    settings += [(rate, 0.0, weight) for rate in RATES for weight in WEIGHTS]
    rates, decays, weights = torch.tensor(settings).T
    stack = Stack([start] * len(settings))
    optimizer = StackedAdam(stack.parameters(), rates, decays, decoupled=True)
    looks: list[list[Look]] = [[] for _ in weights]
    for step in range(1, STEPS + 1):
        losses, others = _losses(stack, prepared, training)
        optimizer.zero_grad()
        (losses + weights * others).sum().backward()
        optimizer.step()
        if step % EVERY == 0:
            with torch.no_grad():
                found = _losses(stack, prepared, validation)[0]
            for member, own in enumerate(looks):
                if not own or float(found[member]) < own[0].loss:
                    own[:] = [Look(float(found[member]), stack.member(member))]
    half = len(RATES) * len(DECAYS)
    plain, taught = looks[:half], looks[half:]
    return {name: _best(prepared, iter(map(iter, some))) for name, some in (("network", plain), ("auxiliary head", taught))}


def _losses(stack: Stack, prepared: Prepared, rows: Tensor) -> tuple[Float[Tensor, " m"], Float[Tensor, " m"]]:
    """Each member's squared error on the targets, and on the privileged columns."""
    x, privileged, y = (column[rows] for column in prepared.columns)
    outputs = stack(x.expand(len(stack), *x.shape))
    targets, head = outputs[..., : y.shape[1]] - y, outputs[..., y.shape[1] :] - privileged
    return targets.square().mean((1, 2)), head.square().mean((1, 2))


def squared(prediction: Float[Tensor, "b k"], y: Float[Tensor, "b k"]) -> Float[Tensor, " b"]:
    """Return each row's mean squared error."""
    return (prediction - y).square().mean(1)


def _taught(prepared: Prepared, seed: int, rate: float, alpha: float) -> Iterator[Look]:
    """A student whose last hidden layer is taught by a meta-learned teacher."""
    (x, privileged, y), split = prepared.columns, prepared.split
    generator = Generator().manual_seed(seed)
    student = relu_mlp((x.shape[1], HIDDEN, HIDDEN, y.shape[1]), generator)
    network = relu_mlp((privileged.shape[1], HIDDEN, HIDDEN), generator)
    teacher = UnitsTeacher(network, {"2": HIDDEN})
    lesson = Lesson(student, teacher, ["2"], squared, alpha, alpha_relative_to="loss")
    distillation = Distillation(
        lesson,
        prepared.examples,
        split,
        Unrolling("student", steps=UNROLLED, batch_size=min(64, len(split.training)), nonfinite="skip"),
        student_optimizer=torch.optim.Adam(student.parameters(), rate),
        meta_optimizer=torch.optim.Adam(teacher.parameters(), rate),
        generator=generator,
    )
    for _ in range(ROUNDS):
        distillation.meta_step()
        for _ in range(BETWEEN // EVERY):
            distillation.student_steps(EVERY)
            with torch.no_grad():
                loss = squared(student(x[split.validation]), y[split.validation]).mean()
            yield Look(float(loss), student)
