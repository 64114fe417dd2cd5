"""Attacks against their peers: time over a plain loop, and whether they end at the same values.

Projected gradient ascent on the cross-entropy of a perceptron on 1000 digits: ours, foolbox's, and the
adversarial-robustness-toolbox's, from the same start with the same steps. `ratio` is over the plain input gradients that all of
them need. Without a box all three project alike and must end at the same points: `exact`. With one, libraries scale first and
clip then; ours goes to the nearest point of ball and box, and `error` says what that is worth.

Two more have no peer but the literal way. Reprogramming: a step of a program over a training step of its host, which computes
weight gradients besides. Poisoning: the gradient by conjugate gradients over the same with the Hessian written out.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import torch
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, installed, versioned
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor, nn

from claimlab import Row
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.methods.robustness.evasion import logits_of, loss, maximum_confidence, missed
from mechlearn_zoo.methods.robustness.norms import Ball
from mechlearn_zoo.methods.robustness.poisoning import Sample, fit, flipped, joined, logistic, poisoning_gradient
from mechlearn_zoo.methods.robustness.reprogramming import LabelMap, Program, reprogramming_loss
from mechlearn_zoo.tasks.pictures.digits import digits

Announce = Callable[[str], None]
PLAIN, OURS = "plain input gradients", "mechlearn"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = ("pgd-2", "pgd-inf", "pgd-2-box", "pgd-inf-box", "program", "poisoning")
    """Which workloads to run."""
    examples: int = 1000
    """Digits that are attacked."""
    steps: int = 30
    """Of each attack."""
    hidden: int = 128
    """Units of the perceptron's hidden layer."""
    channels: int = 32
    """Of the first of four layers of the convolutional host that is reprogrammed; the others have twice as many."""
    features: int = 64
    """Of the logistic regression that is poisoned; as many pixels of each digit, at most 64."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.25
    """Seconds over which a turn repeats a short step."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time: what to take on a machine that other work shares."""
    seed: int = 0
    """Of data, weights and the order within rounds."""


PRESETS = {"full": Config(), "quick": Config(examples=20, steps=3, hidden=8, channels=2, features=5, repeats=2, turn=0.0)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every workload."""
    with threads(1):
        for name in config.workloads:
            announce(name)
            yield from literal(config, name, PAIRS[name](config)) if name in PAIRS else attacks(config, name)


class Attack:
    """One workload: a perceptron, its digits and the ball."""

    def __init__(self, config: Config, name: str) -> None:
        data = digits(config.seed, train=config.examples, validation=1, test=1).train
        self.x, self.y = data.x.flatten(1), data.y
        self.model = trained(self.x, self.y, config)
        infinite, self.boxed = "inf" in name, name.endswith("box")
        self.ball = Ball(0.15 if infinite else 1.0, math.inf if infinite else 2, (0.0, 1.0) if self.boxed else None)
        self.steps, self.rate = config.steps, 2.5 * self.ball.radius / config.steps
        self.bounds = (0.0, 1.0) if self.boxed else (-100.0, 100.0)

    def plain(self) -> Tensor:
        """Take the gradients, and go nowhere."""
        for _ in range(self.steps):
            leaf = self.x.detach().requires_grad_()
            torch.autograd.grad(loss(logits_of(self.model, leaf), self.y).sum(), leaf)
        return self.x

    def ours(self) -> Tensor:
        """Take the house's."""
        return maximum_confidence(self.model, self.x, self.y, self.ball, self.steps, self.rate, loss, "last")

    def foolbox(self) -> Callable[[], Tensor]:
        """Make foolbox's."""
        box = installed("foolbox", "pip install foolbox")
        kind: Any = box.attacks.LinfPGD if self.ball.p == math.inf else box.attacks.L2PGD
        attack = kind(abs_stepsize=self.rate, steps=self.steps, random_start=False)
        wrapped: Any = box.PyTorchModel(self.model, bounds=self.bounds, device="cpu")
        criterion = box.criteria.Misclassification(self.y)
        return lambda: attack.run(wrapped, self.x, criterion, epsilon=self.ball.radius)

    def toolbox(self) -> Callable[[], Tensor]:
        """Make the adversarial-robustness-toolbox's."""
        way_out = "pip install adversarial-robustness-toolbox"
        evasion, estimators = installed("art.attacks.evasion", way_out), installed("art.estimators.classification", way_out)
        wrapped = estimators.PyTorchClassifier(
            self.model, nn.CrossEntropyLoss(reduction="sum"), (self.x.shape[1],), 10, clip_values=self.bounds, device_type="cpu"
        )
        attack = evasion.ProjectedGradientDescentPyTorch(
            wrapped, norm=self.ball.p, eps=self.ball.radius, eps_step=self.rate, max_iter=self.steps, num_random_init=0,
            batch_size=len(self.x), verbose=False,
        )  # fmt: skip
        x, y = self.x.numpy(), self.y.numpy()
        return lambda: torch.from_numpy(attack.generate(x, y))


def trained(x: Tensor, y: Tensor, config: Config) -> nn.Module:
    """Return a perceptron that reads digits."""
    model = mlp(64, 10, Generator().manual_seed(config.seed), config.hidden, 1)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(100):
        optimizer.zero_grad()
        loss(model(x), y).mean().backward()
        optimizer.step()
    return model.eval().requires_grad_(False)


def attacks(config: Config, name: str) -> Iterator[Row]:
    """Time the attacks and compare where they end."""
    problem = Attack(config, name)
    steps: dict[str, Step] = {PLAIN: problem.plain, OURS: problem.ours}
    versions = {"foolbox": "foolbox", "adversarial-robustness-toolbox": "adversarial-robustness-toolbox"}
    for peer, make in {"foolbox": problem.foolbox, "adversarial-robustness-toolbox": problem.toolbox}.items():
        try:
            steps[peer] = make()
        except NotRunError as error:
            yield {"workload": name, "method": peer, **NOTHING, "note": str(error)}
    ends: dict[str, Any] = {key: step() for key, step in steps.items() if key != PLAIN}
    generator = Generator().manual_seed(config.seed)
    clean, rounds = dict.fromkeys(steps, _nothing), dict.fromkeys(steps, config.repeats)
    times = interleaved(steps, clean, rounds, config.turn, generator, config.clock)
    for key in steps:
        found = ratio(times[key], times[PLAIN])
        end = ends.get(key)
        away = None if end is None else float((end - ends[OURS]).abs().max())
        yield {
            "workload": name, "method": key, "ratio": found.median, "low": found.low, "high": found.high, "memory_ratio": None,
            "exact": None if away is None or problem.boxed else away < 1e-4, "away": away,
            "error": None if end is None else float(missed(problem.model, end, problem.y).double().mean()),
            "seconds": statistics.median(times[key]), "version": versioned(versions[key]) if key in versions else "",
            "note": "" if end is None else f"error {float(missed(problem.model, end, problem.y).double().mean()):.3f}",
        }  # fmt: skip


NOTHING: Row = {"ratio": None, "low": None, "high": None, "memory_ratio": None, "exact": None}


def _nothing() -> None:
    """Clean nothing up."""


def program(config: Config) -> tuple[str, Step, Step, float | None]:
    """A step of a program, and a training step of its host on as many pictures of that size."""
    widths = [1, config.channels, *[2 * config.channels] * 3]
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(pairwise(widths)):
        layers += [nn.Conv2d(inputs, outputs, 3, 2 if index < 2 else 1, 1), nn.ReLU()]
    host = nn.Sequential(*layers, nn.Flatten(), nn.Linear(36 * widths[-1], 26)).eval()
    table, own = LabelMap(10), Program((1, 24, 24), (8, 8), Generator().manual_seed(config.seed))
    optimizers = [torch.optim.Adam(one.parameters(), 1e-3) for one in (own, host)]
    x = 2 * digits(config.seed, train=64, validation=1, test=1).train.x - 1
    wide, y = torch.nn.functional.pad(x, (8, 8, 8, 8)), torch.arange(64) % 10

    def programmed() -> None:
        optimizers[0].zero_grad()
        reprogramming_loss(host, own, table, x, y).mean().backward()
        optimizers[0].step()

    def training() -> None:
        optimizers[1].zero_grad()
        torch.nn.functional.cross_entropy(host(wide), y).backward()
        optimizers[1].step()

    return "a training step of the host", programmed, training, None


def poisoned(config: Config) -> tuple[str, Step, Step, float | None]:
    """The implicit gradient by conjugate gradients, and with the Hessian written out and solved."""
    data = digits(config.seed, train=400, validation=1, test=1).train
    x, y = data.x.flatten(1)[:, : config.features].double(), (data.y > 4).long()
    train, validation, learner = Sample(x[:200], y[:200]), Sample(x[200:], y[200:]), logistic(config.features, 1e-2)
    points = flipped(validation, 10, Generator().manual_seed(config.seed))
    whole = joined(train, points)
    params = fit(learner, whole)
    sizes = [parameter.numel() for parameter in params.values()]

    def named(flat: Tensor) -> dict[str, Tensor]:
        return {name: part.view(params[name].shape) for name, part in zip(params, flat.split(sizes), strict=True)}

    def written_out() -> Tensor:
        flat = torch.cat([parameter.flatten() for parameter in params.values()]).detach().requires_grad_()
        hessian: Any = torch.autograd.functional.hessian(lambda w: learner.risk(named(w), whole), flat)
        outer = torch.autograd.grad(learner.loss(named(flat), validation.x, validation.y).mean(), flat)[0]
        leaf = points.x.detach().requires_grad_()
        risk = learner.risk(named(flat), joined(train, Sample(leaf, points.y)))
        inner = torch.autograd.grad(risk, flat, create_graph=True)[0]
        return -torch.autograd.grad(inner @ torch.linalg.solve(hessian, outer), leaf)[0]

    def ours() -> Tensor:
        return poisoning_gradient(learner, params, train, points, validation)

    away = float((ours() - written_out()).abs().max() / ours().abs().max())
    return "the Hessian written out", ours, written_out, away


PAIRS: dict[str, Callable[[Config], tuple[str, Step, Step, float | None]]] = {"program": program, "poisoning": poisoned}
"""Workloads beside the literal way: its name, our step, its step, and how far results are from each other."""


def literal(config: Config, name: str, pair: tuple[str, Step, Step, float | None]) -> Iterator[Row]:
    """Time our way over the literal one."""
    peer, ours, theirs, away = pair
    steps = {peer: theirs, OURS: ours}
    rounds, generator = dict.fromkeys(steps, config.repeats), Generator().manual_seed(config.seed)
    times = interleaved(steps, dict.fromkeys(steps, _nothing), rounds, config.turn, generator, config.clock)
    for key in steps:
        found = ratio(times[key], times[peer])
        exact = None if away is None or key == peer else away < 1e-6
        yield {
            "workload": name, "method": key, "ratio": found.median, "low": found.low, "high": found.high, "memory_ratio": None,
            "exact": exact, "away": away, "seconds": statistics.median(times[key]), "note": "",
        }  # fmt: skip
