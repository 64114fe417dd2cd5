"""What a model with adaptive skip intervals predicts and what it skips: its frames below the true ones they were matched with.

Bouncing in a funnel is hard to predict and decides nothing; the model learns to leave it out and to predict the ball that
leaves the funnel.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch, Rectangle
from matplotlib.path import Path

from craik.experiments.skips import training as skips
from craik.experiments.skips.outcomes import label_accuracy
from craik.experiments.skips.timeline import pictures
from craik.experiments.skips.timeline.matched_frames import count_matches, predict, timeline
from craik.experiments.skips.training import Settings
from craik.lab import Claim, Measurement, Row, Rows, bootstrap, number
from craik.lab.drawing import COLOURS, panels
from craik.lab.limits import at_least

REPRODUCES = "thesis section 2.3.3, figures 2.7 and 2.8; the animation of the released code"

SHOWN = 22
"""True frames in a timeline: a long skip and some frames on either side."""


@dataclass(frozen=True)
class Config(Settings):
    """Settings of one run: those of `skips-accuracy` for ASI with exploration."""

    evaluations: int = 15_000
    """Model evaluations spent on training."""
    timelines: int = 2
    """Test episodes whose frames are recorded, for pictures."""
    test_episodes: int = 100
    """Episodes on which the skips are counted."""

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "evaluations", "timelines")
        at_least(self, self.timelines, "test_episodes", why="the timelines are among them")


PRESETS = {
    "quick": Config(decay_evaluations=10_000),
    # As skips-accuracy at published size.
    "paper": Config(
        **asdict(skips.PUBLISHED),
        test_episodes=500,
        evaluations=9_000_000,
    ),
}
SEEDS = {"quick": 3, "paper": 8}


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


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw a portion of a timeline (figures 2.7 and 2.8) of the most accurate seed, and how often frames are matched."""
    return {"timeline": draw_timeline(rows.where(seed=most_accurate(rows))), "matches": draw_matches(rows)}


def animations(rows: Rows) -> Mapping[str, tuple[str, bytes]]:
    """Animate truth beside prediction, synchronised: the prediction stands still while it skips."""
    some = rows.where(seed=most_accurate(rows))
    index = _episodes(some)[0]
    true, predicted = _shown(some, index)
    newest, right = true[0], list[pictures.Picture]()
    at = {int(number(row, "t")): picture for row, picture in predicted}
    for t in range(len(true)):
        newest = at.get(t, newest)
        right.append(newest)
    caption = (
        "The whole test episode of the timeline: truth on the left; on the right, at the same time, the latest prediction that "
        "was matched. While the model skips, the prediction stands still."
    )
    return {"truth-and-prediction": (caption, pictures.gif(pictures.side_by_side(true, right)))}


def most_accurate(rows: Rows) -> int:
    """Return the seed whose roll-outs show the right label most often; the first of equals."""
    trained = rows.where(kind="trained") or rows
    return int(number(max(trained, key=lambda row: float(str(row.get("accuracy", 0.0)))), "seed"))


def draw_timeline(rows: Rows) -> Figure:
    """Draw true frames above and, aligned below, the predictions that were matched with them."""
    index = _episodes(rows)[0]
    true, predicted = _shown(rows, index)
    start = _portion([row for row, _ in predicted], len(true))
    window = range(start, min(start + SHOWN, len(true)))
    part = _moving_part(true[window.start : window.stop])
    tall = (part[0].stop - part[0].start) / (part[1].stop - part[1].start)
    figure, (axes,) = panels(
        caption="A portion of a test episode, of the seed with the highest label accuracy: true frames above; below, the "
        "predictions of a model that goes on from its own predictions, each below the frame it was matched with; cut to where "
        "something moves. The darker a line, the better the frame fits, in pixel loss. Where nothing stands below, the model "
        "skipped.",
        width=13.0,
        height=13.0 * (2.0 * tall + _BETWEEN + 0.6) / (SHOWN + 1.2),
    )
    rail = [number(row, "t") - start for row, _ in predicted if int(number(row, "t")) in window]
    axes.plot([-0.6, *rail], [0.0] * (len(rail) + 1), color=COLOURS["ink"], linewidth=0.8, zorder=1)
    for t in window:
        _picture(axes, true[t][part], float(t - start), tall + _BETWEEN)
    for row, picture in predicted:
        if int(number(row, "t")) in window:
            _picture(axes, picture[part], number(row, "t") - start, 0.0)
            _lines(axes, row, window, 0.5 * tall)
    axes.set(xlim=(-0.6, len(window) - 0.4), ylim=(-0.55 * tall, 1.55 * tall + _BETWEEN), aspect="equal")
    axes.set_yticks([tall + _BETWEEN, 0.0], ["true", "predicted"], fontsize=14)
    axes.set_xticks([t - start for t in window], [str(t) for t in window], fontsize=12)
    axes.set_xlabel("frame", fontsize=14)
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


_BETWEEN = 1.3
"""From true frames to predictions, in widths of a frame."""


def _episodes(rows: Rows) -> list[int]:
    return sorted({int(number(row, "index")) for row in rows.where(kind="true")})


def _shown(rows: Rows, index: int) -> tuple[list[pictures.Picture], list[tuple[Row, pictures.Picture]]]:
    true = [pictures.decode(str(row["picture"])) for row in rows.where(kind="true", index=index)]
    predicted = rows.where(kind="predicted", index=index)
    return true, [(row, pictures.decode(str(row["picture"]))) for row in predicted]


def _portion(predicted: Sequence[Row], length: int) -> int:
    """The first frame of a portion with a long skip in its middle: the longest that leaves room on both sides."""
    skips = [(int(number(row, "from")), int(number(row, "t"))) for row in predicted]
    some = [(before, after) for before, after in skips if after - before <= SHOWN - 4] or skips
    before, after = max(some, key=lambda skip: skip[1] - skip[0])
    return max(0, min((before + after + 1 - SHOWN) // 2, length - SHOWN))


def _moving_part(shown: Sequence[pictures.Picture], margin: int = 3) -> tuple[slice, slice]:
    """Rows and columns in which the pictures are not all the same, and a few around them."""
    stack = np.stack(shown).astype(int)
    moving = (stack != stack[0]).any(axis=(0, 3))
    if not moving.any():
        moving[:] = True
    ends = [(int(where.min()), int(where.max())) for where in moving.nonzero()]
    rows, columns = (slice(max(0, low - margin), high + 1 + margin) for low, high in ends)
    return rows, slice(columns.start, min(columns.stop, moving.shape[1]))


def _picture(axes: Axes, picture: pictures.Picture, x: float, y: float) -> None:
    half = 0.45
    tall = half * picture.shape[0] / picture.shape[1]
    axes.imshow(picture, extent=(x - half, x + half, y - tall, y + tall), aspect="auto", interpolation="nearest", zorder=2)
    edge = Rectangle((x - half, y - tall), 2 * half, 2 * tall, fill=False, edgecolor="#b5b9c0", linewidth=0.6, zorder=3)
    axes.add_patch(edge)


def _lines(axes: Axes, row: Row, window: range, bottom: float) -> None:
    """Curves to the frames of a prediction's window, as dark as its likelihood in comparison with the best."""
    losses = np.array(json.loads(str(row["losses"])), dtype=np.float64)
    strengths = np.exp(-(losses - losses.min()) / 4)
    x, first = number(row, "t") - window[0], int(number(row, "from")) + 1
    middle, top = bottom + (_BETWEEN - 0.05) / 2, bottom + _BETWEEN - 0.05
    for t, strength in enumerate(strengths, start=first):
        if t in window and strength > 0.02:
            end = t - window[0]
            curve = Path([(x, bottom), (x, middle), (end, middle), (end, top)], [Path.MOVETO, *[Path.CURVE4] * 3])
            patch = PathPatch(curve, fill=False, edgecolor=COLOURS["ours"], alpha=float(strength), linewidth=2.4, zorder=1)
            axes.add_patch(patch)


def draw_matches(rows: Rows) -> Figure:
    """Draw the share of slow and of fast frames that some prediction was matched with."""
    figure, (axes,) = panels(
        caption="Share of true frames that a prediction was matched with, on test episodes, a line for each seed. Slow frames: "
        "those in which the ball moves less than half as far as in its episode's median frame: it bounces and rolls.",
        height=2.6,
    )
    counts = rows.where(kind="skips")
    for row in counts:
        axes.plot([0, 1], [_share(row, "slow"), _share(row, "fast")], "o-", color=COLOURS["ours"], alpha=0.8)
    axes.set_xticks([0, 1], ["slow frames", "fast frames"])
    axes.set(xlim=(-0.5, 1.5), ylim=(0, 1), ylabel="share matched")
    return figure


def _share(row: Row, kind: str) -> float:
    return number(row, f"{kind}_matched") / max(1.0, number(row, f"{kind}_frames"))


def _ratio(rows: Rows) -> Measurement | None:
    found = [_share(row, "slow") / max(1e-9, _share(row, "fast")) for row in rows.where(kind="skips")]
    return bootstrap(found) if found else None


def _mean_skip(rows: Rows) -> Measurement | None:
    found = rows.where(kind="skips")["mean_skip"]
    return bootstrap(found) if found else None


CLAIMS = (
    Claim(
        id="skips-timeline.bouncing",
        text="The model avoids the bouncing in the funnel: slow frames are skipped more often than fast ones.",
        source="thesis figure 2.8 and section 2.3.3",
        printed=None,
        measure=_ratio,
        holds=lambda measured: measured.high < 1,
        condition="share of slow frames matched over share of fast ones, median over seeds, its interval below 1",
    ),
    Claim(
        id="skips-timeline.variable",
        text="It skips a variable number of frames, more than one on average.",
        source="thesis figure 2.8 and section 2.3.3",
        printed=None,
        measure=_mean_skip,
        holds=lambda measured: measured.low > 1.5,
        condition="mean frames a prediction skips ahead, median over seeds, its interval above 1.5",
    ),
)
