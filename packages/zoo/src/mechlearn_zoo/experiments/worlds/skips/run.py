"""Dreams of boards that no model has seen: which platform the ball comes to, and how often M is asked on the way.

Every M has the same V, the same network, and the same number of model evaluations to learn in; those with a fixed step see more
batches a step of theirs, that with skips chooses its own.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Generator, nn

from claimlab import EarlyStopping, Row, checkpoint, number, part
from mechlearn.schedules import Linear
from mechlearn.skips import Actions, Fixed, Greedy
from mechlearn_zoo.experiments.worlds.skips.boards import Falls, Seen, centre, first_label, see, shown
from mechlearn_zoo.experiments.worlds.skips.settings import Config
from mechlearn_zoo.methods.worlds.skipping import MixtureNLL, SkippedDream, SkippingRNN, entropies, skipped_dream, skipped_nll

METHODS = ("skips", "fixed-1", "fixed-2", "fixed-3")
LOOKS = 10
"""At an M on the way, the last at its end."""


def run(config: Config) -> Iterator[Row]:
    """Yield what V sees, how each M learns, and what it dreams."""
    seen = see(config)
    yield vision_row(config, seen)
    for method in METHODS:
        yield from part(method, learnt(config, method, seen))


def learnt(config: Config, method: str, seen: Seen) -> Iterator[Row]:
    """Yield how an M learns, and what it dreams."""
    memory = SkippingRNN(
        config.latent,
        seen.train.layouts.shape[1],
        config.hidden,
        config.mixtures,
        config.horizon if method == "skips" else int(method[-1]),
        Generator().manual_seed(config.seed),
        least_log_scale=config.floor,
    )
    stopping = EarlyStopping(LOOKS)

    def look(share: float) -> None:
        """Dream of boards to stop on; and of test boards where that goes better than before, as elsewhere nothing is kept."""
        if stopping.due(share):
            validation = number(dreamt(config, memory, seen, seen.validation), "accuracy")
            if stopping.improves(validation):
                found = {**predicted(config, memory, method, seen.test), **dreamt(config, memory, seen, seen.test)}
                stopping.look(share, validation, found)

    for row in train(config, memory, method, seen.train, (stopping, look)):
        yield {"kind": "training", "method": method, **row}
    yield {
        "kind": "final",
        "method": method,
        **predicted(config, memory, method, seen.test),
        **dreamt(config, memory, seen, seen.test),
        **stopping.row,
    }
    yield from paths(config, memory, method, seen)


def matching_of(config: Config, method: str, step: int | None = None) -> Greedy | Fixed:
    """Return how a method matches at a training step; without one, as it is tested."""
    if method.startswith("fixed"):
        return Fixed(int(method[-1]))
    explores = step is not None and config.exploration_steps > 0
    exploration = Linear(config.exploration_steps)(step) if explores and step is not None else 0.0
    return Greedy(config.horizon, exploration, ties="last")


def train(
    config: Config, memory: SkippingRNN, method: str, falls: Falls, looks: tuple[EarlyStopping, Callable[[float], None]]
) -> Iterator[Row]:
    """Train M in place, until its evaluations are spent; yield how it goes, ten times; look at it on the way.

    Args:
        config: how.
        memory: M.
        method: how frames are matched.
        falls: to learn from.
        looks: what is kept of looks, and what looks after a share of the evaluations.
    """
    stopping, look = looks
    optimizer = torch.optim.Adam(memory.parameters(), lr=config.learning_rate)
    generator = Generator().manual_seed(config.seed + 2**20)
    saved = checkpoint("training", memory, optimizer, generator, counts := [0, 0, 0], stopping)
    yield from saved.values
    spent, step, told = counts
    while spent < config.evaluations:
        latents, boards = falls.chosen(torch.randperm(config.episodes, generator=generator)[: config.batch])
        optimizer.param_groups[0]["lr"] = config.learning_rate * (1 - spent / config.evaluations)
        skipped = skipped_nll(memory, latents, boards, matching_of(config, method, step), generator=generator)
        optimizer.zero_grad()
        skipped.loss.backward()
        nn.utils.clip_grad_norm_(memory.parameters(), 1.0)
        optimizer.step()
        spent, step = spent + skipped.matched.evaluations, step + 1
        before, told = told, 10 * spent // config.evaluations
        counts[:] = spent, step, told
        look(min(1.0, spent / config.evaluations))
        if told > before or spent >= config.evaluations:
            loss = float(skipped.matched.loss.detach())
            yield saved.keep(step, {"evaluations": spent, "step": step, "loss": loss, "skip": skipped.matched.mean_skip})
        else:
            saved.keep(step)
    saved.stay()


@torch.no_grad()
def predicted(config: Config, memory: SkippingRNN, method: str, falls: Falls) -> Row:
    """Return how well M predicts along true falls: likelihood, entropy of its mixtures, its own jumps."""
    latents, boards = falls.chosen(torch.arange(config.tests))
    found = skipped_nll(memory, latents, boards, matching_of(config, method), average="steps")
    own = found.matched.steps.unsqueeze(1) > torch.arange(found.matched.skips.shape[1])
    predictions = found.matched.predictions
    if predictions is None:
        raise RuntimeError("M's predictions were not kept.")
    mixture = MixtureNLL(config.mixtures, config.floor).mixture(predictions.frames[own])
    skips = found.matched.skips[own]
    return {
        "likelihood": -float(found.matched.loss),
        "entropy": float(entropies(mixture, Generator().manual_seed(config.seed)).mean()),
        "skip": found.matched.mean_skip,
        "jump": float((-found.jumps[own]).mean()),
        "usual_jump": usual(skips),
    }


def usual(skips: torch.Tensor) -> float:
    """Return the mean log probability of jumps by their own frequencies: what knowing nothing of the frame would score."""
    share = torch.bincount(skips).double() / len(skips)
    share = share[share > 0]
    return float((share * share.log()).sum())


def dreamt(config: Config, memory: SkippingRNN, seen: Seen, falls: Falls) -> Row:
    """Return which share of dreams shows the true label, which none, how often M was asked, and how far time is off."""
    dream, frames = dream_of(config, memory, falls, seen)
    right, asked, late = list[bool](), list[int](), list[int]()
    for row, steps in enumerate(dream.steps.tolist()):
        label, place = first_label(falls.episodes, frames[row, : steps + 1], row)
        right.append(bool(label == falls.episodes.labels[row]))
        asked.append(steps if place is None else place)
        if place is not None:
            late.append(abs(int(dream.times[row, place]) - landing(falls, row)))
    return {
        "accuracy": float(np.mean(right)),
        "unlabelled": 1 - len(late) / len(right),
        "asked": float(np.mean(asked)),
        "late": float(np.mean(late)) if late else None,
    }


def dream_of(config: Config, memory: SkippingRNN, falls: Falls, seen: Seen) -> tuple[SkippedDream, np.ndarray]:
    """Return M's likeliest dreams of falls from their first frames, and what V shows of them."""
    starts = falls.latents.first()
    boards = Actions(falls.layouts.unsqueeze(1).expand(-1, config.duration, -1))  # also where a dream outlasts all falls
    generator = Generator().manual_seed(config.seed)
    dream = skipped_dream(memory, starts, boards, duration=config.duration, generator=generator, temperature=0.0)
    count, steps = dream.times.shape
    return dream, shown(config, seen, dream.latents.flatten(0, 1)).reshape(count, steps, -1, *config.board.shape)


def landing(falls: Falls, row: int) -> int:
    """Return the frame in which a true fall shows its label."""
    place = first_label(falls.episodes, falls.episodes.moving(row), row)[1]
    return len(falls.episodes.paths[row]) - 1 if place is None else place


def vision_row(config: Config, seen: Seen) -> Row:
    """Return what V loses, and how often the label can be read from what it shows of true frames."""
    right = [
        first_label(seen.test.episodes, shown(config, seen, seen.test.latents[row]), row)[0] == seen.test.episodes.labels[row]
        for row in range(config.tests)
    ]
    counts = np.bincount(seen.test.episodes.labels)
    return {"kind": "vision", "lost": seen.lost, "read": float(np.mean(right)), "commonest": float(counts.max() / counts.sum())}


SHOWN = 3
"""Dreams of which the path is kept."""


def paths(config: Config, memory: SkippingRNN, method: str, seen: Seen) -> Iterator[Row]:
    """Yield where the ball is in the first dreams, and in truth."""
    few = Falls(seen.test.latents[: min(SHOWN, config.tests)], seen.test.layouts[:SHOWN], seen.test.episodes)
    dream, frames = dream_of(config, memory, few, seen)
    for row, steps in enumerate(dream.steps.tolist()):
        place = first_label(few.episodes, frames[row, : steps + 1], row)[1]
        for u in range((steps if place is None else place) + 1):
            yield path_row(method, row, int(dream.times[row, u]), frames[row, u])
        if method == METHODS[0]:
            for time, frame in enumerate(few.episodes.moving(row)):
                yield path_row("true", row, time, frame)


def path_row(method: str, board: int, time: int, frame: np.ndarray) -> Row:
    """Return where the ball is in a frame, in pixels."""
    x, y = centre(frame)
    return {"kind": "path", "method": method, "board": board, "time": time, "x": round(x, 2), "y": round(y, 2)}


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "vision":
        return 0.2, "V"
    place = METHODS.index(str(row["method"])) if row["method"] in METHODS else 0
    share = int(str(row["evaluations"])) / config.evaluations if row["kind"] == "training" else 1.0
    return 0.2 + 0.8 * (place + min(1.0, share)) / len(METHODS), str(row["method"])
