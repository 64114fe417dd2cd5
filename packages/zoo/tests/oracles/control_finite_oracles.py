"""Finite decision processes and the methods on them, literally: loops and sums, nothing of mechlearn."""

import itertools
import math

import numpy as np


def random_mdp(seed, states=4, actions=3, ending=0.1):
    """P whose rows sum to 1 - ending (of every second action), R, p0."""
    draw = np.random.default_rng(seed)
    transitions = draw.dirichlet(np.ones(states), size=(states, actions))
    transitions[:, ::2] *= 1 - ending
    return transitions, draw.normal(size=(states, actions)), draw.dirichlet(np.ones(states))


def random_policy(seed, states=4, actions=3):
    return np.random.default_rng(seed).dirichlet(np.ones(actions), size=states)


def values(transitions, rewards, policy, discount, sweeps=4000):
    """Iterate V(s) = sum_a pi (R + gamma sum_t P V), number by number."""
    states, actions = rewards.shape
    found = [0.0] * states
    for _ in range(sweeps):
        found = [
            sum(
                policy[s, a] * (rewards[s, a] + discount * sum(transitions[s, a, t] * found[t] for t in range(states)))
                for a in range(actions)
            )
            for s in range(states)
        ]
    return np.array(found)


def occupancies(transitions, start, policy, discount, steps=4000):
    """sum_t gamma^t p(s_t, a_t), step by step."""
    here, total = start.copy(), np.zeros(policy.shape)
    for step in range(steps):
        total += discount**step * here[:, None] * policy
        here = np.einsum("s,sa,sat->t", here, policy, transitions)
    return total


def best_value(transitions, rewards, discount):
    """V* as the best of all deterministic policies, state by state."""
    states, actions = rewards.shape
    best = np.full(states, -np.inf)
    for chosen in itertools.product(range(actions), repeat=states):
        chain = np.stack([transitions[s, a] for s, a in enumerate(chosen)])
        reward = np.array([rewards[s, a] for s, a in enumerate(chosen)])
        best = np.maximum(best, np.linalg.solve(np.eye(states) - discount * chain, reward))
    return best


def blahut_arimoto(channel, rounds):
    """q <- q exp(D) / Z on one channel (A, S); capacity's lower and upper bound in bits."""
    actions, outputs = channel.shape
    q = np.full(actions, 1 / actions)
    for _ in range(rounds):
        p = [sum(q[a] * channel[a, s] for a in range(actions)) for s in range(outputs)]
        d = [
            sum(channel[a, s] * math.log(channel[a, s] / p[s]) for s in range(outputs) if channel[a, s] > 0)
            for a in range(actions)
        ]
        lower, upper = math.log(sum(q[a] * math.exp(d[a]) for a in range(actions))), max(d)
        q = np.array([q[a] * math.exp(d[a]) for a in range(actions)])
        q /= q.sum()
    return lower / math.log(2), upper / math.log(2), q


def n_steps(transitions, n):
    """p(s_n | s, a_1 .. a_n) by matrices along each sequence, sequences in lexicographic order: (S, A^n, S)."""
    states, actions, _ = transitions.shape
    found = []
    for sequence in itertools.product(range(actions), repeat=n):
        product = np.eye(states)
        for action in sequence:
            product = product @ transitions[:, action]
        found.append(product)
    return np.stack(found, axis=1)


def entropy_objective(theta, transitions, rewards, start, discount, tau):
    """p0 (I - gamma P_pi)^-1 sum_a pi (R - tau log pi) of one softmax table."""
    states, _ = rewards.shape
    policy = np.exp(theta) / np.exp(theta).sum(1, keepdims=True)
    reward = (policy * (rewards - tau * np.log(policy))).sum(1)
    chain = np.einsum("sa,sat->st", policy, transitions)
    return float(start @ np.linalg.solve(np.eye(states) - discount * chain, reward))


def jensen_shannon(probabilities):
    """sum over members and states of P_i log(P_i / mean P), over E: the mutual information of member and next state."""
    members = len(probabilities)
    mean = probabilities.sum(0) / members
    return sum(p * math.log(p / m) for row in probabilities for p, m in zip(row, mean, strict=True) if p > 0) / members


def jensen_renyi(means, variances):
    """All pairs of members, one by one, at one prediction: (E, d) both."""
    members, d = means.shape
    overlap = 0.0
    for i in range(members):
        for j in range(members):
            width = variances[i] + variances[j]
            exponent = -0.5 * sum((means[i] - means[j]) ** 2 / width)
            overlap += math.exp(exponent) / math.sqrt((2 * math.pi) ** d * np.prod(width)) / members**2
    return -math.log(overlap) - sum(0.5 * math.log((4 * math.pi) ** d * np.prod(own)) for own in variances) / members


def renyi_by_sampling(means, variances, draws, seed):
    """-ln of the mixture's mean density under itself, with its standard error, less the members' entropies of order 2."""
    generator = np.random.default_rng(seed)
    members, d = means.shape
    chosen = generator.integers(members, size=draws)
    x = means[chosen] + generator.normal(size=(draws, d)) * np.sqrt(variances[chosen])
    density = np.zeros(draws)
    for mean, variance in zip(means, variances, strict=True):
        exponent = -0.5 * ((x - mean) ** 2 / variance).sum(1)
        density += np.exp(exponent) / math.sqrt((2 * math.pi) ** d * np.prod(variance)) / members
    own = sum(0.5 * math.log((4 * math.pi) ** d * np.prod(one)) for one in variances) / members
    return -math.log(density.mean()) - own, density.std() / math.sqrt(draws) / density.mean()


def joint_posterior(prior, pictures, moves, pays, ends, history):
    """p(k | h) by enumeration.

    History is a list of (cell, {cell: picture glimpsed}, action, next cell, reward, whether it ended: None where unknown).
    """
    weights = []
    for k, chance in enumerate(prior):
        fits = all(
            all(pictures[k][cell] == shown for cell, shown in glimpses.items())
            and moves[k][here][action] == after
            and pays[k][after] == paid
            and ended in (None, bool(ends[k][after]))
            for here, glimpses, action, after, paid, ended in history
        )
        weights.append(chance if fits else 0.0)
    return [weight / sum(weights) for weight in weights]


def crar_plan(x, action, depth, breadth, functions):
    """Q^d(x, a) by recursion, one state and one action at a time; functions: q, transition, reward, discount."""
    q, transition, reward, discount = functions
    if depth == 0:
        return float(q(x)[action])
    after = x + transition(x, action)
    best = sorted(range(len(q(after))), key=lambda a: -float(q(after)[a]))[:breadth]
    ahead = max(crar_plan(after, a, depth - 1, breadth, functions) for a in best)
    return float(reward(x, action)) + float(discount(x, action)) * ahead
