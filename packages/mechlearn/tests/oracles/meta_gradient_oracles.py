"""Every trajectory of a small MDP, and the expected surrogates of meta policy search written out; nothing of mechlearn.

Probabilities are differentiated as they stand; nothing is sampled.
"""

import itertools

import torch


def trajectories(states, actions, time):
    """All sequences s_0 a_0 s_1 ... s_{T-1} a_{T-1}."""
    return itertools.product(range(states), *[range(actions), range(states)] * (time - 1), range(actions))


def expected(theta, start, kernel, reward, time, weigh):
    """Sum over trajectories of weigh(log_pi of the steps, rewards) times its constant probability under theta."""
    states, actions = reward.shape
    log_pi = theta.log_softmax(-1)
    total = 0.0
    for path in trajectories(states, actions, time):
        s, a = path[0::2], path[1::2]
        probability = start[s[0]]
        for t in range(time):
            probability = probability * log_pi[s[t], a[t]].exp().detach()
            if t + 1 < time:
                probability = probability * kernel[s[t], a[t], s[t + 1]]
        steps = list(zip(s, a, strict=True))
        total = total + probability * weigh([log_pi[step] for step in steps], [reward[step] for step in steps])
    return total


def value(theta, start, kernel, reward, time):
    """The true expected return, by dynamic programming."""
    pi, following = theta.softmax(-1), torch.zeros(len(start), dtype=theta.dtype)
    for _ in range(time):
        following = (pi * (reward + kernel @ following)).sum(-1)
    return start @ following


def to_go(rewards, t):
    return sum(rewards[t:])


def log_surrogate(log_pi, rewards):
    return sum(log_pi[t] * to_go(rewards, t) for t in range(len(rewards)))


def lr_surrogate(log_pi, rewards):
    return sum((log_pi[t] - log_pi[t].detach()).exp() * to_go(rewards, t) for t in range(len(rewards)))


def dice_surrogate(log_pi, rewards):
    total = 0.0
    for t in range(len(rewards)):
        together = 1.0
        for k in range(t + 1):
            together = together * (log_pi[k] - log_pi[k].detach()).exp()
        total = total + together * rewards[t]
    return total


def hessian(function, theta):
    flat = theta.detach().reshape(-1)
    return torch.autograd.functional.hessian(lambda x: function(x.view(theta.shape)), flat)
