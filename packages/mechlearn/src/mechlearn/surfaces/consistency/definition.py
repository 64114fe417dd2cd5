"""What has to be chosen for a consistency score, each choice by name.

What the texts choose: docs/evidence/deviations.md.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from mechlearn.arguments import Choice, check_flag, check_not_negative, check_one_of, check_positive
from mechlearn.surfaces.consistency.searches import EXACT, Search
from mechlearn.surfaces.landscape import Curvature

Neighbourhood = Literal["at-most", "within"]
NotMinimum = Literal["warn", "error", "ignore"]


@dataclass(frozen=True)
class Consistency(Choice):
    """A definition of consistency, and how its score is found.

    Raises:
        TypeError: no number where one is needed, or a search of another type.
        ValueError: a number out of its range, or an unknown name.
    """

    epsilon: float
    """How far environment e's loss may move; the radius of N_e."""
    neighbourhood: Neighbourhood = "at-most"
    """N_e: L_e(theta) <= L_e(theta*) + epsilon as in the paper ("at-most"), or abs(L_e(theta) - L_e(theta*)) <= epsilon as in
    the thesis ("within")."""
    subtract: bool = True
    """Compare abs(L_e'(theta) - L_e(theta)), as definition (2) / (3.1); False takes L_e'(theta) alone, as the proof of
    proposition 3 does."""
    curvature: Curvature = "hessian"
    """Second derivatives, or their Gauss-Newton part."""
    ridge: float = 0.0
    """A multiple of the identity added to every environment's Hessian (footnote of the paper)."""
    search: Search = EXACT
    """How the worst point of N_e is found: `Exact`, `Ascent` with the true losses, or `Subspace` for large models."""
    walk: bool = True
    """Check directly: walk to each point that was found and evaluate the true losses on the way."""
    not_minimum: NotMinimum = "warn"
    """What to do where a gradient step would lower the pooled loss by more than epsilon."""

    def __post_init__(self) -> None:
        check_flag("subtract", self.subtract)
        check_flag("walk", self.walk)
        way_out = "Choose it small beside the losses, for example a tenth of the smallest."
        check_positive("epsilon", self.epsilon, why="how far a loss may move", way_out=way_out)
        check_not_negative("ridge", self.ridge)
        check_one_of("neighbourhood", self.neighbourhood, get_args(Neighbourhood))
        check_one_of("curvature", self.curvature, get_args(Curvature))
        check_one_of("not_minimum", self.not_minimum, get_args(NotMinimum))
        if not isinstance(self.search, Search):  # pyright: ignore[reportUnnecessaryIsInstance]  # a user need not run a type checker
            raise TypeError(f"`search` should be an Exact, an Ascent or a Subspace. Found {self.search!r}.")
