"""Networks of today: which share of their parameters has a formula, and what a masked step costs.

A ratio is (forward + backward + rule) / (forward + backward of the mean loss), formed within a round of interleaved turns;
`loop` is that of one forward and backward pass for each environment. `share` counts components of parameters whose environment
gradients are formed inside one backward pass; `paths` says how many parameters took which path.

Grids of small networks are timed beside them: one step as a stack, over one by one.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from mechlearn_zoo_benchmarks.entrants.grids import GRIDS
from mechlearn_zoo_benchmarks.entrants.grids import rows as grid_rows
from mechlearn_zoo_benchmarks.entrants.masks.methods import Method, mechlearn, plain, running_sums
from mechlearn_zoo_benchmarks.entrants.masks.methods.mechlearn import paths
from mechlearn_zoo_benchmarks.entrants.masks.models import MODELS
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.measuring.timing import interleaved, ratio, threads
from torch import Generator

from claimlab import Row
from claimlab.errors import suggestion
from mechlearn.agreement import Agreement, AndMask, Record

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    models: tuple[str, ...] = tuple(MODELS)
    """Which models to run, see benchmarks/entrants/masks/models.py."""
    grids: tuple[str, ...] = tuple(GRIDS)
    """Which grids to train as a stack, see benchmarks/entrants/grids.py; in processor time."""
    repeats: int = 5
    """How many interleaved rounds."""
    loop: bool = True
    """Time one forward and backward pass for each environment too."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    seed: int = 0
    """Of data, weights and the order within rounds."""
    small: bool = False
    """Shrink the models to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        for name in self.models:
            if name not in MODELS:
                raise ValueError(f"A model should be one that exists. Found {name!r}. {suggestion(name, MODELS)}")
        for name in self.grids:
            if name not in GRIDS:
                raise ValueError(f"A grid should be one that exists. Found {name!r}. {suggestion(name, GRIDS)}")
        if self.repeats < 1:
            raise ValueError(f"repeats should be at least 1. Found {self.repeats}. Use 1 or more.")


PRESETS = {"full": Config(), "quick": Config(repeats=1, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every model and grid, one row each.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(1):
        for name in config.models:
            announce(f"{name}: {config.repeats} rounds")
            yield _row(name, MODELS[name](config.small, config.seed), config)
        yield from grid_rows(config.grids, config.repeats, small=config.small, seed=config.seed, announce=announce)


def _row(name: str, problem: Problem, config: Config) -> Row:
    record, share = _paths(problem.copy())
    chosen: dict[str, Method] = {"plain": plain.METHOD, "mechlearn": mechlearn.METHOD}
    if config.loop:
        chosen["loop"] = running_sums.METHOD
    copies = {key: problem.copy() for key in chosen}
    steps = {key: method.prepare(copies[key], method.chunks(copies[key])[0]) for key, method in chosen.items()}
    for step in steps.values():
        step()  # what a first step does once
    clean = {key: copy.clean for key, copy in copies.items()}
    generator = Generator().manual_seed(config.seed)
    times = interleaved(steps, clean, dict.fromkeys(steps, config.repeats), 0.0, generator, config.clock)
    found = ratio(times["mechlearn"], times["plain"])
    return {
        "workload": name,
        "method": "mechlearn",
        "ratio": found.median,
        "low": found.low,
        "high": found.high,
        "memory_ratio": None,
        "exact": None,
        "loop": ratio(times["loop"], times["plain"]).median if config.loop else None,
        "share": share,
        "components": sum(p.numel() for p in problem.parameters if p.requires_grad),
        "environments": problem.count,
        "examples": len(problem.x),
        "seconds_plain": statistics.median(times["plain"]),
        "note": paths(record),
        "clock": config.clock,
        "seed": config.seed,
        "small": config.small,
    }


def _paths(problem: Problem) -> tuple[Record, float]:
    """Return one step's record, and the share of components on a formula."""
    sizes = {name: p.numel() for name, p in problem.model.named_parameters() if p.requires_grad}
    with Agreement(problem.model, AndMask(problem.threshold)) as agreement:
        record = agreement.backward(problem.losses(), problem.environments)
    covered = sum(sizes[name] for name, path in record.paths.items() if path == "layer")
    return record, covered / sum(sizes[name] for name in record.paths)
