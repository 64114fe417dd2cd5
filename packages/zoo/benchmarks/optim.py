"""The temporal AND-mask's step beside torch's fused Adam and the optimisers that users would pick instead.

Nothing but the optimiser's step is timed, on gradients that stay as they are. A ratio is a step over the step of
`torch.optim.Adam(fused=True)`, formed within a round of interleaved turns; `low` and `high` are its range over rounds.
`memory_ratio` is what the optimiser keeps between steps over what Adam keeps. `exact` says that after five steps in float64
the parameters equal those of the literal algorithm to 1e-12; the peers, which compute something else, have none.
"""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from mechlearn_zoo_benchmarks.entrants.optimisers.methods import FUSED, Method, methods
from mechlearn_zoo_benchmarks.entrants.optimisers.workloads import WORKLOADS, parameters
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError
from mechlearn_zoo_benchmarks.measuring.settings import check_known, check_least
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, ratio, threads, turn
from torch import Generator, Tensor

from claimlab import Row
from claimlab.errors import suggestion

Announce = Callable[[str], None]


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = tuple(WORKLOADS)
    """Which sets of parameters to step: fastresnet, many-small, one-large, tiny."""
    methods: tuple[str, ...] = ()
    """Which optimisers beside fused Adam: names of files in benchmarks/entrants/optimisers/methods/; empty for all."""
    repeats: int = 15
    """How many interleaved rounds."""
    turn: float = 0.1
    """Seconds over which a turn repeats a step."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of parameters, gradients and the order within rounds."""
    small: bool = False
    """Shrink the workloads to the size of a test; their ratios mean nothing."""

    def __post_init__(self) -> None:
        """Refuse names and numbers that cannot be."""
        if not self.workloads:
            raise ValueError(f"workloads should name at least one. Found none. {suggestion('', WORKLOADS)}")
        check_known("workload", self.workloads, WORKLOADS)
        check_known("method", self.methods, methods())
        check_least(self, 1, "repeats", "threads")
        check_least(self, 0, "turn")


PRESETS = {"full": Config(), "quick": Config(repeats=2, turn=0.01, small=True)}


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure every optimiser on every workload; rows come workload by workload, the denominator first.

    Args:
        config: the settings.
        announce: told what is under way.
    """
    with threads(config.threads):
        for name in config.workloads:
            yield from _workload(name, config, announce)


def _workload(name: str, config: Config, announce: Announce) -> Iterator[Row]:
    chosen = {key: method for key, method in methods().items() if not config.methods or key in (FUSED, *config.methods)}
    steps: dict[str, Step] = {}
    kept: dict[str, int] = {}
    refused: dict[str, str] = {}
    for key, method in chosen.items():
        announce(f"{name}: {method.name} warms up")
        try:
            held = parameters(name, config.small, config.seed)
            optimizer = method.make(held)
            optimizer.step()
            steps[key], kept[key] = optimizer.step, _state_bytes(optimizer)
        except NotRunError as reason:
            refused[key] = str(reason)
    announce(f"{name}: {config.repeats} rounds")
    times = _time(steps, config)
    for key, method in chosen.items():
        exact = method.exact(name, config.small, config.seed) if key in steps else None
        found = _measured(times, kept, key) if key in steps else _unmeasured(refused[key])
        setting = {"version": method.version, "threads": config.threads, "seed": config.seed, "small": config.small}
        yield {"workload": name, "method": method.name, **found, "exact": exact, **setting} | _note(method, refused.get(key))


def _time(steps: dict[str, Step], config: Config) -> dict[str, list[float]]:
    def nothing() -> None:
        """A step leaves nothing to clean."""

    for step in steps.values():
        turn(step, nothing, config.turn)
    clean = dict.fromkeys(steps, nothing)
    generator = Generator().manual_seed(config.seed)
    return interleaved(steps, clean, dict.fromkeys(steps, config.repeats), config.turn, generator)


def _state_bytes(optimizer: torch.optim.Optimizer) -> int:
    values = [value for state in optimizer.state.values() for value in state.values()]
    return sum(value.numel() * value.element_size() for value in values if isinstance(value, Tensor))


def _measured(times: dict[str, list[float]], kept: dict[str, int], key: str) -> Row:
    found = ratio(times[key], times[FUSED])
    return {
        "ratio": found.median,
        "low": found.low,
        "high": found.high,
        "memory_ratio": kept[key] / kept[FUSED],
        "seconds": statistics.median(times[key]),
        "seconds_plain": statistics.median(times[FUSED]),
        "rounds": found.rounds,
    }


def _unmeasured(reason: str) -> Row:
    return {"ratio": None, "low": None, "high": None, "memory_ratio": None, "note": reason}


def _note(method: Method, reason: str | None) -> Row:
    return {"note": reason or method.note}
