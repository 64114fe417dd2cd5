"""`check_rule`: the theorems that a rule of agreement obeys, whoever wrote it (after TorchJD's property kit)."""

from collections.abc import Callable, Collection, Iterator
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.agreement import Combined, Rule, Statistics, combine
from mechlearn.agreement.rules import EACH, STANDARD_ERRORS

Theorem = Literal["order", "copies", "scale", "sign", "unanimity"]
"""What a rule may be exempt from, where it says so itself:

order: the order of the environments does not matter.
copies: counting every environment twice changes nothing.
scale: scaling every gradient scales the result and leaves the mask.
sign: the opposite gradients give the opposite result, through the same mask.
unanimity: where all environments have one gradient, the result is that gradient.
"""

_NEEDS = frozenset(Statistics._fields[2:]) - STANDARD_ERRORS - EACH
_SHAPES = ((4, 3), (5,), ())


def check_rule(rule: Rule, *, without: Collection[str] = ()) -> None:
    """Check a rule of your own against what holds for every rule, on random gradients with exact zeros among them.

    A rule is any callable from `mechlearn.agreement.Statistics` to `mechlearn.agreement.Combined` with a set ``needs`` of the
    optional statistics that it reads, as strings out of "sign", "log_magnitude", "square" and "magnitude", or "each" alone for
    all gradients side by side; a frozen dataclass does. Without exception the result has the parameter's shape and type and is
    finite, what does not survive is 0, the same statistics give the same result and do not change, and sums of signs may be
    held in bytes or floats.

    Args:
        rule: an instance.
        without: theorems that this rule breaks on purpose, as `MedianSign` does "scale" and "unanimity": it has no magnitude.

    Raises:
        AssertionError: a theorem does not hold; the sentence names it and gives the gradients for which it does not.
        ValueError: an unknown theorem in ``without``.

    Example:
        >>> from mechlearn.agreement import AndMask, MedianSign
        >>> from mechlearn.testing import check_rule
        >>> check_rule(AndMask(threshold=0.6))
        >>> check_rule(MedianSign(), without=("scale", "unanimity"))
    """
    unknown = sorted(set(without) - set(get_args(Theorem)))
    if unknown:
        raise ValueError(f"`without` should hold theorems out of {get_args(Theorem)}. Found {unknown}. Correct the names.")
    _check_needs(rule)
    for g in _examples():
        _check_form(rule, g)
        _check_purity(rule, g)
    for g in _examples():
        if g.dtype == torch.float64:
            check_theorems(rule, g, without=without)


def check_theorems(rule: Rule, g: Float[Tensor, "e *p"], *, without: Collection[str] = ()) -> None:
    """Check the theorems on gradients of your choice, in float64.

    Args:
        rule: an instance.
        g: (E, *p) one environment's gradient a row.
        without: as for `check_rule`.
    """
    plain = combine(rule, g)
    same = g[:1].expand_as(g)
    found: dict[Theorem, Callable[[], tuple[Combined, Combined]]] = {
        "order": lambda: (combine(rule, g.flip(0)), plain),
        "copies": lambda: (combine(rule, torch.cat([g, g])), plain),
        # A power of two, so that rounding has no part in it.
        "scale": lambda: (combine(rule, 4 * g), plain._replace(gradient=4 * plain.gradient)),
        "sign": lambda: (combine(rule, -g), plain._replace(gradient=-plain.gradient)),
        "unanimity": lambda: _only_gradients(combine(rule, same), same[0]),
    }
    sentences: dict[Theorem, str] = {
        "order": "The order of the environments should not matter",
        "copies": "Counting every environment twice should change nothing",
        "scale": "Gradients 4 times as large should give 4 times the result and the same mask",
        "sign": "The opposite gradients should give the opposite result and the same mask",
        "unanimity": "Where all environments have one gradient, the result should be that gradient",
    }
    for theorem, sides in found.items():
        if theorem not in without:
            rows = same if theorem == "unanimity" else g
            _assert_same(rule, rows, *sides(), f'{sentences[theorem]} (theorem "{theorem}")')


def _examples() -> Iterator[Tensor]:
    """Yield random gradients with a common part, and exact zeros as dead units leave them, for few and many environments."""
    for environments in (1, 2, 3, 8):
        for seed, shape in enumerate(_SHAPES):
            generator = torch.Generator().manual_seed(100 * environments + seed)
            g = torch.randn(environments, *shape, dtype=torch.float64, generator=generator)
            g += 2 * torch.randn(shape, dtype=torch.float64, generator=generator)
            g *= torch.rand(g.shape, generator=generator) >= 0.2
            yield g
            yield g.float()
    yield torch.zeros(3, 4, dtype=torch.float64)


def _check_needs(rule: Rule) -> None:
    needs = getattr(rule, "needs", None)
    if not isinstance(needs, frozenset | set) or not (needs <= _NEEDS or needs == EACH) or not callable(rule):
        raise AssertionError(
            f"A rule should be callable and have a set `needs` of strings out of {sorted(_NEEDS)}, or of 'each' alone. Found "
            f"{rule!r} with needs = {needs!r}. Write: needs: ClassVar[frozenset[str]] = frozenset({{'sign'}})."
        )


def _check_form(rule: Rule, g: Tensor) -> None:
    """Shape, type, finite values, and nothing where nothing survives."""
    found = combine(rule, g)
    if found.gradient.shape != g.shape[1:] or found.survives.shape != g.shape[1:]:
        shapes = f"{tuple(found.gradient.shape)} and {tuple(found.survives.shape)}"
        raise _broken(rule, "Gradient and survivors should have the parameter's shape", g, f"the shapes {shapes}")
    if found.gradient.dtype != g.dtype:
        raise _broken(rule, "The combined gradient should have the parameter's type", g, f"{found.gradient.dtype}")
    if not bool(torch.isfinite(found.gradient).all()):
        raise _broken(rule, "Finite gradients should give a finite result", g, f"{found.gradient.tolist()}")
    if not bool(((found.survives == 0) | (found.survives == 1)).all()):
        raise _broken(rule, "`survives` should be 0 or 1", g, f"{found.survives.tolist()}")
    if bool((found.gradient[found.survives == 0] != 0).any()):
        raise _broken(rule, "What does not survive should be 0", g, f"{found.gradient.tolist()} for {found.survives.tolist()}")


def _check_purity(rule: Rule, g: Tensor) -> None:
    """The same statistics give the same, are left as they are, and may hold their signs in bytes."""
    sums = [g.sum(0), g.sign().sum(0), g.abs().log().sum(0), g.double().square().sum(0), g.abs().sum(0)]
    statistics = Statistics(len(g), *sums, each=g.clone())
    before = statistics.clone()
    first = rule(statistics)
    for name, now, then in zip(Statistics._fields[1:], statistics[1:], before[1:], strict=True):
        if now is not None and (then is None or not torch.equal(now, then)):
            raise _broken(rule, "A rule should leave its statistics as they are", g, f"statistics.{name} overwritten")
    second = rule(statistics)
    if not torch.equal(first.gradient, second.gradient) or not torch.equal(first.survives, second.survives):
        raise _broken(rule, "A rule should give the same for the same statistics", g, "another result at the second call")
    in_bytes = rule(statistics._replace(sign=sums[1].to(torch.int8)))
    _assert_same(rule, g, in_bytes, first, "Sums of signs in bytes should give what sums in floats give", tolerance=1e-6)


def _only_gradients(found: Combined, gradient: Tensor) -> tuple[Combined, Combined]:
    return found, found._replace(gradient=gradient)


def _assert_same(
    rule: Rule, g: Tensor, found: Combined, expected: Combined, sentence: str, *, tolerance: float = 1e-12
) -> None:
    """Compare masks exactly and gradients to rounding; the first component that differs is the example."""
    apart = found.survives.bool() != expected.survives.bool()
    apart |= ~torch.isclose(found.gradient, expected.gradient, rtol=tolerance, atol=1e-3 * tolerance)
    if bool(apart.any()):
        k = int(apart.flatten().nonzero()[0])
        now, then = (f"{float(one.gradient.flatten()[k])!r}" for one in (found, expected))
        masks = [bool(one.survives.flatten()[k]) for one in (found, expected)]
        words = f"{now} (survives: {masks[0]}) where {then} (survives: {masks[1]}) was expected"
        raise _broken(rule, sentence, g.flatten(1)[:, k] if g.dim() > 1 else g, words)


def _broken(rule: Rule, sentence: str, g: Tensor, found: str) -> AssertionError:
    return AssertionError(f"{sentence}. Found {found}, by {rule!r} for the environments' gradients {g.tolist()}.")
