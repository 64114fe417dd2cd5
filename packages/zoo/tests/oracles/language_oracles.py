"""Language, slow and literal; imports nothing of mechlearn."""

import math
from collections import Counter


def ngrams(words, n):
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def bleu(hypotheses, references, order=4, smoothing="exp", value=None, effective=False):
    """Corpus BLEU in [0, 1]; references: a list of lists for each hypothesis. As sacrebleu 2.6 computes it."""
    correct, total = [0.0] * order, [0.0] * order
    ours = theirs = 0
    for words, some in zip(hypotheses, references, strict=True):
        ours += len(words)
        theirs += min((abs(len(r) - len(words)), len(r)) for r in some)[1]
        for n in range(1, order + 1):
            counts = ngrams(words, n)
            most = Counter()
            for r in some:
                most |= ngrams(r, n)
            correct[n - 1] += sum(min(c, most[g]) for g, c in counts.items())
            total[n - 1] += sum(counts.values())
    if not any(correct):
        return 0.0
    brevity = 1.0 if ours >= theirs else math.exp(1 - theirs / ours)
    precisions, orders, halves = [0.0] * order, order, 1.0
    for n in range(1, order + 1):
        if smoothing == "add-k" and n > 1:
            correct[n - 1] += value if value is not None else 1
            total[n - 1] += value if value is not None else 1
        if total[n - 1] == 0:
            break
        if effective:
            orders = n
        if correct[n - 1] == 0:
            if smoothing == "exp":
                halves *= 2
                precisions[n - 1] = 1 / (halves * total[n - 1])
            elif smoothing == "floor":
                precisions[n - 1] = (value if value is not None else 0.1) / total[n - 1]
        else:
            precisions[n - 1] = correct[n - 1] / total[n - 1]
    logs = sum(math.log(p) if p > 0 else -math.inf for p in precisions[:orders])
    return brevity * math.exp(logs / orders)


def self_bleu(samples, **settings):
    return [bleu([s], [[o for j, o in enumerate(samples) if j != i]], **settings) for i, s in enumerate(samples)]


def restarted(network, x, horizon):
    """Outputs of a recurrent network run anew, from zero, on the last ``horizon`` inputs of every time; x (b, t, i)."""
    import torch

    found = [network(x[:, max(0, t - horizon + 1) : t + 1])[0][:, -1] for t in range(x.shape[1])]
    return torch.stack(found, 1)


def trellis(net, x):
    """Equations 1 and 2 of the trellis network, level by level and time by time, the input product formed anew each time."""
    import torch

    b, length, _ = x.shape
    n, gated = net.hidden, net.trellis.activation == "lstm"
    zeros = x.new_zeros(b, n)
    h, c = [zeros] * length, [zeros] * length
    for level in range(net.trellis.levels):
        d = net.trellis.dilations[level % len(net.trellis.dilations)]
        new_h, new_c = [], []
        for t in range(length):
            before = t - d >= 0
            x_p, h_p, c_p = (x[:, t - d], h[t - d], c[t - d]) if before else (torch.zeros_like(x[:, 0]), zeros, zeros)
            zhat = net.bias + x_p @ net.past_input.T + h_p @ net.past.T + x[:, t] @ net.input.T + h[t] @ net.present.T
            if gated:
                i, o, g, f = (zhat[:, k * n : (k + 1) * n] for k in range(4))
                new_c.append(torch.sigmoid(f) * c_p + torch.sigmoid(i) * torch.tanh(g))
                new_h.append(torch.sigmoid(o) * torch.tanh(new_c[-1]))
            else:
                new_c.append(zeros)
                new_h.append(torch.tanh(zhat))
        h, c = new_h, new_c
    return torch.stack([one[:, n - net.outputs :] for one in h], 1)
