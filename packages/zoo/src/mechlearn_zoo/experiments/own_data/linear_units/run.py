"""Linear models on the linear unit tests: eleven ways to train, each with its settings drawn and chosen without test data.

Within: by the validation error of the training environments, as the paper chooses. Across: by that of environments that were
left out, each once, in three folds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MaxLen, MinLen
from torch import Generator, Tensor

from claimlab import EarlyStopping, Positive, Preset, Row, check_limits, computed
from mechlearn.agreement import Agreement, AndMask
from mechlearn_zoo.experiments.own_data.linear_units.directions import Board
from mechlearn_zoo.experiments.own_data.linear_units.training import METHODS, Method, Settings, train
from mechlearn_zoo.experiments.own_data.linear_units.unit_tests import EXAMPLES, UnitTest, parts, scrambled, unit_test

FOLDS = 3


@dataclass(frozen=True)
class Config:
    """Settings of one seed."""

    seed: int = 100
    """First seed: of the data, the initial weights and the settings. Ranges were looked at on seeds from 1000 on."""
    environments: Annotated[tuple[Annotated[int, Ge(3)], ...], MinLen(1)] = (3, 8)
    """Numbers of training environments."""
    examples: Annotated[int, Ge(2)] = 300
    """Examples in each for training, as many for validation and for test; an even number."""
    steps: Annotated[int, Ge(1)] = 400
    """Full-batch steps."""
    trials: Annotated[int, Ge(1)] = 6
    """Settings drawn for every method."""
    rates: Annotated[tuple[Positive, ...], MinLen(2), MaxLen(2)] = (1e-3, 1e-1)
    """Least and greatest learning rate of Adam, drawn evenly in the logarithm."""
    descents: Annotated[tuple[Positive, ...], MinLen(2), MaxLen(2)] = (1e-3, 1.0)
    """The same of plain gradient descent."""
    compared: Annotated[int, Ge(1)] = 200
    """Steps after which our AND-mask and the published one are compared."""

    def __post_init__(self) -> None:
        check_limits(self)
        if self.examples % 2:
            raise ValueError(f"examples should be even, as half have either label. Found {self.examples}.")


PAPER = Config(examples=10_000, steps=10_000, trials=20, rates=(1e-4, 1e-2), descents=(1e-4, 1.0))
PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(PAPER, seeds=50)}
CELLS = tuple((example, turned) for example in EXAMPLES for turned in (False, True))


def run(config: Config) -> Iterator[Row]:
    """Yield the errors of every method in every cell, then how far our mask is from the published one."""
    for example, turned in CELLS:
        for environments in config.environments:
            splits = draw(config, example, turned, environments)
            cell = {"kind": "final", "example": example, "scrambled": turned, "environments": environments}
            for index, (name, method) in enumerate(METHODS.items()):
                what = f"{example}, {turned}, {environments}, {name}"
                yield {**cell, "method": name, **computed(what, errors_of, config, example, splits, method, index)}
    yield {"kind": "same", "difference": computed("same", difference, config)}


def draw(config: Config, example: str, turned: bool, environments: int) -> list[UnitTest]:
    """Return examples for training, validation and test of the same environments."""
    generator = Generator().manual_seed(config.seed)
    data = unit_test(example, environments, 3 * config.examples, generator)
    return parts(scrambled(data, generator) if turned else data, 3)


def board_of(example: str, data: UnitTest, shuffled: bool = False) -> Board:
    """Return examples as linear models take them, as they are or with their spurious inputs shuffled."""
    x = data.test_x if shuffled else data.x
    return Board(torch.cat([x, torch.ones_like(x[..., :1])], -1), data.y[..., None], example == "regression")


def settings_of(config: Config, method: Method, generator: Generator) -> Settings:
    """Draw every trial's settings."""

    def drawn(low: float, high: float) -> Tensor:
        return 10 ** torch.empty(config.trials, 1).uniform_(low, high, generator=generator)

    rates = config.descents if method.descent else config.rates
    decays = (-5.0, 0.0) if method.descent else (-6.0, -2.0)  # the published ranges
    return Settings(drawn(math.log10(rates[0]), math.log10(rates[1])), drawn(*decays), drawn(*method.strengths))


def folds_of(environments: int) -> Tensor:
    """Return which environments are trained on, (1 + FOLDS, E): all, then all but a fold's, which are left out once each."""
    own = torch.ones(1 + FOLDS, environments, dtype=torch.bool)
    for fold, left_out in enumerate(torch.arange(environments).tensor_split(FOLDS), start=1):
        own[fold, left_out] = False
    return own


def errors_of(config: Config, example: str, splits: list[UnitTest], method: Method, index: int) -> dict[str, float]:
    """Train all trials on all environments and on each fold's; return the test errors of those chosen, with their time and not.

    Where time is chosen, too, trials are chosen of those at every look.
    """
    training, validation, test = splits
    generator = Generator().manual_seed((config.seed + 1) * 2**16 + index)
    settings, folds = settings_of(config, method, generator), folds_of(len(training.x))
    size = training.x.shape[-1] + 1
    start = torch.empty(config.trials, size).uniform_(-1, 1, generator=generator) / math.sqrt(size - 1)
    members = Settings(*(one.repeat(len(folds), 1) for one in settings))  # all trials of a fold, then those of the next
    own = folds.repeat_interleave(config.trials, dim=0).T[..., None]
    board = board_of(example, training, method.oracle)
    validated, judged = board_of(example, validation, method.oracle), board_of(example, test, shuffled=True)
    stopping, looks = EarlyStopping(), list[Tensor]()

    def look(weights: Tensor) -> Tensor:
        """Return the trials' validation error within and across, and their test error, (3, trials)."""
        seen = errors(validated, weights).view(len(folds), config.trials, -1)
        within = seen[0].mean(-1)
        across = (seen[1:] * ~folds[1:, None]).sum((0, 2)) / len(training.x)
        return torch.stack([within, across, errors(judged, weights)[: config.trials].mean(-1)])

    def watch(weights: Tensor, share: float) -> None:
        if stopping.due(share):
            looks.append(look(weights))

    weights = train(board, method, members, own, start.repeat(len(folds), 1), config.steps, watch)
    within, across, tested = look(weights)
    found = {
        "within": tested[within.argmin()],
        "across": tested[across.argmin()],
        "least": tested.min(),
        "middle": tested.median(),
    }
    if looks:
        within, across, tested = torch.cat(looks, 1)
        found |= {"stopped_within": tested[within.argmin()], "stopped_across": tested[across.argmin()]}
    return {name: round(float(error), 6) for name, error in found.items()}


def errors(board: Board, weights: Tensor) -> Tensor:
    """Return each member's error in each environment, (M, E): mean squared, or the share of wrong labels; diverged is worst."""
    outputs = board.x @ weights.mT
    wrong = (outputs - board.y).square() if board.regression else ((outputs > 0) != (board.y > 0.5)).float()
    return torch.where(outputs.isfinite(), wrong, torch.inf).mean(1).T


def difference(config: Config, rate: float = 0.03, decay: float = 0.01) -> float:
    """Return how far apart `Agreement` with normalised weights and the published step end, over the largest weight."""
    data = draw(config, "margin", False, 3)[0]
    model = torch.nn.Linear(data.x.shape[-1], 1, dtype=torch.float64)
    generator = Generator().manual_seed(config.seed)
    start = torch.randn(1, data.x.shape[-1] + 1, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        model.weight.copy_(start[:, :-1])
        model.bias.copy_(start[0, -1:])
    agreement = Agreement(model, AndMask(1.0), normalise=["weight"])
    optimizer = torch.optim.SGD(model.parameters(), rate, weight_decay=decay)
    x, y = data.x.flatten(0, 1).double(), data.y.flatten().double()
    ids = torch.arange(3).repeat_interleave(data.x.shape[1])
    for _ in range(config.compared):
        optimizer.zero_grad()
        losses = torch.nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y, reduction="none")
        agreement.backward(losses, ids)
        optimizer.step()
    one = torch.full((1, 1), rate, dtype=torch.float64)
    settings = Settings(one, torch.full_like(one, decay), one)
    own = torch.ones(3, 1, 1, dtype=torch.bool)
    board = board_of("margin", data)
    exact = Board(board.x.double(), board.y.double(), board.regression)
    theirs = train(exact, METHODS["AND-mask, published"], settings, own, start, config.compared)
    ours = torch.cat([model.weight.detach(), model.bias.detach()[None]], 1)
    return float((ours - theirs).abs().max() / theirs.abs().max())
