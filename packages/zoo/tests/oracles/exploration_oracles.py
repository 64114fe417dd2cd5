"""Bonuses for exploration, an environment and a number at a time; nothing of mechlearn."""

import numpy as np


def reward_scale(batches, discount):
    """The published filter: every environment's sum runs forward, and all sums seen so far give one deviation."""
    sums, seen, out = None, [], []
    for bonuses in batches:
        sums = np.zeros(bonuses.shape[1]) if sums is None else sums
        for row in bonuses:
            sums = row + discount * sums
            seen.extend(sums.tolist())
        deviation = np.std(seen)
        out.append(bonuses / deviation if deviation > 0 else np.zeros_like(bonuses))
    return out


class ListMemory:
    """One environment's memory: a list, and numpy's percentile."""

    def __init__(self, capacity):
        self.capacity, self.entries, self.stored = capacity, [], 0

    def similarity(self, embedding, compare, aggregate):
        if not self.entries:
            return 0.0
        found = [compare(embedding, entry) for entry in self.entries]
        return max(found) if aggregate == "max" else float(np.percentile(found, 90))

    def remember(self, embedding, drawn, replacement):
        if len(self.entries) < self.capacity:
            self.entries.append(embedding)
        else:
            self.entries[drawn if replacement == "random" else self.stored % self.capacity] = embedding
        self.stored += 1

    def forget(self):
        self.entries, self.stored = [], 0
