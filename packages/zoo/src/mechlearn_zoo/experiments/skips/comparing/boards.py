"""Small Funnel boards to train on, to stop by and to test on, and how often roll-outs on some of them end right."""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from claimlab import Row
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Dynamics, rollout
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.corruption import Corruption
from mechlearn_zoo.tasks.frames.funnel_board.places import Boards, Data, Reader, draw_boards, reader, recorded
from mechlearn_zoo.tasks.streams import stream


class Drawn(NamedTuple):
    """Boards, and the reader of where balls come to rest on those to train on."""

    train: Boards
    validation: Boards
    test: Boards
    reads: Reader


def small_boards(base: int, seed: int, episodes: int, tests: int, cache: str) -> Drawn:
    """Draw boards of a seed, or read them from a folder; experiments differ in the number that their seeds count from."""
    board, first = funnel_board.PRESETS["small"], base + 2 * seed
    apart = stream(seed, "validation").initial_seed()
    wanted = ((episodes, first), (tests, apart), (tests, first + 1))
    train, validation, test = (draw_boards(board, count, own, cache) for count, own in wanted)
    return Drawn(train, validation, test, reader(board, np.stack([path[-1] for path in train.paths])))


def clean(boards: Boards, reads: Reader) -> Data:
    """Return episodes as they were recorded."""
    return recorded(boards, reads.places, Corruption("clean"), np.random.default_rng(0))


class Judge(NamedTuple):
    """Scores roll-outs from the clean first frames of some boards."""

    data: Data
    labels: np.ndarray
    reads: Reader

    @classmethod
    def of(cls, boards: Boards, reads: Reader) -> "Judge":
        """Return the judge by some boards."""
        return cls(clean(boards, reads), boards.labels, reads)

    def scores(self, model: nn.Module) -> Row:
        """Roll a model out until the ball has landed; one that never lands is wrong."""
        frames, labels = self.data.frames, torch.from_numpy(self.labels)
        dynamics = Dynamics(model, BinaryCrossEntropyWithLogits(), self.data.layouts)
        rolled = rollout(dynamics, frames.first(), max_steps=frames.time, stop=self.reads.landed)
        right = (self.reads.platform(rolled.trajectories.last()) == labels) & rolled.stopped
        return {
            "accuracy": float(right.double().mean()),
            "landed": float(rolled.stopped.double().mean()),
            "rollout": rolled.evaluations / len(labels),
        }
