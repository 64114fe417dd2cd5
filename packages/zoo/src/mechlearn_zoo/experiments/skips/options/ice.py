"""A runner on ice: pushed in a direction it slides until something is in its way, at a pace that nobody could foretell.

An option is a push, one of four; it ends where the runner stands still. Where that is depends on the building and on where it
began, and on nothing else; how many frames it takes, and where the runner is in between, is drawn: a pace for each slide, a
jitter for each frame, a rest before it starts. Index conventions: x to the right, y down, in cells from 0; t counts frames.
"""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from mechlearn.arguments import check_share, check_whole
from mechlearn.trajectories import Trajectories

PUSHES = ((1, 0), (-1, 0), (0, 1), (0, -1))
"""What an option adds to x and y until it cannot."""

PER_CELL = 2
"""Places in one cell of the codes."""


class Walks(NamedTuple):
    """Walks as frames, with the push that acts at each.

    Attributes:
        frames: (batch, time, codes) how near the runner is to some columns and rows; from where it starts to where it ends.
        pushes: (batch, time - 1 of the longest) which push acts from each frame to the next; 0 behind a walk's own.
        plans: (batch, slides) the pushes in their order.
        ends: (batch, slides, 2) the cell at the end of each.
    """

    frames: Trajectories
    pushes: Int[Tensor, "batch time"]
    plans: Int[Tensor, "batch slides"]
    ends: Int[Tensor, "batch slides 2"]

    def some(self, rows: Tensor) -> "Walks":
        """Return some of the walks."""
        return Walks(self.frames[rows], self.pushes[rows], self.plans[rows], self.ends[rows])


def draw_building(side: int, blocked: float, generator: np.random.Generator) -> Bool[np.ndarray, "side side"]:
    """Return which cells of a square, [y, x], are blocked: a share of them at random, two free ones at least."""
    check_whole("side", side, 2)
    check_share("blocked", blocked, why="it is the share of blocked cells")
    cells = generator.permutation(side * side)[: min(round(blocked * side * side), side * side - 2)]
    found = np.zeros(side * side, dtype=bool)
    found[cells] = True
    return found.reshape(side, side)


def slid(building: Bool[np.ndarray, "side side"], cell: tuple[int, int], push: int) -> tuple[int, int]:
    """Return the cell (x, y) in which a push ends."""
    (dx, dy), (x, y), side = PUSHES[push], cell, len(building)
    while 0 <= x + dx < side and 0 <= y + dy < side and not building[y + dy, x + dx]:
        x, y = x + dx, y + dy
    return x, y


def draw_walks(building: Bool[np.ndarray, "side side"], count: int, slides: int, generator: np.random.Generator) -> Walks:
    """Draw walks from free cells from which a push moves the runner; no push twice in a row, none that moves nothing."""
    check_whole("count", count, 1)
    check_whole("slides", slides, 1)
    side = len(building)
    starts = [(x, y) for y in range(side) for x in range(side) if not building[y, x] and _moving(building, (x, y))]
    if not starts:
        raise ValueError("`building` should have a free cell with another beside it. Found none. Block fewer cells.")
    drawn = [_walk(building, starts[int(generator.integers(len(starts)))], slides, generator) for _ in range(count)]
    pushes = torch.zeros(count, max(len(ids) for _, ids, _, _ in drawn), dtype=torch.int64)
    for row, (_, ids, _, _) in zip(pushes, drawn, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    frames = Trajectories.from_list([codes(np.array(path), side) for path, _, _, _ in drawn])
    return Walks(frames, pushes, torch.tensor([plan for _, _, plan, _ in drawn]), torch.tensor([ends for *_, ends in drawn]))


def codes(path: Float[np.ndarray, "time 2"], side: int) -> Float[Tensor, "time codes"]:
    """Return how near a runner is to each column and row, two of them a cell."""
    centres = _centres(side)
    places = torch.as_tensor(path, dtype=torch.float32)
    return torch.cat([torch.exp(-(((places[:, k : k + 1] - centres) * PER_CELL) ** 2)) for k in (0, 1)], dim=1)


def cells(frames: Float[Tensor, "n codes"], side: int) -> Int[Tensor, "n 2"]:
    """Return the cell, x and y, in which a runner is seen; exact on true frames of a runner that stands."""
    centres = _centres(side)
    halves = frames.split(len(centres), dim=1)
    return torch.stack([centres[half.argmax(1)] for half in halves], dim=1).round().long()


def _centres(side: int) -> Float[Tensor, " places"]:
    return torch.linspace(0, side - 1, PER_CELL * (side - 1) + 1)


def _moving(building: Bool[np.ndarray, "side side"], cell: tuple[int, int]) -> list[int]:
    return [push for push in range(len(PUSHES)) if slid(building, cell, push) != cell]


_Walk = tuple[list[tuple[float, float]], list[int], list[int], list[tuple[int, int]]]


def _walk(
    building: Bool[np.ndarray, "side side"], start: tuple[int, int], slides: int, generator: np.random.Generator
) -> _Walk:
    """Draw one walk: its path, the push at each frame but the last, the plan, the cells at the ends of slides."""
    cell, last = start, -1
    path, ids, plan, ends = [(float(start[0]), float(start[1]))], list[int](), list[int](), list[tuple[int, int]]()
    for _ in range(slides):
        push = int(generator.choice([one for one in _moving(building, cell) if one != last]))
        end = slid(building, cell, push)
        between = _slide(cell, end, generator)
        path += between
        ids += [push] * len(between)
        plan.append(push)
        ends.append(end)
        cell, last = end, push
    return path, ids, plan, ends


def _slide(start: tuple[int, int], end: tuple[int, int], generator: np.random.Generator) -> list[tuple[float, float]]:
    """Draw where the runner is in each frame of a slide, the last of them at its end."""
    length = float(abs(end[0] - start[0]) + abs(end[1] - start[1]))
    pace = generator.uniform(0.15, 0.6)
    gone, found = 0.0, [(float(start[0]), float(start[1]))] * int(generator.integers(0, 4))  # a rest first
    while gone < length:
        gone = min(length, gone + pace * float(generator.lognormal(0.0, 0.5)))
        share = gone / length
        found.append((start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])))
    return found
