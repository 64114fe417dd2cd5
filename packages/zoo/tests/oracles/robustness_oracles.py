"""Audits of robustness, slow and literal: optimisers of scipy, full retraining, loops. Nothing here imports mechlearn."""

import numpy as np
import torch
from scipy.optimize import minimize


def norm(vector, p):
    """The p-norm of one vector."""
    if p == 1:
        return float(sum(abs(v) for v in vector))
    if p == 2:
        return float(sum(v * v for v in vector) ** 0.5)
    return float(max(abs(v) for v in vector))


def nearest(wanted, x, eps, p, box):
    """The nearest point to `wanted` (a perturbation of x) with a norm of at most eps and x + it within the box, by SLSQP.

    l1 is made smooth by splitting the perturbation into what is added and what is taken away.
    """
    d = len(wanted)
    low, high = (-np.inf, np.inf) if box is None else box
    if p == 1:
        bounds = [(0, max(high - v, 0)) for v in x] + [(0, max(v - low, 0)) for v in x]
        start = np.zeros(2 * d)
        rule = {"type": "ineq", "fun": lambda u: eps - u.sum(), "jac": lambda u: -np.ones(2 * d)}
        found = minimize(
            lambda u: 0.5 * ((u[:d] - u[d:] - wanted) ** 2).sum(), start, bounds=bounds, constraints=[rule],
            jac=lambda u: np.concatenate([u[:d] - u[d:] - wanted, -(u[:d] - u[d:] - wanted)]),
            method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        return found.x[:d] - found.x[d:]
    if p == 2:
        bounds = [(low - v, high - v) for v in x]
        rule = {"type": "ineq", "fun": lambda u: eps**2 - (u**2).sum(), "jac": lambda u: -2 * u}
        found = minimize(
            lambda u: 0.5 * ((u - wanted) ** 2).sum(), np.zeros(d), bounds=bounds, constraints=[rule], jac=lambda u: u - wanted,
            method="SLSQP", options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        return found.x
    return np.clip(wanted, np.maximum(-eps, low - x), np.minimum(eps, high - x))


def climb(gradient_of, x, eps, p, box, steps, rate):
    """Projected gradient ascent for one example: a step along the steepest direction of length rate, then `nearest`."""
    delta = np.zeros_like(x)
    for _ in range(steps):
        g = gradient_of(x + delta)
        if p == 2:
            size = (g * g).sum() ** 0.5
            move = rate * g / size if size > 0 else 0 * g
        elif p == 1:
            move = np.zeros_like(g)
            place = int(np.argmax(np.abs(g)))
            move[place] = rate * np.sign(g[place])
        else:
            move = rate * np.sign(g)
        delta = nearest(delta + move, x, eps, p, box)
    return x + delta


def cosine(a, b):
    """Between two vectors."""
    return float((a * b).sum() / ((a * a).sum() ** 0.5 * (b * b).sum() ** 0.5))


def agreed(gradients, threshold):
    """The mean over models of each component where the mean of signs reaches the threshold, 0 elsewhere: loops."""
    models, n, d = gradients.shape
    out = np.zeros((n, d))
    for i in range(n):
        for j in range(d):
            column = [float(gradients[m, i, j]) for m in range(models)]
            signs = sum((v > 0) - (v < 0) for v in column)
            if abs(signs) / models >= threshold:
                out[i, j] = sum(column) / models
    return out


def ridge(x, y, decay):
    """argmin_w mean (x w - y)^2 / 2 + decay / 2 |w|^2, without a bias."""
    n, d = x.shape
    return torch.linalg.solve(x.T @ x / n + decay * torch.eye(d, dtype=x.dtype), x.T @ y / n)


def ridge_poisoning_gradient(x, y, poison_x, poison_y, validation, decay):
    """d mean validation loss / d poison_x through the closed form, by automatic differentiation."""
    points = poison_x.clone().requires_grad_()
    w = ridge(torch.cat([x, points]), torch.cat([y, poison_y]), decay)
    loss = ((validation[0] @ w - validation[1]) ** 2 / 2).mean()
    return torch.autograd.grad(loss, points)[0]


def logistic(x, y, decay, steps=100):
    """argmin_{w, b} mean log(1 + exp(-y (x w + b))) + decay / 2 |w|^2 with y in {-1, 1}, by Newton's method, bias free."""
    n, d = x.shape
    ones = torch.cat([x, torch.ones(n, 1, dtype=x.dtype)], 1)
    penalty = decay * torch.eye(d + 1, dtype=x.dtype)
    penalty[d, d] = 0
    w = torch.zeros(d + 1, dtype=x.dtype)
    for _ in range(steps):
        p = torch.sigmoid(-y * (ones @ w))
        gradient = -(ones.T @ (y * p)) / n + penalty @ w
        hessian = (ones.T * (p * (1 - p))) @ ones / n + penalty
        w = w - torch.linalg.solve(hessian, gradient)
    return w


def logistic_validation_loss(w, x, y):
    """Mean logistic loss of weights with the bias last."""
    return torch.nn.functional.softplus(-y * (x @ w[:-1] + w[-1])).mean()


def retrained_differences(loss_of, points, step=1e-5):
    """Central differences of a number that takes full retraining, component by component of the points."""
    out = torch.zeros_like(points)
    for i in range(points.shape[0]):
        for j in range(points.shape[1]):
            up, down = points.clone(), points.clone()
            up[i, j] += step
            down[i, j] -= step
            out[i, j] = (loss_of(up) - loss_of(down)) / (2 * step)
    return out


def program(weight, images, canvas):
    """Equation 1 to 3 of adversarial reprogramming, pixel by pixel: X = pad(x) + tanh(W * M)."""
    channels, height, width = canvas
    n, _, h, w = images.shape
    top, left = (height - h) // 2, (width - w) // 2
    out = np.zeros((n, channels, height, width))
    for i in range(n):
        for c in range(channels):
            for r in range(height):
                for k in range(width):
                    inside = top <= r < top + h and left <= k < left + w
                    out[i, c, r, k] = images[i, c, r - top, k - left] if inside else np.tanh(weight[c, r, k])
    return out


def mapped(logits, table):
    """log of the summed probabilities of each task label's host labels."""
    out = np.zeros((len(logits), len(table)))
    for i, row in enumerate(logits):
        total = sum(np.exp(v) for v in row)
        for label, hosts in enumerate(table):
            out[i, label] = np.log(sum(np.exp(row[host]) for host in hosts) / total)
    return out
