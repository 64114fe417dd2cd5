"""Which frame of a window a prediction fits best.

A loss that is linear or quadratic in its target is ranked by products of the prediction's coefficients with the window's
frames: on a CPU with views of the trajectory, elsewhere in one batched product. Sums of floats in another order differ by
rounding, and the loss rounds more coarsely where what it adds beside these products is large (`Ranking.constant`). Where two
frames are closer than that, the loss itself decides, so that the answer is that of the loss evaluated frame by frame: the
first of the best.
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.losses import Loss, Rankable, Ranking, evaluated, largest_target, rankable
from mechlearn.skips.matchings.windows import Window
from mechlearn.trajectories import Trajectories

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
        last: whether the last of equally good frames is taken, not the first.
    """

    def __init__(
        self, loss: Loss, targets: Trajectories, horizon: int, batched: bool | None = None, last: bool = False
    ) -> None:
        self._loss = loss
        self._rankable = rankable(loss)
        self._targets = targets
        # In half precision a square overflows from 256 on, however small the loss: rank in single.
        self._dtype = torch.promote_types(targets.value_dtype, torch.float32)
        self._flat = targets.frames.detach().flatten(2) if targets.frames.dim() > 2 else targets.frames.detach()[:, :, None]
        self._horizon, self._last = horizon, last
        self._batched = targets.device.type != "cpu" if batched is None else batched
        # With targets in [0, 1] a loss also computes with 1 - x, however faint x is.
        computed: float = largest_target(loss) or getattr(loss, "largest_computed", 0.0)  # the second of a sum of losses
        self._peak = max(targets.peak, computed / targets.scale)
        self._unit = _ROUNDING * torch.finfo(self._dtype).eps * self._peak
        self._constant_unit = _ROUNDING * torch.finfo(self._dtype).eps / targets.scale
        self._windows: dict[int, Window] = {}
        self._repeats: dict[tuple[int, int], bool] = {}

    def best(
        self, predictions: Float[Tensor, "n *z"], rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[int]:
        """Return the frame that each prediction fits best.

        Args:
            predictions: n of them.
            rows: the trajectory of each.
            first: the first frame of each window.
            end: the frame behind each window.
        """
        predictions = predictions.detach()  # cheaper than no_grad where a product takes a few microseconds
        if predictions.dtype != self._dtype:
            predictions = predictions.to(self._dtype)
        if self._rankable is None:
            windows = [list(range(a, b)) for a, b in zip(first, end, strict=True)]
            return [self._literal(z, b, window) for z, b, window in zip(predictions, rows, windows, strict=True)]
        if torch.is_autocast_enabled(device := predictions.device.type):
            with torch.autocast(device, enabled=False):
                found, tolerances = self._scores(self._rankable, predictions, rows, first, end)
        else:
            found, tolerances = self._scores(self._rankable, predictions, rows, first, end)
        near = [self._near(b, t, score, tol) for b, t, score, tol in zip(rows, first, found, tolerances, strict=True)]
        return [
            frames[0] if len(frames) == 1 else self._literal(predictions[i], rows[i], frames) for i, frames in enumerate(near)
        ]

    def _scores(
        self, loss: Rankable, predictions: Tensor, rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> tuple[list[list[float]], list[float]]:
        """Return each window's scores, and by how much rounding may move them."""
        weight, quadratic, tolerances = self._coefficients(loss.ranking(predictions))
        scores = self._scores_batched if self._batched else self._scores_by_view
        return scores(weight, quadratic, rows, first, end), tolerances

    def _coefficients(self, ranking: Ranking) -> tuple[Tensor, Tensor | float, list[float]]:
        """Return flat coefficients for stored numbers, up to a factor above 0, and by how much rounding may move a score."""
        weight, quadratic = ranking.weight, ranking.quadratic
        if weight.dim() != 2:
            weight = weight.reshape(weight.shape[0], -1)
        magnitude = weight.abs().sum(1)
        if isinstance(quadratic, Tensor):
            quadratic = quadratic.reshape(weight.shape) * self._targets.scale  # with x = scale s: scale (w s + q scale s^2)
            magnitude = magnitude + quadratic.abs().sum(1) * self._peak
        elif quadratic:
            quadratic = quadratic * self._targets.scale
            magnitude = magnitude + abs(quadratic) * weight.shape[1] * self._peak
        return weight, quadratic, self._tolerances(magnitude.tolist(), ranking.constant)

    def _tolerances(self, magnitudes: list[float], constant: Tensor | float) -> list[float]:
        """Return by how much rounding may move a score: that of its products, and that of the loss's own sum."""
        if isinstance(constant, Tensor):
            rest = [self._constant_unit * value for value in constant.tolist()]
            return [self._unit * value + more for value, more in zip(magnitudes, rest, strict=True)]
        more = self._constant_unit * constant
        return [self._unit * value + more for value in magnitudes]

    def _scores_by_view(
        self, weight: Tensor, quadratic: Tensor | float, rows: Sequence[int], first: Sequence[int], end: Sequence[int]
    ) -> list[list[float]]:
        found: list[list[float]] = []
        linear = weight.unbind()  # at once: cheaper than one by one
        for i, (b, start, stop) in enumerate(zip(rows, first, end, strict=True)):
            window = self._windows.get(b) or self._open(b)
            frames = window(start, stop)
            scores = torch.mv(frames, window.part(linear[i]))
            if isinstance(quadratic, Tensor):
                scores += torch.mv(frames.square(), window.part(quadratic[i]))
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

    def _near(self, b: int, first: int, scores: list[float], tolerance: float) -> list[int]:
        """Return the frames whose scores are the least or too close to it to tell, repetitions left out."""
        limit = min(scores) + tolerance
        if not math.isfinite(limit):
            raise FloatingPointError(
                f"Every prediction should be finite. Found one that is not, or overflows, in trajectory {b} of the batch, "
                f"where frames {first} and later are matched. Lower the learning rate or clip gradients."
            )
        near = [first + k for k, score in enumerate(scores) if score <= limit]
        # A world at rest repeats its frames, and of repetitions the first wins, or the last.
        if self._last:
            return [
                t for t, after in zip(near, [*near[1:], -1], strict=True) if after != t + 1 or not self._repeats_last(b, after)
            ]
        return [t for i, t in enumerate(near) if i == 0 or near[i - 1] != t - 1 or not self._repeats_last(b, t)]

    def _repeats_last(self, b: int, t: int) -> bool:
        """Say whether a frame equals the one before it."""
        if (b, t) not in self._repeats:
            self._repeats[b, t] = torch.equal(self._flat[b, t], self._flat[b, t - 1])
        return self._repeats[b, t]

    @torch.no_grad()
    def _literal(self, prediction: Tensor, b: int, frames: list[int]) -> int:
        """Return the first, or last, of the frames with the least loss, evaluated on each."""
        targets = self._targets.at([b] * len(frames), frames, self._dtype).detach()
        losses = evaluated(self._loss, prediction.expand(len(frames), *prediction.shape), targets).tolist()
        least = math.nan if any(map(math.isnan, losses)) else min(losses)  # Python's min passes over NaN, unless it is first
        if not math.isfinite(least):
            raise FloatingPointError(
                f"Every loss should be finite. Found {least} in trajectory {b} of the batch, where frames {frames[0]} and "
                "later are matched. Lower the learning rate or clip gradients."
            )
        return frames[len(losses) - 1 - losses[::-1].index(least) if self._last else losses.index(least)]
