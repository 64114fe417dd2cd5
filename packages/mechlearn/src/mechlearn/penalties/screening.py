"""Screening: leave out the inputs whose relation to the target differs between environments by more than it says on average.

A random-effects meta-analysis of each input's correlation with the target (Cochran 1954, DerSimonian and Laird 1986, with
Fisher's z). Significance alone is no reason to drop an input, since real differences between sites are everywhere: the
spread between environments must also be larger than the relation itself, tau^2 > mu^2. Nothing is trained, and interactions
are not seen.

Index conventions: e an environment of E, k an output of K (a class, or a regression's one number), j an input of J.
"""

import math
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mechlearn.arguments import check_data, check_numbers, check_shape, check_share
from mechlearn.environments import EnvironmentIds, partition

LARGEST = 1 - 1e-6
"""Correlations are cut here: Fisher's z of 1 is infinite."""


class Screened(NamedTuple):
    """What screening found of J inputs.

    Attributes:
        keep: (J,) False where an input is to be left out: `significant` and tau2 > mu2.
        significant: (J,) True where Cochran's Q of some output is significant, by Bonferroni over outputs and inputs.
        tau2: (J,) variance of the relation between environments, beyond sampling error, summed over outputs.
        mu2: (J,) square of the mean relation, less what sampling gives it, summed over outputs.
        relations: (E, K, J) Fisher's z of the correlations; NaN where an input or output does not vary in an environment.
        errors: (E,) their standard errors, 1 / sqrt(n_e - 3); NaN where n_e < 4.
    """

    keep: Bool[Tensor, " j"]
    significant: Bool[Tensor, " j"]
    tau2: Float[Tensor, " j"]
    mu2: Float[Tensor, " j"]
    relations: Float[Tensor, "e k j"]
    errors: Float[Tensor, " e"]


def screen(
    inputs: Float[Tensor, "n j"], targets: Float[Tensor, "n k"], environments: EnvironmentIds, level: float = 0.01
) -> Screened:
    """Return which inputs to leave out, and why.

    Args:
        inputs: (n, J).
        targets: (n, K); for classes one column of 0 and 1 each (of two classes, one column is enough).
        environments: n integers.
        level: of Cochran's Q, shared out over outputs and inputs.

    Raises:
        TypeError: tables that are no tensors, a level that is no number, ids that cannot be hashed.
        ValueError: tables that are empty, of other axes or of different lengths, numbers that are not finite, a level outside
            [0, 1].
    """
    check_share("level", level)
    for name, table, columns in (("inputs", inputs, "J"), ("targets", targets, "K")):
        check_numbers(name, table)
        check_data(name, table)
        check_shape(name, table, "n", columns, way_out="Make a column of a vector with [:, None].")
    if inputs.shape[:1] != targets.shape[:1]:
        raise ValueError(f"`inputs` and `targets` should have as many rows. Found {len(inputs)} and {len(targets)}.")
    if not (bool(inputs.isfinite().all()) and bool(targets.isfinite().all())):
        raise ValueError("Numbers should be finite. Found NaN or infinity. Fill in what is missing, or leave those rows out.")
    z, errors = relations(inputs.double(), targets.double(), environments)
    seen = z.isfinite()
    count = seen.sum(0)  # (K, J) environments in which the relation can be seen
    weight = torch.where(seen, errors.pow(-2)[:, None, None].nan_to_num(0.0), 0.0)
    value = z.nan_to_num(0.0)
    pooled = (weight * value).sum(0) / weight.sum(0).clamp(min=1e-12)
    q = (weight * (value - pooled).square()).sum(0)
    p = torch.special.gammaincc((count - 1).clamp(min=1) / 2, q / 2)  # of a chi-square of count - 1 degrees of freedom
    significant = ((p < level / p.numel()) & (count > 1)).any(0)
    mean = value.sum(0) / count.clamp(min=1)
    spread = torch.where(seen, (z.nan_to_num(0.0) - mean).square(), 0.0).sum(0) / (count - 1).clamp(min=1)
    sampling = torch.where(seen, errors.square()[:, None, None].nan_to_num(0.0), 0.0).sum(0) / count.clamp(min=1)
    tau2 = torch.where(count > 1, spread - sampling, 0.0).sum(0).clamp(min=0)
    mu2 = torch.where(count > 1, mean.square() - spread / count.clamp(min=1), 0.0).clamp(min=0).sum(0)
    return Screened(~(significant & (tau2 > mu2)), significant, tau2, mu2, z, errors)


def relations(
    inputs: Float[Tensor, "n j"], targets: Float[Tensor, "n k"], environments: EnvironmentIds
) -> tuple[Float[Tensor, "e k j"], Float[Tensor, " e"]]:
    """Return Fisher's z of the correlation of each output with each input by environment, and their standard errors.

    z is NaN where there are fewer than four examples or one of the two does not vary.
    """
    groups = partition(environments, len(inputs), inputs.device)
    both = torch.cat([inputs, targets], 1)
    spans = both.std(0, correction=0)
    grouped = groups.grouped(both)
    found: list[Tensor] = []
    for rows in groups.slices():
        part = grouped[rows] - grouped[rows].mean(0)
        norm = part.norm(dim=0)
        norm = torch.where(norm > 1e-9 * spans * math.sqrt(len(part)), norm, torch.nan)  # a constant's rounding is no variation
        x, y = (part / norm).split([inputs.shape[1], targets.shape[1]], dim=1)
        r = (y.T @ x).clamp(-LARGEST, LARGEST)
        found.append(r.atanh() if len(part) > 3 else torch.full_like(r, torch.nan))
    sizes = torch.tensor(groups.sizes, dtype=inputs.dtype, device=inputs.device)
    errors = torch.where(sizes > 3, (sizes - 3).clamp(min=1).rsqrt(), torch.nan)
    return torch.stack(found), errors
