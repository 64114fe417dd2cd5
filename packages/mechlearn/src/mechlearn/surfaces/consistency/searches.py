"""How the worst point of a neighbourhood is looked for: the choice objects of `Consistency.search`."""

from dataclasses import dataclass

from mechlearn.arguments import Choice, check_positive, check_whole


@dataclass(frozen=True)
class Exact(Choice):
    """All of every Hessian (n x n memory): second-order expansions of both losses, whose program is solved exactly.

    Args:
        largest: the most parameters for which Hessians are built.

    Raises:
        TypeError: no whole number.
        ValueError: it is below 1.
    """

    largest: int = 4096

    def __post_init__(self) -> None:
        check_whole("largest", self.largest, least=1)


@dataclass(frozen=True)
class Ascent(Choice):
    """An expansion in N_e alone, and a local search inside it with the true losses: projected gradient ascent.

    It projects onto the whole ellipsoid and so needs every Hessian. What it returns is a lower bound.

    Args:
        starts: random starts, beside the solution of `Exact`.
        iterations: ascent steps from each start, at most.
        largest: the most parameters for which Hessians are built.

    Raises:
        TypeError: no whole numbers.
        ValueError: a negative number of starts, fewer than one step or parameter.
    """

    starts: int = 8
    iterations: int = 100
    largest: int = 4096

    def __post_init__(self) -> None:
        check_whole("starts", self.starts)
        check_whole("iterations", self.iterations, least=1)
        check_whole("largest", self.largest, least=1)


@dataclass(frozen=True)
class Subspace(Choice):
    """The program of `Exact` in a growing subspace, from Hessian-vector products: a few vectors of memory.

    Args:
        iterations: steps for a pair of environments and a sign, at most.
        tolerance: relative residual at which it stops; the value's error is about its square.
        basis: vectors that are kept, each with two products: 3 x basis parameter vectors of memory.

    Raises:
        TypeError: a number of another kind.
        ValueError: fewer than one step or four vectors, or a tolerance outside (0, 1).
    """

    iterations: int = 100
    tolerance: float = 1e-2
    basis: int = 8

    def __post_init__(self) -> None:
        check_whole("iterations", self.iterations, least=1)
        check_whole("basis", self.basis, least=4)
        check_positive("tolerance", self.tolerance)
        if not self.tolerance < 1:
            raise ValueError(f"`tolerance` should lie below 1. Found {self.tolerance!r}. A hundredth is the default.")


EXACT = Exact()
Search = Exact | Ascent | Subspace
