"""TorchJD: the Jacobian of the environments' losses (autojac), then an aggregator. Its autogram yields Gramians: no signs."""

from collections.abc import Sequence

from mechlearn_zoo_benchmarks.entrants.masks.methods import Method, require_memory
from mechlearn_zoo_benchmarks.entrants.masks.problem import Problem
from mechlearn_zoo_benchmarks.entrants.masks.rule import and_mask
from mechlearn_zoo_benchmarks.measuring.peers import installed
from mechlearn_zoo_benchmarks.measuring.timing import Step
from torch import Tensor


def chunks(problem: Problem) -> Sequence[int]:
    """Return how many losses to differentiate at once: one after another, some, all."""
    return (1, 8, problem.count) if problem.count > 8 else (1, problem.count)


def prepare(problem: Problem, chunk: int) -> Step:
    """Return the step: fill ``.jac``, aggregate to ``.grad``, as its documentation does."""
    autojac, aggregation = installed("torchjd.autojac"), installed("torchjd.aggregation")
    require_memory(problem, problem.count, stacks=2)  # .jac and the matrix that jac_to_grad makes of it

    class AndMaskAggregator(aggregation.Aggregator):
        """The AND-mask, column by column."""

        def forward(self, matrix: Tensor, /) -> Tensor:
            """Return the masked mean of the rows."""
            return and_mask(matrix, problem.threshold)

    aggregator, parameters = AndMaskAggregator(), problem.parameters

    def step() -> None:
        losses = problem.by_environment(problem.losses()).mean(1)
        autojac.backward(losses, inputs=parameters, parallel_chunk_size=chunk)
        autojac.jac_to_grad(parameters, aggregator)

    return step


METHOD = Method("TorchJD", prepare, package="torchjd", chunks=chunks)
