"""Falls on the small Funnel board in three styles: as it is, without bounce, and one that only tests show, livelier."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.trajectories import Trajectories
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.corruption import Corruption
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.funnel_board.places import Boards, Places, Reader, draw_boards, reader, recorded


class Part(NamedTuple):
    """Falls as place codes, layouts as numbers, and the platforms on which they end."""

    frames: Trajectories
    layouts: Float[Tensor, "b layout"]
    labels: Int[Tensor, " b"]

    def inputs(self) -> Float[Tensor, "b n"]:
        """Return x of a student: first frames and layouts."""
        return torch.cat([self.frames.first(), self.layouts], 1)

    def spaced(self, count: int) -> Int[Tensor, "b count"]:
        """Return which frames lie evenly between the first, left out, and the last."""
        shares = torch.arange(1, count + 1) / count
        return (shares * (self.frames.lengths[:, None] - 1)).round().long()

    def seen(self, at: Int[Tensor, "b t"]) -> Float[Tensor, "b t codes"]:
        """Return those frames, each with its time in units of a hundred frames as its last number."""
        values = self.frames.values()
        rows = torch.arange(len(values))[:, None]
        return torch.cat([values[rows, at], at.unsqueeze(-1) / 100], -1)


class Falls(NamedTuple):
    """What is learnt from, what chooses when to stop, tests of known styles and of an unknown one, and who reads outcomes."""

    train: Part
    selection: Part
    test: Part
    unseen: Part
    reads: Reader

    def tests(self) -> Iterator[tuple[str, Part]]:
        """Yield the tests by the names that rows have."""
        yield "accuracy", self.test
        yield "unseen", self.unseen


def styles() -> tuple[FunnelBoardSettings, FunnelBoardSettings, FunnelBoardSettings]:
    """Return the styles of training, and the one that only tests show."""
    board = funnel_board.PRESETS["small"]
    return board, board.perturbed(), replace(board, physics=replace(board.physics, ball_restitution=0.35))


def draw(seed: int, count: int, cache: str) -> Falls:
    """Draw so many boards of either style to train on, half as many for each other part."""
    board, dull, lively = styles()
    places, few = Places.of(board), count // 2
    found = [
        [draw_boards(style, size, 90_000 + 10 * seed + k, cache) for k, style in zip(places_of, kinds, strict=True)]
        for places_of, kinds, size in (
            ((0, 1), (board, dull), count),
            ((2, 3), (board, dull), few),
            ((4, 5), (board, dull), few),
            ((6,), (lively,), few),
        )
    ]
    ends = np.stack([path[-1] for one in found[0] for path in one.paths])
    train, selection, test, unseen = (_part(boards, places) for boards in found)
    return Falls(train, selection, test, unseen, reader(board, ends))


def _part(boards: list[Boards], places: Places) -> Part:
    data = [recorded(one, places, Corruption("clean"), np.random.default_rng(0)) for one in boards]
    frames = Trajectories.concatenated([one.frames for one in data])
    labels = torch.cat([torch.from_numpy(one.labels).long() for one in boards])
    return Part(frames, torch.cat([one.layouts for one in data]), labels)
