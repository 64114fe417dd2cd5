"""World Models and Causal InfoGAN, written out; nothing of mechlearn is imported."""

import itertools
import math

import torch


def dream_of_nothing_random(lstm_cell, head, ending, start, actions, mixtures):
    """Latents, and the end's logits, of a dream at temperature 0: the heaviest component's mean, one LSTMCell step at a
    time."""
    z = start
    lstm_cell, head, ending = (one.requires_grad_(False) for one in (lstm_cell, head, ending))
    h = c = torch.zeros(1, lstm_cell.hidden_size, dtype=start.dtype)
    latents, logits = [], []
    for a in actions:
        h, c = lstm_cell(torch.cat((z, a))[None], (h, c))
        out = head(h)[0]
        size = len(z) * mixtures
        weights, means = out[:size].tolist(), out[size : 2 * size].tolist()
        following = []
        for dim in range(len(z)):
            own = weights[dim * mixtures : (dim + 1) * mixtures]
            following.append(means[dim * mixtures + own.index(max(own))])
        z = torch.tensor(following, dtype=start.dtype)
        latents.append(z)
        logits.append(float(ending(h)))
    return torch.stack(latents), logits


def memory_loss(weights, means, log_scales, y, logit, ended, weight):
    """One step's loss: lists over dimensions of lists over components."""
    total = 0.0
    for w, m, s, value in zip(weights, means, log_scales, y, strict=True):
        normaliser = sum(math.exp(one) for one in w)
        density = sum(
            math.exp(wk)
            / normaliser
            * math.exp(-((value - mk) ** 2) / (2 * math.exp(sk) ** 2))
            / (math.exp(sk) * math.sqrt(2 * math.pi))
            for wk, mk, sk in zip(w, m, s, strict=True)
        )
        total -= math.log(density)
    share = 1 / (1 + math.exp(-logit))
    entropy = -weight * math.log(share) if ended else -math.log(1 - share)
    return total / len(y) + entropy


def best_path(transitions, start, goal):
    """The likeliest path without a repeated state, by trying all of them: (log probability, states)."""
    count = len(transitions)
    best = (-math.inf, None)
    if start == goal:
        return 0.0, [start]
    others = [state for state in range(count) if state not in (start, goal)]
    for length in range(len(others) + 1):
        for between in itertools.permutations(others, length):
            path = [start, *between, goal]
            chance = math.prod(transitions[a][b] for a, b in itertools.pairwise(path))
            if chance > 0 and math.log(chance) > best[0] + 1e-12:
                best = (math.log(chance), path)
    return best


def mutual_information(joint):
    """I(A; B) in nats of a table of probabilities."""
    rows = [sum(row) for row in joint]
    columns = [sum(column) for column in zip(*joint, strict=True)]
    return sum(p * math.log(p / (rows[i] * columns[j])) for i, row in enumerate(joint) for j, p in enumerate(row) if p > 0)
