"""Reverse mode through the last steps alone."""

from dataclasses import dataclass

from mechlearn import arguments
from mechlearn.distill.strategies.inner_problem import InnerProblem, Sizes, Solved
from mechlearn.distill.strategies.segments import solve_in_segments


@dataclass(frozen=True)
class Truncated(arguments.Choice):
    """An approximation: differentiates the last steps only, as if theta were a constant before them.

    Source: Shaban et al. 2019 (https://arxiv.org/abs/1810.10667), truncated back-propagation through K steps.

    Attributes:
        last: how many steps.

    Raises:
        ValueError: fewer than one step, which would give a gradient of 0.
    """

    last: int = 16

    def __post_init__(self) -> None:
        """Reject fewer than one step."""
        arguments.check_whole("last", self.last, 1)

    def solve(self, problem: InnerProblem) -> Solved:
        """Differentiate the validation loss with respect to the signals of the last steps; the others' gradients are 0."""
        return solve_in_segments(problem, [max(0, problem.steps - self.last)])

    def held(self, n: int, sizes: Sizes) -> int:
        """Return how many bytes n steps hold, without the working memory of a backward pass."""
        return sizes.point + min(n, self.last) * sizes.step
