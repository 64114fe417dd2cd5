"""Chapter 4's worlds, slow and literal; nothing of mechlearn is imported here."""

import itertools
import math


def next_board(board: list[list[int]]) -> list[list[int]]:
    """The four rules of the Game of Life as appendix C.3 words them; beyond the edge all cells are dead."""
    side = len(board)

    def alive(row: int, column: int) -> int:
        return board[row][column] if 0 <= row < side and 0 <= column < side else 0

    def lives(row: int, column: int) -> int:
        around = [(r, c) for r in (row - 1, row, row + 1) for c in (column - 1, column, column + 1) if (r, c) != (row, column)]
        neighbours = sum(alive(r, c) for r, c in around)
        if alive(row, column) and neighbours < 2:
            return 0
        if alive(row, column) and neighbours in (2, 3):
            return 1
        if alive(row, column):
            return 0
        return int(neighbours == 3)

    return [[lives(row, column) for column in range(side)] for row in range(side)]


def quantile(value: float, training: list[float]) -> float:
    """Psi of distinct training returns: their ranks over n - 1, straight lines in between, 0 and 1 outside."""
    ordered = sorted(training)
    if value <= ordered[0]:
        return 0.0
    for rank, (low, high) in enumerate(itertools.pairwise(ordered)):
        if value <= high:
            return (rank + (value - low) / (high - low)) / (len(ordered) - 1)
    return 1.0


def bin_error(logits: list[float], true_bin: int) -> float:
    """(expected value of the bin - value of the true bin)^2, a bin worth its centre in [0, 1]."""
    weights = [math.exp(logit) for logit in logits]
    centres = [(place + 0.5) / len(logits) for place in range(len(logits))]
    expected = sum(weight * centre for weight, centre in zip(weights, centres, strict=True)) / sum(weights)
    return (expected - centres[true_bin]) ** 2


def entropy(probabilities: list[float]) -> float:
    return -sum(p * math.log(p) for p in probabilities)
