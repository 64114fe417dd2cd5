"""Rules of other papers on the same boards, each with its paper's setting."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Adam

from claimlab import EarlyStopping, Preset, Row, check_limits, part
from mechlearn.agreement import Agreement, AndMask, GradDrop, Grokfast, Mean, Rule, cautious_decay
from mechlearn.agreement.torchjd import aggregate
from mechlearn.nn.perceptrons import mlp
from mechlearn.penalties import cagrad, gaf, pcgrad
from mechlearn_zoo.experiments.agreement.conflict_codes.tables import Sites, Table, batches, look, table
from mechlearn_zoo.learners.evaluation import accuracy
from mechlearn_zoo.tasks.pictures.digits import CLASSES
from mechlearn_zoo.tasks.streams import stream


class Cell(NamedTuple):
    """Sites, rows of each, and the height of their codes; 0 for sites that do not differ."""

    sites: int
    rows: int
    code: float


CELLS = {
    "many rows": Cell(8, 128, 1.0),
    "few sites": Cell(3, 128, 1.0),
    "few rows": Cell(8, 16, 1.0),
    "alike": Cell(8, 128, 0.0),
}

RULES: dict[str, Callable[[Generator], Rule]] = {
    "mean": lambda _: Mean(),
    "and-mask": lambda _: AndMask(1.0, rescale=True),
    "grad-drop": GradDrop,
}

AGGREGATORS: dict[str, Callable[[Generator, Tensor], Tensor]] = {
    "pcgrad": lambda generator, rows: pcgrad(rows, generator) / len(rows),
    "cagrad": lambda _, rows: cagrad(rows, c=0.5),
    "gaf": lambda generator, rows: gaf(rows[torch.randperm(len(rows), generator=generator)]),
}

PEERS = ("grad-drop", *AGGREGATORS, "grokfast", "cautious-decay")
METHODS = ("mean", "and-mask", *PEERS)


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    cells: Annotated[tuple[str, ...], MinLen(1)] = tuple(CELLS)
    """Which boards."""
    steps: Annotated[int, Ge(1)] = 120
    """Steps of Adam on each."""

    def __post_init__(self) -> None:
        check_limits(self)
        unknown = [one for one in self.cells if one not in CELLS]
        if unknown:
            raise ValueError(f"`cells` should be of {', '.join(CELLS)}. Found {unknown[0]!r}. Take of these.")


PRESETS = {"peers": Preset(Config(), seeds=20)}


def run(config: Config) -> Iterator[Row]:
    """Yield each method's accuracy at a new site, at its end and where validation stops it."""
    for name in config.cells:
        cell = CELLS[name]
        sites = Sites(config.seed, cell.sites, cell.rows, code=cell.code, batch=min(64, cell.rows), steps=config.steps)
        data = table(sites)
        for method in METHODS:
            yield from part(f"{name} {method}", row_of(name, sites, data, method))


def row_of(cell: str, sites: Sites, data: Table, method: str) -> Iterator[Row]:
    """Yield the row of one training."""
    yield {"kind": "final", "cell": cell, "method": method, **train(sites, data, method)}


def train(sites: Sites, data: Table, method: str) -> Row:
    """Return a network's accuracy at the new site, at its end and where validation stops it."""
    model = mlp(64, CLASSES, stream(sites.seed, "weights"), sites.hidden, 1)
    cautious = method == "cautious-decay"
    optimizer = Adam(model.parameters(), lr=sites.learning_rate, weight_decay=0 if cautious else 1e-5)
    if cautious:
        cautious_decay(optimizer, 0.01)
    amplify = Grokfast(model.parameters()).amplify_ if method == "grokfast" else None
    backward, stopping = backward_of(method, model, stream(sites.seed, method)), EarlyStopping()
    ids = torch.arange(sites.sites).repeat_interleave(sites.batch)
    for step, (x, y) in enumerate(batches(sites, data), 1):
        optimizer.zero_grad()
        backward(cross_entropy(model(x), y, reduction="none"), ids)
        if amplify is not None:
            amplify()
        optimizer.step()
        look(stopping, step / sites.steps, model, data)
    return {"accuracy": accuracy(model, data.test_x, data.test_y), **stopping.row}


def backward_of(method: str, model: nn.Module, generator: Generator) -> Callable[[Tensor, Tensor], object]:
    """Return what takes the place of ``loss.backward()``: from losses and ids to gradients."""
    if method not in AGGREGATORS:
        return Agreement(model, RULES.get(method, RULES["mean"])(generator)).backward
    return lambda losses, ids: aggregate(model, losses, ids, lambda rows: AGGREGATORS[method](generator, rows))
