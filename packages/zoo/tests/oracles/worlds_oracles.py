"""Influence, forward models and symbols by enumeration and loops; nothing of mechlearn."""

import math

import torch


def influence(conditional, policy, taken):
    """Jaques et al., equation 2, for one state: probabilities (A, B), (A,), and the action taken."""
    actions, answers = conditional.shape
    total = 0.0
    for b in range(answers):
        marginal = sum(float(conditional[a, b]) * float(policy[a]) for a in range(actions))
        p = float(conditional[taken, b])
        if p > 0:
            total += p * math.log(p / marginal)
    return total


def mutual_information(conditional, policy):
    """The sum over both actions of p log p / (p p)."""
    actions, answers = conditional.shape
    total = 0.0
    for a in range(actions):
        for b in range(answers):
            joint = float(conditional[a, b]) * float(policy[a])
            marginal = sum(float(conditional[other, b]) * float(policy[other]) for other in range(actions))
            if joint > 0:
                total += joint * math.log(joint / (float(policy[a]) * marginal))
    return total


def jensen_shannon(conditional, policy, taken):
    """The mean of both divergences from the middle."""
    p = [float(x) for x in conditional[taken]]
    q = [sum(float(conditional[a, b]) * float(policy[a]) for a in range(len(policy))) for b in range(len(p))]
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    kl = lambda one: sum(x * math.log(x / m) for x, m in zip(one, middle, strict=True) if x > 0)  # noqa: E731
    return (kl(p) + kl(q)) / 2


def others(model, features, actions, step, imagined):
    """What an LSTM says of the others after so many steps, the last action of the first agent replaced; one episode."""
    cell = torch.nn.LSTMCell(model.seen.in_features, model.hidden).to(features)
    cell.load_state_dict(
        {
            "weight_ih": model.seen.weight,
            "bias_ih": model.seen.bias,
            "weight_hh": model.again.weight,
            "bias_hh": model.again.bias,
        }
    )
    h = c = torch.zeros(1, model.hidden).to(features)
    for t in range(step + 1):
        done = actions[t].clone()
        if t == step and imagined is not None:
            done[0] = imagined
        code = torch.cat([torch.eye(model.actions)[a] for a in done.tolist()]).to(features)
        h, c = cell(torch.cat([features[t], code])[None], (h, c))
    return model.head(h)[0].view(model.agents - 1, model.actions).log_softmax(-1)


def bits(symbols, meanings):
    """Plug-in mutual information in bits."""
    n, total = len(symbols), 0.0
    for s in set(symbols):
        for m in set(meanings):
            joint = sum(1 for a, b in zip(symbols, meanings, strict=True) if (a, b) == (s, m)) / n
            if joint:
                total += joint * math.log2(joint / (symbols.count(s) / n * meanings.count(m) / n))
    return total
