"""Positions to pixels and back, by convolutions that see coordinates and by convolutions that do not.

Three tasks on the squares of the paper: the one pixel at a position ("point"), the square at a position ("paint"), the
position of a square ("find"), each with places held out at random and with a quarter of the canvas held out. Then two of its
further ones, small: digits, where coordinates should do no harm, and a GAN of squares, whose pictures should be at all places.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as bce
from torch.nn.functional import cross_entropy, mse_loss, softplus

from claimlab import EarlyStopping, Positive, Preset, Row, check_limits, checkpoint, computed, part
from mechlearn_zoo.experiments.vision.coordinates import networks
from mechlearn_zoo.experiments.vision.coordinates.squares import Division, Squares, draw_squares, squares
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.learners.evaluation import accuracy, parameters
from mechlearn_zoo.tasks.pictures.digits import digits
from mechlearn_zoo.tasks.streams import same_stream

Task = Literal["point", "paint", "find"]
TASKS: tuple[Task, ...] = ("point", "paint", "find")
DIVISIONS: tuple[Division, ...] = ("uniform", "quadrant")
NETWORKS = ("coordinates", "plain")


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split, the initial weights, the batches and the noise."""
    tasks: tuple[Task, ...] = TASKS
    """Of positions and pixels; () leaves them out."""
    side: Annotated[int, Ge(16)] = 32
    """Pixels of the canvas' side, a power of 2; the paper has 64."""
    square: Annotated[int, Ge(1)] = 9
    """Pixels of the square's side, odd."""
    steps: Annotated[int, Ge(1)] = 500
    """Optimiser steps with coordinates; the last quarter has a tenth of the learning rate."""
    plain_steps: Annotated[int, Ge(1)] = 1500
    """Optimiser steps without coordinates."""
    find_steps: Annotated[int, Ge(1)] = 2500
    """Optimiser steps with coordinates in the task "find", whose network is the smallest."""
    batch: Annotated[int, Ge(1)] = 16
    """Places in a step."""
    learning_rate: Positive = 1e-2
    """Adam's, with coordinates."""
    plain_rate: Positive = 3e-3
    """Adam's, without coordinates."""
    width: Annotated[int, Ge(8)] = 64
    """Channels of the deconvolutions' first layer, halved at each of the next."""
    digit_steps: Annotated[int, Ge(0)] = 300
    """Steps on the digits, of 64 images, Adam with 3e-3; 0 leaves them out."""
    gan_steps: Annotated[int, Ge(0)] = 0
    """Steps of both players of the GAN, of 64 pictures; 0 for none, as hundreds are too few for a square."""
    gan_side: Annotated[int, Ge(8)] = 16
    """Pixels of the GAN's canvas, with squares of 3."""

    def __post_init__(self) -> None:
        check_limits(self)
        for name, side in (("side", self.side), ("gan_side", self.gan_side)):
            if side & (side - 1):
                raise ValueError(f"{name} should be a power of 2, as deconvolutions double it. Found {side}. Take 32 or 64.")


_PAPER = Config(side=64, steps=4000, find_steps=20_000, plain_steps=20_000, width=512, digit_steps=2000, gan_steps=10_000)

PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # The GAN alone.
    "gan": Preset(Config(tasks=(), digit_steps=0, gan_steps=3000), seeds=6),
    "paper": Preset(_PAPER, seeds=5),
}


def run(config: Config) -> Iterator[Row]:
    """Yield how each network ends on each task and split, and on the way; digits; the GAN."""
    for task in config.tasks:
        for division in DIVISIONS:
            data = squares(config.seed, config.side, config.square, division)
            for network in NETWORKS:
                yield from part(f"{task}, {division}, {network}", fit(config, data, task, division, network))
    for network in NETWORKS if config.digit_steps else ():
        found = computed(f"digits, {network}", fit_digits, config, network == "coordinates")
        yield {"kind": "digits", "network": network, **found}
    if config.gan_steps:
        for network in NETWORKS:
            yield computed(f"GAN, {network}", fit_gan, config, network)


def make(config: Config, task: Task, network: str) -> nn.Module:
    """Return a network for a task with the initial weights of a config's seed."""
    generator = Generator().manual_seed(config.seed)
    if task == "find":
        if network == "coordinates":
            return networks.pooled(16, generator)
        return networks.flattened(config.side, 32, generator)
    if network == "coordinates":
        return networks.per_pixel(config.side, (32, 32), generator)
    return networks.deconvolutions(config.side, config.width, generator)


def fit(config: Config, data: Squares, task: Task, division: Division, network: str) -> Iterator[Row]:
    """Train one network on one task; yield its errors eight times on the way, then its end with a map of what it gets right."""
    model = make(config, task, network)
    model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]  # the faster layout; not in the stubs
    plain = network == "plain"
    rate, steps = (config.plain_rate, config.plain_steps) if plain else (config.learning_rate, config.steps)
    steps = config.find_steps if task == "find" and not plain else steps
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [round(0.75 * steps)], gamma=0.1)
    generator = same_stream(config.seed)
    known = (~data.held_out).nonzero()[:, 0]
    row: Row = {"task": task, "division": division, "network": network}
    model.train()
    saved = checkpoint("training", model, optimizer, scheduler, generator)
    yield from saved.values
    for step in range(saved.done + 1, steps + 1):
        some = known[torch.randint(len(known), (config.batch,), generator=generator)]
        descend(optimizer, loss_of(task, model, data, some), scheduler)
        if step % max(1, steps // 8) == 0:
            score = scores(task, model, data, data.held_out)
            yield saved.keep(step, {"kind": "curve", **row, "step": step, "score": float(score.mean())})
        else:
            saved.keep(step)
    saved.stay()
    score = scores(task, model, data)
    ends: Row = {"train": float(score[~data.held_out].mean()), "test": float(score[data.held_out].mean())}
    yield {"kind": "final", **row, **ends, "parameters": parameters(model), "steps": steps}
    shown = score.clamp(0, 9).round() if task == "find" else (9 * score).round()
    yield {"kind": "map", **row, "scores": "".join(str(int(digit)) for digit in shown)}


def loss_of(task: Task, model: nn.Module, data: Squares, some: Tensor) -> Tensor:
    """Return the mean loss at some places."""
    if task == "find":
        return mse_loss(model(data.images[some]), data.scaled[some])
    out = model(data.scaled[some])
    if task == "paint":
        return bce(out, data.images[some])
    side = out.shape[-1]
    return cross_entropy(out.flatten(1), data.places[some, 0] * side + data.places[some, 1])


def scores(task: Task, model: nn.Module, data: Squares, which: Tensor | None = None) -> Tensor:
    """Return each place's score: 1 if its pixel is hit ("point"), overlap over union ("paint"), pixels of 64 off ("find").

    Of the places that `which` (p,) marks, or of all.
    """
    model.eval()
    found: list[Tensor] = []
    places = torch.arange(len(data.places)) if which is None else which.nonzero()[:, 0]
    with torch.no_grad():
        for some in places.split(32):  # activations of 32 pictures stay in a processor's cache
            found.append(score(task, model, data, some))
    model.train()
    return torch.cat(found)


def score(task: Task, model: nn.Module, data: Squares, some: Tensor) -> Tensor:
    """Return `scores` of some places."""
    if task == "find":
        return 63 / 2 * (model(data.images[some]) - data.scaled[some]).norm(dim=1)  # whatever the canvas: in pixels of 64
    out = model(data.scaled[some])
    if task == "point":
        side = out.shape[-1]
        return (out.flatten(1).argmax(1) == data.places[some, 0] * side + data.places[some, 1]).float()
    drawn, wanted = out > 0, data.images[some] > 0
    both, either = (drawn & wanted).sum((1, 2, 3)), (drawn | wanted).sum((1, 2, 3))
    return both / either


def fit_digits(config: Config, coordinates: bool) -> Row:
    """Return a classifier's accuracy on test digits, at its end and where it was best on validation digits."""
    data = digits(config.seed)
    model = networks.classifier(coordinates, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    generator = same_stream(config.seed)
    stopping = EarlyStopping()
    for step in range(1, config.digit_steps + 1):
        some = torch.randint(len(data.train.x), (64,), generator=generator)
        descend(optimizer, cross_entropy(model(data.train.x[some]), data.train.y[some]))
        if stopping.due(share := step / config.digit_steps):
            validation, test = (accuracy(model, part.x, part.y) for part in (data.validation, data.test))
            stopping.look(share, validation, {"accuracy": test})
    return {"accuracy": accuracy(model, data.test.x, data.test.y), **stopping.row}


def fit_gan(config: Config, network: str) -> Row:
    """Train a GAN of squares at uniform places and return how much of the canvas its pictures reach.

    Covered is a place if one of 2000 pictures with a square in it (an overlap over the union of at least 1/2) is there.
    """
    coordinates, side, latent = network == "coordinates", config.gan_side, 8
    weights = Generator().manual_seed(config.seed)
    painter = networks.painter(side, latent, 64, coordinates, weights)
    critic = networks.critic(side, 32, coordinates, weights)
    players = [torch.optim.Adam(player.parameters(), lr=1e-3, betas=(0.5, 0.999)) for player in (painter, critic)]
    images = squares(config.seed, side, 3).images
    generator = same_stream(config.seed)

    def paint(count: int) -> Tensor:
        return painter(2 * torch.rand(count, latent, generator=generator) - 1)

    for _ in kept_steps("training", config.gan_steps, painter, critic, *players, generator):
        real = images[torch.randint(len(images), (64,), generator=generator)]
        descend(players[1], softplus(-critic(real)).mean() + softplus(critic(paint(64).detach())).mean())
        descend(players[0], softplus(-critic(paint(64))).mean())
    painter.eval()
    with torch.no_grad():
        pictures = paint(2000)
    found = networks.positions(pictures).round().long()
    good = overlap(pictures, draw_squares(found, side, 3)) >= 0.5
    places = {(int(i), int(j)) for i, j in found[good].tolist() if 1 <= i < side - 1 and 1 <= j < side - 1}
    shares: Row = {"squares": float(good.float().mean()), "covered": len(places) / len(images)}
    grid = "".join("1" if (i, j) in places else "0" for i in range(1, side - 1) for j in range(1, side - 1))
    return {"kind": "gan", "network": network, **shares, "parameters": parameters(painter), "places": grid}


def overlap(pictures: Tensor, wanted: Tensor) -> Tensor:
    """Return the overlap over the union of what is lit and what is wanted, (b,)."""
    lit, square = pictures > 0.5, wanted > 0.5
    return (lit & square).sum((1, 2, 3)) / (lit | square).sum((1, 2, 3)).clamp(min=1)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] in ("digits", "gan"):
        return 0.95, str(row["kind"])
    place = TASKS.index(str(row["task"])) * 2 + DIVISIONS.index(str(row["division"]))  # pyright: ignore[reportArgumentType]
    return (place + 0.5) / 7, f"{row['task']}, {row['division']}"
