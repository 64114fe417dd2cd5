"""Word vectors and neighbourhoods in loops. Nothing here imports mechlearn."""

import math
from collections import Counter

import numpy as np
from scipy.optimize import nnls


def ppmi(streams, words, window, smoothing):
    """The matrix of positive pointwise mutual information, pair by pair."""
    counts = Counter()
    for stream in streams:
        for i, first in enumerate(stream):
            for j in range(max(0, i - window), min(len(stream), i + window + 1)):
                if i != j and first in words and stream[j] in words:
                    counts[first, stream[j]] += 1
    total = sum(counts.values())
    by_word = Counter()
    for (first, _), count in counts.items():
        by_word[first] += count
    smoothed = sum(by_word[word] ** smoothing for word in words)
    out = np.zeros((len(words), len(words)))
    for (first, second), count in counts.items():
        p = count / total
        q = by_word[first] / total * (by_word[second] ** smoothing / smoothed)
        out[words.index(first), words.index(second)] = max(0.0, math.log(p / q))
    return out


def cosine(a, b):
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))


def distance(vector, exemplars, method):
    """1 - the largest cosine with what a method makes of the exemplars."""
    if method == "neighbours":
        return min(1 - cosine(vector, one) for one in exemplars)
    units = [one / np.linalg.norm(one) for one in exemplars]
    if method == "centroid":
        return 1 - cosine(vector, sum(units) / len(units))
    unit = vector / np.linalg.norm(vector)
    columns = np.stack(units, 1)
    if method == "span":
        return 1 - np.linalg.norm(columns @ np.linalg.lstsq(columns, unit, rcond=None)[0])
    coefficients, _ = nnls(columns, unit)
    length = np.linalg.norm(columns @ coefficients)
    return 1 - length if length > 1e-9 else min(1 - cosine(vector, one) for one in exemplars)
