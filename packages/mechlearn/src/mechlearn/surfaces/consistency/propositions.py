"""The three propositions of the texts as functions, as printed and corrected (thesis appendix B.1).

What was corrected: docs/evidence/deviations.md.
"""

import math
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_data,
    check_flag,
    check_not_negative,
    check_numbers,
    check_one_of,
    check_positive,
    check_shape,
    check_share,
    check_whole,
)

Form = Literal["printed", "corrected"]
"""The bound as the texts print it, or without the error that we found in it."""


def proposition_1_bound(initial_loss: float, learning_rate: float, steps: int, smoothness: float) -> float:
    """Return proposition 1's bound: some of the first k iterates has a squared norm of the masked gradient of at most this.

    2 L(theta^0) / (eta k), for AND-masked gradient descent on a pooled loss that is never negative and whose gradient is
    Lipschitz, with a learning rate of at most 1 over that constant (thesis appendix B.1.3). It holds for every mask of zeros
    and ones, and not for what is rescaled. The chain of inequalities in the proof prints a factor eta / 2 too much in its
    middle term; its ends are right.

    Args:
        initial_loss: L(theta^0), the pooled loss at the start.
        learning_rate: eta.
        steps: k, at least 1.
        smoothness: the Lipschitz constant of the pooled loss's gradient, the texts' L.

    Raises:
        ValueError: a learning rate above 1 / smoothness, or a negative loss, or no step.
    """
    check_not_negative("initial_loss", initial_loss)
    check_positive("learning_rate", learning_rate)
    check_whole("steps", steps, least=1)
    check_positive("smoothness", smoothness)
    if not 0 < learning_rate <= 1 / smoothness:
        raise ValueError(
            f"`learning_rate` should lie in (0, 1 / smoothness], here at most {1 / smoothness:g}. Found {learning_rate:g}. "
            "Proposition 1 says nothing of larger steps."
        )
    if initial_loss < 0 or steps < 1:
        raise ValueError(f"A loss of at least 0 and a step are needed. Found loss {initial_loss} and {steps} steps.")
    return 2 * initial_loss / (learning_rate * steps)


def proposition_2_bound(d: int, t: int, form: Form = "corrected", sigma: float = 1.0) -> float:
    """Return proposition 2's bound on a component's mean square after the AND-mask, for gradients that are pure noise.

    sigma^2 terms C(d, t) (1/2)^(d - 1). As printed there are d - t terms; the last sum of the proof has d - t + 1, one for
    each of u = t, ..., d (thesis appendix B.1.4, erratum 2).

    Args:
        d: number of environments.
        t: least number of equal signs, more than d / 2.
        form: with the printed or the right number of terms.
        sigma: standard deviation of a component.

    Raises:
        ValueError: t outside (d / 2, d].

    >>> proposition_2_bound(8, 8, "printed"), proposition_2_bound(8, 8)
    (0.0, 0.0078125)
    """
    check_whole("d", d, least=1)
    check_whole("t", t)
    check_one_of("form", form, get_args(Form))
    check_positive("sigma", sigma)
    if not d / 2 < t <= d:
        raise ValueError(
            f"`t` should be more than d / 2 and at most d = {d}: half of the signs are equal in any case. Found {t}. "
            "Count those that the AND-mask asks for."
        )
    terms = d - t + (form == "corrected")
    return sigma**2 * terms * math.comb(d, t) * 0.5 ** (d - 1)


def proposition_2_rate(share: float, form: Form = "corrected") -> float:
    """Return the base b of the bound's rate O(n b^d), up to polynomial factors.

    C(d, t) grows like q^d with q = 1 / (r^r (1 - r)^(1 - r)) and r = t / d, so that the bound falls like (q / 2)^d. The
    texts print n / (2 - q)^d, whose base 1 / (2 - q) is at least 1: that does not fall.

    Args:
        share: r in [0.5, 1].
        form: printed or corrected.

    Raises:
        ValueError: a share outside [0.5, 1].
    """
    check_share("share", share)
    check_one_of("form", form, get_args(Form))
    if not 0.5 <= share <= 1:
        raise ValueError(f"`share` should lie in [0.5, 1]: t / d equal signs, at least half. Found {share}.")
    entropy = -sum(part * math.log(part) for part in (share, 1 - share) if part > 0)
    q = math.exp(entropy)
    if form == "corrected":
        return q / 2
    return math.inf if q >= 2 else 1 / (2 - q)


def proposition_3_inconsistency(
    hessian_a: Float[Tensor, "n n"], hessian_b: Float[Tensor, "n n"], epsilon: float = 1.0, subtract: bool = False
) -> float:
    """Return the inconsistency in proposition 3's setting: two quadratic losses with one minimum at loss 0.

    epsilon max_i max(l_i^B / l_i^A, l_i^A / l_i^B), where the ratios are the generalised eigenvalues of the two Hessians; for
    diagonal ones, ratios of their entries. This is how the proof counts. With the subtraction of definition (2) / (3.1) the
    maximum is less by 1.

    Args:
        hessian_a: symmetric positive definite.
        hessian_b: symmetric positive definite.
        epsilon: how far a loss may rise.
        subtract: count L_e' - L_e, as the definition does, instead of L_e', as the proof does.

    Raises:
        ValueError: a Hessian that is not positive definite, or an epsilon that is not positive.

    >>> ten = torch.tensor([[10.0]])
    >>> [round(proposition_3_inconsistency(ten / 10, ten, subtract=subtract), 9) for subtract in (False, True)]
    [10.0, 9.0]
    """
    check_positive("epsilon", epsilon)
    check_flag("subtract", subtract)
    ratios = _ratios(hessian_a, hessian_b)
    return epsilon * (float(torch.maximum(ratios, 1 / ratios).max()) - subtract)


def proposition_3_bound(
    hessian_a: Float[Tensor, "n n"], hessian_b: Float[Tensor, "n n"], epsilon: float = 1.0, form: Form = "corrected"
) -> float:
    """Return proposition 3's bound on the inconsistency: a multiple of epsilon (det H_mean / det H_geo)^2.

    Printed with the factor 2, which fails in one dimension with ratio 10. The proof bounds a square root by 2 times the ratio
    of determinants; squared, that is the factor 4 (erratum 1). H_geo is the Karcher mean, whose determinant is the geometric
    mean of the two. It holds for Hessians that do not commute, too: ratio and inconsistency are functions of the generalised
    eigenvalues alone.

    Args:
        hessian_a: symmetric positive definite.
        hessian_b: symmetric positive definite.
        epsilon: how far a loss may rise.
        form: factor 2 as printed, or 4.

    Raises:
        ValueError: a Hessian that is not positive definite, or an epsilon that is not positive.
    """
    check_one_of("form", form, get_args(Form))
    check_positive("epsilon", epsilon)
    ratios = _ratios(hessian_a, hessian_b)
    log_ratio = ((1 + ratios).log() - math.log(2) - ratios.log() / 2).sum()
    return (2 if form == "printed" else 4) * epsilon * math.exp(2 * float(log_ratio))


def _ratios(hessian_a: Tensor, hessian_b: Tensor) -> Tensor:
    """Generalised eigenvalues of (B, A), in float64."""
    for name, hessian in (("hessian_a", hessian_a), ("hessian_b", hessian_b)):
        check_numbers(name, hessian)
        check_shape(name, hessian, *(("n", "n") if hessian is hessian_a else hessian_a.shape))
        check_data(name, hessian)
        check_all_finite(name, hessian)
    a, b = hessian_a.detach().double(), hessian_b.detach().double()
    for name, matrix in (("hessian_a", a), ("hessian_b", b)):
        least = float(torch.linalg.eigvalsh(matrix)[0])
        if least <= 0:
            raise ValueError(
                f"`{name}` should be positive definite. Found the eigenvalue {least:.3g}. Add a small multiple of the identity."
            )
    inverse = torch.linalg.inv(torch.linalg.cholesky(a))
    return torch.linalg.eigvalsh(inverse @ b @ inverse.T)
