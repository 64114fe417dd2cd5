"""Hosts that read letters of 24 x 24 pixels; a program around a picture of 8 x 8 makes them read digits or count squares.

Hosts are convolutional, perceptrons or linear; trained, random, or random with logits rescaled to the trained host's spread.
Every program takes the same number of steps. Which host label stands for which task label is chosen for every host alike: the
first ten, or those that its answers to unprogrammed pictures match best.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, computed
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.experiments.robustness.reprogramming.glyphs import LETTERS, glyphs
from mechlearn_zoo.learners.descent import descend, descend_apart, kept_steps
from mechlearn_zoo.methods.robustness.reprogramming import LabelMap, Program, best_matching, frozen, reprogramming_loss
from mechlearn_zoo.tasks.pictures.digits import digits
from mechlearn_zoo.tasks.pictures.images import Images
from mechlearn_zoo.tasks.streams import stream

SIZE, PATCH, LABELS = 24, 8, 10

Kind = Literal["cnn", "mlp", "linear"]
STATES = ("trained", "random", "rescaled")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 200
    """First seed: of letters, initial weights, batches and tasks."""
    letters: Annotated[int, Ge(32)] = 4000
    """Letters that hosts are trained on."""
    host_steps: Annotated[int, Ge(1)] = 300
    """Adam steps of a host."""
    steps: Annotated[int, Ge(1)] = 1500
    """Adam steps of a program."""
    labels: Literal["first", "matching"] = "matching"
    """Host labels that stand for the task's: the first ten, or what a host answers most without a program."""
    batch: Annotated[int, Ge(2)] = 64
    """Pictures in a step."""
    rate: Positive = 0.05
    """Adam's, of programs."""
    decay: Positive = 0.96
    """Factor of the rate every hundred steps."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(letters=40_000, host_steps=4000, steps=10_000, labels="first"), seeds=10),
}


class Rescaled(nn.Module):
    """A host with its logits times a number."""

    def __init__(self, host: nn.Module, factor: float) -> None:
        super().__init__()
        self.host, self.factor = host, factor

    def forward(self, x: Tensor) -> Tensor:
        """Return logits."""
        return self.factor * self.host(x)


def host(kind: Kind, seed: int) -> nn.Module:
    """Return an untrained host on (n, 1, 24, 24) in [-1, 1], He-normal."""
    generator = Generator().manual_seed(seed)
    if kind != "cnn":
        return nn.Sequential(nn.Flatten(), mlp(SIZE**2, len(LETTERS), generator, 128, 0 if kind == "linear" else 1))
    sizes = ((1, 16), (16, 32))
    layers: list[nn.Module] = []
    for inputs, outputs in sizes:
        layer = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, device="meta").to_empty(device="cpu")
        nn.init.kaiming_normal_(layer.weight, generator=generator)
        nn.init.zeros_(layer.bias)  # pyright: ignore[reportArgumentType] # there is one
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers, nn.Flatten(), mlp(32 * (SIZE // 4) ** 2, len(LETTERS), generator, 64, 1))


def trained(kind: Kind, config: Config, seed: int) -> nn.Module:
    """Return a host that reads letters."""
    found, data = host(kind, seed), glyphs(seed, config.letters, SIZE)
    optimizer = torch.optim.Adam(found.parameters(), 1e-3)
    generator = Generator().manual_seed(seed)
    for _ in kept_steps(f"host {kind} {seed}", config.host_steps, found, optimizer, generator):
        some = torch.randint(0, len(data.y), (config.batch,), generator=generator)
        descend(optimizer, cross_entropy(found(2 * data.x[some] - 1), data.y[some]))
    return found.eval()


def squares(seed: int, count: int) -> Images:
    """Return pictures of 8 x 8 with one to ten of sixteen squares white; the label is their number less one."""
    generator = Generator().manual_seed(seed)
    y = torch.randint(0, LABELS, (count,), generator=generator)
    order = torch.rand(count, 16, generator=generator).argsort(1).argsort(1)
    x = (order <= y[:, None]).float().view(count, 1, 4, 4)
    return Images(x.repeat_interleave(2, 2).repeat_interleave(2, 3), y)


class Task(NamedTuple):
    """Pictures to train a program on, to read errors on, and to stop on, in [-1, 1]."""

    train: Images
    test: Images
    validation: Images


def tasks(seed: int) -> dict[str, Task]:
    """Return each task's pictures; digits have the 96 to stop on that were left over."""
    read = digits(seed, train=1000, validation=1, test=700)
    left = digits(seed, train=1000, validation=701, test=96).test
    test, validation = (stream(seed, name).initial_seed() for name in ("test", "validation"))
    counted = squares(seed, 2000), squares(test, 1000), squares(validation, 1000)
    parts = {"digits": (read.train, read.test, left), "squares": counted}
    return {name: Task(*(shifted(one) for one in some)) for name, some in parts.items()}


def shifted(images: Images) -> Images:
    """Return pixels in [-1, 1]."""
    return Images(2 * images.x - 1, images.y)


def run(config: Config) -> Iterator[Row]:
    """Yield each host's accuracy with and without a program."""
    found = tasks(config.seed)
    reading = glyphs(stream(config.seed, "letters").initial_seed(), 1000, SIZE)
    kinds: tuple[Kind, ...] = ("cnn", "mlp", "linear")
    for kind in kinds:
        made = trained(kind, config, config.seed)
        blank = host(kind, config.seed + 1).eval()
        factor = spread(made, reading) / spread(blank, reading)
        for state, one in zip(STATES, (made, blank, Rescaled(blank, factor)), strict=True):
            letters = accuracy(one(2 * reading.x - 1).detach()[:, : len(LETTERS)], reading.y)
            for task, images in found.items():
                row: Row = {"kind": "host", "host": kind, "state": state, "task": task, "letters": letters}
                yield {**row, **computed(f"{kind}, {state}, {task}", of_host, config, kind, one, images)}


def of_host(config: Config, kind: Kind, one: nn.Module, task: Task) -> Row:
    """Return a host's accuracy on a task with and without a program, and with one that stops early."""
    train, test, validation = task
    table = label_map(one, train, config)

    def look(program: Program) -> Look:
        return Look(read_by(one, table, program, validation), {"accuracy": read_by(one, table, program, test)})

    (program, stopped), before = programmed(one, table, train, config, look), blank_program()
    return {
        "without": read_by(one, table, before, test), "accuracy": read_by(one, table, program, test),
        "bias": biased(one, table, train, test, config) if kind == "linear" else None,
        "shift": shift(one, before, program, test), "budget": config.steps, **stopped,
    }  # fmt: skip


def blank_program() -> Program:
    """Return the program that does nothing."""
    return Program((1, SIZE, SIZE), (PATCH, PATCH), Generator())


def label_map(one: nn.Module, train: Images, config: Config) -> LabelMap:
    """Return which of a host's labels stand for the task's; what it says of unprogrammed pictures is all that is asked."""
    if config.labels == "first":
        return LabelMap(LABELS)
    with torch.no_grad():
        return best_matching(frozen(one, blank_program()(train.x)), train.y, LABELS)


class Look(NamedTuple):
    """What is found of a program on the way: a number to stop on, and what it is worth."""

    validation: float
    found: Row


def programmed(
    one: nn.Module, table: LabelMap, train: Images, config: Config, look: Callable[[Program], Look]
) -> tuple[Program, Row]:
    """Return a program trained on a host, and what it was worth where validation was best."""
    program = Program((1, SIZE, SIZE), (PATCH, PATCH), Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(program.parameters(), config.rate)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 100, config.decay)
    generator = Generator().manual_seed(config.seed)
    stopping = EarlyStopping()
    for step in kept_steps("program", config.steps, program, optimizer, schedule, generator, stopping):
        some = torch.randint(0, len(train.y), (config.batch,), generator=generator)
        loss = reprogramming_loss(one, program, table, train.x[some], train.y[some]).mean()
        descend_apart(optimizer, loss, schedule)
        if stopping.due(share := (step + 1) / config.steps):
            stopping.look(share, *look(program))
    return program, stopping.row


def read_by(one: nn.Module, table: LabelMap, program: Program, test: Images) -> float:
    """Return the accuracy on the task through a program."""
    with torch.no_grad():
        return accuracy(table(frozen(one, program(test.x))), test.y)


def accuracy(logits: Tensor, y: Tensor) -> float:
    """Return the share that is right."""
    return float((logits.argmax(1) == y).float().mean())


def spread(one: nn.Module, images: Images) -> float:
    """Return the standard deviation of logits within an example, mean over letters."""
    with torch.no_grad():
        return float(one(2 * images.x - 1).std(1).mean())


def shift(one: nn.Module, before: Program, program: Program, test: Images) -> float:
    """Return how much a program's effect on logits differs between pictures, at most: 0 for a linear host."""
    with torch.no_grad():
        moved = frozen(one, program(test.x)) - frozen(one, before(test.x))
        return float((moved - moved.mean(0)).abs().max() / moved.abs().max().clamp(min=1e-12))


def biased(one: nn.Module, table: LabelMap, train: Images, test: Images, config: Config) -> float:
    """Return the accuracy of the best bias: a number for each label, trained as long as a program on all pictures."""
    with torch.no_grad():
        fixed, shown = (table(frozen(one, blank_program()(images.x))) for images in (train, test))
    bias = torch.zeros(LABELS, requires_grad=True)
    optimizer = torch.optim.Adam([bias], config.rate)
    for _ in range(config.steps):
        descend(optimizer, cross_entropy(fixed + bias, train.y))
    return accuracy(shown + bias.detach(), test.y)
