"""Students of the Game of Life with a learnt teacher, a fixed random one, an oracle, or none.

The student sees a board and predicts its middle cell three generations later. The teacher holds, for every feature map, a
mixture of the three boards in between, which come in an unknown order. It is learnt (meta), drawn at random and kept, given
by an oracle and kept, or absent; each has its settings from a search of its own with the same number of trials.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from annotated_types import Ge, Interval, MinLen

from claimlab import Positive, Preset, Row, check_limits, computed, number
from mechlearn.distill import SGD, Distillation, Examples, Inner, Lesson, Split, Unrolling, split_rows
from mechlearn_zoo.experiments.distill.life import networks
from mechlearn_zoo.experiments.distill.life.networks import Layers, Method, Setting, Student
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count, Counts, without_teacher
from mechlearn_zoo.tasks.pictures.life import LifeData, life
from mechlearn_zoo.tasks.streams import same_stream

if TYPE_CHECKING:
    from optuna import Trial

Boards = Annotated[int, Ge(2), "one is trained on and one held out"]
Range = tuple[Positive, ...]
Shares = tuple[Annotated[float, Interval(gt=0, le=0.99), "the rest trains the student"], ...]

RANGES = (
    *("lr", "batch", "multiplier", "alpha", "filters", "inner_steps"),
    *("meta_lr", "meta_momentum", "validation", "adam_lr", "inner_lr"),
)
"""Fields that are ranges of the search."""

APART = 1_000_003
"""Between the seeds of two starts."""


@dataclass(frozen=True)
class Config:
    """Settings of one run; what a search may choose is in `Setting`."""

    seed: int = 0
    """First seed: of the boards, the search, the initial weights, the split and the batches."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("none", "random", "meta", "oracle")
    """No teacher, a fixed random one, a learnt one (LDT), a fixed oracle; LDT whose teacher has Adam or whose inner steps are
    SGD's, an oracle whose student has two layers a generation."""
    examples: Annotated[tuple[Boards, ...], MinLen(1)] = (2048,)
    """Numbers of training boards; the texts have 128, 256, ..., 8192."""
    side: Count = 7
    """Cells a side; the texts have 17. What decides the middle cell fits into 7."""
    trials: Count = 2
    """Trials of each method's search, for each number of boards; the search draws the first ten at random."""
    steps: Count | None = 3072
    """Ordinary steps of the student, with every method; None for `epochs`."""
    epochs: Count = 200
    """Passes over as many boards as there are for training, with every method; read where `steps` is None."""
    layers: Layers = "third"
    """What the learnt and the random teacher supervise: all hidden layers or, as the oracle, the third of a generation."""
    moments: Literal["fresh", "student"] = "student"
    """Where the inner Adam's moments start: afresh, or from those of the student's own."""
    lr: Range = (3e-3, 5e-3)
    """Range of the student's learning rate; the texts search 1e-4 to 1e-2."""
    batch: Counts = (40, 56)
    """Least and greatest batch; the texts search 32 to 128."""
    multiplier: Range = (1.7, 2.0)
    """Range of the factor on PyTorch's initial weights, of which 2.45 are He's; the texts search 0.1 to 2."""
    alpha: Range = (2e2, 5e2)
    """Range of the teaching coefficient; the texts search 1e2 to 1e4."""
    filters: Counts = (12, 12)
    """Least and greatest number of feature maps of a layer; the texts search 16 to 32."""
    inner_steps: Counts = (16, 16)
    """Least and greatest n; the texts search 16 to 32."""
    meta_lr: Range = (7e1, 1.5e2)
    """Range of the teacher's learning rate; the texts search 1e-6 to 1e-3, with which phi hardly moves here."""
    meta_momentum: Range = (0.9, 0.9)
    """Range of the teacher's momentum; the texts search 0.01 to 1."""
    validation: Shares = (0.3, 0.3)
    """Range of the share of boards that trains the learnt teacher and not its student; the texts search 0.01 to 1."""
    student_steps: Count = 32
    """N, ordinary steps after each meta-step; the texts do not say."""
    starts: Literal["same", "own"] = "same"
    """Whether a seed's trials share initial weights, split and batches, or have each its own; then rows say what LDT knows."""
    adam_lr: Range = (1e-1, 3e-1)
    """Range of the teacher's learning rate where it has Adam."""
    inner_lr: Range = (3e-5, 3e-4)
    """Range of the inner steps' learning rate where they are SGD's; their momentum is 0.9."""
    selection: Count = 1000
    """Boards on which trials and the time to stop are selected."""
    test: Count = 2000
    """Test boards."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.side % 2 == 0:
            raise ValueError(f"side should be odd: an even board has no middle cell. Found {self.side}.")
        for name in RANGES:
            if len(ends := getattr(self, name)) != 2 or ends[0] > ends[1]:
                raise ValueError(f"{name} should be a range, its least value and its greatest. Found {ends}.")


PRESETS = {
    # Smaller boards, and two trials: a search at random. Its ranges were narrowed on seeds from 100 on.
    "quick": Preset(Config(), seeds=3),
    # Section 4.4.2's other choices, one at a time: optimisers outside and inside, layers a generation.
    "choices": Preset(
        Config(seed=100, methods=("meta", "meta-adam", "meta-inner-sgd", "oracle", "oracle-two"), trials=1), seeds=6
    ),
    # A lottery of the start, or a failure of the method? Starts that differ in nothing but their random numbers.
    "starts": Preset(
        Config(
            seed=200,
            methods=("random", "meta", "oracle"),
            trials=3,
            starts="own",
            lr=(4e-3, 4e-3),
            batch=(48, 48),
            multiplier=(1.8, 1.8),
            alpha=(3e2, 3e2),
            meta_lr=(1e1, 1e1),
        ),
        seeds=10,
    ),
    "paper": Preset(
        Config(
            examples=(128, 256, 512, 1024, 2048, 4096, 8192),
            side=17,
            trials=50,
            steps=None,
            layers="all",
            moments="fresh",
            lr=(1e-4, 1e-2),
            batch=(32, 128),
            multiplier=(0.1, 2.0),
            alpha=(1e2, 1e4),
            filters=(16, 32),
            inner_steps=(16, 32),
            meta_lr=(1e-6, 1e-3),
            meta_momentum=(1e-2, 1.0),
            # The texts' range reaches 1, which would leave nothing to train on.
            validation=(1e-2, 0.7),
        ),
        seeds=3,
    ),
}


def suggest(config: Config, method: Method, count: int, trial: "Trial") -> Setting:
    """Draw a trial's settings from the ranges of a config, and of appendix C.3 where it has none."""
    setting = Setting(
        lr=trial.suggest_float("lr", *config.lr, log=True),
        beta1=1 - trial.suggest_float("one_minus_beta1", 1e-1, 1.0, log=True),
        decay=trial.suggest_float("decay", 1e-8, 1e-3, log=True),
        batch=min(trial.suggest_int("batch", *config.batch), count // 2),
        multiplier=trial.suggest_float("multiplier", *config.multiplier, log=True),
        filters=trial.suggest_int("filters", *config.filters),
    )
    if method != "none":
        setting = setting._replace(alpha=trial.suggest_float("alpha", *config.alpha, log=True))
    if method == "random":
        setting = setting._replace(scale=trial.suggest_float("scale", 1e-2, 1.0, log=True))
    if networks.learns(method):
        rates = config.adam_lr if method == "meta-adam" else config.meta_lr
        setting = setting._replace(
            inner_steps=trial.suggest_int("inner_steps", *config.inner_steps),
            meta_lr=trial.suggest_float("meta_lr", *rates, log=True),
            meta_momentum=trial.suggest_float("meta_momentum", *config.meta_momentum, log=True),
            validation=max(trial.suggest_float("validation", *config.validation, log=True), 1 / count),
        )
    if method == "meta-inner-sgd":
        setting = setting._replace(inner_lr=trial.suggest_float("inner_lr", *config.inner_lr, log=True))
    return setting


def length(config: Config, setting: Setting, examples: int) -> int:
    """Return the number of a student's ordinary steps: with every method the same, whatever it trains on."""
    return config.steps or config.epochs * max(1, examples // setting.batch)


def train(
    config: Config, method: Method, setting: Setting, student: Student, data: LifeData, every: int
) -> Iterator[tuple[int, Distillation | None]]:
    """Train a student in place; yield, every so many of its steps, how many they are, and what teaches it."""
    generator = same_stream(config.seed)
    examples = data.data.train
    optimizer = torch.optim.Adam(student.parameters(), setting.lr, betas=(setting.beta1, 0.999), weight_decay=setting.decay)
    if method == "none":
        plain = (student, (examples.x, examples.y), networks.label_loss, optimizer, setting.batch, generator)
        for step in without_teacher(*plain, length(config, setting, len(examples.y)), every):
            yield step, None
        return
    teacher = networks.make_teacher(method, setting, data, same_stream(config.seed), config.layers)
    everything = Split(torch.arange(len(examples.y)), torch.arange(0))  # a teacher that is never trained needs no validation
    split = split_rows(len(examples.y), setting.validation, generator) if networks.learns(method) else everything
    inner: Inner | Literal["student"] = SGD(setting.inner_lr, momentum=0.9) if method == "meta-inner-sgd" else "student"
    moments = config.moments if inner == "student" else "fresh"
    distillation = Distillation(
        Lesson(student, teacher, list(teacher.filters), networks.label_loss, setting.alpha),
        Examples(*examples),
        split,
        Unrolling(inner, max(1, setting.inner_steps), min(setting.batch, len(split.training)), moments),
        optimizer,
        meta_optimizer(method, setting, teacher),
        generator,
    )
    for step in range(1, length(config, setting, len(examples.y)) + 1):
        if networks.learns(method) and (step - 1) % config.student_steps == 0:
            distillation.meta_step()
        distillation.student_steps(1)
        if step % every == 0:
            yield step, distillation


def meta_optimizer(method: Method, setting: Setting, teacher: torch.nn.Module) -> torch.optim.Optimizer:
    """Return the teacher's optimiser: SGD with momentum, or Adam where the method says so."""
    if method == "meta-adam":
        return torch.optim.Adam(teacher.parameters(), setting.meta_lr, betas=(setting.meta_momentum, 0.999))
    return torch.optim.SGD(teacher.parameters(), setting.meta_lr, momentum=setting.meta_momentum)


def measure(config: Config, method: Method, setting: Setting, data: LifeData) -> Iterator[tuple[Measured, Row]]:
    """Train one student and look at it eight times; also at what LDT knows itself, where trials have starts of their own."""
    student = Student(setting, same_stream(config.seed), networks.layers_of(method))
    every = max(1, length(config, setting, len(data.data.train.y)) // 8)
    for step, taught in train(config, method, setting, student, data, every):
        found = Measured(step, *(networks.accuracy(student, part) for part in (data.data.selection, data.data.test)))
        if taught is not None and config.starts == "own" and networks.learns(method):
            yield found, networks.told(taught, data.frame_of_step)
        else:
            yield found, {}


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each trial of each method's search; a trial that diverges has its chance level."""
    for count in config.examples:
        data = life(config.seed, count, config.side, selection=config.selection, test=config.test)
        majority = float(max(data.data.test.y.mean(), 1 - data.data.test.y.mean()))
        for method in config.methods:
            yield from search(config, method, count, data, {"examples": count, "method": method, "majority": majority})


def search(config: Config, method: Method, count: int, data: LifeData, row: Row) -> Iterator[Row]:
    """Search a method's settings by tree-structured Parzen estimators; what counts is accuracy on held-out boards."""
    import optuna  # noqa: PLC0415 # slow to load

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=config.seed))
    for number_ in range(config.trials):
        trial = study.ask()
        setting = suggest(config, method, count, trial)
        own = config if config.starts == "same" else replace(config, seed=config.seed + APART * (number_ + 1))
        found = computed(f"{count}, {method}, {number_}", tried, own, method, setting, data)
        study.tell(trial, number(found, "selection"))
        used = {name: value for name, value in setting._asdict().items() if name != "inner_lr" or value > 0}
        yield {**row, "trial": number_, **used, **found}


def tried(config: Config, method: Method, setting: Setting, data: LifeData) -> Row:
    """Return how a trial ends; one that diverges has its chance level."""
    diverged = ""
    points: list[tuple[Measured, Row]] = []
    try:
        points += measure(config, method, setting, data)
    except FloatingPointError as error:
        diverged = str(error)
    row = summary([found for found, _ in points] or [Measured(0, 0.0, 0.0)], max)
    if any(told for _, told in points):
        best, _ = min(points, key=lambda point: number(point[1], "validation_loss"))
        least = min(number(told, "validation_loss") for _, told in points)
        row |= points[-1][1] | {"validation_loss": least, "by_validation": best.test}
    return {**row, "diverged": diverged}
