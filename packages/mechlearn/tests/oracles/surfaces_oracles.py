"""Slices, directions and paths as Li et al. 2018 and their code write them: one point at a time, nothing of mechlearn."""

import copy

import numpy as np
import torch


def filter_normalised(d, theta):
    """Filter by filter: d_j |theta_j| / |d_j|."""
    found = torch.zeros_like(d)
    for j in range(len(d)):
        found[j] = d[j] / d[j].norm() * theta[j].norm()
    return found


def plane(model, loss, x, y, ids, axes, at):
    """(G, n, m): a copy of the model at each point, its weights written, each environment's mean."""
    environments = sorted(set(ids.tolist()))
    found = torch.zeros(len(environments), len(at[0]), len(at[1]), dtype=torch.float64)
    for i, a in enumerate(at[0]):
        for j, b in enumerate(at[1]):
            moved = copy.deepcopy(model)
            with torch.no_grad():
                for name, parameter in moved.named_parameters():
                    parameter.add_(a * axes[0][name] + b * axes[1][name])
                losses = loss(moved(x), y)
            for g, e in enumerate(environments):
                found[g, i, j] = losses[ids == e].mean()
    return found


def hessian(loss, theta):
    """All second derivatives, one row at a time."""
    leaf = theta.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(loss(leaf), leaf, create_graph=True)
    return torch.stack([torch.autograd.grad(entry, leaf, retain_graph=True)[0] for entry in gradient])


def random_walk(steps, dimensions, seed):
    """The share of variance of each principal component of a simulated random walk (Antognini and Sohl-Dickstein)."""
    walk = np.cumsum(np.random.default_rng(seed).normal(size=(steps, dimensions)), axis=0)
    walk -= walk.mean(0)
    values = np.linalg.svd(walk, compute_uv=False) ** 2
    return values / values.sum()
