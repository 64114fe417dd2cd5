"""Students that call a layer several times, written out in matrices, and their meta-gradient by a literal loop.

Nothing here imports mechlearn; no hooks, no modules: a forward pass is a function of a dictionary of weights that returns the
prediction and a list with the activation of every call. Truncation and the implicit function theorem are written out, too.
"""

import torch


def recurrent(theta, x):
    """a_t = W [x_t, tanh(a_{t-1})] + b for three steps of two inputs, from a state of 0; then the head."""
    state = x.new_zeros(len(x), 5)
    made = []
    for t in range(3):
        a = torch.cat([x[:, 2 * t : 2 * t + 2], state], 1) @ theta["cell.weight"].T + theta["cell.bias"]
        made.append(a)
        state = torch.tanh(a)
    return state @ theta["head.weight"].T + theta["head.bias"], {f"cell@{t}": a for t, a in enumerate(made)}


def stacked(theta, x):
    """Three storeys of one block whose output is the next one's input; then the head."""
    made = {}
    frame = x
    for k in range(3):
        inner = frame @ theta["block.0.weight"].T + theta["block.0.bias"]
        frame = torch.tanh(inner) @ theta["block.2.weight"].T + theta["block.2.bias"]
        made[f"block.0@{k}"], made[f"block@{k}"] = inner, frame
    return frame @ theta["head.weight"].T + theta["head.bias"], made


def cross_entropy(prediction, y):
    shifted = prediction - prediction.max(1, keepdim=True).values
    return shifted.exp().sum(1).log() - shifted[range(len(y)), y]


def training_loss(forward, layers, theta, teacher, batch, alpha):
    x, privileged, y = batch
    prediction, made = forward(theta, x)
    signals = teacher(privileged)
    taught = sum(((made[name] - signals[name]) ** 2).sum(1) for name in layers)
    return cross_entropy(prediction, y).mean() + alpha * taught.mean()


def unrolled(forward, layers, theta, teacher, batches, validation, lr, momentum, alpha, last=None):
    """dL_val/dphi through the last steps (all where None) of gradient descent with momentum, and L_val."""
    theta = {name: p.detach().clone().requires_grad_() for name, p in theta.items()}
    velocity = {name: torch.zeros_like(p) for name, p in theta.items()}
    start = 0 if last is None else max(0, len(batches) - last)
    for step, batch in enumerate(batches):
        if step == start:
            theta = {name: p.detach().requires_grad_() for name, p in theta.items()}
            velocity = {name: v.detach() for name, v in velocity.items()}
        loss = training_loss(forward, layers, theta, teacher, batch, alpha)
        gradients = torch.autograd.grad(loss, list(theta.values()), create_graph=True)
        for name, gradient in zip(list(theta), gradients, strict=True):
            velocity[name] = momentum * velocity[name] + gradient
            theta[name] = theta[name] - lr * velocity[name]
    outer = cross_entropy(forward(theta, validation[0])[0], validation[1]).mean()
    return list(torch.autograd.grad(outer, list(teacher.parameters()))), outer.detach()


def implicit(forward, layers, theta, teacher, batches, validation, lr, damping, alpha):
    """- (d2L/dphi dtheta) (H + damping I)^-1 dL_val/dtheta at theta_n, H a whole matrix."""
    theta = {name: p.detach().clone().requires_grad_() for name, p in theta.items()}
    for batch in batches:
        loss = training_loss(forward, layers, theta, teacher, batch, alpha)
        gradients = torch.autograd.grad(loss, list(theta.values()))
        theta = {n: (p - lr * g).detach().requires_grad_() for (n, p), g in zip(theta.items(), gradients, strict=True)}
    names, flat = list(theta), list(theta.values())
    mean = sum(training_loss(forward, layers, theta, teacher, batch, alpha) for batch in batches) / len(batches)
    gradient = torch.cat([g.flatten() for g in torch.autograd.grad(mean, flat, create_graph=True)])
    rows = [torch.autograd.grad(g, flat, retain_graph=True) for g in gradient]
    hessian = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    outer = cross_entropy(forward(dict(zip(names, flat, strict=True)), validation[0])[0], validation[1]).mean()
    v = torch.cat([g.flatten() for g in torch.autograd.grad(outer, flat)])
    q = torch.linalg.solve(hessian + damping * torch.eye(len(v), dtype=v.dtype), v)
    return list(torch.autograd.grad(-(gradient @ q), list(teacher.parameters())))
