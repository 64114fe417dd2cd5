"""Adaptive skip intervals without mechlearn's ranking: three ways to find the best frame of a window.

All take logits and pixelwise binary cross-entropy, feed true frames, and use floats. `x` are frames (batch, time, *frame).
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  # the usual name


def cross_entropies(logits: Tensor, windows: Tensor) -> Tensor:
    """Return the losses (n, H) of n predictions against H frames each, means over pixels."""
    logits = logits[:, None].expand_as(windows)
    return F.binary_cross_entropy_with_logits(logits, windows, reduction="none").flatten(2).mean(2)


def gather(
    x: Tensor, logits: Tensor, rows: Sequence[int], times: Sequence[int], lengths: Sequence[int], horizon: int
) -> Tensor:
    """Return losses (n, H), infinity beyond the end, of windows that are copied by one index."""
    first, last = torch.tensor(times) + 1, torch.tensor([lengths[b] - 1 for b in rows])
    frames = first[:, None] + torch.arange(horizon)
    windows = x[torch.tensor(rows)[:, None], frames.clamp(max=x.shape[1] - 1)]
    return cross_entropies(logits, windows).masked_fill(frames > last[:, None], torch.inf)


def gather_one_by_one(
    x: Tensor, logits: Tensor, rows: Sequence[int], times: Sequence[int], lengths: Sequence[int], horizon: int
) -> Tensor:
    """Return the same from windows that are indexed frame by frame and concatenated, as the published code does."""
    first, last = torch.tensor(times) + 1, torch.tensor([lengths[b] - 1 for b in rows])
    frames = first[:, None] + torch.arange(horizon)
    windows = torch.cat([x[torch.tensor(rows), t.clamp(max=x.shape[1] - 1)][:, None] for t in frames.unbind(1)], dim=1)
    return cross_entropies(logits, windows).masked_fill(frames > last[:, None], torch.inf)


def loop(x: Tensor, logits: Tensor, rows: Sequence[int], times: Sequence[int], lengths: Sequence[int], horizon: int) -> Tensor:
    """Return the same, one frame after the other, as algorithm 1 is written."""
    losses = logits.new_full((len(rows), horizon), torch.inf)
    for i, (b, t) in enumerate(zip(rows, times, strict=True)):
        for k, frame in enumerate(x[b, t + 1 : min(t + 1 + horizon, lengths[b])]):
            losses[i, k] = F.binary_cross_entropy_with_logits(logits[i], frame)
    return losses


def gather_step(model: nn.Module, x: Tensor, lengths: Sequence[int], horizon: int) -> tuple[Tensor, list[list[int]]]:
    """Return loss and matched frames of a batch; trajectories that have ended leave it."""
    rows, times = list(range(len(lengths))), [0] * len(lengths)
    picked: list[list[Tensor]] = [[] for _ in lengths]
    matched: list[list[int]] = [[] for _ in lengths]
    while rows:
        losses = gather(x, model(x[torch.tensor(rows), torch.tensor(times)]), rows, times, lengths, horizon)
        best, least = losses.argmin(1).tolist(), losses.amin(1)
        times = [t + 1 + k for t, k in zip(times, best, strict=True)]
        for i, b in enumerate(rows):
            picked[b].append(least[i])
            matched[b].append(times[i])
        going = [i for i, b in enumerate(rows) if times[i] < lengths[b] - 1]
        rows, times = [rows[i] for i in going], [times[i] for i in going]
    return torch.stack([torch.stack(each).mean() for each in picked]).mean(), matched


def published_step(model: nn.Module, x: Tensor, lengths: Sequence[int], horizon: int) -> tuple[Tensor, list[list[int]]]:
    """Return the same in the published code's style: every trajectory is evaluated until the last has ended.

    Only its cost is meant. The published code also lets padding win a match, and averages over all steps.
    """
    rows, times = list(range(len(lengths))), [0] * len(lengths)
    picked: list[list[Tensor]] = [[] for _ in lengths]
    matched: list[list[int]] = [[] for _ in lengths]
    while any(t < length - 1 for t, length in zip(times, lengths, strict=True)):
        losses = gather_one_by_one(x, model(x[torch.tensor(rows), torch.tensor(times)]), rows, times, lengths, horizon)
        best = losses.argmin(1)
        least = losses[torch.tensor(rows), best]
        for b, k in enumerate(best.tolist()):
            if times[b] < lengths[b] - 1:
                times[b] += 1 + k
                picked[b].append(least[b])
                matched[b].append(times[b])
    return torch.stack([torch.stack(each).mean() for each in picked]).mean(), matched
