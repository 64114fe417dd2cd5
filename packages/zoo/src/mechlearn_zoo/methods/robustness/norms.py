"""Norms of perturbations: dual norms, steepest directions, projections on a ball cut by a box.

Conventions: an example is everything after the first dimension; a norm is one of 1, 2 and infinity; the box bounds x + delta,
and x lies in it. What an attacker may do is a `Ball`: a norm, a radius, a box.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import check_not_negative, check_tensor
from mechlearn.scaling import in_range, lengths

Norm = float | int
"""1, 2 or math.inf."""

NORMS = (1, 2, math.inf)
"""The norms there are."""


@dataclass(frozen=True)
class Ball:
    """What may be done to an example: perturbations up to a radius in a norm, results within a box.

    Args:
        radius: the largest norm of a perturbation, in the units of x.
        p: the norm: 1, 2 or math.inf.
        box: lowest and highest value of a perturbed example's components; None for no bounds.

    Raises:
        TypeError: a radius that is no number, a box that is no pair of numbers.
        ValueError: a negative radius, another norm, a box that is empty or upside down.
    """

    radius: float | int
    p: Norm = 2
    box: tuple[float | int, float | int] | None = None

    def __post_init__(self) -> None:
        check_not_negative("radius", self.radius)
        check_norm(self.p)
        if self.box is not None:
            check_box(self.box)


def dual(p: Norm) -> Norm:
    """Return q with 1 / p + 1 / q = 1: the norm that measures gradients where p measures perturbations.

    >>> dual(1), dual(2), dual(math.inf)
    (inf, 2, 1)

    Raises:
        ValueError: a norm other than 1, 2 and infinity.
    """
    check_norm(p)
    return {1: math.inf, 2: 2, math.inf: 1}[p]


def norms(x: Float[Tensor, "n *x"], p: Norm) -> Float[Tensor, " n"]:
    """Return each example's norm.

    Raises:
        ValueError: a norm other than 1, 2 and infinity.
    """
    check_norm(p)
    flat = x.flatten(1)
    return lengths(flat)[:, 0] if p == 2 else torch.linalg.vector_norm(flat, ord=p, dim=1)


def steepest(gradient: Float[Tensor, "n *x"], radius: float | int, p: Norm) -> Float[Tensor, "n *x"]:
    """Return the perturbation of a radius along which a linear function rises most: argmax of gradient . delta.

    It gains radius * |gradient|_q with q the dual norm: radius g / |g|_2 for p = 2, radius sign g for infinity, radius on the
    largest component (the first of several) for 1. Where the gradient is 0, so is the perturbation.

    Raises:
        ValueError: a negative radius or another norm.
    """
    check_not_negative("radius", radius)
    check_norm(p)
    if p == math.inf:
        return radius * gradient.sign()
    flat = gradient.flatten(1)
    if p == 2:
        flat = in_range(flat)
        size = torch.linalg.vector_norm(flat, dim=1, keepdim=True)
        return (flat * (radius / torch.where(size > 0, size, 1))).view_as(gradient)
    place = flat.abs().argmax(1, keepdim=True)
    return torch.zeros_like(flat).scatter(1, place, radius * flat.gather(1, place).sign()).view_as(gradient)


def project(delta: Float[Tensor, "..."], ball: Ball, x: Float[Tensor, "..."]) -> Float[Tensor, "n *x"]:
    """Return the nearest perturbation (in the Euclidean sense) that the ball and its box allow, exactly.

    With c the room between x and the box on the side of delta's sign: for infinity min(abs(delta), radius, c); for 2
    min(t abs(delta), c) with the largest t <= 1 that keeps the norm, found in a finite number of steps as what is cut by the
    box only grows; for 1 min(max(abs(delta) - t, 0), c) with the smallest t >= 0, found between the sorted places where it
    bends.

    Args:
        delta: perturbations.
        ball: radius, norm and box.
        x: the examples, within the box.

    Raises:
        ValueError: shapes that differ, or x outside of the box.
    """
    check_within(x, ball.box)
    if delta.shape != x.shape:
        raise ValueError(
            f"`delta` should have the shape of `x`. Found {tuple(delta.shape)} and {tuple(x.shape)}. Pass one perturbation an "
            "example."
        )
    return _project(delta, ball, x)


def _project(delta: Tensor, ball: Ball, x: Tensor) -> Tensor:
    """Project without the checks: for loops that checked once."""
    if ball.p == math.inf:
        return _boxed(delta.clamp(-ball.radius, ball.radius), ball.box, x)
    boxed = _boxed(delta, ball.box, x).flatten(1)
    size = norms(boxed, ball.p)[:, None]
    if bool((size <= ball.radius).all()):
        return boxed.view_as(delta)
    flat = delta.flatten(1)
    cap = _room(delta, ball.box, x)
    inner = _scaled(flat, cap, ball.radius) if ball.p == 2 else _shrunk(flat, cap, ball.radius)
    return torch.where(size <= ball.radius, boxed, inner).view_as(delta)


def _boxed(delta: Tensor, box: tuple[float | int, float | int] | None, x: Tensor) -> Tensor:
    return delta if box is None else torch.minimum(torch.maximum(delta, box[0] - x), box[1] - x)


def _room(delta: Tensor, box: tuple[float | int, float | int] | None, x: Tensor) -> Tensor | None:
    """Return how far each component may go on the side it wants to, (n, d)."""
    return None if box is None else torch.where(delta > 0, box[1] - x, x - box[0]).clamp(min=0).flatten(1)


def _scaled(flat: Tensor, cap: Tensor | None, radius: float) -> Tensor:
    """Return sign(y) min(t abs(y), c) of norm radius: sum min(t^2 y^2, c^2) is concave in t^2, so Newton rises to its root."""
    flat = in_range(flat)
    square = flat.square()
    total = square.sum(1, keepdim=True)
    if cap is None:
        return flat * (radius / torch.where(total > 0, total, 1).sqrt())
    cut = torch.zeros_like(flat, dtype=torch.bool)
    while True:
        free = square.masked_fill(cut, 0).sum(1, keepdim=True)
        spent = cap.square().masked_fill(~cut, 0).sum(1, keepdim=True)
        scale = ((radius**2 - spent).clamp(min=0) / torch.where(free > 0, free, 1)).sqrt()
        grown = cut | (scale * flat.abs() > cap)
        if torch.equal(grown, cut):
            return flat.sign() * torch.minimum(scale * flat.abs(), cap)
        cut = grown


def _shrunk(flat: Tensor, cap: Tensor | None, radius: float) -> Tensor:
    """Return sign(y) min(max(abs(y) - t, 0), c) of l1 norm radius.

    As a function of t the norm falls and is linear between the places abs(y) - c, where a component comes off the box, and
    abs(y), where it reaches 0. At such a place the norm is known from sums over the sorted places, and t lies on a line.
    """
    size = flat.abs()
    off = torch.zeros_like(size) if cap is None else (size - cap).clamp(min=0)
    ends, order = torch.cat([off, size], 1).sort(1)
    # Going up in t, the slope changes by -1 where a component leaves the box and by +1 where it reaches 0.
    turns = torch.cat([-torch.ones_like(off), torch.ones_like(size)], 1).gather(1, order)
    slope = turns.cumsum(1)
    at_zero = (size - off).sum(1, keepdim=True)
    steps = torch.cat([ends[:, :1], ends.diff(dim=1)], 1)
    falls = torch.cat([torch.zeros_like(at_zero), slope[:, :-1]], 1) * steps
    norm = at_zero + falls.cumsum(1)
    # The last place where the norm still is at least the radius; t lies on the line that begins there.
    place = ((norm >= radius).sum(1, keepdim=True) - 1).clamp(min=0)
    height, line = norm.gather(1, place), slope.gather(1, place)
    t = ends.gather(1, place) + (height - radius) / torch.where(line < 0, -line, 1)
    shrunk = (size - t).clamp(min=0)
    return flat.sign() * (shrunk if cap is None else torch.minimum(shrunk, cap))


def check_norm(p: object) -> None:
    """Reject another norm than 1, 2 and infinity.

    Raises:
        ValueError: says so.
    """
    if isinstance(p, bool) or not isinstance(p, int | float) or p not in NORMS:
        raise ValueError(
            f"`p` should be 1, 2 or math.inf. Found {p!r}. Take 2 for distances, math.inf for every component's change."
        )


def check_box(box: object) -> None:
    """Reject anything but a pair of numbers, the lower first.

    Raises:
        TypeError: no pair of numbers.
        ValueError: one that is upside down or empty.
    """
    if not isinstance(box, tuple) or len(box) != 2 or not all(isinstance(end, int | float) for end in box):
        raise TypeError(f"`box` should be a pair of numbers or None. Found {box!r}. For pixels between 0 and 1: (0.0, 1.0).")
    if not box[0] < box[1]:
        raise ValueError(f"`box` should have its lower end first. Found {box!r}. Swap them.")


def check_within(x: Tensor, box: tuple[float | int, float | int] | None) -> None:
    """Reject examples that are no floating tensor (n, ...), not finite, or outside of the box.

    Raises:
        TypeError: no tensor, or one without floats.
        ValueError: no examples, values that are not finite or outside of the box.
    """
    check_tensor("x", x)
    if not x.is_floating_point():
        raise TypeError(f"`x` should hold floats. Found {x.dtype}. Convert it with x.double().")
    if x.dim() < 2 or x.numel() == 0:
        raise ValueError(f"`x` should have the shape (examples, ...). Found {tuple(x.shape)}. Add a dimension with x[None].")
    low, high = float(x.min()), float(x.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("`x` should be finite. Found infinite or missing values. Leave these examples out.")
    if box is not None and (low < box[0] or high > box[1]):
        raise ValueError(
            f"`x` should lie within the box {box}. Found values from {low:g} to {high:g}. Widen the box, or scale the examples."
        )
