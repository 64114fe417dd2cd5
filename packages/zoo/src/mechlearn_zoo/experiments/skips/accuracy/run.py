"""Methods that skip frames, and methods that do not, trained at equal cost.

A dynamics model is trained to predict frames: some later frame of its own choice (ASI), or the next, the second, the third.
Rolled out from a first frame, its predictions show on which platform the ball lands, or in which room the runner ends. Every
method gets the same number of model evaluations, the same batches, network and settings.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Literal

from claimlab import Choice, Objective, Preset, Ranges, Row, number, part
from mechlearn_zoo.experiments.skips.accuracy.printed import column, with_printed
from mechlearn_zoo.experiments.skips.comparing.looks import train_and_stop
from mechlearn_zoo.experiments.skips.comparing.outcomes import PAPER, QUICK, Comparison, make_worlds
from mechlearn_zoo.experiments.skips.comparing.training import PUBLISHED

LOOKS = 12
"""At a training, evenly spread over its budget: a look rolls out on all validation episodes, which takes long."""


@dataclass(frozen=True)
class Config(Comparison):
    """Settings of one run."""

    settings: Literal["shared", "printed"] = "shared"
    """Whether all methods have the settings above, or each those that tables A.1 and A.2 print for it in its world."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.settings == "printed":
            for method in self.methods:
                column(self.task, method)


_EPOCHS = Config(episodes=500, epochs=6, checks=6, decay_steps=1100, sampling_steps=3000)
_HALF = replace(_EPOCHS, seed=100, size="half", max_steps=251)

PRESETS = {
    "quick": Preset(Config(**asdict(QUICK)), seeds=6),
    # The largest that hours on two cores allow: small boards, as many training episodes as in the thesis, seen equally often.
    # Without exploration ASI takes nearly every frame, so as long as a step of 1 does; it is left to the other presets.
    # Sampling ends half-way: where true frames run out before the learning rate falls, balls vanish from predictions for good.
    "epochs": Preset(replace(_EPOCHS, methods=("asi", "fixed-1", "fixed-2", "fixed-3")), seeds=6),
    # The published worlds at half of their pixels, all that the texts compare with, and `epochs`'s other choices.
    "half": Preset(_HALF, seeds=6),
    # In six epochs neither ASI nor steps of 3 learnt Room runner; here is four times as much of everything that counts steps.
    "room-runner": Preset(
        replace(
            _HALF, task="room-runner", epochs=24, checks=12, decay_steps=4400, sampling_steps=12_000, exploration_steps=2400
        ),
        seeds=6,
    ),
    # What the texts do not compare with, at `quick`'s settings; its seeds are no other preset's.
    "far": Preset(
        Config(seed=100, methods=("asi", "relative", "fixed-4", "fixed-8", "fixed-16", "direct"), decay_evaluations=10_000),
        seeds=6,
    ),
    # Scheduled sampling, too, as a share of what a method may spend: about as much of it as `quick`'s 1200 steps are of ASI's.
    "shares": Preset(Config(seed=200, decay_evaluations=10_000, sampling_evaluations=25_000), seeds=6),
    # Tables A.1 and A.2 by method and world, 150 epochs each, validated four times an epoch, and f as the texts start it.
    "paper": Preset(
        replace(Config(**asdict(PUBLISHED), test_episodes=500, epochs=150, checks=600, settings="printed"), gain=0.0), seeds=8
    ),
}


def _ranges(preset: Comparison, **of: Choice) -> Ranges:
    """Ranges of every method; the horizon and exploration are drawn for those alone that have them."""
    exploration, horizon = {"exploration_steps": preset.exploration_steps}, {"horizon": preset.horizon}
    unused = {"asi": {}, "asi-no-exploration": exploration}
    own = {"settings": "shared"}  # printed ones would take the place of what is drawn
    methods = {one: {"methods": (one,), **own, **unused.get(one, exploration | horizon)} for one in preset.methods}
    return Ranges(of, Objective(("validation_accuracy",)), methods)


RANGES = {
    "quick": _ranges(
        QUICK,
        learning_rate=Choice(1e-3, 2e-3, 3e-3, 5e-3),
        sampling_steps=Choice(150, 300, 600, 1200),
        decay_evaluations=Choice(None, 5_000, 10_000),
        horizon=Choice(15, 18, 21, 25),
        exploration_steps=Choice(300, 600, 900),
    ),
    "paper": _ranges(
        PAPER,
        learning_rate=Choice(1e-3, 7.5e-4, 5e-4),
        kernels=Choice(32, 48),
        architecture=Choice("simple", "strided", "dilated"),
        decay_steps=Choice(5_000, 10_000, 15_000),
        horizon=Choice(15, 18, 21, 25),
        exploration_steps=Choice(7_500, 10_000, 15_000),
    ),
}
"""Those of "paper" are the published code's, which has one schedule of scheduled sampling (tables A.1 and A.2)."""


def run(config: Config) -> Iterator[Row]:
    """Train with each method; yield curves on validation episodes and, at the end, accuracy on test episodes.

    The last row also has the accuracy on test episodes where that on validation episodes was highest at a look.
    """
    worlds = make_worlds(config, config.test_episodes)
    for method in config.methods:
        own = with_printed(config, method) if config.settings == "printed" else config
        yield from part(method, train_and_stop(own, method, worlds, LOOKS))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is, and the accuracy on validation episodes."""
    before = [str(method) for method in config.methods].index(str(row["method"]))
    spent = number(row, "evaluations") / config.evaluations if config.epochs is None else number(row, "epochs") / config.epochs
    done = min(1.0, spent)
    return (before + done) / len(config.methods), f"{row['method']}  accuracy {number(row, 'validation_accuracy'):.2f}"
