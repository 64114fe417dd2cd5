"""Plans by sub-goals, slow and literal: nothing of mechlearn is imported. v is a list of lists of probabilities."""

import itertools
import math


def closure(v):
    """V*(s, t) = max(v(s, t), max over m of V*(s, m) V*(m, t)), until nothing changes."""
    count = len(v)
    best = [list(row) for row in v]
    while True:
        before = [list(row) for row in best]
        for s in range(count):
            for t in range(count):
                for m in range(count):
                    best[s][t] = max(best[s][t], best[s][m] * best[m][t])
        if best == before:
            return best


def best_plan(v, start, goal):
    """The greatest product along a path without a repeated state, by trying all."""
    others = [state for state in range(len(v)) if state not in (start, goal)]
    paths = [(start, *between, goal) for length in range(len(others) + 1) for between in itertools.permutations(others, length)]
    return max(math.prod(v[a][b] for a, b in itertools.pairwise(path)) for path in paths)


def distances(neighbours, start):
    """Steps from a state to every other, ring by ring."""
    found, ring, steps = {start: 0}, [start], 0
    while ring:
        steps += 1
        ring = [after for after in {b for a in ring for b in neighbours[a]} if after not in found]
        found.update(dict.fromkeys(ring, steps))
    return found


class Literal:
    """Algorithm 1 of the text, with dictionaries: V, N(s, t) and N(s, m, t) after some passes; proposals p[s][t] = {m: prior}.

    Two rules beside the text: a problem with a plan of value 1 is not divided further, nor one that is under way.
    """

    def __init__(self, v, p, c, depth, forward):
        self.v, self.p, self.c, self.depth, self.forward = v, p, c, depth, forward
        self.value, self.visits, self.tried, self.best = {}, {}, {}, {}
        self.open = set()

    def expand(self, s, t):
        self.value[s, t] = self.best[s, t] = self.v[s][t]
        self.visits[s, t] = 1

    def search(self, s, t, passes):
        self.expand(s, t)
        for _ in range(passes):
            if self.best[s, t] < 1:
                self.traverse(s, t, self.depth)

    def traverse(self, s, t, left):
        if (s, t) not in self.value:
            self.expand(s, t)
            return self.v[s][t]
        if self.best[s, t] >= 1 or (s, t) in self.open:
            return self.best[s, t]
        gain = self.v[s][t]
        subgoals = [m for m in self.p[s][t] if m not in (s, t)]
        if left > 0 and subgoals:
            self.open.add((s, t))
            m = max(subgoals, key=lambda m: self.score(s, m, t))
            self.tried[s, m, t] = self.tried.get((s, m, t), 0) + 1
            if self.forward:
                if (s, m) not in self.value:
                    self.expand(s, m)
                first = self.v[s][m]
            else:
                first = self.traverse(s, m, left - 1)
            second = 0 if self.forward and first == 0 else self.traverse(m, t, left - 1)
            if (m, t) in self.best:
                reached = self.v[s][m] if self.forward else self.best[s, m]
                self.best[s, t] = max(self.best[s, t], reached * self.best[m, t])
            gain = max(gain, first * second)
            self.open.remove((s, t))
        self.value[s, t] = (self.value[s, t] * self.visits[s, t] + gain) / (self.visits[s, t] + 1)
        self.visits[s, t] += 1
        return gain

    def score(self, s, m, t):
        known = self.value.get((s, m), 0) * self.value.get((m, t), 0)
        return known + self.c * self.p[s][t][m] * math.sqrt(self.visits[s, t]) / (1 + self.tried.get((s, m, t), 0))
