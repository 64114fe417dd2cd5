"""Reverse mode in segments that are run again."""

from dataclasses import dataclass
from math import ceil, isqrt

from mechlearn import arguments
from mechlearn.distill.strategies.inner_problem import InnerProblem, Sizes, Solved
from mechlearn.distill.strategies.segments import solve_in_segments


@dataclass(frozen=True)
class Checkpoint(arguments.Choice):
    """Reverse mode in segments, each run a second time: holds the graph of one segment and a point for each. Exact.

    Source: Chen et al. 2016 (https://arxiv.org/abs/1604.06174), whose segments are about the square root of n, too.

    Attributes:
        segments: how many; None takes about the square root of n.

    Raises:
        ValueError: fewer than one segment.
    """

    segments: int | None = None

    def __post_init__(self) -> None:
        """Reject fewer than one segment."""
        if self.segments is not None:
            arguments.check_whole("segments", self.segments, 1)

    def length(self, n: int) -> int:
        """Return how many of n steps a segment has."""
        return ceil(n / min(n, self.segments or isqrt(n)))

    def solve(self, problem: InnerProblem) -> Solved:
        """Differentiate the validation loss with respect to the signals."""
        return solve_in_segments(problem, range(0, problem.steps, self.length(problem.steps)))

    def held(self, n: int, sizes: Sizes) -> int:
        """Return how many bytes n steps hold, without the working memory of a backward pass."""
        return ceil(n / self.length(n)) * sizes.point + self.length(n) * sizes.step
