"""Training with adaptive skip intervals, and what the trained model's predictions were matched with.

Bouncing in a funnel is hard to predict and decides nothing; the model learns to leave it out and to predict the ball that
leaves the funnel. Whether the ball is in what it predicts, and where, is read off the predictions; beside it are those of
fixed steps of about the same mean length, trained on as many evaluations.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, NamedTuple

from annotated_types import Ge
from torch import nn

from claimlab import Preset, Row, Scalar, number, part
from mechlearn.skips import Fixed, Greedy
from mechlearn_zoo.experiments.skips.comparing import training as skips
from mechlearn_zoo.experiments.skips.comparing.outcomes import Worlds, label_accuracy, make_worlds
from mechlearn_zoo.experiments.skips.comparing.training import Method, Settings, World
from mechlearn_zoo.experiments.skips.timeline import balls
from mechlearn_zoo.experiments.skips.timeline.balls import Aim
from mechlearn_zoo.experiments.skips.timeline.matched_frames import count_matches, predict, timeline
from mechlearn_zoo.learners.stopping import Kept

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


class Trained(NamedTuple):
    """A model at the end of its training, the same where validation would have stopped it, and how right both are."""

    end: nn.Module
    stopped: nn.Module
    row: Row


def run(config: Config) -> Iterator[Row]:
    """Train with ASI; yield how often slow and fast frames are matched, the frames of some timelines and where the balls are.

    On the Funnel board the same follows of fixed steps, of those that are nearest to ASI's mean length.
    """
    worlds = make_worlds(config, config.test_episodes)
    length = 1.0
    for row in part("asi", _adaptive(config, worlds)):
        length = number(row, "mean_skip") if row["kind"] == "skips" else length
        yield row
    if config.task == "funnel-board":
        yield from part("fixed", _fixed(config, min(FIXED, key=lambda step: abs(step - length)), worlds))


class Watched(Kept[nn.Module]):
    """A model that `train` tells what it has spent; kept where most roll-outs on validation episodes end right."""

    def __init__(self, config: Config, model: nn.Module, world: World) -> None:
        super().__init__(model, lambda one: label_accuracy(one, world, config.max_steps).accuracy, "validation_accuracy")
        self._total = config.evaluations

    def __call__(self, model: nn.Module, spent: int) -> None:
        """Look, if it is time."""
        self.look(min(spent / self._total, 1.0))


def _trained(config: Config, method: Method, worlds: Worlds) -> Trained:
    model = skips.make_model(config, worlds.training)
    kept, row = Watched(config, model, worlds.validation), dict[str, Scalar]()
    training = skips.train(config, method, model, lambda _: worlds.training, config.evaluations, watch=kept)
    for report in training:
        row |= {**report._asdict(), **label_accuracy(model, worlds.test, config.max_steps)._asdict()}
        break
    found = _as_stopped(label_accuracy(kept.best, worlds.test, config.max_steps)._asdict())
    return Trained(model, kept.best, {**row, **kept.row, **found})


def _as_stopped(row: Row) -> Row:
    return {f"stopped_{key}": value for key, value in row.items()}


def _adaptive(config: Config, worlds: Worlds) -> Iterator[Row]:
    trained, test = _trained(config, "asi", worlds), worlds.test
    yield {"kind": "trained", **trained.row}
    matched, stopped = (predict(model, test, Greedy(config.horizon)) for model in (trained.end, trained.stopped))
    counts = {**count_matches(test, matched), **_as_stopped(count_matches(test, stopped))}
    yield {"kind": "skips", **counts, "horizon": config.horizon}
    board = config.task == "funnel-board"
    aims, early = (balls.aims(test, one, config.horizon) if board else [] for one in (matched, stopped))
    for index in range(config.timelines):
        for row in timeline(config, test, matched, index):
            seen = aims and row["kind"] == "predicted"
            yield row | balls.sighting(aims[index][int(number(row, "u"))]) if seen else row
    for row in _beside(aims, early):
        yield {"kind": "balls", "method": "asi", "matching": "greedy", **row}


def _beside(ends: list[list[Aim]], stopped: list[list[Aim]]) -> Iterator[Row]:
    """Yield what predictions at the end have in common, beside those of the stopped model; curves of the end alone."""
    early = {row["at"]: row for row in balls.summaries(stopped)}
    for row in balls.summaries(ends):
        # `at` says where predictions are, not when validation stops.
        of = {key: value for key, value in early.get(row["at"], {}).items() if key != "at" and not key.endswith("_within")}
        yield {**row, **_as_stopped(of)}


def _fixed(config: Config, step: int, worlds: Worlds) -> Iterator[Row]:
    """Train with fixed steps; yield the same of what they predict, matched as freely as ASI's and by their own clock."""
    trained, test = _trained(config, FIXED[step], worlds), worlds.test
    for matching, name in ((Greedy(config.horizon), "greedy"), (Fixed(step), "fixed")):
        matched, stopped = (predict(model, test, matching) for model in (trained.end, trained.stopped))
        counts = {**count_matches(test, matched), **_as_stopped(count_matches(test, stopped))}
        yield {"kind": "fixed", "step": step, **trained.row, "matching": name, **counts}
        for row in _beside(*(balls.aims(test, one, config.horizon) for one in (matched, stopped))):
            yield {"kind": "balls", "method": "fixed", "matching": name, **row}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    alone = config.task != "funnel-board"
    if row["kind"] == "trained":
        return 0.9 if alone else 0.45, f"accuracy {number(row, 'accuracy'):.2f}"
    return 1.0 if alone or "fixed" in (row["kind"], row.get("method")) else 0.5, str(row["kind"])
