"""ILC of nine learning algorithms on one board: three hypothesis classes or starts, by three rules, each from several starts.

The board has sites that write the label as a code of their own into the corners of noisy digits
(`mechlearn_zoo.tasks.tables.codes`). A network that reads the codes has sewn one patch for each site together. The paper's
equation (3) asks it without test data, equation (4) weighs the answer against the training loss. ILC is of networks at one
training loss; accuracy at a new site is measured where validation at another new one stops a training, too.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import numpy as np
import torch
from annotated_types import Ge, MinLen
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import EarlyStopping, Positive, Preset, Row, Share, check_limits, computed, number
from mechlearn.agreement import Agreement, AndMask, GeometricMean, Mean, Rule
from mechlearn.surfaces import Consistency, Score, Subspace, ilc, ilc_regularised, inconsistency, landscape_of_model
from mechlearn_zoo.experiments.surfaces.architectures.networks import Start, make_network
from mechlearn_zoo.learners.evaluation import accuracy
from mechlearn_zoo.tasks.pictures.digits import TOTAL, digits
from mechlearn_zoo.tasks.streams import stream
from mechlearn_zoo.tasks.tables.codes import CodedDigits, Writing, coded, coded_digits

Method = Literal["mean", "and-mask", "geometric", "untrained"]
STARTS: tuple[Start, ...] = ("perceptron", "convolution", "pre-trained")
METHODS: tuple[Method, ...] = ("mean", "and-mask", "geometric", "untrained")
TEST, PLAIN, VALIDATION = 500, 600, 300
"""Digits of the new site, of the pre-trained start, and at most of the site for validation."""


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of the digits, the codes, the initial weights and the score's random starts."""
    starts: Annotated[tuple[Start, ...], MinLen(1)] = STARTS
    """Hypothesis classes and starts: a perceptron, a convolution, the perceptron after digits without codes."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """Rules; "untrained" takes no step."""
    initialisations: Annotated[int, Ge(1)] = 2
    """Starts theta^0 that the ILC of an algorithm is a mean over."""
    sites: Annotated[int, Ge(2)] = 3
    """Training sites."""
    rows: Annotated[int, Ge(2)] = 128
    """Rows of each; all of them are in every step."""
    noise: Annotated[float, Ge(0)] = 0.3
    """Standard deviation of what is added to pixels between 0 and 1."""
    hidden: Annotated[int, Ge(1)] = 16
    """Units of the perceptron's hidden layer; half as many channels in the convolution."""
    steps: Annotated[int, Ge(1)] = 300
    """Optimiser steps at most."""
    target: Annotated[float, Ge(0)] = 0.1
    """Training stops at this mean loss, so that points of one loss are compared; 0 takes all steps."""
    learning_rate: Positive = 1e-2
    """Adam's."""
    l2: Annotated[float, Ge(0)] = 1e-4
    """Added to the gradient after the mask."""
    threshold: Share = 1.0
    """Agreement that both masks ask for; what survives is rescaled."""
    epsilon: Positive = 0.01
    """How far the loss of the site that must not notice may rise."""
    ridge: Positive = 0.01
    """Multiple of the identity added to the Gauss-Newton matrices."""
    iterations: Annotated[int, Ge(1)] = 10
    """Steps of the subspace method for a pair and a sign, at most."""
    weight: Positive = 1.0
    """Lambda of the regularised loss."""

    def __post_init__(self) -> None:
        check_limits(self)
        most = TOTAL - 1 - TEST - PLAIN - 1  # one of the board is laid aside, one at least is left for validation
        if self.sites * self.rows > most:
            raise ValueError(
                f"sites * rows should be at most {most}: of {TOTAL} digits {TEST} are of the new site and {PLAIN} of the "
                f"pre-trained start. Found {self.sites} * {self.rows}. Take fewer rows."
            )


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(initialisations=10, sites=8, rows=64, hidden=64, steps=2000, target=0.01, iterations=200), seeds=5),
}


class Board(NamedTuple):
    """What is trained on, the digits without codes of a pre-trained start, and a site with another code for validation."""

    coded: CodedDigits
    plain_x: Tensor
    plain_y: Tensor
    validation_x: Tensor
    validation_y: Tensor


def make_board(config: Config) -> Board:
    """Draw a board; the digits without codes and those for validation are none of its."""
    found = coded_digits(config.seed, config.sites, config.rows, Writing(config.noise), TEST)
    used = config.sites * config.rows + 1 + TEST
    rest = digits(config.seed, train=used, validation=PLAIN, test=min(VALIDATION, max(1, TOTAL - used - PLAIN)))
    plain, held = rest.validation, rest.test
    noise = torch.randn(len(plain.x), 64, generator=stream(config.seed, "noise of the digits without codes"))
    generator = stream(config.seed, "validation")
    noisy = held.x.flatten(1) + config.noise * torch.randn(len(held.x), 64, generator=generator)
    site = coded(noisy, held.y, Writing().code, generator)
    return Board(found, plain.x.flatten(1) + config.noise * noise, plain.y, site, held.y)


def rule_of(config: Config, method: Method) -> Rule:
    """Return a method's rule."""
    if method == "and-mask":
        return AndMask(config.threshold, rescale=True)
    return GeometricMean(config.threshold, rescale=True) if method == "geometric" else Mean()


def train(
    config: Config,
    network: nn.Module,
    rule: Rule,
    x: Tensor,
    y: Tensor,
    ids: Tensor,
    look: Callable[[float], None] | None = None,
) -> int:
    """Train in place, with all rows in every step, until the mean loss is the target; return how many steps that took.

    What looks is told after every step which share of the steps was taken.
    """
    optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate, weight_decay=config.l2)
    agreement = Agreement(network, rule)
    for step in range(config.steps):
        optimizer.zero_grad()
        losses = cross_entropy(network(x), y, reduction="none")
        if float(losses.detach().mean()) <= config.target:
            return step
        agreement.backward(losses, ids)
        optimizer.step()
        if look:
            look((step + 1) / config.steps)
    return config.steps


def trained(
    config: Config, start: Start, method: Method, board: Board, k: int, stopping: EarlyStopping | None = None
) -> nn.Module:
    """Return A(theta^0) of the k-th initialisation; `stopping` keeps its accuracy at the new site where validation is best."""
    network = make_network(start, config.hidden, stream(config.seed, "weights", k))
    if start == "pre-trained":
        halves = torch.arange(len(board.plain_y)) % 2  # as averaging weighs them alike, any halves serve
        train(config, network, Mean(), board.plain_x, board.plain_y, halves)

    def look(share: float) -> None:
        if stopping and stopping.due(share):
            at_new = accuracy(network, board.coded.test_x, board.coded.test_y)
            stopping.look(share, accuracy(network, board.validation_x, board.validation_y), {"accuracy": at_new})

    if method != "untrained":
        ids = torch.arange(config.sites).repeat_interleave(config.rows)
        train(config, network, rule_of(config, method), board.coded.x.flatten(0, 1), board.coded.y.flatten(), ids, look)
    return network.eval()


def score(config: Config, network: nn.Module, board: Board) -> Score:
    """Score a network's consistency between sites."""
    ids = torch.arange(config.sites).repeat_interleave(config.rows)
    batch = (board.coded.x.flatten(0, 1), board.coded.y.flatten(), ids)
    search = Subspace(config.iterations, 0.05)
    chosen = Consistency(config.epsilon, curvature="gauss-newton", ridge=config.ridge, search=search, not_minimum="ignore")
    landscape = landscape_of_model(network, lambda output, y: cross_entropy(output, y, reduction="none"), [batch])
    return inconsistency(landscape, chosen, stream(config.seed, "search"))


def run(config: Config) -> Iterator[Row]:
    """Yield a row for each hypothesis class and rule."""
    board = make_board(config)
    for start in config.starts:
        for method in config.methods:
            yield {"start": start, "method": method, **computed(f"{start}, {method}", consistent, config, start, method, board)}


def consistent(config: Config, start: Start, method: Method, board: Board) -> Row:
    """Return the ILC of a hypothesis class and a rule, and how its networks end."""
    networks: list[nn.Module] = []
    stopped: list[Row] = []

    def algorithm(k: int) -> nn.Module:
        stopping = EarlyStopping(config.steps)  # a look after every step: most trainings end before a third of them is over
        networks.append(trained(config, start, method, board, k, stopping))
        stopped.append(stopping.row)
        return networks[-1]

    found = ilc(algorithm, range(config.initialisations), lambda network: score(config, network, board))
    means = {key: float(np.mean([number(row, key) for row in stopped])) for key in stopped[0]}  # untrained: none
    return {**described(config, found.scores, networks, board), **means}


def described(config: Config, scores: tuple[Score, ...], networks: list[nn.Module], board: Board) -> Row:
    """Return ILC by the expansion and by walks over true losses, the regularised loss by either, and accuracies."""
    losses = [one.losses for one in scores]
    expanded = sum(one.consistency for one in scores) / len(scores)
    walked = -float(np.mean([max(0.0 if pair.walk is None else pair.walk.largest for pair in one.pairs) for one in scores]))
    x, y, test_x, test_y = board.coded
    return {
        "ilc": expanded,
        "walked": walked,
        "loss": float(np.mean(losses)),
        "regularised": ilc_regularised(losses, expanded, config.weight),
        "regularised_walked": ilc_regularised(losses, walked, config.weight),
        "train_accuracy": float(np.mean([accuracy(one, x.flatten(0, 1), y.flatten()) for one in networks])),
        "accuracy": float(np.mean([accuracy(one, test_x, test_y) for one in networks])),
        "parameters": sum(parameter.numel() for parameter in networks[0].parameters()),
        "converged": all(pair.converged for one in scores for pair in one.pairs),
        "products": sum(one.products for one in scores),
    }
