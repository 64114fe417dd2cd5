"""The thesis' spirals with shortcuts that each environment has of its own, and without any: who finds the mechanism, and when.

Masked weights stay where they were drawn, and the layers above read what they let through. So each rule that masks little is
run with and without decay of what it masks; a control masks and decays the same share of every tensor at random. The AND-mask
is run without L2 too, which is its decay: through Adam, a weight without a gradient of its own goes to 0 at full speed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge

from claimlab import Preset, Row, computed
from mechlearn_zoo.learners.shortcuts.methods import METHODS
from mechlearn_zoo.learners.shortcuts.training import Board, Training, train

BOARDS = {"shortcuts": Board(), "none": Board(shortcuts=0)}

PLANTED = (
    "mean", "and-mask", "and-mask-no-l2", "qualitative", "qualitative-decay", "random-decay", "homogeneous-decay",
    "input-decay",
)  # fmt: skip
"""What is trained on the board with shortcuts."""

BARE = ("mean", "and-mask", "qualitative-decay")
"""What is trained on the board without."""


@dataclass(frozen=True)
class Config(Training):
    """Settings of one run; half the length and a quarter of the width of `spirals`."""

    seed: int = 100
    """First seed: of the data, the initial weights and the batches."""
    hidden: Annotated[int, Ge(1)] = 64
    """Units in each of three hidden layers."""


PRESETS = {"quick": Preset(Config(), seeds=6), "paper": Preset(Config(hidden=256, steps=800), seeds=3)}


def run(config: Config) -> Iterator[Row]:
    """Yield how each method ends on each board, and what it has where validation stops it."""
    for name, board in BOARDS.items():
        for method in PLANTED if board.shortcuts else BARE:
            setting = replace(config, l2=0.0) if method == "and-mask-no-l2" else config
            control = method == "random-decay"
            key = {"and-mask-no-l2": "and-mask", "random-decay": "qualitative-decay"}.get(method, method)
            ends = computed(f"{name}, {method}", train, setting, board, METHODS[key], control)
            yield {"kind": "final", "board": name, "method": method, **ends}
