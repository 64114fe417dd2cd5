"""The compared methods, slow and literal: each environment a forward pass of its own. Nothing here imports mechlearn."""

import torch


def mean_losses(model, loss, x, y, ids):
    return [loss(model(x[ids == e]), y[ids == e]).mean() for e in sorted(set(ids.tolist()))]


def vrex(model, loss, x, y, ids):
    risks = mean_losses(model, loss, x, y, ids)
    mean = sum(risks) / len(risks)
    return sum((risk - mean) ** 2 for risk in risks) / len(risks)


def irm(model, loss, x, y, ids):
    total = 0.0
    for e in sorted(set(ids.tolist())):
        w = torch.ones((), dtype=x.dtype, requires_grad=True)
        risk = loss(w * model(x[ids == e]), y[ids == e]).mean()
        (derivative,) = torch.autograd.grad(risk, w, create_graph=True)
        total = total + derivative**2
    return total / len(set(ids.tolist()))


def gradients(model, loss, x, y, ids):
    parameters = list(model.parameters())
    rows = [torch.autograd.grad(risk, parameters, create_graph=True) for risk in mean_losses(model, loss, x, y, ids)]
    return torch.stack([torch.cat([g.flatten() for g in row]) for row in rows])


def iga(model, loss, x, y, ids):
    g = gradients(model, loss, x, y, ids)
    mean = sum(g) / len(g)
    return sum(((row - mean) ** 2).sum() for row in g) / len(g)


def fishr(model, classifier, loss, x, y, ids):
    variances = []
    for e in sorted(set(ids.tolist())):
        rows = []
        for one, target in zip(x[ids == e], y[ids == e], strict=True):
            value = loss(model(one[None]), target[None]).sum()
            found = torch.autograd.grad(value, list(classifier.parameters()), create_graph=True)
            rows.append(torch.cat([g.flatten() for g in found]))
        variances.append(torch.stack(rows).var(0, correction=0))
    mean = sum(variances) / len(variances)
    return sum(((v - mean) ** 2).sum() for v in variances) / len(variances)


def pcgrad(g, orders):
    """Algorithm 1 with the orders given: orders[i] is the sequence in which gradient i meets the others."""
    total = torch.zeros_like(g[0])
    for i, order in enumerate(orders):
        projected = g[i].clone()
        for j in order:
            if j != i and projected @ g[j] < 0:
                projected = projected - (projected @ g[j]) / (g[j] @ g[j]) * g[j]
        total = total + projected
    return total


def clipped_mean(g, multiple):
    """Row by row and component by component, in Python's numbers; g is (E, P)."""
    found = []
    for column in g.T.tolist():
        bound = multiple * sorted(abs(value) for value in column)[(len(column) - 1) // 2]
        found.append(sum(max(-bound, min(bound, value)) for value in column) / len(column))
    return torch.tensor(found, dtype=g.dtype)
