"""The adjoint recursion as a choice, compiled or not."""

from dataclasses import dataclass

from mechlearn import arguments
from mechlearn.distill.strategies.compiled import compiled_steps
from mechlearn.distill.strategies.inner_problem import InnerProblem, Sizes, Solved
from mechlearn.distill.strategies.recursion import eager_steps, solve_adjoint


@dataclass(frozen=True)
class Adjoint(arguments.Choice):
    """The adjoint recursion: holds theta_i (with Adam, its moments too), no graph. Exact.

    The backward pass goes from n to 0; at each step the training loss's gradient is differentiated along one direction, which
    gives the Hessian-vector product and the gradient with respect to the signals together.

    Source: Franceschi et al. 2017 (https://arxiv.org/abs/1703.01785), Reverse-HG, with theta_i stored.

    Attributes:
        compile: compile the steps with `torch.compile`. Needs a C++ compiler; takes tens of seconds once for a student and a
            batch size, and pays in long runs.
        backend: of `torch.compile`; "eager" runs the traced graph as it is, for tests.
    """

    compile: bool = False
    backend: str = "inductor"

    def __post_init__(self) -> None:
        """Reject anything but a choice."""
        arguments.check_flag("compile", self.compile)
        arguments.check_kind("backend", self.backend, str, "the name of a backend of torch.compile")

    def solve(self, problem: InnerProblem) -> Solved:
        """Differentiate the validation loss with respect to the signals.

        Raises:
            RuntimeError: the steps cannot be compiled, or are not the same operations for every batch.
        """
        return solve_adjoint(problem, compiled_steps(problem, self.backend) if self.compile else eager_steps(problem))

    def held(self, n: int, sizes: Sizes) -> int:
        """Return how many bytes n steps hold, without the working memory of a backward pass."""
        return n * (sizes.params if sizes.linear else sizes.point)
