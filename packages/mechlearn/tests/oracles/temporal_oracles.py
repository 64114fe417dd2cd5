"""The temporal AND-mask, literally: thesis appendix B.2.6, the algorithm line by line, one component at a time."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import torch


@dataclass(frozen=True)
class Literal1:
    theta: torch.Tensor
    m: torch.Tensor
    v: torch.Tensor
    a: torch.Tensor
    step: int = 0

    @classmethod
    def of(cls, theta):
        return cls(theta.clone(), *(torch.zeros_like(theta) for _ in range(3)))


def temporal_and_mask_adam(
    state, gradient, lr, betas, threshold, eps, weight_decay, bias_correction, eps_inside_root, maximize
):
    beta1, beta2, beta3 = betas
    flat = [tensor.flatten().tolist() for tensor in (state.theta, state.m, state.v, state.a, gradient)]
    t, rows = state.step + 1, []
    for theta, m, v, a, g in zip(*flat, strict=True):
        m1 = beta1 * m + (1 - beta1) * g
        v1 = beta2 * v + (1 - beta2) * g * g
        a1 = beta3 * a + (1 - beta3) * (g > 0) - (1 - beta3) * (g < 0)
        m_hat, v_hat, a_hat = m1, v1, a1
        if bias_correction in ("moments", "all"):
            m_hat, v_hat = m1 / (1 - beta1**t), v1 / (1 - beta2**t)
        if bias_correction == "all":
            a_hat = a1 / (1 - beta3**t)
        b = abs(a_hat) >= threshold
        root = math.sqrt(v_hat + eps) if eps_inside_root else math.sqrt(v_hat) + eps
        moved = theta + (1 if maximize else -1) * lr * m_hat * b / root
        rows.append((moved - lr * weight_decay * moved, m1, v1, a1, b))
    columns = [torch.tensor(column, dtype=torch.float64).reshape(state.theta.shape) for column in zip(*rows, strict=True)]
    return replace(state, theta=columns[0], m=columns[1], v=columns[2], a=columns[3], step=t), columns[4].bool()


def temporal_mask(gradients, beta, threshold, bias_correction):
    """Lines 3 and 4 alone, in exact fractions: yields the mask of each step."""
    a = [Fraction(0)] * gradients[0].numel()
    for t, gradient in enumerate(gradients, start=1):
        signs = [(g > 0) - (g < 0) for g in gradient.flatten().tolist()]
        a = [Fraction(str(beta)) * old + (1 - Fraction(str(beta))) * sign for old, sign in zip(a, signs, strict=True)]
        correction = 1 - Fraction(str(beta)) ** t if bias_correction else 1
        mask = [abs(value) >= Fraction(str(threshold)) * correction for value in a]
        yield torch.tensor(mask).reshape(gradient.shape)
