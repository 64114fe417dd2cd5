"""The spirals' inputs under one random rotation: shortcuts without coordinates of their own, and masks in another basis.

A mask of single weights can take out what sits in single weights. Rotated, every input has a part of the mechanism and of each
shortcut. The subspace mask tests directions instead: of every layer's inputs it removes those in which the environments differ
by more than they have in common. With as many shortcuts as environments one direction agrees in all of them, exactly, and no
rule that looks at the training environments can tell it from the mechanism.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge

from claimlab import Preset, Row, computed
from mechlearn_zoo.experiments.conflict.methods import METHODS
from mechlearn_zoo.experiments.conflict.rotated.subspaces import train_subspace
from mechlearn_zoo.experiments.conflict.shortcuts.training import Board, Training, train

BOARDS = {
    "16 rotated": Board(16, 0.1, rotated=True),
    "4 rotated": Board(4, 0.2, rotated=True),
}
"""By name: as many shortcuts as environments; few and strong ones."""

COMPARED = ("mean", "and-mask", "qualitative-decay", "homogeneous-decay")


@dataclass(frozen=True)
class Config(Training):
    """Settings of one run; half the length and a quarter of the width of `spirals`."""

    seed: int = 100
    """First seed: of the data, the rotation, the initial weights and the batches."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of three hidden layers."""
    decay: Annotated[float, Ge(0)] = 5.0
    """Times the learning rate: how fast the weights shrink along directions that the subspace mask removes."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(hidden=256, steps=800), seeds=3)}


def run(config: Config) -> Iterator[Row]:
    """Yield how each method ends on each board, and what it has where validation stops it."""
    for name, board in BOARDS.items():
        for method in COMPARED:
            ends = computed(f"{name}, {method}", train, config, board, METHODS[method])
            yield {"kind": "final", "board": name, "method": method, **ends}
        for layers in ("first", "all"):
            ends = computed(f"{name}, {layers}", train_subspace, config, board, config.decay, layers)
            yield {"kind": "final", "board": name, "method": f"subspace, {layers}", **ends}
