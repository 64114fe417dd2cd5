"""Alignment and eager translation in loops and by enumeration. Nothing here imports mechlearn."""

import itertools
import math
from collections import defaultdict


def fewest_epsilons(n, m, links, start_pads):
    """The least number of epsilons before or between m target words so that i <= place of j for all links, by trying all."""
    for count in range(n + 1):
        for places in itertools.combinations_with_replacement(range(m + 1), count):
            at = [start_pads + j + sum(1 for p in places if p <= j) for j in range(m)]
            if all(i <= at[j] for i, j in links):
                return count
    return None


def em(sentences, iterations, diagonal, null):
    """Dyer et al.'s model without variational Bayes, word by word; the source word of nothing is -1."""
    targets = {w for _, target in sentences for w in target}
    table = defaultdict(lambda: 1 / len(targets))

    def priors(n, m, j):
        nothing = 1 / (n + 1) if null is None else null
        weights = [math.exp(-diagonal * abs((i + 1) / n - (j + 1) / m)) for i in range(n)]
        return [nothing, *[(1 - nothing) * w / sum(weights) for w in weights]]

    for _ in range(iterations):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in sentences:
            for j, word in enumerate(target):
                p = [q * table[e, word] for q, e in zip(priors(len(source), len(target), j), [-1, *source], strict=True)]
                for value, e in zip(p, [-1, *source], strict=True):
                    counts[e, word] += value / sum(p)
                    totals[e] += value / sum(p)
        table = defaultdict(float, {(e, f): count / totals[e] if totals[e] else 0.0 for (e, f), count in counts.items()})
    links = []
    for source, target in sentences:
        own = []
        for j, word in enumerate(target):
            p = [q * table[e, word] for q, e in zip(priors(len(source), len(target), j), [-1, *source], strict=True)]
            best = p.index(max(p)) - 1
            if best >= 0:
                own.append((best, j))
        links.append(own)
    return dict(table), links
