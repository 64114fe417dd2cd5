"""Which frame of a window a prediction fits best.

A loss that is linear or quadratic in its target is ranked by products of the prediction's coefficients with the window's
frames: on a CPU with views of the trajectory, elsewhere in one batched product. Sums of floats in another order differ by
rounding. Where two frames are closer than that, the loss itself decides, so that the answer is always that of the loss
evaluated frame by frame: the first of the best.
"""

import math
from collections.abc import Sequence
from contextlib import nullcontext

import torch
from jaxtyping import Float
from torch import Tensor

from craik.losses import Loss, Rankable, Ranking, evaluated
from craik.skips.windows import Window
from craik.trajectories import Trajectories

_ROUNDING = 32.0
"""Bound on the rounding of a product, in units of the sum of magnitudes times the type's epsilon: a blocked sum of some
thousands of products stays below a third of it, and so does the loss's own sum."""


class Ranker:
    """Finds best matches along the trajectories of one batch.

    Args:
        loss: from predictions and frames to one value for each.
        targets: the frames to match with.
        horizon: the longest window.
        batched: rank all trajectories in one product, on gathered frames; None for what suits the device.
    """

    def __init__(self, loss: Loss, targets: Trajectories, horizon: int, batched: bool | None = None) -> None:
        self._loss = loss
        self._targets = targets
        self._dtype = targets.value_dtype
        self._flat = targets.frames.detach().flatten(2) if targets.frames.dim() > 2 else targets.frames.detach()[:, :, None]
        self._horizon = horizon
        self._batched = targets.device.type != "cpu" if batched is None else batched
        self._windows: dict[int, Window] = {}

    @torch.no_grad()
    def best(
        self, predictions: Float[Tensor, "n *z"], rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[int]:
        """Return the frame that each prediction fits best.

        Args:
            predictions: n of them.
            rows: the trajectory of each.
            first: the first frame of each window.
            end: the frame behind each window.

        Raises:
            FloatingPointError: a prediction that is not finite.
        """
        predictions = predictions.detach()
        if not isinstance(self._loss, Rankable):
            windows = [list(range(a, b)) for a, b in zip(first, end, strict=True)]
            return [self._literal(z, b, window) for z, b, window in zip(predictions, rows, windows, strict=True)]
        with torch.autocast(predictions.device.type, enabled=False) if _autocast(predictions) else nullcontext():
            weight, quadratic, tolerances = self._coefficients(self._loss.ranking(predictions))
            scores = self._scores_batched if self._batched else self._scores_by_view
            found = scores(weight, quadratic, rows, first, end)
        ranked = zip(predictions, rows, first, found, tolerances, strict=True)
        return [self._decide(z, b, start, score, tolerance) for z, b, start, score, tolerance in ranked]

    def _coefficients(self, ranking: Ranking) -> tuple[Tensor, Tensor | float, list[float]]:
        """Return flat coefficients for stored numbers, up to a factor above 0, and by how much rounding may move a score."""
        scale, peak = self._targets.scale, self._targets.peak  # with x = scale s: w x + q x^2 = scale (w s + q scale s^2)
        weight = ranking.weight.reshape(len(ranking.weight), -1)
        magnitude = torch.linalg.vector_norm(weight, 1, dim=1) * peak
        quadratic = ranking.quadratic
        if isinstance(quadratic, Tensor):
            quadratic = quadratic.reshape(weight.shape) * scale
            magnitude = magnitude + torch.linalg.vector_norm(quadratic, 1, dim=1) * peak**2
        elif quadratic:
            quadratic = quadratic * scale
            magnitude = magnitude + abs(quadratic) * weight.shape[1] * peak**2
        unit = _ROUNDING * torch.finfo(weight.dtype).eps
        return weight, quadratic, [unit * value for value in magnitude.tolist()]

    def _scores_by_view(
        self, weight: Tensor, quadratic: Tensor | float, rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[list[float]]:
        found: list[list[float]] = []
        for i, (b, start, stop) in enumerate(zip(rows, first, end, strict=True)):
            window = self._windows.get(b) or self._open(b)
            frames = window(start, stop)
            scores = torch.mv(frames, weight[i])
            if isinstance(quadratic, Tensor):
                scores += torch.mv(frames.square(), quadratic[i])
            elif quadratic:
                scores += window.squared_norms(start, stop) * quadratic
            found.append(scores.tolist())
        return found

    def _scores_batched(
        self, weight: Tensor, quadratic: Tensor | float, rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[list[float]]:
        device = self._flat.device
        sizes = [stop - start for start, stop in zip(first, end, strict=True)]
        ahead = torch.arange(max(sizes), device=device)
        index = (torch.tensor(first, device=device)[:, None] + ahead).clamp(max=self._flat.shape[1] - 1)
        windows = self._flat[torch.tensor(rows, device=device)[:, None], index].to(self._dtype)
        scores = torch.bmm(windows, weight[:, :, None])[:, :, 0]
        if isinstance(quadratic, Tensor):
            scores += torch.bmm(windows.square(), quadratic[:, :, None])[:, :, 0]
        elif quadratic:
            scores += torch.linalg.vecdot(windows, windows) * quadratic
        return [score[:size] for score, size in zip(scores.tolist(), sizes, strict=True)]

    def _open(self, b: int) -> Window:
        own = self._flat[b, : int(self._targets.lengths[b])]
        self._windows[b] = Window(own, self._dtype, self._horizon)
        return self._windows[b]

    def _decide(self, prediction: Tensor, b: int, first: int, scores: list[float], tolerance: float) -> int:
        limit = min(scores) + tolerance
        if not math.isfinite(limit):
            raise FloatingPointError(
                f"Every prediction should be finite. Found one that is not, or overflows, in trajectory {b} of the "
                f"batch, where frames {first} and later are matched. Lower the learning rate or clip gradients."
            )
        near = [first + k for k, score in enumerate(scores) if score <= limit]
        return near[0] if len(near) == 1 else self._literal(prediction, b, self._distinct(b, near))

    def _distinct(self, b: int, frames: list[int]) -> list[int]:
        """Leave out repetitions of the first frame: a world at rest has many, and none of them can win."""
        stored = self._flat[b]
        return frames[:1] + [t for t in frames[1:] if not torch.equal(stored[t], stored[frames[0]])]

    def _literal(self, prediction: Tensor, b: int, frames: list[int]) -> int:
        """Return the first of the frames with the least loss, evaluated on each."""
        if len(frames) == 1:
            return frames[0]
        targets = self._targets.at([b] * len(frames), frames).detach()
        losses = evaluated(self._loss, prediction.expand(len(frames), *prediction.shape), targets).tolist()
        least = min(losses)
        if not math.isfinite(least):
            raise FloatingPointError(
                f"Every loss should be finite. Found {least} in trajectory {b} of the batch, where frames {frames[0]} and "
                "later are matched. Lower the learning rate or clip gradients."
            )
        return frames[losses.index(least)]


def _autocast(predictions: Tensor) -> bool:
    return torch.is_autocast_enabled(predictions.device.type)
