"""Linear decoding of recordings: many features at once by ridge regression, and how well what is decoded can be told apart.

Recordings are (n, v): n samples (pictures, or moments) of v voxels or neurons with lags; features (n, u), units of a
network's layer or whatever is to be read. After the decoders of Shen et al. 2019
(https://doi.org/10.1371/journal.pcbi.1006633), which are sparse linear regressions
from each unit's best voxels; ridge has a closed form.

Use it for any recording and any features. Not as a proof that a brain computes these features: what is linear in a picture's
pixels can be decoded wherever the pixels can. Set the plain map to pixels beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_data,
    check_floats,
    check_kind,
    check_not_negative,
    check_positive,
    check_result,
    check_whole,
)
from mechlearn.scaling import in_range, lengths
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Feature decoding",
    2019,
    "Shen, Horikawa, Majima and Kamitani",
    "https://doi.org/10.1371/journal.pcbi.1006633",
    "one Cholesky factor for all units; one a unit where each has voxels of its own",
)

UNITS_AT_ONCE = 64
"""Units whose own voxels' systems are solved side by side."""


@dataclass(frozen=True)
class FeatureDecoder:
    """Ridge regression from recordings to features: min_w sum (y - b - w x)^2 + alpha |w|^2 for each unit.

    Args:
        alpha: weight of the squared coefficients, above 0; the intercept is not shrunk.
        voxels: each unit is read from so many voxels, those that correlate best with it in training; None for all.

    Raises:
        TypeError: numbers of another type.
        ValueError: numbers out of range.
    """

    alpha: float
    voxels: int | None = None

    def __post_init__(self) -> None:
        check_positive("alpha", self.alpha, way_out="Try the number of voxels.")
        if self.voxels is not None:
            check_whole("voxels", self.voxels, 1)

    def fit(self, recordings: Float[Tensor, "..."], features: Float[Tensor, "..."]) -> "Decoded":
        """Return the maps to all units.

        Args:
            recordings: (n, v).
            features: (n, u).

        Raises:
            TypeError: what is no tensor of floating numbers, both of one type.
            ValueError: different numbers of samples, numbers that are not finite, or an alpha that is too small for their type.
        """
        check_floats("recordings", recordings, "n", "v", way_out="One row a sample, one column a voxel.")
        rows = "One row a sample: features.flatten(1)."
        check_floats("features", features, len(recordings), "u", like=recordings, way_out=rows)
        for name, values in {"recordings": recordings, "features": features}.items():
            check_all_finite(name, values, way_out="Leave such samples or columns out.")
        middle, mean = recordings.mean(0), features.mean(0)
        x, y = recordings - middle, features - mean
        if self.voxels is None or self.voxels >= x.shape[1]:
            weights = _ridge(x, y, self.alpha)
        else:
            # What is left of a voxel that is constant is rounding, which correlates with anything.
            spread = _spread(recordings.T, x.T).squeeze(1)
            weights = _own_voxels(x, y, self.alpha, spread, self.voxels)
        return Decoded(weights, mean - middle @ weights)


@dataclass(frozen=True, eq=False)
class Decoded:
    """A fitted decoder: weights (v, u), zero for voxels that a unit is not read from, and intercepts (u,)."""

    weights: Float[Tensor, "v u"]
    intercepts: Float[Tensor, " u"]

    def predict(self, recordings: Float[Tensor, "..."]) -> Float[Tensor, "n u"]:
        """Return the features of other samples (n, v).

        Raises:
            TypeError: what is no tensor of the type that was fitted.
            ValueError: another number of voxels, or numbers that are not finite.
        """
        check_floats("recordings", recordings, "n", len(self.weights), like=self.weights)
        check_all_finite("recordings", recordings, way_out="Leave such samples out.")
        return torch.addmm(self.intercepts, recordings, self.weights)


def lagged(recordings: Float[Tensor, "t v"], lags: Sequence[int]) -> Float[Tensor, "t vl"]:
    """Return each moment's recordings at some lags, so that time is read like voxels; zeros beyond the ends.

    Args:
        recordings: (t, v).
        lags: in samples; k puts what is recorded k later beside a moment: a neuron answers after its stimulus.

    Raises:
        TypeError: recordings that are no floating numbers, lags that are no whole ones.
        ValueError: no lag, or one of the recording's length or more. What is recorded is not looked at: `FeatureDecoder` does.
    """
    check_floats("recordings", recordings, "t", "v")
    check_kind("lags", lags, Sequence, "a list of lags")
    for lag in lags:
        check_kind("lags", lag, int, "whole numbers")
    if not lags or max(abs(lag) for lag in lags) >= len(recordings):
        raise ValueError(f"`lags` should be some, shorter than the {len(recordings)} samples. Found {list(lags)[:5]}.")
    columns: list[Tensor] = []
    for lag in lags:
        moved = torch.zeros_like(recordings)
        if lag >= 0:
            moved[: len(recordings) - lag] = recordings[lag:]
        else:
            moved[-lag:] = recordings[:lag]
        columns.append(moved)
    return torch.cat(columns, 1)


def match_spread(decoded: Float[Tensor, "n u"], spread: float) -> Float[Tensor, "n u"]:
    """Return decoded features with the spread of true ones over a layer's units, each sample: f / sd(f) x spread.

    Regression shrinks; without this the pictures that have the decoded features are pale.

    Args:
        decoded: (n, u) features of one layer.
        spread: the mean standard deviation over units of true features of many pictures.

    Raises:
        TypeError: a spread that is no number, features that are no floating ones.
        ValueError: a negative spread; features that are not finite, or the same in all units of a sample, to rounding: whatever
            they are divided by, noise would be blown up.
    """
    check_not_negative("spread", spread)
    check_floats("decoded", decoded, "n", "u")
    check_data("decoded", decoded)
    check_all_finite("decoded", decoded, way_out="Leave such samples out.")
    scaled = in_range(decoded)
    found = scaled.std(1, keepdim=True, correction=min(1, decoded.shape[1] - 1))
    flat = found <= torch.finfo(decoded.dtype).eps * scaled.abs().amax(1, keepdim=True)
    if bool(flat.any()):
        row = int(flat.flatten().nonzero()[0])
        raise ValueError(
            f"`decoded` should vary over a sample's units. Found {float(decoded[row, 0]):g} in all of row {row}. Leave the "
            "sample out, or decode from more voxels."
        )
    return scaled / found * spread


def correlations(found: Float[Tensor, "n d"], truths: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    """Return the correlation over d of each row with each row; 0 where one is constant, to rounding.

    Half types are summed in float32, which is what comes back.

    Raises:
        TypeError: what is no tensor of floating numbers.
        ValueError: rows of different lengths, none, or some that are not finite.
    """
    check_floats("found", found, "n", "d")
    check_floats("truths", truths, "m", found.shape[1], like=found)
    left, right = (_standard(one) for one in (found, truths))
    table = left @ right.T
    check_result(table, {"found": found, "truths": truths}, way_out="Scale them down.")
    return table


def pairwise_identification(found: Float[Tensor, "n ..."], truths: Float[Tensor, "n ..."]) -> Float[Tensor, " n"]:
    """Return for each reconstruction the share of other truths that correlate less with it than its own; chance is 0.5.

    Args:
        found: (n, ...) reconstructions.
        truths: (n, ...) what they are of.

    Raises:
        TypeError: what is no tensor of floating numbers.
        ValueError: other shapes, fewer than two, or some that are not finite.
    """
    check_floats("found", found, "...")
    check_floats("truths", truths, "...", like=found)
    if found.shape != truths.shape or len(found) < 2:
        raise ValueError(
            f"`found` and `truths` should be two or more of one shape. Found {tuple(found.shape)} and {tuple(truths.shape)}."
        )
    table = correlations(found.flatten(1), truths.flatten(1))
    own = table.diagonal().unsqueeze(1)
    wins = (table < own).to(table) + 0.5 * (table == own).to(table)
    return (wins.sum(1) - 0.5) / (len(found) - 1)


def _ridge(x: Tensor, y: Tensor, alpha: float) -> Tensor:
    """Solve through the smaller of voxels and samples."""
    n, v = x.shape
    if v <= n:
        return torch.cholesky_solve(x.T @ y, _factor(x.T @ x, alpha))
    return x.T @ torch.cholesky_solve(y, _factor(x @ x.T, alpha))


def _own_voxels(x: Tensor, y: Tensor, alpha: float, spread: Tensor, voxels: int) -> Tensor:
    gram, moment = x.T @ x, x.T @ y
    varies = spread > 0
    # (u, k): |correlation| up to the unit's own spread
    correlation = (moment / torch.where(varies, spread, 1).unsqueeze(1)).abs() * varies.unsqueeze(1)
    best = correlation.topk(voxels, dim=0).indices.T
    weights = torch.zeros_like(moment)
    units = torch.arange(y.shape[1], device=y.device)
    for some, columns in zip(best.split(UNITS_AT_ONCE), units.split(UNITS_AT_ONCE), strict=True):
        factor = _factor(gram[some.unsqueeze(2), some.unsqueeze(1)], alpha)
        right = moment[some, columns.unsqueeze(1)].unsqueeze(2)
        weights[some, columns.unsqueeze(1)] = torch.cholesky_solve(right, factor).squeeze(2)
    return weights


def _standard(rows: Tensor) -> Tensor:
    """Return rows less their mean, of length 1; of zeros where they are constant."""
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    rows = in_range(rows)
    centred = rows - rows.mean(1, keepdim=True)
    spread = _spread(rows, centred)
    return torch.where(spread == 0, 0, centred / torch.where(spread == 0, 1, spread))


def _spread(rows: Tensor, centred: Tensor) -> Tensor:
    """Return the length of each centred row, (n, 1), and 0 where that is no more than rounding leaves of a constant one."""
    length = lengths(centred)
    largest, least = rows.amax(1, keepdim=True), rows.amin(1, keepdim=True)
    rounding = torch.finfo(rows.dtype).eps * torch.maximum(largest, -least) * rows.shape[1] ** 0.5
    return torch.where(((largest == least) & ~length.isnan()) | (length <= rounding), 0, length)


def _factor(gram: Tensor, alpha: float) -> Tensor:
    """Return Cholesky's factor of a system whose diagonal is raised."""
    raised = gram.clone()
    raised.diagonal(dim1=-2, dim2=-1).add_(alpha)
    try:
        return torch.linalg.cholesky(raised)
    except torch.linalg.LinAlgError as error:  # pyright: ignore[reportPrivateImportUsage]  # documented
        raise ValueError(
            f"`alpha` should be large enough for {gram.dtype} to tell a system from a singular one. Found {float(alpha):g}. "
            "Raise alpha, or pass float64."
        ) from error
