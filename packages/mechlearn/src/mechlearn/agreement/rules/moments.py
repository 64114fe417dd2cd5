"""What rules read and return: sums over environments in, a gradient and what survives of it out.

Index convention: ``e`` runs over environments, ``g_e`` is the gradient of environment e's mean loss.
"""

from collections.abc import Collection
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

from jaxtyping import Float, Shaped
from torch import Tensor


class Statistics(NamedTuple):
    """What a stream of environment gradients of one parameter adds up to; every tensor has the parameter's shape.

    Attributes:
        environments: E, the number of environments in the step.
        gradient: sum over e of g_e.
        sign: sum over e of sign(g_e), integers in [-E, E] held in whatever type represents them exactly, bytes or floats;
            sign(0) is 0, so a zero gradient is a disagreement. None unless the rule needs it.
        log_magnitude: sum over e of log abs(g_e), -inf where any g_e is 0. None unless the rule needs it.
        square: sum over e of g_e^2, in float64, as the squares of float32 below 1e-19 are 0 in float32. None unless the rule
            needs it.
        magnitude: sum over e of abs(g_e). None unless the rule needs it.
        positive: Q+, the sum of z_e^2 over the environments with g_e > 0, z_e being g_e / s_e, its squared standard error s_e^2
            estimated from the environment's examples and Student's t turned into a normal deviate of the same tail
            (`mechlearn.agreement.engine.variance`). None unless the rule needs it, as all that follow.
        negative: Q-, the same over those with g_e < 0.
        precision: sum over e of 1 / s_e^2, in float64; an environment whose examples all have the gradient 0 adds 0.
        weighted: sum over e of g_e / s_e^2, in float64.
        weighted_square: sum over e of g_e^2 / s_e^2, in float64.
        variance: sum over e of s_e^2, in float64.
        each: (E, *p) every environment's gradient, the anchor's first (`mechlearn.agreement.Anchored`); with it come no other
            optional ones.
    """

    environments: int
    gradient: Float[Tensor, "*p"]
    sign: Shaped[Tensor, "*p"] | None = None
    log_magnitude: Float[Tensor, "*p"] | None = None
    square: Float[Tensor, "*p"] | None = None
    magnitude: Float[Tensor, "*p"] | None = None
    positive: Float[Tensor, "*p"] | None = None
    negative: Float[Tensor, "*p"] | None = None
    precision: Float[Tensor, "*p"] | None = None
    weighted: Float[Tensor, "*p"] | None = None
    weighted_square: Float[Tensor, "*p"] | None = None
    variance: Float[Tensor, "*p"] | None = None
    each: Float[Tensor, "e *p"] | None = None

    def clone(self) -> "Statistics":
        """Return a copy that may be overwritten."""
        optional = (None if tensor is None else tensor.clone() for tensor in self[2:])
        return Statistics(self.environments, self.gradient.clone(), *optional)


STANDARD_ERRORS = frozenset({"positive", "negative", "precision", "weighted", "weighted_square", "variance"})
"""The statistics that take the spread of an environment's examples, not its gradient alone."""

EACH = frozenset({"each"})
"""What a rule needs that reads every environment's gradient, which is held until the step."""


class Combined(NamedTuple):
    """The result of a rule for one parameter.

    Attributes:
        gradient: the combined gradient.
        survives: 1 or True where the rule lets a component through, else 0 or False.
    """

    gradient: Float[Tensor, "*p"]
    survives: Shaped[Tensor, "*p"]


@runtime_checkable
class Rule(Protocol):
    """A pure function from `Statistics` to `Combined`.

    Source: the logical AND between gradients, thesis section 3.2.3 and paper section 2.3; each rule names its own equation.

    Attributes:
        needs: names of the optional fields of `Statistics` that the rule reads, so that nothing else is computed.
    """

    needs: ClassVar[frozenset[str]]

    def __call__(self, statistics: Statistics) -> Combined:
        """Combine the environment gradients of one parameter.

        Args:
            statistics: what they add up to, with the fields of `needs` not None.

        Returns:
            The combined gradient and which components survive, both of the parameter's shape.
        """
        ...


def check_rule(rule: object) -> None:
    """Reject anything but a rule.

    Raises:
        TypeError: says so; a class is none, an instance of it is.
    """
    if isinstance(rule, type) or not callable(rule) or not isinstance(getattr(rule, "needs", None), frozenset | set):
        raise TypeError(f"`rule` should be a rule such as AndMask(). Found {rule!r}. Pass an instance of one.")


def check_needs(rule: Rule, held: Collection[str]) -> None:
    """Reject sums that lack what a rule reads: of an environment whose sums are taken, nothing else can be known any more.

    Args:
        rule: that is to combine.
        held: the optional statistics that there are.

    Raises:
        ValueError: says what is missing.
    """
    lacking = sorted(set(rule.needs) - set(held))
    if lacking:
        raise ValueError(
            f"A rule should combine environments that were collected for what it reads. Found {rule!r}, which reads sums of "
            f"{' and '.join(lacking)}, and environments collected without. Set the rule before the first of a step's "
            "environments is accumulated, or discard() them and begin again."
        )


def needed(value: Tensor | None, name: str) -> Tensor:
    """Return an optional statistic.

    Raises:
        ValueError: it was not computed, as the rule's ``needs`` does not list it.
    """
    if value is None:
        raise ValueError(
            f"The rule reads statistics.{name}. Found None: they were collected for another rule, or this one's `needs` does "
            f"not list {name!r}. Collect them for this rule."
        )
    return value
