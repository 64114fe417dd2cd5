"""A small residual network that reads coloured letters, and a program that makes it read digits; trained and untrained hosts.

The host has BatchNorm and pools over places, as the paper's ImageNet networks do, and three channels. Untrained hosts are as
PyTorch leaves them ("untrained", the paper's control), or have BatchNorm's means and variances of letters and logits of the
trained host's spread ("rescaled", our control). All programs take the same steps at the same rate.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy, interpolate

from claimlab import Limited, Positive, Preset, Row, computed
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.experiments.robustness.reprogramming.glyphs import LETTERS, glyphs
from mechlearn_zoo.experiments.robustness.reprogramming.run import (
    LABELS,
    SIZE,
    Rescaled,
    accuracy,
    read_by,
    shifted,
    spread,
    tasks,
)
from mechlearn_zoo.learners.descent import descend, descend_apart, kept_steps
from mechlearn_zoo.methods.robustness.reprogramming import Program, best_matching, frozen, reprogramming_loss
from mechlearn_zoo.nn.convolutions import Residual
from mechlearn_zoo.tasks.pictures.images import Images
from mechlearn_zoo.tasks.streams import stream

CHANNELS, PATCH = 3, 12
STATES = ("trained", "untrained", "rescaled")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 300
    """First seed: of letters, initial weights, batches and digits."""
    letters: Annotated[int, Ge(64)] = 6000
    """Letters that the host is trained on."""
    host_steps: Annotated[int, Ge(1)] = 400
    """Adam steps of the host."""
    host_rate: Positive = 4e-3
    """Adam's, of the host, at its highest."""
    steps: Annotated[int, Ge(1)] = 300
    """Adam steps of a program."""
    rate: Positive = 0.1
    """Adam's, of programs, at first; it falls to 0 as half a cosine."""
    batch: Annotated[int, Ge(2)] = 64
    """Pictures in a step."""


PRESETS = {"residual": Preset(Config(), seeds=6)}


def host(generator: Generator, widths: tuple[int, ...] = (16, 32, 64)) -> nn.Sequential:
    """Return an untrained residual network on (n, 3, 24, 24), in eval mode: He-normal, BatchNorm at mean 0 and variance 1."""

    def convolution(inputs: int, outputs: int, stride: int) -> nn.Sequential:
        layer = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False, device="meta").to_empty(device="cpu")
        nn.init.kaiming_normal_(layer.weight, generator=generator)
        return nn.Sequential(layer, nn.BatchNorm2d(outputs), nn.ReLU())

    layers: list[nn.Module] = []
    for inputs, outputs in pairwise((CHANNELS, *widths)):
        same = convolution(outputs, outputs, 1), convolution(outputs, outputs, 1)
        layers += [convolution(inputs, outputs, 2), Residual(*same)]
    head = linear(widths[-1], len(LETTERS), "default", generator)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), head).eval()


def coloured(seed: int, count: int) -> Images:
    """Return letters in one colour on another, with noise, in [-1, 1]."""
    drawn = glyphs(seed, count, SIZE, shift=3, noise=0)
    generator = stream(seed, "colours")
    ink, ground = torch.rand(2, count, CHANNELS, 1, 1, generator=generator)
    near = (ink - ground).abs().sum(1, keepdim=True) < 0.8
    ground = torch.where(near, (ink + 0.5) % 1, ground)
    x = ground + (ink - ground) * drawn.x
    return shifted(Images((x + 0.05 * torch.randn(x.shape, generator=generator)).clamp(0, 1), drawn.y))


def trained(config: Config, one: nn.Sequential) -> nn.Sequential:
    """Train a host to read letters, and return it in eval mode."""
    data, generator = coloured(stream(config.seed, "letters").initial_seed(), config.letters), stream(config.seed, "host")
    optimizer = torch.optim.Adam(one.parameters(), config.host_rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, config.host_rate, total_steps=config.host_steps + 1)
    one.train()
    for _ in kept_steps("host", config.host_steps, one, optimizer, schedule, generator):
        some = torch.randint(0, len(data.y), (config.batch,), generator=generator)
        descend(optimizer, cross_entropy(one(data.x[some]), data.y[some]), schedule)
    return one.eval()


def calibrated(one: nn.Sequential, images: Images) -> nn.Sequential:
    """Give BatchNorm the means and variances of pictures, and return the host in eval mode."""
    for layer in one.modules():
        if isinstance(layer, nn.BatchNorm2d):
            layer.reset_running_stats()
            layer.momentum = None  # the mean over what is shown
    with torch.no_grad():
        one.train()(images.x)
    return one.eval()


def hosts(config: Config, letters: Images) -> dict[str, nn.Module]:
    """Return the trained host and two untrained ones of equal weights."""
    found = trained(config, host(stream(config.seed, "trained")))
    blank = calibrated(host(stream(config.seed, "untrained")), letters)
    factor = logits_spread(found, letters) / logits_spread(blank, letters)
    return {"trained": found, "untrained": host(stream(config.seed, "untrained")), "rescaled": Rescaled(blank, factor)}


def logits_spread(one: nn.Module, images: Images) -> float:
    """Return the standard deviation of logits within an example, mean over pictures in [-1, 1]."""
    return spread(one, Images((images.x + 1) / 2, images.y))


def digits(seed: int) -> tuple[Images, Images]:
    """Return 1,000 digits to train on and 700 to test on, enlarged to 12 pixels each way."""
    read = tasks(seed)["digits"]
    train, test = (
        Images(interpolate(one.x, size=(PATCH, PATCH), mode="bilinear", align_corners=False), one.y)
        for one in (read.train, read.test)
    )
    return train, test


def run(config: Config) -> Iterator[Row]:
    """Yield each host's accuracy on digits with a program and without, and its program."""
    letters = coloured(stream(config.seed, "shown letters").initial_seed(), 1000)
    train, test = digits(config.seed)
    for state, one in hosts(config, letters).items():
        with torch.no_grad():
            reads = accuracy(one(letters.x), letters.y)
        row: Row = {"kind": "residual", "state": state, "letters": reads, "budget": config.steps}
        yield {**row, **computed(state, of_host, config, one, train, test)}


def of_host(config: Config, one: nn.Module, train: Images, test: Images) -> Row:
    """Return a host's accuracy on digits without a program and with one."""
    program = Program((CHANNELS, SIZE, SIZE), (PATCH, PATCH), Generator())
    with torch.no_grad():
        table = best_matching(frozen(one, program(train.x)), train.y, LABELS)
    without = read_by(one, table, program, test)
    optimizer = torch.optim.Adam(program.parameters(), config.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    generator = stream(config.seed, "program")
    for _ in kept_steps("program", config.steps, program, optimizer, schedule, generator):
        some = torch.randint(0, len(train.y), (config.batch,), generator=generator)
        loss = reprogramming_loss(one, program, table, train.x[some], train.y[some]).mean()
        descend_apart(optimizer, loss, schedule)
    return {
        "without": without,
        "accuracy": read_by(one, table, program, test),
        "train_accuracy": read_by(one, table, program, train),
        **example(one, program, test),
    }


def example(one: nn.Module, program: Program, test: Images) -> Row:
    """Return what the host is shown of the first test digit, pixels as figures from 0 to 9, and the letter that it says."""
    with torch.no_grad():
        shown = program(test.x[:1])
        said = LETTERS[int(frozen(one, shown).argmax())]
    levels: list[int] = ((shown[0] + 1) * 4.5).round().int().flatten().tolist()
    return {"shown": "".join(map(str, levels)), "digit": int(test.y[0]), "said": said}


def pixels(shown: str) -> Tensor:
    """Return what a host was shown, (24, 24, 3) in [0, 1], from a row."""
    return torch.tensor([int(one) for one in shown]).view(CHANNELS, SIZE, SIZE).permute(1, 2, 0) / 9
