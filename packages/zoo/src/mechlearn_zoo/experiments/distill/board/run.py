"""Four ways to say where a ball lands from its first frame, on one set of recorded falls.

A dynamics model trained by ASI is rolled out and read; or it is trained under the AND-mask, with styles of board as
environments. A student that sees first frame and layout alone is trained on outcomes, or also taught: by a teacher that sees
the fall's frames, evenly spaced or those with which ASI's predictions were matched, or, as a placebo, those of another fall.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, computed
from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.distill import Distillation, Examples, Lesson, UnitsTeacher, Unrolling, split_rows
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.nn.perceptrons import CodePerceptron, relu_mlp
from mechlearn.schedules import Linear
from mechlearn.skips import Dynamics, Greedy, match, rollout
from mechlearn_zoo.experiments.distill.board.boards import Falls, Part, draw
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count, label_loss, now_and_then, rounds_of, without_teacher
from mechlearn_zoo.learners.descent import kept_steps
from mechlearn_zoo.tasks.streams import stream

Method = Literal["frequent", "asi", "asi-and-mask", "no-teacher", "ldt", "ldt-asi", "ldt-placebo"]
METHODS: tuple[Method, ...] = ("frequent", "asi", "asi-and-mask", "no-teacher", "ldt", "ldt-asi", "ldt-placebo")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of the boards, the initial weights, the batches, the split and the matching."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """The most frequent outcome; ASI by averaging and by the AND-mask; students without a teacher and with three."""
    boards: Annotated[int, Ge(8)] = 250
    """Training boards of each of the two styles; half as many of either for choosing when to stop, and for either test."""
    steps: Count = 300
    """Gradient steps of ASI."""
    batch: Annotated[int, Ge(1)] = 12
    """Boards of a step, of each style."""
    horizon: Count = 20
    """H of ASI."""
    exploration: Share = 0.4
    """Share of the steps in which ASI's exploration falls from 1 to 0."""
    sampling: Share = 0.7
    """Share of them in which the probability of true frames as inputs falls from 1 to 0."""
    threshold: Share = 1.0
    """Agreement of the two styles that the AND-mask asks for."""
    hidden: Count = 128
    """Units in the hidden layers."""
    gain: Annotated[float, Ge(0)] = 6.0
    """What of the input is added to the dynamics' logits, gain * (x - 1/2)."""
    rounds: Count = 40
    """LDT's meta-steps."""
    alone: Count = 4
    """Without a teacher a student takes so many times the ordinary steps that LDT's student takes."""
    inner_steps: Count = 16
    """n of an unroll, and N ordinary steps after it."""
    alpha: Positive = 30.0
    """LDT's teaching coefficient."""
    frames: Count = 10
    """Frames of x*."""
    cache: str = ""
    """Folder that keeps the boards; mechlearn's folder in the user's cache if empty."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(boards=2000, steps=5000, rounds=1000, batch=32), seeds=8)}

LEARNING_RATE = 3e-3
"""Of the dynamics' Adam, falling to a fiftieth over the last three tenths; a third of it for students and teachers."""


def run(config: Config) -> Iterator[Row]:
    """Yield each method's accuracy on new boards of the styles that it knows, and of one that it does not."""
    falls = draw(config.seed, config.boards, config.cache)
    models: dict[str, CodePerceptron] = {}
    for method in config.methods:
        if method == "frequent":
            often = int(torch.bincount(falls.train.labels).argmax())
            yield {"method": method, **{key: float((part.labels == often).float().mean()) for key, part in falls.tests()}}
        elif method.startswith("asi"):
            models[method], report = train_dynamics(config, falls, masked=method == "asi-and-mask")
            yield {"method": method, **report, **{key: rolled(models[method], falls, part) for key, part in falls.tests()}}
        else:
            if method == "ldt-asi" and "asi" not in models:
                models["asi"], _ = train_dynamics(config, falls, masked=False)
            yield {"method": method, **computed(method, train_student, config, method, falls, models.get("asi"))}


def train_dynamics(config: Config, falls: Falls, masked: bool) -> tuple[CodePerceptron, Row]:
    """Train a dynamics model by ASI; each style's loss is the mean over its boards of a batch.

    What it has where held-out boards are best is reported beside, from the boards that students are stopped on.
    """
    generator = stream(config.seed, "dynamics")
    train = falls.train
    codes, weights = train.frames.frame_shape[0], stream(config.seed, "dynamics, weights")
    model = CodePerceptron(codes, train.layouts.shape[1], weights, config.hidden, config.gain)
    loss = BinaryCrossEntropyWithLogits()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    # Matching reads boards by index, which is no operation that keeps rows in place: one backward pass a style.
    rule = AndMask(config.threshold, rescale=True) if masked else Mean()
    agreement = Agreement(model, rule, statistics="pooled")
    forcing = Linear(max(1, round(config.sampling * config.steps)))
    styles = torch.arange(2).repeat_interleave(config.batch)
    name = "asi-and-mask" if masked else "asi"
    stopping = EarlyStopping()
    numbers = [0, 0.0]
    for step in kept_steps(name, config.steps, model, optimizer, generator, numbers, stopping):
        share = step / config.steps
        optimizer.param_groups[0]["lr"] = LEARNING_RATE * max(0.02, min(1.0, (1 - share) / 0.3))
        drawn = [torch.randperm(config.boards, generator=generator)[: config.batch] + k * config.boards for k in range(2)]
        rows = torch.cat(drawn)
        explores = max(0.0, 1 - share / config.exploration) if config.exploration > 0 else 0.0
        matched = match(
            Dynamics(model, loss, train.layouts[rows]),
            train.frames[rows],
            Greedy(config.horizon, explores),
            teacher_forcing=forcing(step),
            generator=generator,
        )
        optimizer.zero_grad()
        agreement.backward(matched.trajectory_losses, styles[: len(rows)])
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        numbers[:] = numbers[0] + matched.evaluations, matched.mean_skip
        if stopping.due((step + 1) / config.steps):
            selected = rolled(model, falls, falls.selection)
            if stopping.improves(selected):  # elsewhere nothing is kept
                found: Row = {key: rolled(model, falls, part) for key, part in falls.tests()}
                stopping.look((step + 1) / config.steps, selected, found)
    return model, {"evaluations": numbers[0], "skip": numbers[1], **stopping.row}


def rolled(model: CodePerceptron, falls: Falls, part: Part) -> float:
    """Return how often a roll-out from a true first frame lands where the ball does; one that never lands is wrong."""
    dynamics = Dynamics(model, BinaryCrossEntropyWithLogits(), part.layouts)
    found = rollout(dynamics, part.frames.first(), max_steps=part.frames.time, stop=falls.reads.landed)
    right = (falls.reads.platform(found.trajectories.last()) == part.labels) & found.stopped
    return float(right.double().mean())


def matched_frames(config: Config, model: CodePerceptron, falls: Falls) -> Tensor:
    """Return (b, frames) which true frames ASI's predictions are matched with, the last one again where there are fewer."""
    train = falls.train
    with torch.no_grad():
        found = match(
            Dynamics(model, BinaryCrossEntropyWithLogits(), train.layouts), train.frames, Greedy(config.horizon, 0.0),
            teacher_forcing=1.0, generator=stream(config.seed, "matched frames"),
        ).matched[:, : config.frames]  # fmt: skip
    last = train.frames.lengths[:, None] - 1
    found = torch.where(found < 0, last, found)
    return torch.cat([found, last.expand(-1, config.frames - found.shape[1])], 1)


def train_student(config: Config, method: Method, falls: Falls, model: CodePerceptron | None) -> Row:
    """Train a student on outcomes, with or without a teacher; report it at its best on held-out boards."""
    weights = stream(config.seed, "student, weights")
    inputs, classes = falls.train.inputs(), int(falls.reads.platforms)
    student = relu_mlp((inputs.shape[1], config.hidden, config.hidden // 2, classes), weights)
    points: list[tuple[Measured, float]] = []
    rounds = config.rounds * (config.alone if method == "no-teacher" else 1)
    for step in now_and_then(_steps(config, method, falls, model, student), 2, rounds):
        found = {key: accuracy(student, part) for key, part in [("selection", falls.selection), *falls.tests()]}
        points.append((Measured(step, found["selection"], found["accuracy"]), found["unseen"]))
    chosen = max(points, key=lambda point: point[0].selection)
    report = summary([point for point, _ in points], max)
    return {"accuracy": chosen[0].test, "unseen": chosen[1], "selection": chosen[0].selection, "last": report["last"]}


def _steps(config: Config, method: Method, falls: Falls, model: CodePerceptron | None, student: nn.Sequential) -> Iterator[int]:
    generator = stream(config.seed, "student")
    x, y = falls.train.inputs(), falls.train.labels
    optimizer = torch.optim.Adam(student.parameters(), LEARNING_RATE / 3)
    if method == "no-teacher":
        steps = config.alone * config.rounds * config.inner_steps
        yield from without_teacher(student, (x, y), label_loss, optimizer, 32, generator, steps, config.inner_steps)
        return
    if method == "ldt-asi" and model is not None:
        privileged = falls.train.seen(matched_frames(config, model, falls))
    else:
        privileged = falls.train.seen(falls.train.spaced(config.frames))
    shuffled = torch.randperm(len(y), generator=stream(config.seed, "placebo"))
    privileged = privileged[shuffled] if method == "ldt-placebo" else privileged
    width = config.hidden // 2
    teacher = UnitsTeacher(nn.Sequential(nn.Flatten(), *relu_mlp((privileged[0].numel(), 64, width), generator)), {"2": width})
    distillation = Distillation(
        Lesson(student, teacher, ["2"], label_loss, config.alpha),
        Examples(x, privileged, y),
        split_rows(len(y), 0.5, generator, "redrawn"),
        Unrolling("student", config.inner_steps, 32, validation_size=128),
        optimizer,
        torch.optim.Adam(teacher.parameters(), LEARNING_RATE / 3),
        generator,
    )
    yield from rounds_of(distillation.step, config.rounds, config.inner_steps)


def accuracy(student: nn.Module, part: Part) -> float:
    """Return how often a student is right."""
    with torch.no_grad():
        return float((student(part.inputs()).argmax(1) == part.labels).double().mean())
