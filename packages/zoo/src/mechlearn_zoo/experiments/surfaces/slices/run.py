"""Small and large batches, with and without weight decay; a deep network with and without shortcuts; paths; rescaled units."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import Positive, Preset, Row, check_limits, part
from mechlearn.nn.perceptrons import linear, relu_mlp
from mechlearn.params import parameters_of
from mechlearn.surfaces import (
    balanced,
    convexity_plane,
    flat,
    flatness,
    line,
    principal,
    random_direction,
    random_walk_explained,
    rescale_units,
    surface_of_model,
)
from mechlearn.surfaces.directions import Normalisation
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.nn.convolutions import Residual, Scale
from mechlearn_zoo.tasks.pictures.digits import digits
from mechlearn_zoo.tasks.pictures.images import ImageData
from mechlearn_zoo.tasks.streams import stream

NORMALISATIONS: tuple[Normalisation, ...] = ("none", "filter", "layer", "weight")
RISE = 0.5
"""A slice is as wide as the stretch on which the loss has risen by less than this, in nats."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the split, the initial weights, the batches and the directions."""
    hidden: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (32, 32)
    """Units of the hidden layers of the networks whose batches differ."""
    train: Annotated[int, Ge(8)] = 1024
    """Digits to train on."""
    epochs: Annotated[int, Ge(2)] = 40
    """Passes over the data, the same for every batch; the learning rate falls to a tenth after half and three quarters."""
    batches: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (16, 256)
    """A small batch and a large one; the paper has 128 and 8192."""
    decays: Annotated[tuple[Annotated[float, Ge(0)], ...], MinLen(1)] = (0.0, 5e-3)
    """No weight decay and some; the paper has 0 and 5e-4, which here does nothing to be seen."""
    learning_rate: Positive = 0.05
    """SGD's with momentum 0.9, whatever the batch."""
    reach: Positive = 1.5
    """Slices go from -reach to reach times the direction."""
    points: Annotated[int, Ge(5)] = 61
    """Points of a slice."""
    directions: Annotated[int, Ge(1)] = 4
    """Random directions, over which widths are averaged."""
    depth: Annotated[int, Ge(2)] = 24
    """Hidden layers of the deep network."""
    deep_width: Annotated[int, Ge(1)] = 16
    """Units of each."""
    deep_epochs: Annotated[int, Ge(1)] = 15
    """Passes with the deep network."""
    deep_rate: Positive = 3e-3
    """Adam's learning rate for it."""
    grid: Annotated[int, Ge(2)] = 5
    """Points along each side of the plane on which curvature is measured."""
    curvature_digits: Annotated[int, Ge(1)] = 128
    """Digits that curvature is measured on."""

    def __post_init__(self) -> None:
        check_limits(self)
        for name in ("batches", "decays"):
            if len(getattr(self, name)) != 2:
                raise ValueError(f"{name} should be two, a small one and a large one. Found {getattr(self, name)}.")
        if max(self.batches) > self.train:
            raise ValueError(f"batches should be at most train, {self.train}. Found {self.batches}.")


PRESETS = {
    "quick": Preset(Config(), seeds=6, tolerance=1e-3),
    "paper": Preset(Config(hidden=(128, 128), epochs=200, batches=(16, 1024), depth=56, grid=21), seeds=10, tolerance=1e-2),
}


def run(config: Config) -> Iterator[Row]:
    """Yield each network's widths and test error, one slice of each, its path; rescaling; curvature of the deep networks."""
    data = digits(config.seed, config.train, 200, 500)
    for batch in config.batches:
        for decay in config.decays:
            yield from part(f"{batch}, {decay}", trained(config, data, batch, decay))
    for shortcuts in (True, False):
        yield from part(f"deep, {shortcuts}", deep(config, data, shortcuts))


def trained(config: Config, data: ImageData, batch: int, decay: float) -> Iterator[Row]:
    """Train with a batch and a weight decay; yield widths in every normalisation, a slice of each, and the path."""
    model = relu_mlp((64, *config.hidden, 10), Generator().manual_seed(config.seed))
    optimizer = torch.optim.SGD(model.parameters(), lr=config.learning_rate, momentum=0.9, weight_decay=decay)
    drops = [round(config.epochs * share) for share in (0.5, 0.75)]
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, drops, gamma=0.1)
    generator = stream(config.seed, "batches")
    path = flat(parameters_of(model)).repeat(config.epochs + 1, 1)
    for epoch in kept_steps("training", config.epochs, model, optimizer, scheduler, generator, path):
        for rows in shuffled(config, batch, generator).split(batch):
            descend(optimizer, cross_entropy(model(data.train.x[rows].flatten(1)), data.train.y[rows]))
        scheduler.step()
        path[epoch + 1] = flat(parameters_of(model))
    row: Row = {"batch": batch, "decay": decay}
    norm = float(flat(parameters_of(model)).norm())
    yield {"kind": "network", **row, "loss": loss_of(model, data), "test_error": error_of(model, data), "norm": norm}
    yield from slices(config, model, data, row)
    found, walk = principal(path), random_walk_explained(path)
    shares: Row = {f"{name}{k + 1}": float(one[k]) for name, one in (("path", found.explained), ("walk", walk)) for k in (0, 1)}
    points = " ".join(f"{x:.3g},{y:.3g}" for x, y in found.coordinates.tolist())
    yield {"kind": "path", **row, **shares, "points": points}
    if (batch, decay) == (config.batches[0], config.decays[0]):
        yield from rescaled(config, model, data)


def slices(config: Config, model: nn.Module, data: ImageData, row: Row) -> Iterator[Row]:
    """Yield the mean width over directions for each normalisation, and the slice along the first one."""
    surface = surface_of_model(model, by_example, [(data.train.x.flatten(1), data.train.y, torch.zeros(len(data.train.y)))])
    at = torch.linspace(-config.reach, config.reach, config.points)
    for normalise in NORMALISATIONS:
        generator = stream(config.seed, "directions")
        reach = at * (0.2 if normalise == "none" else 1.0)  # raw directions are as long as sqrt(n), longer than the weights
        widths: list[float] = []
        for index in range(config.directions):
            direction = random_direction(surface.parameters, generator, normalise)
            curve = line(surface.mean, surface.parameters, direction, reach)
            widths.append(min(flatness(curve, reach, RISE), 2 * float(reach[-1])))
            if index == 0:
                values = " ".join(f"{value:.3g}" for value in curve.tolist())
                yield {"kind": "slice", **row, "normalise": normalise, "reach": float(reach[-1]), "curve": values}
        yield {"kind": "width", **row, "normalise": normalise, "width": sum(widths) / len(widths)}


def rescaled(config: Config, model: nn.Sequential, data: ImageData) -> Iterator[Row]:
    """Yield how far the curve along one and the same draw moves when units are rescaled, the network being the same.

    In float64. By layers: the first hidden layer times 10. By units: factors from 1 to 10, another one for each unit. After
    balancing: both networks balanced first.
    """
    model = model.double()
    hidden = config.hidden
    layers = [torch.full((width,), 10.0 if index == 0 else 1.0, dtype=torch.float64) for index, width in enumerate(hidden)]
    generator = stream(config.seed, "units")
    units = [10 ** torch.rand(width, generator=generator, dtype=torch.float64) for width in hidden]
    for normalise in NORMALISATIONS:
        curves = {name: curve_of(config, net, data, normalise) for name, net in variants(model, layers, units).items()}
        for what, one, other in (("layers", "own", "layers"), ("units", "own", "units"), ("balanced", "balanced", "both")):
            change = float((curves[one] - curves[other]).abs().max())
            yield {"kind": "rescaling", "normalise": normalise, "rescaled": what, "change": change}
        for name in ("own", "units"):
            values = " ".join(f"{value:.3g}" for value in curves[name].tolist())
            yield {"kind": "rescaled slice", "normalise": normalise, "network": name, "curve": values}


def variants(model: nn.Sequential, layers: list[Tensor], units: list[Tensor]) -> dict[str, nn.Sequential]:
    """Return networks that compute the same."""
    scaled = rescale_units(model, units)
    return {
        "own": model,
        "layers": rescale_units(model, layers),
        "units": scaled,
        "balanced": balanced(model),
        "both": balanced(scaled),
    }


def curve_of(config: Config, model: nn.Module, data: ImageData, normalise: Normalisation) -> Tensor:
    """Return the slice along a draw of the config's seed, in float64."""
    x = data.train.x[:256].flatten(1).double()
    surface = surface_of_model(model, by_example, [(x, data.train.y[:256], torch.zeros(len(x)))])
    direction = random_direction(surface.parameters, stream(config.seed, "direction"), normalise)
    return line(surface.mean, surface.parameters, direction, torch.linspace(-1, 1, 21, dtype=torch.float64))


def deep(config: Config, data: ImageData, shortcuts: bool) -> Iterator[Row]:
    """Train a deep network with shortcuts or without; yield its losses and |smallest / largest| curvature over a plane."""
    model = deep_network(config, shortcuts)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.deep_rate)
    order = stream(config.seed, "batches")
    for _ in kept_steps("training", config.deep_epochs, model, optimizer, order):
        for rows in shuffled(config, 64, order).split(64):
            descend(optimizer, cross_entropy(model(data.train.x[rows].flatten(1)), data.train.y[rows]))
    row: Row = {"shortcuts": shortcuts}
    yield {"kind": "deep", **row, "loss": loss_of(model, data), "test_error": error_of(model, data)}
    few = config.curvature_digits
    batch = (data.train.x[:few].flatten(1), data.train.y[:few], torch.zeros(min(few, config.train)))
    surface = surface_of_model(model, by_example, [batch])
    generator = stream(config.seed, "directions")
    axes = (random_direction(surface.parameters, generator), random_direction(surface.parameters, generator))
    at = torch.linspace(-1, 1, config.grid)
    ratios = convexity_plane(surface.mean, surface.parameters, axes, (at, at), generator, 0.05)
    share = float((ratios > 0.1).double().mean())
    values = " ".join(f"{value:.3g}" for value in ratios.flatten().tolist())
    yield {"kind": "convexity", **row, "share": share, "ratios": values}


def deep_network(config: Config, shortcuts: bool) -> nn.Sequential:
    """Return a perceptron of many layers, two within each shortcut, whose branches are scaled by the root of their number."""
    generator, width = Generator().manual_seed(config.seed), config.deep_width
    branches = max(1, config.depth // 2)

    def branch() -> list[nn.Module]:
        first, second = (linear(width, width, "kaiming", generator) for _ in range(2))
        return [nn.ReLU(), first, nn.ReLU(), second]

    body: list[nn.Module] = []
    for _ in range(branches):
        body += [Residual(*branch(), Scale(branches**-0.5))] if shortcuts else branch()
    return nn.Sequential(linear(64, width, "kaiming", generator), *body, nn.ReLU(), linear(width, 10, "default", generator))


def shuffled(config: Config, batch: int, generator: Generator) -> Tensor:
    """Return the rows of an epoch in a random order, whole batches only."""
    return torch.randperm(config.train, generator=generator)[: config.train // batch * batch]


def by_example(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return unreduced losses."""
    return cross_entropy(outputs, targets, reduction="none")


def loss_of(model: nn.Module, data: ImageData) -> float:
    """Return the mean training loss."""
    with torch.no_grad():
        return float(cross_entropy(model(data.train.x.flatten(1)), data.train.y))


def error_of(model: nn.Module, data: ImageData) -> float:
    """Return the share of test digits that are mistaken."""
    with torch.no_grad():
        return float((model(data.test.x.flatten(1)).argmax(1) != data.test.y).double().mean())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] in ("deep", "convexity"):
        return 0.8, "deep networks"
    done = 0 if "batch" not in row else config.batches.index(int(str(row["batch"])))
    return 0.1 + 0.3 * done, "batches and decays"
