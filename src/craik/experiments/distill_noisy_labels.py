"""A teacher sees through label noise: task B, where labels are drawn at random and the privileged data know the odds.

A student that fits the drawn labels becomes sure of what is chance. Rewarding its entropy makes it less sure, of everything
alike. A teacher that reads the odds, in training only, tells it what to be how sure of.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from craik.distill import OUTPUT, Distillation, Examples, KullbackLeibler, Target, split_rows
from craik.experiments._measured import Measured, shuffled, summary
from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import by_seed, curves, number, numbers, where
from craik.harness.figures import COLOURS, band, colour, panels
from craik.networks import relu_mlp
from craik.tasks.noisy_labels import CLASSES, NoisyLabelsData, noisy_labels

REPRODUCES = "thesis section 4.4.1 (task B), figure 4.4b, table C.1; paper section 4.1, figure 3d"

Moments = Literal["fresh", "student"]

CONFIDENCES = 10
"""Bins of confidence in the calibration curves."""

LEAST_SHARE = 0.002
"""Bins that hold less of the test set are not drawn: their frequency is chance."""


@dataclass(frozen=True)
class Config:
    """Settings of one run; those of LDT are table C.1's where it has them."""

    seed: int = 0
    """First seed: of the data, the initial weights, the split and the batches."""
    betas: tuple[float, ...] = (0.0, 0.3, 1.0, 2.0, 3.0)
    """Entropy coefficients of the students without a teacher, which train on all examples."""
    moments: tuple[Moments, ...] = ("fresh", "student")
    """LDT once for each: where the inner Adam's moments start, at zero or with the student's own (the released code)."""
    examples: int = 1000
    """Training examples."""
    test: int = 4000
    """Test examples; the released code has 1000."""
    logit_scale: float = 1.0
    """Factor on the logits: 1 in the texts, 3 in the released code."""
    rounds: int = 120
    """Meta-steps, each followed by the student's ordinary steps; without a teacher as many ordinary steps."""
    inner_steps: int = 64
    """n, the steps of an unroll (table C.1)."""
    student_steps: int = 8
    """N, ordinary steps after each meta-step (the released code; the texts do not say)."""
    batch: int = 32
    """Examples of a step (table C.1)."""
    alpha: float = 1e4
    """Teaching coefficient (table C.1)."""
    validation: float = 0.5
    """Share of the training examples that is kept from the student and trains the teacher (table C.1)."""
    student_lr: float = 1e-3
    """Learning rate of the student's Adam, in ordinary and inner steps (table C.1)."""
    meta_lr: float = 1e-3
    """Learning rate of the teacher's Adam (table C.1)."""
    widths: tuple[int, ...] = (256, 256)
    """Units of the hidden layers, of student and teacher alike."""
    every: int = 4
    """Rounds between two looks at the held-out examples."""

    def __post_init__(self) -> None:
        if min(self.rounds, self.every, self.student_steps) < 1:
            raise ValueError("rounds, every and student_steps should be at least 1. Found a smaller one.")
        if any(beta < 0 for beta in self.betas):
            raise ValueError(f"betas should not be negative: they would punish entropy. Found {self.betas}.")


PRESETS = {"quick": Config(), "paper": Config(rounds=1000, betas=(0.0, 0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0))}
SEEDS = {"quick": 3, "paper": 5}


class Method(NamedTuple):
    """A student: without a teacher and with an entropy coefficient, or with a teacher and a start of inner moments."""

    name: Literal["no-teacher", "ldt"]
    beta: float = 0.0
    moments: Moments = "fresh"

    @property
    def label(self) -> str:
        """What rows call it."""
        return f"beta {self.beta:g}" if self.name == "no-teacher" else f"LDT, {self.moments} moments"


def methods(config: Config) -> list[Method]:
    """Return all students of a config."""
    plain = [Method("no-teacher", beta) for beta in config.betas]
    return plain + [Method("ldt", moments=moments) for moments in config.moments]


class Teacher(nn.Module):
    """From x* to logits for the student's output."""

    def __init__(self, config: Config, privileged: int, generator: torch.Generator) -> None:
        super().__init__()
        self.network = relu_mlp((privileged, *config.widths, CLASSES), generator)

    def forward(self, privileged: Tensor) -> Target:
        """Return the targets (b, 4)."""
        return Target(self.network(privileged))


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each example."""
    return cross_entropy(prediction, y, reduction="none")


def entropy(prediction: Tensor) -> Tensor:
    """Return H(y_hat) of each example, in nats."""
    return -(prediction.softmax(1) * prediction.log_softmax(1)).sum(1)


def train(config: Config, method: Method, student: nn.Module, examples: Examples) -> Iterator[int]:
    """Train a student in place; yield the number of its ordinary steps after every round."""
    generator = torch.Generator().manual_seed(config.seed + 2**32)
    optimizer = torch.optim.Adam(student.parameters(), config.student_lr)
    if method.name == "no-teacher":
        batches = shuffled(torch.arange(len(examples.y)), config.batch, generator)
        for step in range(1, config.rounds * config.student_steps + 1):
            rows = next(batches)
            prediction = student(examples.x[rows])
            loss = label_loss(prediction, examples.y[rows]) - method.beta * entropy(prediction)
            optimizer.zero_grad()
            loss.mean().backward()
            optimizer.step()
            if step % config.student_steps == 0:
                yield step
        return
    teacher = Teacher(config, examples.privileged.shape[1], torch.Generator().manual_seed(config.seed + 2**33))
    distillation = Distillation(
        student,
        teacher,
        examples,
        split_rows(len(examples.y), config.validation, generator),
        layers=[OUTPUT],
        student_optimizer=optimizer,
        meta_optimizer=torch.optim.Adam(teacher.parameters(), config.meta_lr),
        inner="student",
        label_loss=label_loss,
        alpha=config.alpha,
        inner_steps=config.inner_steps,
        student_steps=config.student_steps,
        batch_size=config.batch,
        generator=generator,
        teaching_loss=KullbackLeibler(),
        moments=method.moments,
    )
    for round_ in range(1, config.rounds + 1):
        distillation.step()
        yield round_ * config.student_steps


def loss_of(student: nn.Module, examples: Examples) -> float:
    """Return a student's mean cross-entropy."""
    with torch.no_grad():
        return float(label_loss(student(examples.x), examples.y).mean())


def run(config: Config) -> Iterator[Row]:
    """Yield for each student its losses while training, a summary, and its calibration at the end of training."""
    found = noisy_labels(config.seed, examples=config.examples, logit_scale=config.logit_scale, test=config.test)
    data = found.data
    for method in methods(config):
        generator = torch.Generator().manual_seed(config.seed + 2**34)
        student = relu_mlp((data.train.x.shape[1], *config.widths, CLASSES), generator)
        row: Row = {"label": method.label, "method": method.name, "beta": method.beta, "bayes": found.bayes_loss}
        points: list[Measured] = []
        for round_, step in enumerate(train(config, method, student, data.train), start=1):
            if round_ % config.every == 0 or round_ == config.rounds:
                points.append(Measured(step, loss_of(student, data.selection), loss_of(student, data.test)))
                yield {"kind": "curve", **row, **points[-1]._asdict(), "training": loss_of(student, data.train)}
        table = calibration(student, found)
        yield {"kind": "final", **row, **summary(points, min), "calibration_error": calibration_error(table)}
        for place in table:
            yield {"kind": "calibration", **row, **place}


def calibration(student: nn.Module, found: NoisyLabelsData) -> list[dict[str, float]]:
    """Return for each bin of confidence (of any class, all classes pooled) how often that class was drawn.

    Each test example counts four times, once for the probability that the student gives to each class. Empty bins are left
    out; "truth" is the mean of the probabilities that the labels were drawn from.
    """
    with torch.no_grad():
        confidence = student(found.data.test.x).softmax(1).flatten()
    drawn = nn.functional.one_hot(found.data.test.y, CLASSES).flatten().float()
    truth = found.test_probabilities.flatten()
    bins = (confidence * CONFIDENCES).long().clamp(max=CONFIDENCES - 1)
    places = [bins == place for place in range(CONFIDENCES)]
    return [
        {
            "confidence": float(confidence[here].mean()),
            "frequency": float(drawn[here].mean()),
            "truth": float(truth[here].mean()),
            "share": float(here.float().mean()),
        }
        for here in places
        if bool(here.any())
    ]


def calibration_error(table: Sequence[dict[str, float]]) -> float:
    """Return the expected calibration error: the mean distance between confidence and frequency, weighted by share."""
    return sum(place["share"] * abs(place["confidence"] - place["frequency"]) for place in table)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a student with a teacher counts as thirty without."""
    labels = [method.label for method in methods(config)]
    costs = [30.0 if method.name == "ldt" else 1.0 for method in methods(config)]
    place = labels.index(str(row["label"]))
    steps = config.rounds * config.student_steps
    part = number(row, "step") / steps if row["kind"] == "curve" else 1.0
    text = f"{row['label']}  loss {number(row, 'selection'):.3f}" if "selection" in row else f"{row['label']}  done"
    return (sum(costs[:place]) + part * costs[place]) / sum(costs), text


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the test losses while training (figure 4.4b) and the calibration curves at the end."""
    return {"test-losses": draw_losses(rows), "calibration": draw_calibration(rows)}


def _labels(rows: Sequence[Row]) -> list[str]:
    finals = where(rows, kind="final")
    order = sorted(finals, key=lambda row: (row["method"] != "no-teacher", number(row, "beta"), str(row["label"])))
    return list(dict.fromkeys(str(row["label"]) for row in order))


def _colours(labels: Sequence[str]) -> dict[str, str]:
    """LDT's colours are the house's; entropy coefficients run from light to dark red."""
    plain = [label for label in labels if not label.startswith("LDT")]
    shades = ("#eab0b7", "#e08794", "#d1495b", "#a83445", "#7d2431", "#561822", "#3a1017", "#20080c")
    found = {label: shades[place * len(shades) // len(plain)] for place, label in enumerate(plain)}
    return found | {label: colour(2 * place) for place, label in enumerate(set_of(labels, plain))}


def set_of(labels: Sequence[str], without: Sequence[str]) -> list[str]:
    """Return the labels that are not among others, in order."""
    return [label for label in labels if label not in without]


def draw_losses(rows: Sequence[Row]) -> Figure:
    """Draw test loss against ordinary steps for every student, with the Bayes loss."""
    figure, (axes,) = panels(
        caption="Test loss while training (figure 4.4b): median over seeds, with the range. Red: no teacher, from light to "
        "dark with the entropy coefficient beta; what overfits leaves the picture. Dotted: the Bayes loss, the least possible.",
        height=3.6,
    )
    labels = _labels(rows)
    for label in labels:
        steps, lines = curves(where(rows, kind="curve", label=label), "step", "test")
        band(axes, steps, lines, label, _colours(labels)[label])
    bayes = float(np.median(numbers(where(rows, kind="final"), "bayes")))
    axes.axhline(bayes, color=COLOURS["reference"], linestyle=":", label="Bayes")
    axes.set(xlabel="ordinary steps of the student", ylabel="test loss (nats)", ylim=(bayes - 0.03, bayes + 0.6))
    axes.legend(ncols=2, loc="upper right")
    return figure


def draw_calibration(rows: Sequence[Row]) -> Figure:
    """Draw for every student how often a class was drawn against the probability given to it."""
    labels = _labels(rows)
    plain = [label for label in labels if not label.startswith("LDT")]
    figure, (left, right) = panels(
        2,
        caption="Calibration at the end of training: how often a class was drawn, against the probability that the student "
        "gave to it (all classes and seeds pooled in ten bins; bins with less than 0.2 % are left out). On the diagonal is who "
        "is right to be as sure as it is.",
        height=3.6,
    )
    for axes, title, some in ((left, "No teacher", plain), (right, "LDT", set_of(labels, plain))):
        axes.plot([0, 1], [0, 1], ":", color=COLOURS["reference"])
        for label in some:
            _draw_calibration(axes, where(rows, kind="calibration", label=label), label, _colours(labels)[label])
        axes.set(title=title, xlabel="probability given", xlim=(0, 1), ylim=(0, 1), aspect="equal")
        axes.legend(loc="upper left")
    left.set_ylabel("frequency")
    return figure


def _draw_calibration(axes: Axes, rows: Sequence[Row], label: str, shade: str) -> None:
    places = (np.array(numbers(rows, "confidence")) * CONFIDENCES).astype(int).clip(max=CONFIDENCES - 1)
    share, given, frequency = (np.array(numbers(rows, key)) for key in ("share", "confidence", "frequency"))
    seeds = len(by_seed(rows))
    found = [place for place in sorted(set(places.tolist())) if share[places == place].sum() / seeds >= LEAST_SHARE]
    x = [np.average(given[places == place], weights=share[places == place]) for place in found]
    y = [np.average(frequency[places == place], weights=share[places == place]) for place in found]
    axes.plot(x, y, "o-", color=shade, label=label, markersize=4)


@dataclass(frozen=True)
class Excess:
    """A measure for `Claim`: a loss of one student minus the best of others, or minus the Bayes loss; median over seeds.

    Attributes:
        label: whose loss; "" for the best student without a teacher.
        key: "selected", "last" or "calibration_error".
        over: "no-teacher" (the least over all beta) or "bayes".
    """

    label: str
    key: str
    over: Literal["no-teacher", "bayes"]

    def __call__(self, rows: Sequence[Row]) -> Measurement | None:
        """Return the difference, or None where a student was not trained."""
        finals = where(rows, kind="final")
        ours = where(finals, label=self.label) if self.label else where(finals, method="no-teacher")
        if not ours or not where(finals, method="no-teacher"):
            return None
        return bootstrap([self._of(group) for group in by_seed(finals).values()])

    def _of(self, rows: Sequence[Row]) -> float:
        plain = where(rows, method="no-teacher")
        mine = min(numbers(where(rows, label=self.label) if self.label else plain, self.key))
        return mine - (number(rows[0], "bayes") if self.over == "bayes" else min(numbers(plain, self.key)))


FIGURE = "thesis figure 4.4b; paper figure 3d"

CLAIMS = (
    Claim(
        id="distill-noisy-labels.ldt-below-entropy",
        text="LDT's test loss lies below that of the student without a teacher for every entropy coefficient.",
        source=FIGURE,
        printed=None,
        measure=Excess("LDT, fresh moments", "selected", "no-teacher"),
        holds=lambda measured: measured.high < 0,
        condition="test loss at the time selected on held-out examples, minus the least of all beta at theirs: below 0 with "
        "the whole interval",
    ),
    Claim(
        id="distill-noisy-labels.ldt-stays-low",
        text="LDT's test loss falls and stays low.",
        source=FIGURE,
        printed=None,
        measure=Excess("LDT, fresh moments", "last", "bayes"),
        holds=lambda measured: measured.high < 0.1,
        condition="at the end of training less than 0.1 nats above the Bayes loss, with the whole interval",
    ),
    Claim(
        id="distill-noisy-labels.warm-moments",
        text="The released code's inner optimiser, which goes on with the student's moments, does as much.",
        source="released code of task B",
        printed=None,
        measure=Excess("LDT, student moments", "last", "bayes"),
        holds=lambda measured: measured.high < 0.1,
        condition="at the end of training less than 0.1 nats above the Bayes loss, with the whole interval",
    ),
    Claim(
        id="distill-noisy-labels.baselines-ill-calibrated",
        text="Without a teacher the student is ill-calibrated for every entropy coefficient: LDT's error is smaller.",
        source="thesis section 4.4.1; paper section 4.1",
        printed=None,
        measure=Excess("LDT, fresh moments", "calibration_error", "no-teacher"),
        holds=lambda measured: measured.high < 0,
        condition="expected calibration error at the end of training, minus the least of all beta: below 0 with the whole "
        "interval",
    ),
)
