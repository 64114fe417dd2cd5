"""Plain reverse mode."""

from dataclasses import dataclass

from mechlearn.arguments import Choice
from mechlearn.distill.strategies.inner_problem import InnerProblem, Sizes, Solved
from mechlearn.distill.strategies.segments import solve_in_segments


@dataclass(frozen=True)
class Unroll(Choice):
    """Plain reverse mode, the reference: holds the graph of all n steps.

    Source: thesis section 4.3.4 and paper section 3.4, where automatic differentiation is linear in n in time and space.
    """

    def solve(self, problem: InnerProblem) -> Solved:
        """Differentiate the validation loss with respect to the signals."""
        return solve_in_segments(problem, [0])

    def held(self, n: int, sizes: Sizes) -> int:
        """Return how many bytes n steps hold, without the working memory of a backward pass."""
        return n * sizes.step
