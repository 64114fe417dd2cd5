"""The sums of the papers on returns, V-trace and PopArt, written out: one episode, one number at a time; nothing of ours."""

import math

import numpy as np


def columns(rewards, values, terminated, truncated, final_values):
    """Give each environment's lists, with `after[t]`, the value of what follows step t, and `ends[t]`."""
    final = {}
    for index, (t, b) in enumerate(np.argwhere(truncated)):
        final[int(t), int(b)] = float(final_values[index])
    for b in range(rewards.shape[1]):
        after = []
        for t in range(rewards.shape[0]):
            if terminated[t, b]:
                after.append(0.0)
            elif truncated[t, b]:
                after.append(final[t, b])
            else:
                after.append(float(values[t + 1, b]))
        ends = [bool(terminated[t, b] or truncated[t, b]) for t in range(rewards.shape[0])]
        yield [float(r) for r in rewards[:, b]], [float(v) for v in values[:, b]], after, ends


def n_step(rewards, values, terminated, truncated, final_values, discount, n):
    out = np.zeros(rewards.shape)
    for b, (r, _, after, ends) in enumerate(columns(rewards, values, terminated, truncated, final_values)):
        for t in range(len(r)):
            total = 0.0
            for k in range(n):
                total += discount**k * r[t + k]
                if ends[t + k] or t + k == len(r) - 1 or k == n - 1:
                    total += discount ** (k + 1) * after[t + k]
                    break
            out[t, b] = total
    return out


def gae(rewards, values, terminated, truncated, final_values, discount, lambda_):
    out = np.zeros(rewards.shape)
    for b, (r, v, after, ends) in enumerate(columns(rewards, values, terminated, truncated, final_values)):
        for t in range(len(r)):
            for k in range(len(r) - t):
                out[t, b] += (discount * lambda_) ** k * (r[t + k] + discount * after[t + k] - v[t + k])
                if ends[t + k]:
                    break
    return out


def vtrace(rewards, values, terminated, truncated, final_values, log_pi, log_mu, discount, rho, c, pg_rho, lambda_):
    """The double sum of section 4.1, O(T^2)."""
    targets, advantages = np.zeros(rewards.shape), np.zeros(rewards.shape)
    for b, (r, v, after, ends) in enumerate(columns(rewards, values, terminated, truncated, final_values)):
        ratio = [math.exp(float(log_pi[t, b]) - float(log_mu[t, b])) for t in range(len(r))]
        for s in range(len(r)):
            total = v[s]
            for t in range(s, len(r)):
                product = 1.0
                for i in range(s, t):
                    product *= lambda_ * min(c, ratio[i])
                total += discount ** (t - s) * product * min(rho, ratio[t]) * (r[t] + discount * after[t] - v[t])
                if ends[t]:
                    break
            targets[s, b] = total
        for s in range(len(r)):
            following = after[s] if ends[s] or s == len(r) - 1 else targets[s + 1, b]
            advantages[s, b] = min(pg_rho, ratio[s]) * (r[s] + discount * following - v[s])
    return targets, advantages


def art(mean, second, targets, tasks, beta):
    """One step for each target in turn."""
    mean, second = list(mean), list(second)
    for target, task in zip(targets, tasks, strict=True):
        mean[task] += beta * (target - mean[task])
        second[task] += beta * (target**2 - second[task])
    return mean, second
