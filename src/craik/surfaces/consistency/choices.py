"""What has to be chosen for a consistency score, each choice by name; docs/deviations.md says what the texts choose."""

import math
from dataclasses import dataclass
from typing import Literal, get_args, get_type_hints

from craik.surfaces.landscape import Curvature

Neighbourhood = Literal["at-most", "within"]
Taylor = Literal["both", "constraint"]
Method = Literal["dense", "subspace"]
NotMinimum = Literal["warn", "error", "ignore"]


@dataclass(frozen=True)
class Choices:
    """Choices of a consistency score.

    Raises:
        ValueError: a number out of its range, an unknown name, or choices that exclude each other.
    """

    epsilon: float
    """How far environment e's loss may move; the radius of N_e."""
    neighbourhood: Neighbourhood = "at-most"
    """N_e: L_e(theta) <= L_e(theta*) + epsilon as in the paper ("at-most"), or abs(L_e(theta) - L_e(theta*)) <= epsilon as in
    the thesis ("within")."""
    subtract: bool = True
    """Compare abs(L_e'(theta) - L_e(theta)), as definition (2) / (3.1); False takes L_e'(theta) alone, as the proof of
    proposition 3 does."""
    taylor: Taylor = "both"
    """Second-order expansions in N_e alone ("constraint", a local search with the true losses; dense only) or in the
    objective, too ("both", solved exactly)."""
    curvature: Curvature = "hessian"
    """Second derivatives, or their Gauss-Newton part."""
    ridge: float = 0.0
    """A multiple of the identity added to every environment's Hessian (footnote of the paper)."""
    method: Method = "dense"
    """All of every Hessian ("dense", n x n memory), or Hessian-vector products ("subspace", a few vectors)."""
    not_minimum: NotMinimum = "warn"
    """What to do where a gradient step would lower the pooled loss by more than epsilon."""
    walk: bool = True
    """Check directly: walk to each point that was found and evaluate the true losses on the way."""
    iterations: int = 100
    """Steps of the subspace method for a pair of environments and a sign, at most; ascent steps with taylor="constraint"."""
    tolerance: float = 1e-2
    """Relative residual at which the subspace method stops; the value's error is about its square."""
    basis: int = 8
    """Vectors that the subspace method keeps, each with two products: 3 x basis parameter vectors of memory."""
    starts: int = 8
    """Random starts of the local search of taylor="constraint", beside the solution of taylor="both"."""
    largest: int = 4096
    """The most parameters for which method="dense" builds Hessians."""

    def __post_init__(self) -> None:
        if not (self.epsilon > 0 and math.isfinite(self.epsilon)):
            raise ValueError(
                f"`epsilon` should be a positive number: how far a loss may move. Found {self.epsilon!r}. Choose it "
                "small beside the losses, for example a tenth of the smallest."
            )
        if not (self.ridge >= 0 and math.isfinite(self.ridge)):
            raise ValueError(f"`ridge` should be 0 or a positive number. Found {self.ridge!r}.")
        _check_names(self)
        for name, least in {"iterations": 1, "basis": 4, "starts": 0, "largest": 1}.items():
            if getattr(self, name) < least:
                raise ValueError(f"`{name}` should be at least {least}. Found {getattr(self, name)}.")
        if not 0 < self.tolerance < 1:
            raise ValueError(f"`tolerance` should lie between 0 and 1. Found {self.tolerance!r}.")
        if self.taylor == "constraint" and self.method == "subspace":
            raise ValueError(
                "taylor='constraint' projects onto the whole ellipsoid and needs method='dense'. Found method='subspace'. Keep "
                "taylor='both': the walk then evaluates the true losses."
            )


def _check_names(choices: Choices) -> None:
    for name, hint in get_type_hints(Choices).items():
        options = get_args(hint)
        if options and getattr(choices, name) not in options:
            listed = ", ".join(repr(option) for option in options)
            raise ValueError(f"`{name}` should be one of {listed}. Found {getattr(choices, name)!r}.")
