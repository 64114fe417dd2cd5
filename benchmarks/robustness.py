"""Attacks and aligners against their peers: time over a plain loop, and whether they end at the same values.

Projected gradient ascent on the cross-entropy of a perceptron on 1000 digits: ours, foolbox's, and the
adversarial-robustness-toolbox's, from the same start with the same steps. `ratio` is over the plain input gradients that all of
them need. Without a box all three project alike and must end at the same points: `exact`. With one, libraries scale first and
clip then; ours goes to the nearest point of ball and box, and `error` says what that is worth. Aligners: ours against nltk's
first model on the same sentences, whose probabilities must be equal; `ratio` is over nltk's, and a further row times ours alone
on many sentences.
"""

import math
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import torch
from craik_benchmarks.measuring.peers import NotRunError, installed, versioned
from craik_benchmarks.measuring.timing import Step, interleaved, ratio, threads
from torch import Generator, Tensor, nn

from craik.lab import Row
from craik.methods.language.alignment import align
from craik.methods.robustness.evasion import logits_of, loss, maximum_confidence, missed
from craik.methods.robustness.norms import Ball
from craik.nn.perceptrons import mlp
from craik.tasks.pictures.digits import digits

Announce = Callable[[str], None]
PLAIN, OURS = "plain input gradients", "craik"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = ("pgd-2", "pgd-inf", "pgd-2-box", "pgd-inf-box", "align")
    """Which workloads to run."""
    examples: int = 1000
    """Digits that are attacked."""
    steps: int = 30
    """Of each attack."""
    hidden: int = 128
    """Units of the perceptron's hidden layer."""
    sentences: int = 300
    """Pairs of sentences of 20 words that both aligners take."""
    many: int = 10_000
    """Pairs that ours takes alone."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.25
    """Seconds over which a turn repeats a short step."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time: what to take on a machine that other work shares."""
    seed: int = 0
    """Of data, weights and the order within rounds."""


PRESETS = {
    "full": Config(),
    "quick": Config(examples=20, steps=3, hidden=8, sentences=5, many=20, repeats=2, turn=0.0),
}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every workload."""
    with threads(1):
        for name in config.workloads:
            announce(name)
            yield from aligners(config) if name == "align" else attacks(config, name)


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


def corpus(seed: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Return sentences of 20 words of 500 and their words' translations in another order within five places."""
    generator = Generator().manual_seed(seed)
    # No word twice: nltk counts a repeated target word's normaliser twice.
    source = torch.rand(count, 500, generator=generator).argsort(1)[:, :20]
    order = (torch.arange(20) + 5 * torch.rand(count, 20, generator=generator)).argsort(1)
    return list(zip(source.tolist(), (source.gather(1, order) + 500).tolist(), strict=True))


def aligners(config: Config) -> Iterator[Row]:
    """Time both aligners on the same sentences and compare probabilities; then ours on many."""
    pairs, many = corpus(config.seed, config.sentences), corpus(config.seed + 1, config.many)
    workload = f"align, over nltk's IBM model 1, {config.sentences} sentences"
    try:
        translate = installed("nltk.translate", "pip install nltk")
    except NotRunError as error:
        yield {"workload": workload, "method": "nltk IBM model 1", **NOTHING, "note": str(error)}
        return
    words = [translate.AlignedSent([str(w) for w in target], [str(w) for w in source]) for source, target in pairs]
    steps: dict[str, Step] = {
        "nltk IBM model 1": lambda: translate.IBMModel1(words, 5),
        "craik": lambda: align(pairs, 5, 0.0, None),
        "craik, diagonal": lambda: align(pairs, 5),
        f"craik, diagonal, {config.many} sentences": lambda: align(many, 5),
    }
    theirs, ours = steps["nltk IBM model 1"](), align(pairs, 5, 0.0, None)
    table: Any = theirs.translation_table  # pyright: ignore[reportAttributeAccessIssue] # nltk's
    away = max(
        abs(p - table[str(f)][None if e < 0 else str(e)])
        for (e, f), p in zip(ours.pairs.tolist(), ours.probabilities.tolist(), strict=True)
    )
    rounds = dict.fromkeys(steps, config.repeats)
    times = interleaved(steps, dict.fromkeys(steps, _nothing), rounds, 0.0, Generator().manual_seed(config.seed), config.clock)
    for key in steps:
        found = ratio(times[key], times["nltk IBM model 1"])
        yield {
            "workload": workload, "method": key, "ratio": found.median, "low": found.low, "high": found.high,
            "memory_ratio": None, "exact": away < 1e-8 if key == "craik" else None, "seconds": statistics.median(times[key]),
            "version": versioned("nltk") if key.startswith("nltk") else "",
            "note": f"{statistics.median(times[key]):.2f} s" if "sentences" in key else "",
        }  # fmt: skip
