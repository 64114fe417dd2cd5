"""The AND-mask of the linear unit tests for invariance discovery, literally; nothing here imports mechlearn."""

import torch
from torch import Tensor


def published_step(weight: Tensor, bias: Tensor, environments, tau: float, wd: float, lr: float) -> tuple[Tensor, Tensor]:
    """One step of their AND-mask for a linear regression with one output: only the weight's gradients are divided by norms.

    A component moves where more than tau E signs agree on one side; weight decay moves all.
    """
    weights, biases = [], []
    for x, y in environments:
        w, b = weight.detach().requires_grad_(), bias.detach().requires_grad_()
        loss = ((x @ w.T + b - y) ** 2).mean()
        g_w, g_b = torch.autograd.grad(loss, [w, b])
        weights.append(g_w / g_w.pow(2).sum().sqrt())
        biases.append(g_b)
    moved = []
    for parameter, gradients in ((weight, weights), (bias, biases)):
        signs = sum(g.sign() for g in gradients)
        mask = (signs.abs() > tau * len(gradients)).to(parameter.dtype)
        moved.append(parameter.detach() - lr * mask * sum(gradients) / len(gradients) - lr * wd * parameter.detach())
    return moved[0], moved[1]


def normalised(gradients: dict[str, Tensor], by: str) -> dict[str, Tensor]:
    """Divide every environment's gradient by the root of the sum of its squares, component by component."""
    found = {name: gradient.clone() for name, gradient in gradients.items()}
    count = len(next(iter(gradients.values())))
    for e in range(count):
        squares = {name: sum(float(x) ** 2 for x in gradient[e].flatten()) for name, gradient in gradients.items()}
        for name in gradients:
            total = squares[name] if by == "tensor" else sum(squares.values())
            if total > 0:
                found[name][e] = gradients[name][e] / total**0.5
    return found


def by_input(g: Tensor) -> list[tuple[float, float, float]]:
    """(signs, kept, cancelled) of each column of (E, o, i) gradients, one weight after the other."""
    found = []
    for i in range(g.shape[2]):
        signs = kept = cancelled = 0.0
        for o in range(g.shape[1]):
            column = [float(x) for x in g[:, o, i]]
            signs += abs(sum((x > 0) - (x < 0) for x in column))
            kept += abs(sum(column))
            cancelled += sum(abs(x) for x in column) - abs(sum(column))
        found.append((signs, kept, cancelled))
    return found
