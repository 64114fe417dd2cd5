"""What a population costs: one round of P students over one student's, stacked and one by one.

Task A's networks and settings on random data. A round is a meta-step and N ordinary steps of every student.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence

import torch
from mechlearn_zoo_benchmarks.measuring.timing import interleaved, ratio
from torch import Generator, Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from claimlab import Row
from mechlearn.distill import SGD, Examples, Lesson, Population, PopulationDistillation, UnitsTeacher, Unrolling, split_rows
from mechlearn.nn.perceptrons import relu_mlp

METHODS = {"one student": (False, 1), "mechlearn, stacked": (True, 8), "mechlearn, one by one": (False, 8)}
"""Whether the students are stacked, and how many."""


def label_loss(prediction: Tensor, y: Tensor) -> Tensor:
    """Return the cross-entropy of each example."""
    return binary_cross_entropy_with_logits(prediction[:, 0], y, reduction="none")


def distillation(students: int, *, stacked: bool, small: bool, dtype: torch.dtype = torch.float32) -> PopulationDistillation:
    """Return a population at work.

    Args:
        students: P.
        stacked: as one stack.
        small: tiny networks and few steps, for tests.
        dtype: of networks and data.
    """
    g = Generator().manual_seed(0)
    inputs, units, width, hidden, n = (4, 3, 5, 6, 2) if small else (64, 32, 128, 256, 32)
    members = [nn.Sequential(*relu_mlp((inputs, units), g), *relu_mlp((units, width, 1), g)).to(dtype) for _ in range(students)]
    teacher = UnitsTeacher(relu_mlp((4, hidden, hidden, units), Generator().manual_seed(1)), {"0": units}).to(dtype)
    x, privileged, y = torch.randn(512, inputs, generator=g), torch.randn(512, 4, generator=g), torch.rand(512, generator=g)
    return PopulationDistillation(
        Lesson(members[0], teacher, ["0"], label_loss, 100.0),
        Population(members, stacked=stacked),
        Examples(x.to(dtype), privileged.to(dtype), (y > 0.5).to(dtype)),
        split_rows(512, 0.5, g),
        Unrolling(SGD(0.01), n, 32),
        lambda parameters: torch.optim.Adam(parameters, 1e-3),
        torch.optim.Adam(teacher.parameters(), 1e-3),
        g,
    )


def rows(repeats: int, *, small: bool, seed: int, announce: Callable[[str], None]) -> Iterator[Row]:
    """Measure a round of each; the first is the denominator.

    Args:
        repeats: interleaved rounds.
        small: as in `distillation`.
        seed: of the order within rounds.
        announce: told what is under way.
    """
    workload = "population of 8, n = N = 32"
    announce(workload)
    made = {name: distillation(count, stacked=stacked, small=small) for name, (stacked, count) in METHODS.items()}
    steps = {name: _round(one, 2 if small else 32) for name, one in made.items()}
    for step in steps.values():
        step()
    nothing = dict.fromkeys(steps, _nothing)
    counts = dict.fromkeys(steps, repeats)
    times = interleaved(steps, nothing, counts, 0.0, Generator().manual_seed(seed), "cpu")
    error = _error(small=small)
    for name, found in times.items():
        over = ratio(found, times["one student"])
        exact = {"exact": error < 1e-10, "error": error} if name == "mechlearn, stacked" else {"exact": None}
        figures = {"ratio": over.median, "low": over.low, "high": over.high, "rounds": over.rounds, "memory_ratio": None}
        note = "over one student's round; processor time"
        yield {"workload": workload, "method": name, **figures, **exact, "seconds": statistics.median(found), "note": note}


def _round(population: PopulationDistillation, steps: int) -> Callable[[], object]:
    return lambda: population.step(steps)


def _nothing() -> None:
    """Clean up nothing."""


def _error(*, small: bool) -> float:
    """Return how far stacked students are from the same one by one after a round, in float64 and over the largest number."""
    found: list[Sequence[Tensor]] = []
    for stacked in (True, False):
        population = distillation(3, stacked=stacked, small=small, dtype=torch.float64)
        population.step(2)
        modules = [population.lesson.teacher, *population.population.students]
        found.append([parameter.detach() for module in modules for parameter in module.parameters()])
    scale = max(float(tensor.abs().max()) for tensor in found[1])
    return max(float((a - b).abs().max()) for a, b in zip(*found, strict=True)) / scale
