"""Where the ball is in predictions: how far from the ball of the frame each was matched with, and how much of it is left.

A prediction without a ball is matched with some frame, too, and leaves out those before it: which frames are matched does not
tell skipping from fading. Distances are in radii of the ball; w runs over the frames of a window, n over frames.
"""

import json
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Shaped

from claimlab import Row
from mechlearn.skips import Matched
from mechlearn_zoo.experiments.skips.comparing.training import World
from mechlearn_zoo.experiments.skips.timeline.matched_frames import is_slow
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings

FAINT = 0.1
"""What is fainter than this does not count as ball."""

CLEAR = 0.3
"""Nor does what is fainter than this for the reader of labels."""

ENOUGH = 0.5
"""The share of a whole ball from which on a prediction has one; less has faded."""

SLOW = 2
"""So many slow frames left out make a bounce."""

GRID = tuple(step / 4 for step in range(25))
"""Distances in radii up to which predictions are counted."""


class Balls(NamedTuple):
    """The balls of some frames: how many pixels they make, and their centres of mass in pixels, NaN where there is nothing."""

    mass: Float[np.ndarray, " n"]
    place: Float[np.ndarray, "n 2"]


class Sighted(NamedTuple):
    """An episode's balls: in its true frames, in its predictions, in these as the reader of labels sees them.

    Attributes:
        true: in frames, in order.
        predicted: in predictions, in order.
        clear: the same of what the reader of labels sees.
        ends: the frames that predictions were matched with, after the first frame of all.
        slow: the frames in which the ball bounces or rolls.
    """

    true: Balls
    predicted: Balls
    clear: Balls
    ends: list[int]
    slow: Bool[np.ndarray, " time"]


class Aim(NamedTuple):
    """A prediction, and what its ball is near.

    Attributes:
        after: which prediction of its episode it is; 0 was made from a true frame.
        slow: slow frames that it leaves out.
        mass: of its ball, in shares of the matched frame's.
        clear: the same where only what the reader of labels sees counts.
        distance: from its ball to the matched frame's, infinite where it has none.
        window: to the balls of all frames that it might have been matched with, likewise.
        stranger: the least distance from these frames' balls to that of another episode's prediction after as many steps.
        still: from the ball of the frame that it was made at to the matched one's: what a ball that stays would be off by.
    """

    after: int
    slow: int
    mass: float
    clear: float
    distance: float
    window: Float[np.ndarray, " w"]
    stranger: float
    still: float

    @property
    def over_bounce(self) -> bool:
        """Whether it skips a bounce: it was made from a prediction and leaves out slow frames, two or more."""
        return self.after > 0 and self.slow >= SLOW


def find_balls(world: World, index: int, frames: Shaped[np.ndarray, "n channels height width"], faint: float = FAINT) -> Balls:
    """Return the balls in frames of an episode: in the pixels that are brighter than a bound, in their channel.

    RGB frames have no such channel: there the ball is what looks more like it than the board alone does.
    """
    if world.context is None:
        find = world.episodes.simulation.find
        ball = np.clip(find(frames) - find(world.episodes.images[index]), 0, 1)
    else:
        ball = frames[:, 0]
    ball = np.where(ball > faint, ball, 0).astype(np.float64)
    mass = ball.sum(axis=(1, 2))
    rows, columns = (np.arange(size) + 0.5 for size in ball.shape[1:])
    moments = np.stack([ball.sum(axis=1) @ columns, ball.sum(axis=2) @ rows], axis=1)
    return Balls(mass, np.divide(moments, mass[:, None], out=np.full_like(moments, np.nan), where=mass[:, None] > 0))


def aims(world: World, matched: Matched, horizon: int) -> list[list[Aim]]:
    """Return each episode's predictions with what their balls are near.

    Args:
        world: episodes of the Funnel board.
        matched: predictions with what they were matched with.
        horizon: how many frames ahead a match may lie.
    """
    settings = world.episodes.settings
    assert isinstance(settings, FunnelBoardSettings)  # no other world has a ball
    radius = settings.geometry.ball_radius * settings.recording.pixels_per_unit
    seen = [_sighted(world, matched, index) for index in range(len(world))]
    found: list[list[Aim]] = []
    for one, another in zip(seen, seen[1:] + seen[:1], strict=True):
        steps = enumerate(zip(one.ends[:-1], one.ends[1:], strict=True))
        found.append([_aim(one, another, u, start, t, horizon, radius) for u, (start, t) in steps])
    return found


def _sighted(world: World, matched: Matched, index: int) -> Sighted:
    assert matched.predictions is not None  # they were asked for
    steps = int(matched.steps[index])
    frames = matched.predictions.frames[index, :steps].sigmoid().cpu().numpy()
    true = world.frames[index].float().cpu().numpy() * world.frames.scale
    return Sighted(
        true=find_balls(world, index, true),
        predicted=find_balls(world, index, frames),
        clear=find_balls(world, index, frames, CLEAR),
        ends=[0, *matched.matched[index, :steps].tolist()],
        slow=is_slow(world, index),
    )


def _aim(one: Sighted, another: Sighted, u: int, start: int, t: int, horizon: int, radius: float) -> Aim:
    """Return the prediction `u` of an episode, made at frame `start` and matched with frame `t`, beside another episode's."""
    window, whole = one.true.place[start + 1 : start + 1 + horizon], one.true.mass[t]
    away = _distances(one.predicted, u, window, whole) / radius
    strangers = _distances(another.predicted, min(u, len(another.predicted.mass) - 1), window, whole) / radius
    return Aim(
        after=u,
        slow=int(one.slow[start + 1 : t].sum()),
        mass=float(one.predicted.mass[u] / whole),
        clear=float(one.clear.mass[u] / whole),
        distance=float(away[t - start - 1]),
        window=away,
        stranger=float(strangers.min()),
        still=float(np.linalg.norm(one.true.place[t] - one.true.place[start]) / radius),
    )


def _distances(balls: Balls, u: int, places: Float[np.ndarray, "w 2"], whole: float) -> Float[np.ndarray, " w"]:
    """How far a ball lies from places, in pixels; infinite where less than enough of a whole one is left."""
    if balls.mass[u] < ENOUGH * whole:
        return np.full(len(places), np.inf)
    return np.linalg.norm(places - balls.place[u], axis=1)


def sighting(aim: Aim) -> Row:
    """Return how much of the ball is left in a prediction and how far it lies from the matched frame's, None without one."""
    return {"ball": round(aim.mass, 3), "distance": round(aim.distance, 3) if math.isfinite(aim.distance) else None}


def summaries(found: Sequence[Sequence[Aim]]) -> Iterator[Row]:
    """Yield what predictions over bounces have in common, and those elsewhere; the first, of true frames, are neither."""
    later = [aim for episode in found for aim in episode if aim.after > 0]
    for at, some in (
        ("bounces", [aim for aim in later if aim.over_bounce]),
        ("elsewhere", [aim for aim in later if not aim.over_bounce]),
    ):
        if some:
            yield {"at": at, **summary(some)}


def summary(some: Sequence[Aim]) -> Row:
    """Return what some predictions have in common: how many have a ball, how much of it, and how near it is to what.

    A prediction without a ball is near nothing. The median distance is of those with one; None where there are none.
    """
    distances = np.array([aim.distance for aim in some])
    seen = np.isfinite(distances)
    near = {
        "near": _shares([aim.distance for aim in some]),
        "near_random": np.mean([_shares(aim.window) for aim in some], axis=0),
        "near_stranger": _shares([aim.stranger for aim in some]),
        "near_still": _shares([aim.still for aim in some]),
    }
    slow = np.array([aim.slow for aim in some])
    found: Row = {
        "predictions": len(some),
        "with_ball": float(seen.mean()),
        "clear": float(np.mean([aim.clear >= ENOUGH for aim in some])),
        "mass": float(np.median([aim.mass for aim in some])),
        "distance": float(np.median(distances[seen])) if seen.any() else None,
        "slow": int(slow.sum()),
        "slow_to_ball": int(slow[distances <= 1].sum()),
        "slow_astray": int(slow[seen & (distances > 1)].sum()),
        "slow_faded": int(slow[~seen].sum()),
    }
    found |= {name: float(shares[GRID.index(1)]) for name, shares in near.items()}
    return found | {f"{name}_within": json.dumps([round(float(share), 4) for share in shares]) for name, shares in near.items()}


def _shares(distances: Sequence[float] | Float[np.ndarray, " n"]) -> Float[np.ndarray, " grid"]:
    """The share of distances up to each of the grid's."""
    return (np.asarray(distances)[:, None] <= np.array(GRID)).mean(axis=0)
