"""A world model with skips, one trajectory, one frame, one number at a time; nothing of mechlearn is imported."""

import math

import torch


def nll(weights, means, log_scales, y, floor):
    """Minus the mean over dimensions of log p(y); lists over dimensions of lists over components."""
    total = 0.0
    for w, m, s, value in zip(weights, means, log_scales, y, strict=True):
        normaliser = sum(math.exp(one) for one in w)
        density = 0.0
        for wk, mk, sk in zip(w, m, s, strict=True):
            sigma = math.exp(max(sk, floor))
            density += (
                math.exp(wk) / normaliser * math.exp(-((value - mk) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi))
            )
        total -= math.log(density)
    return total / len(y)


def along(memory, z, actions, horizon, window, floor, last, rewards=None):
    """M along one trajectory: (skips, likelihoods, jumps' cross-entropies, squared errors of rewards)."""
    weights = {name: value.detach() for name, value in memory.named_parameters()}
    cell = torch.nn.LSTMCell(memory.latent + memory.action, memory.hidden).to(z)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(cell, name).data.copy_(weights[f"layer.{name}_l0"])
    h = c = torch.zeros(1, memory.hidden).to(z)
    t, skips, likelihoods, jumps, errors = 0, [], [], [], []
    with torch.no_grad():
        while t < len(z) - 1:
            seen = [actions[t + j] if t + j < len(actions) else torch.zeros_like(actions[0]) for j in range(window)]
            h, c = cell(torch.cat((z[t], *seen))[None], (h, c))
            out = (weights["head.linear.weight"] @ h[0] + weights["head.linear.bias"]).view(3, memory.latent, -1).tolist()
            losses = [nll(*out, z[k].tolist(), floor) for k in range(t + 1, min(t + horizon, len(z) - 1) + 1)]
            best = [k + 1 for k, value in enumerate(losses) if value == min(losses)]
            skip = best[-1] if last else best[0]
            logits = (weights["jump.weight"] @ h[0] + weights["jump.bias"]).tolist()
            skips.append(skip)
            likelihoods.append(losses[skip - 1])
            jumps.append(math.log(sum(math.exp(one) for one in logits)) - logits[skip - 1])
            if rewards is not None:
                guess = float(weights["reward.weight"][0] @ h[0] + weights["reward.bias"][0])
                errors.append((guess - sum(float(r) for r in rewards[t : t + skip])) ** 2)
            t += skip
    return skips, likelihoods, jumps, errors
