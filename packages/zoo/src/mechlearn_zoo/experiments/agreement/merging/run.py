"""Six families of digit classifiers, fine-tuned apart and merged by six methods."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge
from torch import Generator, nn
from torch.nn.functional import cross_entropy

from claimlab import Positive, Preset, Row, check_limits
from mechlearn.agreement import AndMask, Mean, Rule, SignalToNoiseMask, dare, merge, ties
from mechlearn.functional import call
from mechlearn.nn.perceptrons import mlp
from mechlearn.params import Params, add_scaled, parameters_of
from mechlearn.penalties import cagrad
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.pictures.digits import CLASSES, digits
from mechlearn_zoo.tasks.pictures.images import Images
from mechlearn_zoo.tasks.streams import stream
from mechlearn_zoo.tasks.tables.codes import coded

SOURCES = 5
KINDS = ("classes", "shifts", "codes")
"""Sources see two classes each, pictures moved by a pixel each, or a code of the label of its own in the corners each."""
NETWORKS = {"wide": (128, 1), "deep": (64, 3)}
"""Hidden units and layers."""
SHIFTS = ((0, 1), (1, 0), (0, -1), (-1, 0), (1, 1))
SCALES = (0.25, 0.5, 1.0, 2.0)
"""What a merged delta is multiplied by, at each of a method's three settings."""
AVERAGES = (0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0)
"""The same for averaging, which has no other setting: every method has 12 candidates."""

Deltas = Mapping[int, Params]
Merge = Callable[[Deltas, Generator], Params]


@dataclass(frozen=True)
class Config:
    """Settings of the families."""

    seed: int = 0
    """First seed: of everything that is drawn."""
    base_rows: Annotated[int, Ge(1)] = 150
    """Rows that the common start is trained on."""
    base_steps: Annotated[int, Ge(1)] = 150
    """Its steps."""
    steps: Annotated[int, Ge(1)] = 100
    """Steps of fine-tuning of each source."""
    learning_rate: Positive = 3e-3
    """Adam's."""
    noise: Annotated[float, Ge(0)] = 0.3
    """Standard deviation of what is added to pixels between 0 and 1."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.base_rows > 500:
            raise ValueError(f"base_rows should be at most 500, as the sources share the rest. Found {self.base_rows}.")


PRESETS = {"quick": Preset(Config(), seeds=8), "paper": Preset(Config(), seeds=40)}


class Family(NamedTuple):
    """Rows of the start, of each source, and what merges are chosen and judged on."""

    base: Images
    sources: list[Images]
    validation: Images
    test: Images


def by_rule(rule: Rule) -> Merge:
    """Return a merge that draws nothing."""
    return lambda deltas, generator: merge(rule, deltas)


def by_cagrad(c: float) -> Merge:
    """Return the merge that helps the worst source."""
    return lambda deltas, generator: merge(partial(cagrad, c=c), deltas)


def by_ties(keep: float) -> Merge:
    """Return TIES with a share that each source keeps."""
    return lambda deltas, generator: ties(deltas, keep)


def by_dare(drop: float) -> Merge:
    """Return the average of what is left of deltas."""
    return lambda deltas, generator: merge(Mean(), dare(deltas, drop, generator))


METHODS: dict[str, list[tuple[Merge, float, str]]] = {
    "averaging": [(by_rule(Mean()), scale, "") for scale in AVERAGES],
    "and-mask": [(by_rule(AndMask(own)), scale, f"{own}") for own in (0.2, 0.6, 1.0) for scale in SCALES],
    "spread": [(by_rule(SignalToNoiseMask(own)), scale, f"{own}") for own in (0.5, 1.0, 2.0) for scale in SCALES],
    "cagrad": [(by_cagrad(own), scale, f"{own}") for own in (0.2, 0.5, 0.9) for scale in SCALES],
    "ties": [(by_ties(own), scale, f"{own}") for own in (0.1, 0.2, 0.5) for scale in SCALES],
    "dare": [(by_dare(own), scale, f"{own}") for own in (0.5, 0.7, 0.9) for scale in SCALES],
}


def family(kind: str, config: Config) -> Family:
    """Draw a family's rows. Each seed, kind and part of the rows has noise and codes of its own."""
    found = digits(config.seed)
    draw = partial(stream, config.seed, "merging", kind)
    base, rest = (Images(found.train.x[some], found.train.y[some]) for some in (slice(config.base_rows), slice(500, None)))
    parts = [torch.arange(len(rest.y)) % SOURCES == k for k in range(SOURCES)]
    if kind == "classes":
        parts = [rest.y // 2 == k for k in range(SOURCES)]

    def noisy(images: Images, part: str) -> Images:
        noise = torch.randn(images.x.shape, generator=draw("noise", part))
        return Images(images.x + config.noise * noise, images.y)

    def of_source(images: Images, k: int) -> Images:
        if kind == "shifts":
            return Images(images.x.roll(SHIFTS[k], (2, 3)), images.y)
        if kind == "codes":
            return Images(coded(images.x.flatten(1), images.y, 1.0, draw("code", k)).view_as(images.x), images.y)
        return images

    def held_out(images: Images, part: str, site: int) -> Images:
        if kind == "shifts":  # each source's
            every = [of_source(images, k) for k in range(SOURCES)]
            images = Images(torch.cat([one.x for one in every]), torch.cat([one.y for one in every]))
        elif kind == "codes":  # a new source's
            images = of_source(images, site)
        return noisy(images, part)

    sources = [noisy(of_source(Images(rest.x[some], rest.y[some]), k), f"source {k}") for k, some in enumerate(parts)]
    validation, test = held_out(found.validation, "validation", SOURCES), held_out(found.test, "test", SOURCES + 1)
    return Family(noisy(base, "base"), sources, validation, test)


def train(model: nn.Module, rows: Images, steps: int, config: Config, generator: Generator) -> None:
    """Train a network in place, with 32 rows in a step."""
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate)
    for _ in range(steps):
        chosen = torch.randint(len(rows.y), (32,), generator=generator)
        descend(optimizer, cross_entropy(model(rows.x[chosen].flatten(1)), rows.y[chosen]))


def accuracy(model: nn.Module, params: Params, rows: Images) -> float:
    """Return the share of labels that a network with some weights gives."""
    with torch.no_grad():
        return float((call(model, params, (rows.x.flatten(1),)).argmax(1) == rows.y).float().mean())


def run(config: Config) -> Iterator[Row]:
    """Yield for each family the accuracies of its start, of its sources' mean, and of each method's choice."""
    for kind in KINDS:
        data = family(kind, config)
        for network, (hidden, layers) in NETWORKS.items():
            draw = partial(stream, config.seed, "merging", kind, network)
            model = mlp(64, CLASSES, draw("weights"), hidden, layers)
            train(model, data.base, config.base_steps, config, draw("base"))
            base = {name: tensor.clone() for name, tensor in parameters_of(model).items()}
            deltas: dict[int, Params] = {}
            alone = 0.0
            for k, rows in enumerate(data.sources):
                model.load_state_dict(base)
                train(model, rows, config.steps, config, draw("source", k))
                deltas[k] = add_scaled(parameters_of(model), -1.0, base)
                alone += accuracy(model, parameters_of(model), data.test) / SOURCES
            cell = {"kind": "final", "family": kind, "network": network}
            yield {**cell, "method": "start", "accuracy": accuracy(model, base, data.test)}
            yield {**cell, "method": "one source", "accuracy": alone}
            for method, candidates in METHODS.items():
                yield {**cell, "method": method, **chosen(model, base, deltas, candidates, data, draw)}


def chosen(
    model: nn.Module,
    base: Params,
    deltas: Deltas,
    candidates: list[tuple[Merge, float, str]],
    data: Family,
    draw: Callable[..., Generator],
) -> Row:
    """Return what a method's best candidate on validation data is, and how accurate it is on test data."""
    best: tuple[float, Params, float, str] | None = None
    for combine, scale, setting in candidates:
        params = add_scaled(base, scale, combine(deltas, draw("drop", setting)))
        found = accuracy(model, params, data.validation)
        if best is None or found > best[0]:
            best = found, params, scale, setting
    assert best is not None
    validation, params, scale, setting = best
    return {"accuracy": accuracy(model, params, data.test), "validation": validation, "scale": scale, "setting": setting}
