"""What a model with adaptive skip intervals predicts and what it skips: its frames below the true ones they were matched with.

Bouncing in a funnel is hard to predict and decides nothing; the model learns to leave it out and to predict the ball that
leaves the funnel.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from craik.experiments import _pictures as pictures
from craik.experiments import _skips as skips
from craik.experiments._skips import Settings, World
from craik.harness.claims import Claim, Measurement, Row, bootstrap
from craik.harness.columns import number, numbers, where
from craik.harness.figures import COLOURS, panels
from craik.losses import BinaryCrossEntropyWithLogits
from craik.skips import Greedy, Matched, candidate_losses, match

REPRODUCES = "thesis section 2.3.3, figures 2.7 and 2.8; the animation of the released code"

SHOWN = 14
"""True frames in a timeline."""


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
        for name in ("evaluations", "timelines"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} should be at least 1. Found {getattr(self, name)}.")
        if self.test_episodes < self.timelines:
            raise ValueError(f"test_episodes should be at least the {self.timelines} timelines. Found {self.test_episodes}.")


PRESETS = {
    "quick": Config(),
    # As skips-accuracy at published size.
    "paper": Config(
        size="published",
        view="pixels",
        episodes=500,
        validation_episodes=500,
        test_episodes=500,
        architecture="simple",
        kernels=48,
        learning_rate=5e-4,
        horizon=21,
        exploration_steps=15_000,
        sampling_steps=15_000,
        evaluations=9_000_000,
        max_steps=251,
    ),
}
SEEDS = {"quick": 3, "paper": 8}


def run(config: Config) -> Iterator[Row]:
    """Train with ASI; yield how often slow and fast frames are matched, and the frames of some timelines."""
    training = skips.make_world(config, "train", config.episodes)
    test = skips.make_world(config, "test", config.test_episodes)
    model = skips.make_model(config, training)
    for report in skips.train(config, "asi", model, lambda _: training, config.evaluations):
        yield {"kind": "trained", **report._asdict(), **skips.label_accuracy(model, test, config.max_steps)._asdict()}
        break
    matched = predict(config, model, test)
    yield {"kind": "skips", **count_matches(test, matched), "horizon": config.horizon}
    for index in range(config.timelines):
        yield from timeline(config, test, matched, index)


@torch.no_grad()
def predict(config: Settings, model: nn.Module, world: World) -> Matched:
    """Match a model's predictions from its own predictions, as roll-outs go, with true frames."""
    return match(
        model,
        world.frames,
        BinaryCrossEntropyWithLogits(),
        Greedy(config.horizon),
        teacher_forcing=0.0,
        context=world.context,
        keep_predictions=True,
    )


def is_slow(world: World, index: int) -> Bool[np.ndarray, " time"]:
    """Tell the frames in which what moves went less than half as far since the last frame as it does in the median."""
    path = world.episodes.paths[index]
    speed = np.linalg.norm(np.diff(path, axis=0, prepend=path[:1]), axis=1)
    return speed < np.median(speed) / 2


def count_matches(world: World, matched: Matched) -> Row:
    """Return how often slow and fast frames (the first ones aside) were matched, and how many there are."""
    counts = np.zeros((2, 2), dtype=int)
    for index in range(len(world)):
        slow = is_slow(world, index)[1:]
        hit = np.zeros(len(slow) + 1, dtype=bool)
        hit[matched.matched[index, : int(matched.steps[index])].numpy()] = True
        for kind, some in enumerate((slow, ~slow)):
            counts[kind] += int((hit[1:] & some).sum()), int(some.sum())
    (slow_hit, slow_all), (fast_hit, fast_all) = counts.tolist()
    lengths = matched.skips[matched.skips > 0].float()
    found: Row = {"slow_matched": slow_hit, "slow_frames": slow_all, "fast_matched": fast_hit, "fast_frames": fast_all}
    return {**found, "mean_skip": float(lengths.mean()), "ones": float((lengths == 1).float().mean())}


def timeline(config: Settings, world: World, matched: Matched, index: int) -> Iterator[Row]:
    """Yield an episode's true frames, then its predictions with what they were matched with and how well each frame fits."""
    true = world.frames[index]
    for t, frame in enumerate(true):
        yield {"kind": "true", "index": index, "t": t, "picture": pictures.encode(show(world, index, frame.float() / 255))}
    losses = candidate_losses(matched, world.frames, BinaryCrossEntropyWithLogits("sum"), config.horizon)[index]
    assert matched.predictions is not None  # they were asked for
    before = 0
    for u in range(int(matched.steps[index])):
        frame = matched.predictions.frames[index, u].sigmoid()
        fits = [round(float(value), 2) for value in losses[u] if torch.isfinite(value)]
        yield {
            "kind": "predicted",
            "index": index,
            "u": u,
            "from": before,
            "t": int(matched.matched[index, u]),
            "losses": json.dumps(fits),
            "picture": pictures.encode(show(world, index, frame)),
        }
        before = int(matched.matched[index, u])


def show(world: World, index: int, frame: Float[Tensor, "channels height width"]) -> UInt8[np.ndarray, "height width 3"]:
    """Return a frame in RGB; moving parts are laid over what stands still: the trace in cyan, the ball or the runner."""
    picture = frame
    if world.context is not None:
        picture = 1 - world.context[index]
        colours = ((0.0, 0.0, 1.0), (0.33, 1.0, 1.0)) if len(frame) == 2 else ((0.0, 0.8, 0.0),)
        for share, colour in reversed(list(zip(frame, colours, strict=True))):
            picture = picture * (1 - share) + torch.tensor(colour)[:, None, None] * share
    return (picture.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return (0.9, f"accuracy {number(row, 'accuracy'):.2f}") if row["kind"] == "trained" else (1.0, str(row["kind"]))


def figures(rows: Sequence[Row]) -> dict[str, Figure]:
    """Draw a portion of a timeline (figures 2.7 and 2.8) of the first seed, and how often frames are matched."""
    first = min(int(number(row, "seed")) for row in rows)
    return {"timeline": draw_timeline(where(rows, seed=first)), "matches": draw_matches(rows)}


def animations(rows: Sequence[Row]) -> Mapping[str, bytes]:
    """Return truth beside prediction, synchronised: the prediction stands still while it skips."""
    first = where(rows, seed=min(int(number(row, "seed")) for row in rows))
    index = _episodes(first)[0]
    true, predicted = _shown(first, index)
    newest, right = true[0], list[pictures.Picture]()
    at = {int(number(row, "t")): picture for row, picture in predicted}
    for t in range(len(true)):
        newest = at.get(t, newest)
        right.append(newest)
    return {"truth-and-prediction": pictures.gif(pictures.side_by_side(true, right))}


def draw_timeline(rows: Sequence[Row]) -> Figure:
    """Draw true frames above and, aligned below, the predictions that were matched with them."""
    index = _episodes(rows)[0]
    true, predicted = _shown(rows, index)
    start = _portion([row for row, _ in predicted], len(true))
    window = range(start, min(start + SHOWN, len(true)))
    figure, (axes,) = panels(
        caption="A portion of a test episode: true frames above; below, the predictions of a model that goes on from its own "
        "predictions, each below the frame it was matched with. The darker a line, the better the frame fits. Where nothing "
        "stands below, the model skipped.",
        height=2.9,
    )
    for t in window:
        _picture(axes, true[t], float(t - start), 1.0)
    for row, picture in predicted:
        if int(number(row, "t")) in window:
            _picture(axes, picture, number(row, "t") - start, -1.15)
            _lines(axes, row, window)
    axes.set(xlim=(-0.6, len(window) - 0.4), ylim=(-1.75, 1.6))
    axes.set_yticks([1.0, -1.15], ["true", "predicted"])
    axes.set_xticks([t - start for t in window], [str(t) for t in window])
    axes.set_xlabel("frame")
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in axes.spines.values():
        side.set_visible(False)
    return figure


def _episodes(rows: Sequence[Row]) -> list[int]:
    return sorted({int(number(row, "index")) for row in where(rows, kind="true")})


def _shown(rows: Sequence[Row], index: int) -> tuple[list[pictures.Picture], list[tuple[Row, pictures.Picture]]]:
    true = [pictures.decode(str(row["picture"])) for row in where(rows, kind="true", index=index)]
    predicted = where(rows, kind="predicted", index=index)
    return true, [(row, pictures.decode(str(row["picture"]))) for row in predicted]


def _portion(predicted: Sequence[Row], length: int) -> int:
    """The first frame of a portion with the longest skip in its middle."""
    longest = max(predicted, key=lambda row: number(row, "t") - number(row, "from"))
    middle = (int(number(longest, "from")) + int(number(longest, "t"))) // 2
    return max(0, min(middle - SHOWN // 2, length - SHOWN))


def _picture(axes: Axes, picture: pictures.Picture, x: float, y: float) -> None:
    half = 0.44
    tall = half * picture.shape[0] / picture.shape[1]
    axes.imshow(picture, extent=(x - half, x + half, y - tall, y + tall), aspect="auto", interpolation="nearest", zorder=2)
    axes.plot(
        [x - half, x + half, x + half, x - half, x - half],
        [y - tall, y - tall, y + tall, y + tall, y - tall],
        color="#b5b9c0",
        linewidth=0.6,
        zorder=3,
    )


def _lines(axes: Axes, row: Row, window: range) -> None:
    """Lines to the frames of a prediction's window, as dark as its likelihood in comparison with the best."""
    losses = np.array(json.loads(str(row["losses"])), dtype=np.float64)
    strengths = np.exp(-(losses - losses.min()) / 4)
    x, first = number(row, "t") - window[0], int(number(row, "from")) + 1
    for t, strength in enumerate(strengths, start=first):
        if t in window and strength > 0.02:
            points = ([x, t - window[0]], [-0.72, 0.56])
            axes.plot(*points, color=COLOURS["ours"], alpha=float(strength), linewidth=1.6, zorder=1)


def draw_matches(rows: Sequence[Row]) -> Figure:
    """Draw the share of slow and of fast frames that some prediction was matched with."""
    figure, (axes,) = panels(
        caption="Share of true frames that a prediction was matched with, on test episodes, a line for each seed. Slow frames: "
        "those in which the ball moves less than half as far as in its episode's median frame: it bounces and rolls.",
        height=2.6,
    )
    counts = where(rows, kind="skips")
    for row in counts:
        axes.plot([0, 1], [_share(row, "slow"), _share(row, "fast")], "o-", color=COLOURS["ours"], alpha=0.8)
    axes.set_xticks([0, 1], ["slow frames", "fast frames"])
    axes.set(xlim=(-0.5, 1.5), ylim=(0, 1), ylabel="share matched")
    return figure


def _share(row: Row, kind: str) -> float:
    return number(row, f"{kind}_matched") / max(1.0, number(row, f"{kind}_frames"))


def _ratio(rows: Sequence[Row]) -> Measurement | None:
    found = [_share(row, "slow") / max(1e-9, _share(row, "fast")) for row in where(rows, kind="skips")]
    return bootstrap(found) if found else None


def _mean_skip(rows: Sequence[Row]) -> Measurement | None:
    found = numbers(where(rows, kind="skips"), "mean_skip")
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
