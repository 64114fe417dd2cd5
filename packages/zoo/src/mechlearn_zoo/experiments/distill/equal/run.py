"""One table: tasks with privileged data, methods that use them, as much computation and as many trials for each.

A budget is counted in gradients of the plain student on a batch of 32, by floating-point operations: heads, encoders, teachers,
unrolls and their differentiation count. Each method has as many trials, drawn at random; settings, and the time to stop, are
chosen on held-out examples.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Annotated

import numpy as np
from annotated_types import Ge, MinLen

from claimlab import Limited, Preset, Row, computed
from mechlearn_zoo.experiments.distill.bodies import Scale
from mechlearn_zoo.experiments.distill.equal.problems import Problem, Task, make_problem
from mechlearn_zoo.experiments.distill.equal.rivals import Method, Setting, train
from mechlearn_zoo.experiments.distill.measured import Measured, summary
from mechlearn_zoo.experiments.distill.training import Count

METHODS: tuple[Method, ...] = ("no-teacher", "auxiliary", "gated", "hindsight", "contrast", "generalised", "ldt")


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run; what a search may choose is in `rivals.Setting`."""

    seed: int = 0
    """First seed: of data, the search, weights, splits and batches."""
    tasks: Annotated[tuple[Task, ...], MinLen(1)] = ("xor", "noisy-labels")
    """Task A, task B, Swimmer."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = METHODS
    """Without a teacher, an auxiliary head, the same gated, hindsight modelling, CPC, generalised distillation, LDT."""
    trials: Count = 3
    """Trials of each method's search on each task."""
    budget: Annotated[int, Ge(10)] = 6000
    """Gradients of the plain student that a training may cost, by operations."""
    looks: Annotated[int, Ge(2)] = 16
    """How often a student is looked at while it is trained."""
    scale: Scale = "quick"
    """Size of the body's data."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(Config(tasks=("xor", "noisy-labels", "body"), trials=40, budget=100_000, looks=64, scale="paper"), seeds=6),
}


def suggest(problem: Problem, method: Method, random: np.random.Generator) -> Setting:
    """Draw a trial's settings."""

    def log(low: float, high: float) -> float:
        return float(np.exp(random.uniform(np.log(low), np.log(high))))

    setting = Setting(lr=log(3e-4, 3e-3))
    if method in ("auxiliary", "gated", "hindsight", "contrast"):
        return setting._replace(weight=log(0.1, 10.0))
    if method == "generalised":
        return setting._replace(
            temperature=log(1.0, 10.0), imitation=float(random.uniform(0.25, 1)), share=float(random.uniform(0.1, 0.5))
        )
    if method == "ldt":
        return setting._replace(
            alpha=log(*problem.alphas),
            inner_steps=int(random.choice([16, 32])),
            meta_lr=log(3e-4, 3e-3),
            validation=float(random.choice([0.3, 0.5])),
        )
    return setting


def run(config: Config) -> Iterator[Row]:
    """Yield one row for each task, method and trial."""
    for task in config.tasks:
        problem = make_problem(task, config.seed, config.scale)
        for method in config.methods:
            random = np.random.default_rng([config.seed, METHODS.index(method)])
            for trial in range(config.trials):
                setting = suggest(problem, method, random)
                row: Row = {"task": task, "method": method, "trial": trial, **setting._asdict()}
                yield {**row, **computed(f"{task}, {method}, {trial}", measure, config, problem, method, setting)}


def measure(config: Config, problem: Problem, method: Method, setting: Setting) -> Row:
    """Train one student and return its errors and cost; one that diverges counts as far as it came."""
    points: list[Measured] = []
    spent, diverged = 0.0, ""
    try:
        for place, (student, now) in enumerate(
            train(problem, method, setting, config.seed, float(config.budget), config.looks)
        ):
            errors = [problem.mean_error(student, part) for part in (problem.data.selection, problem.data.test)]
            if not all(isfinite(error) for error in errors):
                raise FloatingPointError(f"Errors should be finite. Found {errors}.")
            spent = now
            points.append(Measured(place + 1, *errors))
    except FloatingPointError as error:
        diverged = str(error)
    found = summary(points or [Measured(0, 1e3, 1e3)], min)
    return {**found, "spent": spent, "diverged": diverged}
