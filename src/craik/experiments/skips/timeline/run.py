"""Training with adaptive skip intervals, and what the trained model's predictions were matched with.

Bouncing in a funnel is hard to predict and decides nothing; the model learns to leave it out and to predict the ball that
leaves the funnel. Whether the ball is in what it predicts, and where, is read off the predictions; beside it are those of
fixed steps of about the same mean length, trained on as many evaluations.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

from annotated_types import Ge

from craik.experiments.skips.comparing import training as skips
from craik.experiments.skips.comparing.outcomes import label_accuracy
from craik.experiments.skips.comparing.training import Method, Settings, World
from craik.experiments.skips.timeline import balls
from craik.experiments.skips.timeline.matched_frames import count_matches, predict, timeline
from craik.lab import Preset, Row, number, part
from craik.skips import Fixed, Greedy

FIXED: dict[int, Method] = {1: "fixed-1", 2: "fixed-2", 3: "fixed-3", 4: "fixed-4", 8: "fixed-8", 16: "fixed-16"}
"""Fixed steps to set beside it."""


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
    """Train with ASI; yield how often slow and fast frames are matched, the frames of some timelines and where the balls are.

    On the Funnel board the same follows of fixed steps, of those that are nearest to ASI's mean length.
    """
    training = skips.make_world(config, "train", config.episodes)
    test = skips.make_world(config, "test", config.test_episodes)
    length = 1.0
    for row in part("asi", _adaptive(config, training, test)):
        length = number(row, "mean_skip") if row["kind"] == "skips" else length
        yield row
    if config.task == "funnel-board":
        yield from part("fixed", _fixed(config, min(FIXED, key=lambda step: abs(step - length)), training, test))


def _adaptive(config: Config, training: World, test: World) -> Iterator[Row]:
    model = skips.make_model(config, training)
    for report in skips.train(config, "asi", model, lambda _: training, config.evaluations):
        yield {"kind": "trained", **report._asdict(), **label_accuracy(model, test, config.max_steps)._asdict()}
        break
    matched = predict(model, test, Greedy(config.horizon))
    yield {"kind": "skips", **count_matches(test, matched), "horizon": config.horizon}
    aims = balls.aims(test, matched, config.horizon) if config.task == "funnel-board" else []
    for index in range(config.timelines):
        for row in timeline(config, test, matched, index):
            seen = aims and row["kind"] == "predicted"
            yield row | balls.sighting(aims[index][int(number(row, "u"))]) if seen else row
    for row in balls.summaries(aims):
        yield {"kind": "balls", "method": "asi", "matching": "greedy", **row}


def _fixed(config: Config, step: int, training: World, test: World) -> Iterator[Row]:
    """Train with fixed steps; yield the same of what they predict, matched as freely as ASI's and by their own clock."""
    model = skips.make_model(config, training)
    found: Row = {"kind": "fixed", "step": step}
    for report in skips.train(config, FIXED[step], model, lambda _: training, config.evaluations):
        found |= {**report._asdict(), **label_accuracy(model, test, config.max_steps)._asdict()}
        break
    for matching, name in ((Greedy(config.horizon), "greedy"), (Fixed(step), "fixed")):
        matched = predict(model, test, matching)
        yield {**found, "matching": name, **count_matches(test, matched)}
        for row in balls.summaries(balls.aims(test, matched, config.horizon)):
            yield {"kind": "balls", "method": "fixed", "matching": name, **row}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    alone = config.task != "funnel-board"
    if row["kind"] == "trained":
        return 0.9 if alone else 0.45, f"accuracy {number(row, 'accuracy'):.2f}"
    return 1.0 if alone or "fixed" in (row["kind"], row.get("method")) else 0.5, str(row["kind"])
