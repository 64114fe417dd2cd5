"""The board of `conflict-codes` by other people's methods, each at several strengths, beside two tests for conflict.

Strengths are not searched: every one of them is a row, and the claims take a peer's best at the new site, in its favour.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy, one_hot

from claimlab import EarlyStopping, Preset, Row
from mechlearn.agreement import AndMask, SandMask, SignalToNoiseMask
from mechlearn.nn.perceptrons import mlp
from mechlearn.params import Params
from mechlearn.penalties import fishr_penalty, group_dro_loss, irm_penalty, screen, vrex_penalty
from mechlearn_zoo.experiments.conflict.methods import METHODS, Method, after_step, agreement_of
from mechlearn_zoo.experiments.conflict.tables import Sites, Table, accuracy, batches, look, table
from mechlearn_zoo.methods.environments import fish_gradients
from mechlearn_zoo.tasks.pictures.digits import CLASSES
from mechlearn_zoo.tasks.streams import stream

RULES: dict[str, Callable[[float], Method]] = {
    "averaging": lambda _: METHODS["mean"],
    "AND 0.5": lambda _: Method("AND 0.5", AndMask(0.5, rescale=True)),
    "AND 1": lambda _: METHODS["and-mask"],
    "SAND-mask": lambda k: Method("SAND-mask", SandMask(0.5, k, rescale=True)),
    "signal to noise": lambda ratio: Method("signal to noise", SignalToNoiseMask(ratio, rescale=True)),
    "Gail-Simon, decay 5": lambda _: METHODS["qualitative-decay"],
    "Cochran, decay 5": lambda _: METHODS["homogeneous-decay"],
}
"""What combines the sites' gradients, by its strength."""

PENALTIES = ("IRM", "V-REx", "Fishr")

STRENGTHS: dict[str, tuple[float, ...]] = {
    "averaging": (0.0,),
    "AND 0.5": (0.0,),
    "AND 1": (0.0,),
    "SAND-mask": (1e-5, 1e-3, 10.0),
    "signal to noise": (0.5, 1.0, 2.0),
    "Gail-Simon, decay 5": (0.0,),
    "Cochran, decay 5": (0.0,),
    "IRM": (1.0, 100.0),
    "V-REx": (1.0, 100.0),
    "Fishr": (10.0, 1000.0),
    "group DRO": (0.01, 0.1),
    "Fish": (0.01, 0.1),
    "screening": (0.0,),
}
"""What is tried of each: k of the SAND-mask, a ratio, a penalty's weight, a step size, the inner rate of Fish; 0 for none."""

BOARDS = {
    "codes": tuple(STRENGTHS),
    "no codes": ("averaging", "AND 1", "SAND-mask", "signal to noise", "Cochran, decay 5", "V-REx", "Fish", "screening"),
}
"""What is trained where each site has a code of its own, and where the sites are exchangeable."""


@dataclass(frozen=True)
class Config(Sites):
    """Settings of one run; those of `conflict-codes` with 8 sites of 128 rows. Where there are no codes their height is 0."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(), seeds=20)}


class Batch(NamedTuple):
    """Rows of every site, sites adjacent, with the sites' numbers."""

    x: Tensor
    y: Tensor
    sites: Tensor


def by_example(logits: Tensor, targets: Tensor) -> Tensor:
    """Return each row's loss."""
    return cross_entropy(logits, targets, reduction="none")


def penalised(name: str, strength: float, model: nn.Sequential, batch: Batch) -> Tensor:
    """Return the mean loss with a penalty."""
    features = model[:-1](batch.x)
    logits = model[-1](features)
    losses = by_example(logits, batch.y)
    if name == "IRM":
        penalty = irm_penalty(logits, batch.y, batch.sites, by_example)
    elif name == "V-REx":
        penalty = vrex_penalty(losses, batch.sites)
    else:
        penalty = fishr_penalty(losses, batch.sites, features, logits)
    return losses.mean() + strength * penalty


def fish(model: nn.Sequential, batch: Batch, rate: float, generator: Generator) -> None:
    """Fill every parameter's gradient with Fish's."""

    def loss(parameters: Params, site: int) -> Tensor:
        own = batch.sites == site
        return by_example(functional_call(model, parameters, (batch.x[own],)), batch.y[own]).mean()

    parameters = dict(model.named_parameters())
    for name, gradient in fish_gradients(loss, parameters, int(batch.sites.max()) + 1, rate, generator).items():
        parameters[name].grad = gradient


def screened(config: Config, data: Table) -> Table:
    """Return the board without the inputs that differ between the training sites by more than they say on average."""
    sites = torch.arange(config.sites).repeat_interleave(config.rows)
    keep = screen(data.x.flatten(0, 1), one_hot(data.y.flatten(), CLASSES).float(), sites).keep
    return data._replace(x=data.x * keep, test_x=data.test_x * keep, validation_x=data.validation_x * keep)


def train(config: Config, data: Table, name: str, strength: float) -> Row:
    """Return the accuracy at the new site of a network trained one way, at its end and where validation stops it."""
    if name == "screening":
        data, name = screened(config, data), "averaging"
    method = RULES[name](strength) if name in RULES else METHODS["mean"]
    model = mlp(64, CLASSES, stream(config.seed, "weights"), config.hidden, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=config.learning_rate, weight_decay=1e-5)
    agreement, weights = agreement_of(model, method), torch.full((config.sites,), 1 / config.sites)
    sites = torch.arange(config.sites).repeat_interleave(config.batch)
    generator = stream(config.seed, "orders")  # of the orders in which Fish goes through the sites
    stopping = EarlyStopping()
    for step, (x, y) in enumerate(batches(config, data), 1):
        batch = Batch(x, y, sites)
        optimizer.zero_grad()
        record = None
        if name in RULES:
            record = agreement.backward(by_example(model(x), y), sites)
        elif name in PENALTIES:
            penalised(name, strength, model, batch).backward()
        elif name == "group DRO":
            loss, weights = group_dro_loss(by_example(model(x), y), sites, weights, strength)
            loss.backward()
        else:
            fish(model, batch, strength, generator)
        optimizer.step()
        if record is not None:
            after_step(model, record, method, config.learning_rate)
        look(stopping, step / config.steps, model, data)
    return {"accuracy": accuracy(model, data.test_x, data.test_y), **stopping.row}


def run(config: Config) -> Iterator[Row]:
    """Yield the accuracy at a new site of every method at every strength."""
    for board, methods in BOARDS.items():
        own = config if board == "codes" else replace(config, code=0.0)
        data = table(own)
        for name in methods:
            for strength in STRENGTHS[name]:
                ends = train(own, data, name, strength)
                yield {"kind": "final", "board": board, "method": name, "strength": strength, **ends}
