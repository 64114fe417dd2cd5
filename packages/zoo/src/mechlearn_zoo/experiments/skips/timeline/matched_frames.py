"""What a model with adaptive skip intervals was matched with, as rows: counts by speed, and pictures for a timeline."""

import json
from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor, nn

from claimlab import Row
from mechlearn.losses import BinaryCrossEntropyWithLogits
from mechlearn.skips import Dynamics, Fixed, Greedy, Matched, candidate_losses, match
from mechlearn_zoo.experiments.skips.comparing.training import Settings, World
from mechlearn_zoo.experiments.skips.timeline import pictures


@torch.no_grad()
def predict(model: nn.Module, world: World, matching: Greedy | Fixed) -> Matched:
    """Match a model's predictions from its own predictions, as roll-outs go, with true frames."""
    dynamics = Dynamics(model, BinaryCrossEntropyWithLogits(), world.context)
    return match(dynamics, world.frames, matching, teacher_forcing=0.0, keep_predictions=True)


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
    picture = frame = frame.cpu()
    if world.context is not None:
        picture = 1 - world.context[index].cpu()
        colours = ((0.0, 0.0, 1.0), (0.33, 1.0, 1.0)) if len(frame) == 2 else ((0.0, 0.8, 0.0),)
        for share, colour in reversed(list(zip(frame, colours, strict=True))):
            picture = picture * (1 - share) + torch.tensor(colour)[:, None, None] * share
    return (picture.clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).numpy()
