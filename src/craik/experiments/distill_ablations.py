"""What distilled trajectories live on: each part of LDT taken away, and other uses of the same privileged data.

Figure 4.9's ablations: an untrained teacher, trajectories in shuffled time, trajectories replaced by noise, a validation
set that is drawn anew at every step. Beside them: generalised distillation (Lopez-Paz et al., 2016), whose teacher learns to
predict the label from the privileged data, and a fixed random teacher with a coefficient of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from craik.distill import Examples, GatedSquaredError
from craik.experiments import distill_mujoco
from craik.experiments._measured import shuffled, summary
from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import by_seed, curves, number, numbers, where
from craik.harness.figures import COLOURS, band, colour, panels
from craik.networks import trajectory_network
from craik.tasks.mujoco import BINS
from craik.tasks.mujoco_rollouts import STEPS, Environment
from craik.tasks.privileged import PrivilegedData

REPRODUCES = "thesis section 4.4.4, figure 4.9; paper section 4.4, figures 7 and 8"

ABLATED = ("ldt", "untrained", "permuted", "noise-4", "noise-8", "noise-16", "redrawn")
"""LDT and its ablations: FT, PT, RT-n and AR of the texts."""

OTHERS = ("no-teacher", "random-teacher", "generalised")
"""Other students, which train on all examples."""

LABELS = {
    "ldt": "LDT",
    "untrained": "FT: untrained teacher",
    "permuted": "PT: time permuted",
    "noise-4": "RT-4: last 4 frames noise",
    "noise-8": "RT-8: last 8 frames noise",
    "noise-16": "RT-16: all frames noise",
    "redrawn": "AR: split redrawn",
    "no-teacher": "no teacher",
    "random-teacher": "fixed random teacher, own coefficient",
    "generalised": "generalised distillation",
}


@dataclass(frozen=True)
class Config:
    """Settings of one run; training, networks and data are those of `distill-mujoco`."""

    seed: int = 0
    """First seed: of the initial weights, the split, the batches and the noise. All seeds share the examples."""
    environment: Environment = "Walker2d"
    """Which body; figure 4.9 shows Walker2d."""
    variants: tuple[str, ...] = ("ldt", "untrained", "permuted", "noise-16", "redrawn", *OTHERS)
    """What to train: names of `ABLATED` and `OTHERS`, noise-n with any n from 1 to 16."""
    size: str = "quick"
    """The preset of `distill-mujoco` whose data, networks and settings are used."""
    rounds: int = 160
    """Meta-steps, each followed by 24 ordinary steps of the student; variants without a meta-step take as many steps."""
    coefficients: tuple[float, ...] = (0.01, 1.0)
    """Teaching coefficients of the fixed random teacher."""
    temperatures: tuple[float, ...] = (1.0, 4.0)
    """Temperatures of generalised distillation's soft labels."""
    imitations: tuple[float, ...] = (0.5, 0.9)
    """Its imitation parameters: the weight of the soft labels against the true ones."""

    def __post_init__(self) -> None:
        for variant in self.variants:
            if variant not in LABELS and not _frames(variant):
                raise ValueError(f"variants should be of {', '.join(LABELS)}, or noise-n. Found {variant!r}.")
        if self.size not in distill_mujoco.PRESETS:
            raise ValueError(f"size should be a preset of distill-mujoco, quick or paper. Found {self.size!r}.")
        if self.rounds < 1:
            raise ValueError(f"rounds should be at least 1. Found {self.rounds}.")


PRESETS = {
    "quick": Config(),
    "paper": Config(
        variants=(*ABLATED, *OTHERS),
        size="paper",
        rounds=1000,
        coefficients=(0.001, 0.01, 0.1, 1.0, 10.0),
        temperatures=(1.0, 2.0, 5.0, 10.0),
        imitations=(0.25, 0.5, 0.75, 1.0),
    ),
}
SEEDS = {"quick": 3, "paper": 8}


class Trial(NamedTuple):
    """One training run: a variant, and its point of a grid where it has one (0 where not)."""

    variant: str
    coefficient: float = 0.0
    temperature: float = 0.0
    imitation: float = 0.0


def trials(config: Config) -> list[Trial]:
    """Return all training runs of a config."""
    found: list[Trial] = []
    for variant in config.variants:
        if variant == "random-teacher":
            found += [Trial(variant, coefficient=coefficient) for coefficient in config.coefficients]
        elif variant == "generalised":
            pairs = product(config.temperatures, config.imitations)
            found += [Trial(variant, temperature=t, imitation=share) for t, share in pairs]
        else:
            found.append(Trial(variant))
    return found


def _frames(variant: str) -> int:
    """The n of noise-n, 0 for any other name."""
    name, _, count = variant.partition("-")
    return int(count) if name == "noise" and count.isdigit() and 1 <= int(count) <= STEPS else 0


def with_other_trajectories(examples: Examples, variant: str, generator: torch.Generator) -> Examples:
    """Return the examples with their privileged data permuted in time, each in an order of its own, or partly noise."""
    privileged = examples.privileged
    if variant == "permuted":
        order = torch.rand(privileged.shape[:2], generator=generator).argsort(dim=1)
        return examples._replace(privileged=privileged.gather(1, order[..., None].expand_as(privileged)))
    last = _frames(variant)
    if last:
        noise = torch.randn(privileged[:, -last:].shape, generator=generator)
        return examples._replace(privileged=torch.cat([privileged[:, :-last], noise], dim=1))
    return examples


def train_ablated(settings: distill_mujoco.Config, student: nn.Sequential, data: Examples, trial: Trial) -> Iterator[int]:
    """Train a student in place with LDT or an ablation of it; yield after every round."""
    examples = with_other_trajectories(data, trial.variant, torch.Generator().manual_seed(settings.seed + 2**35))
    printed = distill_mujoco.PRINTED[settings.environments[0]]
    splitting = "redrawn" if trial.variant == "redrawn" else "fixed"
    distillation = distill_mujoco.make_distillation(settings, student, examples, printed, splitting)
    for round_ in range(1, settings.rounds + 1):
        if trial.variant == "untrained":
            distillation.student_steps()
        else:
            distillation.step()
        yield round_ * settings.student_steps


def train_other(settings: distill_mujoco.Config, student: nn.Sequential, data: Examples, trial: Trial) -> Iterator[int]:
    """Train a student in place on all examples with targets that never change; yield after every round."""
    generator = torch.Generator().manual_seed(settings.seed + 2**32)
    optimizer = torch.optim.Adam(student.parameters(), settings.student_lr)
    batches = shuffled(torch.arange(len(data.y)), settings.batch, generator)
    extra = extra_loss(settings, student, data, trial)
    for step in range(1, settings.rounds * settings.student_steps + 1):
        rows = next(batches)
        optimizer.zero_grad()
        extra(rows).mean().backward()
        optimizer.step()
        if step % settings.student_steps == 0:
            yield step


class Losses:
    """A student's unreduced losses on some rows, with what a fixed teacher adds."""

    def __init__(self, student: nn.Sequential, data: Examples) -> None:
        self.student, self.data = student, data

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the label losses (b,)."""
        return distill_mujoco.label_loss(self.student(self.data.x[rows]), self.data.y[rows])


class RandomTeacherLosses(Losses):
    """Label losses and the gated squared error to the targets of an untrained teacher."""

    def __init__(self, student: nn.Sequential, data: Examples, teacher: nn.Module, coefficient: float) -> None:
        super().__init__(student, data)
        self.teacher, self.coefficient, self.loss = teacher, coefficient, GatedSquaredError()

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the losses (b,)."""
        hidden: dict[str, Tensor] = {}
        x = self.data.x[rows]
        for name, layer in self.student.named_children():
            x = layer(x)
            if int(name) % 2 == 0 and int(name) < len(self.student) - 1:
                hidden[name] = x
        with torch.no_grad():
            targets = self.teacher(self.data.privileged[rows])
        return distill_mujoco.label_loss(x, self.data.y[rows]) + self.coefficient * self.loss(hidden, targets)


class SoftLabelLosses(Losses):
    """Generalised distillation: (1 - lambda) cross-entropy with the label + lambda with the teacher's softened prediction."""

    def __init__(self, student: nn.Sequential, data: Examples, soft: Tensor, trial: Trial) -> None:
        super().__init__(student, data)
        self.soft, self.trial = soft, trial

    def __call__(self, rows: Tensor) -> Tensor:
        """Return the losses (b,)."""
        prediction = self.student(self.data.x[rows])
        imitation = -(self.soft[rows] * prediction.log_softmax(1)).sum(1)
        share = self.trial.imitation
        return (1 - share) * distill_mujoco.label_loss(prediction, self.data.y[rows]) + share * imitation


def extra_loss(settings: distill_mujoco.Config, student: nn.Sequential, data: Examples, trial: Trial) -> Losses:
    """Return the losses of a variant without a meta-step."""
    if trial.variant == "random-teacher":
        teacher = distill_mujoco.make_teacher(settings, data.privileged.shape[2])
        return RandomTeacherLosses(student, data, teacher, trial.coefficient)
    if trial.variant == "generalised":
        return SoftLabelLosses(student, data, soft_labels(settings, data, trial.temperature), trial)
    return Losses(student, data)


def soft_labels(settings: distill_mujoco.Config, data: Examples, temperature: float) -> Tensor:
    """Return softmax(f(x*) / T) of a network that was trained to predict the label from the privileged data.

    It has the teacher's layers and stops where its loss on a tenth of the examples, held out, was least.
    """
    generator = torch.Generator().manual_seed(settings.seed + 2**33)
    shape = (data.privileged.shape[2], STEPS, settings.teacher_channels, settings.teacher_hidden, BINS)
    network = trajectory_network(*shape, generator)
    optimizer = torch.optim.Adam(network.parameters(), settings.student_lr)
    order = torch.randperm(len(data.y), generator=generator)
    held, rest = order[: len(order) // 10], order[len(order) // 10 :]
    batches = shuffled(rest, 64, generator)
    best, soft = float("inf"), torch.zeros(0)
    for _ in range(20):
        network.train()
        for _ in range(len(rest) // 64):
            rows = next(batches)
            optimizer.zero_grad()
            distill_mujoco.label_loss(network(data.privileged[rows]), data.y[rows]).mean().backward()
            optimizer.step()
        network.eval()
        with torch.no_grad():
            logits = network(data.privileged)
        loss = float(distill_mujoco.label_loss(logits[held], data.y[held]).mean())
        if loss < best:
            best, soft = loss, (logits / temperature).softmax(1)
    return soft


def run(config: Config) -> Iterator[Row]:
    """Yield every training run's curve and summary."""
    settings = settings_of(config)
    data = distill_mujoco.make_data(settings, config.environment)
    for place, trial in enumerate(trials(config)):
        row: Row = {"environment": config.environment, "place": place, **trial._asdict()}
        looks: list[distill_mujoco.Look] = []
        for look in measure(settings, data, trial):
            looks.append(look)
            yield {"kind": "curve", **row, **look.measured._asdict(), "training": look.training}
        yield {"kind": "final", **row, **summary([look.measured for look in looks], min)}


def settings_of(config: Config) -> distill_mujoco.Config:
    """Return the settings of `distill-mujoco` that a config stands for."""
    base = distill_mujoco.PRESETS[config.size]
    return replace(base, seed=config.seed, environments=(config.environment,), rounds=config.rounds)


def measure(settings: distill_mujoco.Config, data: PrivilegedData, trial: Trial) -> Iterator[distill_mujoco.Look]:
    """Train one student and look at its errors now and then."""
    student = distill_mujoco.make_student(settings, data.train.x.shape[1])
    train = train_other if trial.variant in OTHERS else train_ablated
    yield from distill_mujoco.watch(settings, student, data, train(settings, student, data.train, trial))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is; a run with meta-steps counts as eight without."""
    costs = [1.0 if trial.variant in (*OTHERS, "untrained") else 8.0 for trial in trials(config)]
    place = int(number(row, "place"))
    steps = config.rounds * distill_mujoco.PRESETS[config.size].student_steps
    part = number(row, "step") / steps if row["kind"] == "curve" else 1.0
    return (sum(costs[:place]) + part * costs[place]) / sum(costs), f"{row['variant']}  error {number(row, 'selection'):.4f}"


def best_finals(rows: Sequence[Row], variant: str) -> list[Row]:
    """Return for each seed the final row of a variant's setting that is best on held-out examples."""
    groups = by_seed(where(rows, kind="final", variant=variant)).values()
    return [min(group, key=lambda row: number(row, "selection")) for group in groups]


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw the test errors while training, ablations and other uses apart (figure 4.9), and every seed's outcome."""
    return {"test-errors": draw_errors(rows), "outcomes": draw_outcomes(rows)}


def draw_errors(rows: Sequence[Row]) -> Figure:
    """Draw test error against ordinary steps, LDT and no teacher in both panels."""
    figure, (left, right) = panels(
        2,
        caption="Test error while training, median over seeds with the range. Left: LDT and its ablations (figure 4.9). Right: "
        "other uses of the same privileged data, each with its setting selected on held-out examples.",
        height=3.4,
    )
    shown = [variant for variant in _variants(rows) if variant not in ("ldt", "no-teacher")]
    for axes, title, some in (
        (left, "Ablations", [variant for variant in shown if variant not in OTHERS]),
        (right, "Other uses", [variant for variant in shown if variant in OTHERS]),
    ):
        for place, variant in enumerate(["ldt", "no-teacher", *some]):
            lines: list[Row] = []
            for final in best_finals(rows, variant):
                lines += where(rows, kind="curve", place=final["place"], seed=final["seed"])
            if lines:
                steps, found = curves(lines, "step", "test")
                band(axes, steps, found, _label(variant), colour(place))
        axes.set(title=title, xlabel="ordinary steps of the student", yscale="log")
        axes.legend(fontsize=7)
    left.set_ylabel("mean squared error")
    return figure


def draw_outcomes(rows: Sequence[Row]) -> Figure:
    """Draw every seed's test error at the selected time, one line a variant."""
    variants = _variants(rows)
    figure, (axes,) = panels(
        caption="Test error at the time that is best on held-out examples: every seed a dot, the median a bar.",
        height=0.8 + 0.32 * len(variants),
    )
    for place, variant in enumerate(reversed(variants)):
        found = numbers(best_finals(rows, variant), "selected")
        role = {"ldt": "ours", "no-teacher": "baseline"}.get(variant, "reference")
        axes.plot(found, [place] * len(found), "o", color=COLOURS[role], markersize=5)
        axes.plot([np.median(found)] * 2, [place - 0.3, place + 0.3], color=COLOURS[role])
    axes.set(xlabel="test error", yticks=range(len(variants)))
    axes.set_yticklabels([_label(variant) for variant in reversed(variants)])
    axes.grid(visible=True, axis="x")
    axes.grid(visible=False, axis="y")
    return figure


def _label(variant: str) -> str:
    return LABELS.get(variant, f"RT-{_frames(variant)}: last {_frames(variant)} frames noise")


def _variants(rows: Sequence[Row]) -> list[str]:
    found = {str(row["variant"]) for row in where(rows, kind="final")}
    order = list(LABELS)
    return sorted(found, key=lambda variant: (order.index(variant) if variant in order else len(order), variant))


@dataclass(frozen=True)
class Ratio:
    """A measure for `Claim`: one variant's test error divided by another's, both selected; the median over seeds."""

    variant: str
    over: str

    def __call__(self, rows: Sequence[Row]) -> Measurement | None:
        """Return the ratio, or None where a variant was not trained."""
        ours, theirs = best_finals(rows, self.variant), best_finals(rows, self.over)
        if not ours or not theirs:
            return None
        return bootstrap([number(a, "selected") / number(b, "selected") for a, b in zip(ours, theirs, strict=True)])


_FIGURE = "thesis section 4.4.4, figure 4.9; paper section 4.4, figure 7"

CLAIMS = (
    Claim(
        id="distill-ablations.untrained",
        text="FT: with a teacher that keeps its initial weights the student essentially fails to learn.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("untrained", "no-teacher"),
        holds=lambda measured: measured.low > 1.5,
        condition="error at least 1.5 times that of no teacher, at the interval's lower end",
    ),
    Claim(
        id="distill-ablations.permuted",
        text="PT: permuting each trajectory in time degrades LDT only slightly.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("permuted", "ldt"),
        holds=lambda measured: measured.value < 1.2,
        condition="error less than 1.2 times LDT's, median over seeds",
    ),
    Claim(
        id="distill-ablations.noise",
        text="RT-16: with noise instead of trajectories LDT is comparable to no teacher, or slightly worse.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("noise-16", "no-teacher"),
        holds=lambda measured: 0.95 <= measured.value <= 1.25,
        condition="error between 0.95 and 1.25 times that of no teacher, median over seeds",
    ),
    Claim(
        id="distill-ablations.redrawn",
        text="AR: with a split that is redrawn at every meta-step LDT is slightly worse than no teacher.",
        source=_FIGURE,
        printed=None,
        measure=Ratio("redrawn", "no-teacher"),
        holds=lambda measured: measured.value >= 1,
        condition="error at least that of no teacher, median over seeds",
    ),
    Claim(
        id="distill-ablations.generalised",
        text="LDT's error lies below that of generalised distillation from the same privileged data (ours, not the texts').",
        source="Lopez-Paz et al., 2016, is named in thesis section 4.2 and not compared with",
        printed=None,
        measure=Ratio("ldt", "generalised"),
        holds=lambda measured: measured.high < 1,
        condition="ratio below 1 with its whole interval",
    ),
    Claim(
        id="distill-ablations.random-teacher",
        text="LDT's error lies below that of a fixed random teacher whose coefficient is chosen for it (ours, not the texts').",
        source="thesis section 4.4.2 has this baseline for the Game of Life",
        printed=None,
        measure=Ratio("ldt", "random-teacher"),
        holds=lambda measured: measured.high < 1,
        condition="ratio below 1 with its whole interval",
    ),
)
