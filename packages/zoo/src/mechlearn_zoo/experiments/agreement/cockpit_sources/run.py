"""Training on eight sources of which one is bad, none is, or two conflict: what a watch sees, what acting is worth."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import Positive, Preset, Row, check_limits, part
from mechlearn.agreement import Agreement, AndMask, Qualitative, Rule
from mechlearn.integrations import SourceWatch
from mechlearn.integrations.findings import halves
from mechlearn_zoo.experiments.agreement.cockpit_sources.data import KINDS, Source, conflicting, sources, spoiled
from mechlearn_zoo.experiments.agreement.cockpit_sources.models import PICTURES, TEXT, losses_of, model_of
from mechlearn_zoo.experiments.agreement.cockpit_sources.numbers import standardised
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.streams import stream

RUNS = ("none", "conflict", *KINDS)
"""What is wrong with the sources. "alike" is nothing wrong with sources of one kind, where "none" has different ones."""

ACTS: Mapping[str, Rule | float] = {
    "averaging": 1.0,
    "drop": 0.0,
    "reweight": 0.25,
    "and-mask": AndMask(0.5),
    "conflict rule": Qualitative(0.2),
}
"""What is done: the weight of the bad source, which is known here, or a rule, which does not know it."""


@dataclass(frozen=True)
class Config:
    """Settings of one seed."""

    seed: int = 104
    """First seed: of the sources, the weights and the batches. Multiples of 4 select, the others judge."""
    architectures: Annotated[tuple[str, ...], MinLen(1)] = (*TEXT, *PICTURES)
    """Which are trained."""
    runs: Annotated[tuple[str, ...], MinLen(1)] = RUNS
    """What is wrong with the sources. Nothing is, in none and, with sources of one kind, in alike."""
    acts: tuple[str, ...] = ()
    """What is done about a bad source, as averaging,drop. () watches."""
    steps: Annotated[int, Ge(4)] = 200
    """Steps of Adam."""
    every: Annotated[int, Ge(1)] = 8
    """Steps from one measurement to the next. From 10 on 200 steps are too few for the watch to name a pair."""
    rows: Annotated[int, Ge(2)] = 6
    """Rows of each source in a step."""
    pool: Annotated[int, Ge(16)] = 512
    """Rows of each source to train on, of pictures at most about 190."""
    width: Annotated[int, Ge(4)] = 32
    """Units of a model, a multiple of 4."""
    depth: Annotated[int, Ge(1)] = 1
    """Blocks of a model."""
    length: Annotated[int, Ge(2)] = 16
    """Characters of a row of text."""
    learning_rate: Positive = 0.003
    """Of Adam."""

    def __post_init__(self) -> None:
        check_limits(self)
        known = {"architectures": (*TEXT, *PICTURES), "runs": (*RUNS, "alike"), "acts": tuple(ACTS)}
        for name, names in known.items():
            unknown = [one for one in getattr(self, name) if one not in names]
            if unknown:
                raise ValueError(f"`{name}` should be of {', '.join(names)}. Found {unknown[0]!r}. Take of these.")


PRESETS = {
    "quick": Preset(Config(), seeds=7, tolerance=0.05),
    "large": Preset(Config(runs=(*RUNS, "alike"), width=256, depth=2, length=24, learning_rate=0.001), seeds=7, tolerance=0.05),
    "acting": Preset(
        Config(architectures=("lstm", "mixer"), runs=("none", "shuffled", "noise"), acts=tuple(ACTS)), seeds=5, tolerance=0.05
    ),
}


class Run(NamedTuple):
    """One training.

    Attributes:
        sources: by name the rows to train on.
        held: by name held-out rows of what the sources were before anything was done to them.
        bad: the bad source, or the two that conflict.
        generator: of the batches.
    """

    sources: dict[str, Source]
    held: dict[str, Source]
    bad: tuple[str, ...]
    generator: Generator

    def batch(self, rows: int) -> tuple[Tensor, Tensor, list[str]]:
        """Return a step's rows, the same number of each source, and their sources."""
        own = [one.rows(torch.randint(len(one.x), (rows,), generator=self.generator)) for one in self.sources.values()]
        x, y = (torch.cat(column) for column in zip(*own, strict=True))
        return x, y, [name for name in self.sources for _ in range(rows)]


def run(config: Config) -> Iterator[Row]:
    """Yield each watched run's rows, or what was done and the held-out losses then."""
    for architecture in config.architectures:
        for kind in config.runs:
            for act in config.acts or ("averaging",):
                rows = _acted(config, architecture, kind, act) if config.acts else _watched(config, architecture, kind)
                yield from part(f"{architecture} {kind} {act}", rows)


def drawn(config: Config, architecture: str, kind: str) -> Run:
    """Return a run's sources. Those of runs that differ in what is wrong differ in nothing else."""
    everything = sources(architecture in TEXT, config.seed, config.pool, config.length, kind == "alike")
    train = {name: own for name, (own, _) in everything.items()}
    generator = stream(config.seed, architecture, kind)
    places = torch.randperm(len(train), generator=generator)[: {"none": 0, "alike": 0, "conflict": 2}.get(kind, 1)].tolist()
    bad = tuple(list(train)[place] for place in places)
    if kind == "conflict":
        train |= dict(zip(bad, conflicting(train[bad[0]]), strict=True))
    for name in bad if kind in KINDS else ():
        train[name] = spoiled(train[name], kind, generator)
    return Run(train, {name: held for name, (_, held) in everything.items()}, bad, stream(config.seed, architecture, "batches"))


def _watched(config: Config, architecture: str, kind: str) -> Iterator[Row]:
    """Yield what the watch measured of a run."""
    own = drawn(config, architecture, kind)
    model, before = _start(config, architecture, own)
    watch = SourceWatch(model, partial(losses_of, model), config.every)
    optimizer = torch.optim.Adam(model.parameters(), config.learning_rate)
    for _ in range(config.steps):
        x, y, ids = own.batch(config.rows)
        watch.step(x, y, environments=ids)
        descend(optimizer, losses_of(model, x, y).mean())
    named = {str(name) for half in halves(watch.history) for name in half.against()}
    fights = [{str(one) for one in pair} for half in halves(watch.history) for pair in half.fighting()]
    names = list(own.sources)
    yield {
        "kind": "run",
        "architecture": architecture,
        "run": kind,
        "parameters": sum(one.numel() for one in model.parameters()),
        "bad": names.index(own.bad[0]) if kind in KINDS else None,
        "bad named": len(named & {*own.bad}),
        "good named": len(named - {*own.bad}),
        "pair named": int({*own.bad} in fights),
        "other pairs named": sum(pair != {*own.bad} for pair in fights),
        "before": before,
        "after": _held_out(model, own),
        **standardised(watch.history, names, stream(config.seed, architecture, kind, "random")),
    }


def _acted(config: Config, architecture: str, kind: str, act: str) -> Iterator[Row]:
    """Yield what is done about the bad source, and the good sources' mean held-out loss."""
    own, how = drawn(config, architecture, kind), ACTS[act]
    model, before = _start(config, architecture, own)
    optimizer = torch.optim.Adam(model.parameters(), config.learning_rate)
    agreement = Agreement(model, how) if isinstance(how, Rule) else None
    for _ in range(config.steps):
        x, y, ids = own.batch(config.rows)
        losses = losses_of(model, x, y)
        optimizer.zero_grad()
        if agreement is not None:
            agreement.backward(losses, environments=ids)
        else:
            weights = torch.tensor([how if name in own.bad else 1.0 for name in ids])
            (losses * weights / weights.sum()).sum().backward()
        optimizer.step()
    yield {
        "kind": "act",
        "architecture": architecture,
        "run": kind,
        "act": act,
        "before": before,
        "after": _held_out(model, own),
    }


def _start(config: Config, architecture: str, own: Run) -> tuple[nn.Module, float]:
    """Return the model that a run begins with, and its held-out loss."""
    seed = stream(config.seed, architecture, "weights").initial_seed()
    model = model_of(architecture, config.width, seed, config.depth, config.length)
    return model, _held_out(model, own)


def _held_out(model: nn.Module, own: Run) -> float:
    """Return the mean over good sources of their held-out loss."""
    with torch.no_grad():
        found = [float(losses_of(model, *held).mean()) for name, held in own.held.items() if name not in own.bad]
    return sum(found) / len(found)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    counts = len(config.runs), len(config.acts) or 1
    place = config.architectures.index(str(row["architecture"])) * counts[0] + config.runs.index(str(row["run"]))
    done = place * counts[1] + (config.acts.index(str(row["act"])) if config.acts else 0)
    return done / (len(config.architectures) * counts[0] * counts[1]), f"{row['architecture']}, {row['run']}"
