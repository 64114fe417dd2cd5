"""Algorithm 1 of the trajectories paper, slow and literal: one graph through teacher, students' steps and validation loss.

Nothing here imports mechlearn. The inner optimisers' formulas are written out; the teacher is called anew on every inner batch,
as in the paper.
"""

import torch
from torch import Tensor, nn
from torch.func import functional_call


def sgd(params, gradients, memory, step, lr, momentum=0.0, weight_decay=0.0, nesterov=False):
    """torch.optim.SGD's update, its documentation's algorithm line by line."""
    new, kept = {}, {}
    for name, p in params.items():
        g = gradients[name] + weight_decay * p
        b = g if step == 0 else momentum * memory[name] + g
        kept[name] = b
        new[name] = p - lr * (g + momentum * b if nesterov else b)
    return new, kept


def adam(params, gradients, memory, step, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    """Adam's update with the epsilon inside the root."""
    new, kept = {}, {}
    for name, p in params.items():
        g = gradients[name] if decoupled else gradients[name] + weight_decay * p
        m, v = memory.get(name, (torch.zeros_like(p), torch.zeros_like(p)))
        m = betas[0] * m + (1 - betas[0]) * g
        v = betas[1] * v + (1 - betas[1]) * g**2
        m_hat, v_hat = m / (1 - betas[0] ** (step + 1)), v / (1 - betas[1] ** (step + 1))
        kept[name] = (m, v)
        start = p - lr * weight_decay * p if decoupled else p
        new[name] = start - lr * m_hat / (v_hat + eps**2).sqrt()
    return new, kept


def meta_gradient(student, hidden, teacher, batches, validation, update, alpha, teaching_loss, label_loss):
    """dL_val/dphi by one backward pass through everything.

    Args:
        student: the module; its trainable parameters are theta_0.
        hidden: from a list that was filled by hooks to the teaching loss's first argument; here the names of layers.
        teacher: from one batch of privileged data to whatever the teaching loss reads.
        batches: a list of (x, x*, y).
        validation: (x, y).
        update: (params, gradients, memory, step) -> (params, memory).
        alpha: the teaching coefficient.
        teaching_loss: (dict of h by layer, the teacher's output) -> (B,) losses.
        label_loss: (prediction, label) -> (B,) losses.
    """
    modules = dict(student.named_modules())
    theta = {name: p.detach().clone().requires_grad_() for name, p in student.named_parameters() if p.requires_grad}
    phi = [p for p in teacher.parameters() if p.requires_grad]
    names = [name for name, p in teacher.named_parameters() if p.requires_grad]  # a pass may put them in another order
    memory = {}
    seen = {}
    handles = [modules[name].register_forward_hook(lambda _m, _i, o, name=name: seen.__setitem__(name, o)) for name in hidden]
    for step, (x, privileged, y) in enumerate(batches):
        prediction = functional_call(student, theta, (x,))
        h = {name: seen[name] for name in hidden}
        loss = label_loss(prediction, y).mean() + alpha * teaching_loss(h, teacher(privileged)).mean()
        gradients = torch.autograd.grad(loss, list(theta.values()), create_graph=True, allow_unused=True)
        gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(theta.values(), gradients, strict=True)]
        theta, memory = update(theta, dict(zip(theta, gradients, strict=True)), memory, step)
    outer = label_loss(functional_call(student, theta, (validation[0],)), validation[1]).mean()
    for handle in handles:
        handle.remove()
    found = torch.autograd.grad(outer, phi, allow_unused=True)
    gradients = [torch.zeros_like(p) if g is None else g for p, g in zip(phi, found, strict=True)]
    return dict(zip(names, gradients, strict=True)), outer.detach(), {name: p.detach() for name, p in theta.items()}


def validation_loss(student, hidden, teacher, batches, validation, update, alpha, teaching_loss, label_loss) -> Tensor:
    """L_val after the unroll, for finite differences by the teacher's parameters."""
    found = meta_gradient(student, hidden, teacher, batches, validation, update, alpha, teaching_loss, label_loss)
    return found[1]


def squared(h, targets):
    """sum_k (h_k - h*_k)^2."""
    return sum(((h[name] - targets[name]) ** 2).flatten(1).sum(1) for name in h)


def gated(h, signals):
    """sum_k sigmoid(m_k / 2 - 1) (h_k - h*_k)^2."""
    terms = [1 / (1 + torch.exp(-(m / 2 - 1))) * (h[name] - t) ** 2 for name, (t, m) in signals.items()]
    return sum(term.flatten(1).sum(1) for term in terms)


def kullback_leibler(h, targets):
    """sum_c p_c log(p_c / q_c), p of the teacher, q of the student."""
    total = 0.0
    for name, value in targets.items():
        p, q = value.exp() / value.exp().sum(-1, keepdim=True), h[name].exp() / h[name].exp().sum(-1, keepdim=True)
        total = total + (p * (p / q).log()).flatten(1).sum(1)
    return total


def mixture(phi: Tensor, frames: Tensor) -> Tensor:
    """h*_l = sum_t softmax_t(phi_tl) x_t, one filter and one frame at a time."""
    rows = []
    for column in phi.T:
        weights = column.exp() / column.exp().sum()
        rows.append(sum(w * frames[:, t] for t, w in enumerate(weights)))
    return torch.stack(rows, 1)


class Copies(nn.Module):
    """A teacher that returns the same flat outputs for named layers, by slicing: for tests without mechlearn's own."""

    def __init__(self, network, shapes, gated):
        super().__init__()
        self.network, self.shapes, self.gated = network, shapes, gated

    def forward(self, privileged):
        flat = self.network(privileged)
        sizes = [torch.Size(shape).numel() for shape in self.shapes.values()]
        half = sum(sizes)
        out, at = {}, 0
        for (name, shape), size in zip(self.shapes.items(), sizes, strict=True):
            target = flat[:, at : at + size].reshape(-1, *shape)
            out[name] = (target, flat[:, half + at : half + at + size].reshape(-1, *shape)) if self.gated else target
            at += size
        return out
