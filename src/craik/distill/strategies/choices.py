"""Strategies: how the unroll is differentiated. The first three are exact, at other prices; the last two approximate."""

from dataclasses import dataclass

from craik.distill.ranges import at_least_one, not_negative, positive


@dataclass(frozen=True)
class Unroll:
    """Plain reverse mode, the reference: holds the graph of all n steps.

    Source: thesis section 4.3.4 and paper section 3.4, where automatic differentiation is linear in n in time and space.
    """


@dataclass(frozen=True)
class Checkpoint:
    """Reverse mode in segments, each run a second time: holds the graph of one segment and a point for each. Exact.

    Source: Chen et al. 2016 (https://arxiv.org/abs/1604.06174), whose segments are about the square root of n, too.

    Attributes:
        segments: how many; None takes about the square root of n.

    Raises:
        ValueError: fewer than one segment.
    """

    segments: int | None = None

    def __post_init__(self) -> None:
        """Refuse fewer than one segment."""
        if self.segments is not None:
            at_least_one(segments=self.segments)


@dataclass(frozen=True)
class Adjoint:
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


@dataclass(frozen=True)
class Truncated:
    """An approximation: differentiates the last steps only, as if theta were a constant before them.

    Source: Shaban et al. 2019 (https://arxiv.org/abs/1810.10667), truncated back-propagation through K steps.

    Attributes:
        last: how many steps.

    Raises:
        ValueError: fewer than one step, which would give a gradient of 0.
    """

    last: int = 16

    def __post_init__(self) -> None:
        """Refuse fewer than one step."""
        at_least_one(last=self.last)


@dataclass(frozen=True)
class Implicit:
    """An approximation: takes theta_n for a minimum of the mean training loss over the n batches (implicit function theorem).

    The gradient with respect to the signals is - (d2 L_train / d signals d theta) H^-1 dL_val/dtheta with the Hessian H at
    theta_n; H^-1 v is formed by a truncated Neumann series (Lorraine et al., 2020) or by conjugate gradients.

    Attributes:
        solver: "neumann" or "cg".
        terms: terms of the series, or iterations of conjugate gradients.
        scale: of the Neumann series, smaller than 1 over the Hessian's largest eigenvalue; unused by "cg".
        damping: added to the Hessian's diagonal.

    Raises:
        ValueError: another solver, no terms, a scale that is not positive, a negative damping.
    """

    solver: str = "neumann"
    terms: int = 16
    scale: float = 1e-2
    damping: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what would run another solver than was meant, or none."""
        if self.solver not in ("neumann", "cg"):
            raise ValueError(f'`solver` should be "neumann" or "cg". Found {self.solver!r}.')
        at_least_one(terms=self.terms)
        positive(scale=self.scale)
        not_negative(damping=self.damping)


Strategy = Unroll | Checkpoint | Adjoint | Truncated | Implicit

NAMES: dict[str, Strategy] = {
    "unroll": Unroll(),
    "checkpoint": Checkpoint(),
    "adjoint": Adjoint(),
    "truncated": Truncated(),
    "implicit": Implicit(),
}
"""The strategies with their default settings, by name."""


def strategy_of(strategy: object) -> Strategy:
    """Return a strategy by its name, or the one given.

    Raises:
        ValueError: no such name.
        TypeError: neither a name nor a strategy, such as a strategy's class.
    """
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str) and strategy in NAMES:
        return NAMES[strategy]
    kind = ValueError if isinstance(strategy, str) else TypeError
    raise kind(f"`strategy` should be one of {', '.join(NAMES)}, or an instance with settings. Found {strategy!r}.")
