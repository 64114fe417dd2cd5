"""Methods that skip frames, and methods that do not, trained at equal cost.

A dynamics model is trained to predict frames: some later frame of its own choice (ASI), or the next, the second, the third.
Rolled out from a first frame, its predictions show on which platform the ball lands, or in which room the runner ends. Every
method gets the same number of model evaluations, the same batches, network and settings.
"""

from collections.abc import Iterator

from craik.experiments.skips.outcomes import PAPER, QUICK, Comparison, make_worlds, train_and_read
from craik.lab import Preset, Row, number

PRESETS = {
    "quick": Preset(QUICK, seeds=5),
    # The largest that hours on two cores allow: small boards, as many training episodes as in the thesis, seen equally often.
    # Without exploration ASI takes nearly every frame, so as long as a step of 1 does; it is left to the other presets.
    # Sampling ends half-way: where true frames run out before the learning rate falls, balls vanish from predictions for good.
    "epochs": Preset(
        Comparison(
            methods=("asi", "fixed-1", "fixed-2", "fixed-3"),
            episodes=500,
            epochs=6,
            checks=6,
            decay_steps=1100,
            sampling_steps=3000,
        ),
        seeds=5,
    ),
    "paper": Preset(PAPER, seeds=8),
}


def run(config: Comparison) -> Iterator[Row]:
    """Train with each method; yield curves on validation episodes and, at the end, accuracy on test episodes."""
    worlds = make_worlds(config, config.test_episodes)
    for method in config.methods:
        yield from train_and_read(config, method, worlds, config.budget, config.checks)


def progress(config: Comparison, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, and the accuracy on validation episodes."""
    before = [str(method) for method in config.methods].index(str(row["method"]))
    spent = number(row, "evaluations") / config.evaluations if config.epochs is None else number(row, "epochs") / config.epochs
    done = min(1.0, spent)
    return (before + done) / len(config.methods), f"{row['method']}  accuracy {number(row, 'validation_accuracy'):.2f}"
