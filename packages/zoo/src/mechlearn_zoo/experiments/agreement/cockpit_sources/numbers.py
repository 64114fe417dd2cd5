"""Numbers of a run's sources from the watch's measurements, each beside those of the other sources."""

import math
from collections.abc import Sequence
from statistics import fmean, median

import torch
from torch import Generator

from mechlearn.integrations import Measurement

BASELINES = ("loss", "norm", "mean cosine", "random")
"""What needs no watch, and a number that says nothing."""

WATCH = ("others", "variance", "noise", "spread", "nearest", "least layer", "first layer", "range of layers")
"""What the watch adds: cosines with the others' mean, whole and by layer, the nearest source, how rows' gradients vary."""

WINDOWS = ("late", "change")
"""The second half of the measurements, and that less the first."""

CUT = 30.0


def standardised(history: Sequence[Measurement], names: Sequence[str], chance: Generator) -> dict[str, str]:
    """Return by statistic and window a number for each source, side by side in one text.

    Each is less the median over sources, in units of their median absolute deviation, and cut at 30.
    """
    half = len(history) // 2
    early, late = ([_numbers(part, name) for name in names] for part in (history[:half], history[half:]))
    found = {f"random {window}": _written(torch.rand(len(names), generator=chance).tolist()) for window in WINDOWS}
    for statistic in late[0]:
        last = [own[statistic] for own in late]
        found[f"{statistic} late"] = _written(last)
        found[f"{statistic} change"] = _written([one - own[statistic] for one, own in zip(last, early, strict=True)])
    return found


def _written(values: Sequence[float]) -> str:
    """Return standardised numbers with a decimal each. A number that is not finite becomes the median."""
    finite = [one for one in values if math.isfinite(one)] or [0.0]
    middle = median(finite)
    unit = median(abs(one - middle) for one in finite) or 1.0
    found = [(one - middle) / unit if math.isfinite(one) else 0.0 for one in values]
    return " ".join(f"{max(-CUT, min(CUT, one)):.1f}" for one in found)


def _numbers(history: Sequence[Measurement], source: str) -> dict[str, float]:
    """Return the means over measurements. Ratios are those of means, as the watch's own noise scale."""
    own = [one.sources[source] for one in history]
    variance, signal, square = (fmean(values) for values in zip(*((o.variance, o.signal, o.norm**2) for o in own), strict=True))
    layers = [[layer.cosines[source] for layer in one.layers.values()] for one in history]
    return {
        "loss": fmean(one.loss for one in own),
        "norm": fmean(one.norm for one in own),
        "mean cosine": fmean(_with_mean(one, source) for one in history),
        "others": fmean(one.cosine for one in own),
        "variance": _log(variance),
        "noise": _log(variance) - _log(signal),
        "spread": _log(variance) - _log(square),
        "nearest": fmean(max(cosine for pair, cosine in one.pairs.items() if source in pair) for one in history),
        "least layer": fmean(min(row) for row in layers),
        "first layer": fmean(row[0] for row in layers),
        "range of layers": fmean(max(row) - min(row) for row in layers),
    }


def _with_mean(one: Measurement, source: str) -> float:
    """Return the cosine between a source's gradient and the mean of all, its own among them."""
    norms = {name: own.norm for name, own in one.sources.items()}
    products = {pair: cosine * norms[pair[0]] * norms[pair[1]] for pair, cosine in one.pairs.items()}
    square = sum(norm**2 for norm in norms.values()) + 2 * sum(products.values())
    along = norms[source] ** 2 + sum(product for pair, product in products.items() if source in pair)
    return along / (norms[source] * math.sqrt(square)) if norms[source] and square > 0 else math.nan


def _log(value: float) -> float:
    """Return the logarithm. Of a number that is not above 0 it is that of a very small one."""
    return math.log(max(value, 1e-12))
