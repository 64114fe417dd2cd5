"""Training with adaptive skip intervals, and what the trained model's predictions were matched with.

Bouncing in a funnel is hard to predict and decides nothing; the model learns to leave it out and to predict the ball that
leaves the funnel.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

from annotated_types import Ge

from craik.experiments.skips.comparing import training as skips
from craik.experiments.skips.comparing.outcomes import label_accuracy
from craik.experiments.skips.comparing.training import Settings
from craik.experiments.skips.timeline.matched_frames import count_matches, predict, timeline
from craik.lab import Preset, Row, number


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run: those of `skips-accuracy` for ASI with exploration."""

    evaluations: Annotated[int, Ge(1)] = 15_000
    """Model evaluations spent on training."""
    timelines: Annotated[int, Ge(1)] = 2
    """Test episodes whose frames are recorded, for pictures."""
    test_episodes: Annotated[int, Ge(1)] = 100
    """Episodes on which the skips are counted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.test_episodes < self.timelines:
            why = "the timelines are among them"
            raise ValueError(f"test_episodes should be at least {self.timelines}: {why}. Found {self.test_episodes}.")


PRESETS = {
    "quick": Preset(Config(decay_evaluations=10_000), seeds=3),
    # Figure 2.7. At quick's budget few roll-outs arrive in a room (skips-accuracy): three times as many evaluations.
    "room-runner": Preset(Config(task="room-runner", evaluations=45_000, decay_evaluations=30_000), seeds=6),
    # As skips-accuracy at published size.
    "paper": Preset(Config(**asdict(skips.PUBLISHED), test_episodes=500, evaluations=9_000_000), seeds=8),
}


def run(config: Config) -> Iterator[Row]:
    """Train with ASI; yield how often slow and fast frames are matched, and the frames of some timelines."""
    training = skips.make_world(config, "train", config.episodes)
    test = skips.make_world(config, "test", config.test_episodes)
    model = skips.make_model(config, training)
    for report in skips.train(config, "asi", model, lambda _: training, config.evaluations):
        yield {"kind": "trained", **report._asdict(), **label_accuracy(model, test, config.max_steps)._asdict()}
        break
    matched = predict(config, model, test)
    yield {"kind": "skips", **count_matches(test, matched), "horizon": config.horizon}
    for index in range(config.timelines):
        yield from timeline(config, test, matched, index)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (0.9, f"accuracy {number(row, 'accuracy'):.2f}") if row["kind"] == "trained" else (1.0, str(row["kind"]))
