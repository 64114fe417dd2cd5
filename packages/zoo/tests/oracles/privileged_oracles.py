"""Losses of privileged data, one example, one step and one number at a time. Nothing here imports mechlearn."""

import math

import torch


def auxiliary(predicted, privileged, mask):
    """The mean of squares over an example's own frames."""
    found = []
    for b in range(len(privileged)):
        squares = []
        for t in range(privileged.shape[1]):
            if mask[b, t]:
                squares += [
                    float(p - q) ** 2 for p, q in zip(predicted[b, t].flatten(), privileged[b, t].flatten(), strict=True)
                ]
        found.append(sum(squares) / len(squares))
    return found


def softmax(row):
    top = max(row)
    powers = [math.exp(value - top) for value in row]
    return [power / sum(powers) for power in powers]


def generalised(prediction, y, teacher, temperature, imitation):
    """(1 - lambda) H(y, p) + lambda H(s, p), class by class."""
    found = []
    for row, label, told in zip(prediction.tolist(), y.tolist(), teacher.tolist(), strict=True):
        p, s = softmax(row), softmax([value / temperature for value in told])
        hard = -math.log(p[label])
        soft = -sum(s_c * math.log(p_c) for s_c, p_c in zip(s, p, strict=True))
        found.append((1 - imitation) * hard + imitation * soft)
    return found


def gated_gradients(main, auxiliary, shared, others, weighted):
    """What Du et al. step along: g_main + w g_aux for what is shared, each head's own gradient for the heads."""
    g = torch.autograd.grad(main, shared, retain_graph=True)
    a = torch.autograd.grad(auxiliary, shared, retain_graph=True)
    dot = sum(float(x) * float(y) for s, t in zip(g, a, strict=True) for x, y in zip(s.flatten(), t.flatten(), strict=True))
    norm_g = math.sqrt(sum(float(x) ** 2 for s in g for x in s.flatten()))
    norm_a = math.sqrt(sum(float(x) ** 2 for s in a for x in s.flatten()))
    cosine = dot / (norm_g * norm_a)
    w = max(0.0, cosine) if weighted else (1.0 if cosine >= 0 else 0.0)
    heads = torch.autograd.grad(main + auxiliary, others, retain_graph=True)
    return cosine, w, [x + w * y for x, y in zip(g, a, strict=True)], list(heads)


def info_nce(context, futures, weights, mask):
    """-log(f(own) / sum over the batch) with f = exp(z^T W_k c), averaged over an example's own steps."""
    found = []
    for i in range(len(context)):
        losses = []
        for k in range(len(weights)):
            if not mask[i, k]:
                continue
            f = {j: math.exp(float(futures[j, k] @ weights[k] @ context[i])) for j in range(len(context)) if mask[j, k]}
            losses.append(-math.log(f[i] / sum(f.values())))
        found.append(sum(losses) / len(losses))
    return found
