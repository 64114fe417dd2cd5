"""Volumes and bounds of pairs of Hessians, measured as the texts print them and as we find them.

Near a minimum at loss 0 that two environments share, each loss is a quadratic form. The arithmetic mean of the two Hessians
hides that their shapes differ; the Karcher mean keeps what they share.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from jaxtyping import Float
from torch import Generator, Tensor

from claimlab import Limited, Positive, Preset, Row, number
from mechlearn.surfaces import karcher_mean, proposition_3_bound, proposition_3_inconsistency

CURVATURES = (0.05, 0.01)
"""Small curvatures of the captions: H_A = diag(c, 1), H_B = diag(1, c)."""

RATIOS = tuple(10 ** (k / 8) for k in range(49))
"""Ratios of curvatures in one dimension at which inconsistency and bounds are compared."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of the numerical check."""

    seed: int = 0
    """First seed: of the random Hessians."""
    pairs: Annotated[int, Ge(2), "half of them commute"] = 400
    """Random pairs of Hessians for each dimension, half of them commuting (diagonal)."""
    dimensions: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (1, 2, 4, 8)
    """Numbers of parameters."""
    decades: Positive = 6.0
    """Eigenvalues of a pair spread over up to this many powers of ten."""


PRESETS = {"quick": Preset(Config(), seeds=3), "paper": Preset(Config(pairs=20_000), seeds=10)}


def caption(curvature: float) -> tuple[Float[Tensor, "2 2"], Float[Tensor, "2 2"]]:
    """Return H_A = diag(c, 1) and H_B = diag(1, c)."""
    a = torch.tensor([curvature, 1.0], dtype=torch.float64)
    return a.diag(), a.flip(0).diag()


def random_pair(n: int, commute: bool, decades: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """Draw two positive definite matrices with eigenvalues that spread over a random number of decades."""
    spread = decades * torch.rand((), dtype=torch.float64, generator=generator)
    exponents = spread * (torch.rand(2, n, dtype=torch.float64, generator=generator) - 0.5)
    bases = [torch.eye(n, dtype=torch.float64) if commute else _rotation(n, generator) for _ in range(2)]
    a, b = (base @ (10**some).diag() @ base.T for base, some in zip(bases, exponents, strict=True))
    return (a + a.T) / 2, (b + b.T) / 2


def _rotation(n: int, generator: Generator) -> Tensor:
    return torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=generator))[0]


def karcher_residual(a: Tensor, b: Tensor, mean: Tensor) -> float:
    """Return the norm of log(A^-1 X) + log(B^-1 X), which the Karcher mean X makes 0."""
    total = torch.zeros_like(mean)
    for matrix in (a, b):
        eigenvalues, vectors = torch.linalg.eig(torch.linalg.solve(matrix, mean))
        total += (vectors @ eigenvalues.log().diag() @ torch.linalg.inv(vectors)).real
    return float(total.norm())


def volume_ratio(numerator: Tensor, denominator: Tensor) -> float:
    """Return the ratio of the volumes of {theta: theta^T H^-1 theta <= 1}, which go with the root of the determinant."""
    return math.sqrt(float(torch.linalg.det(numerator) / torch.linalg.det(denominator)))


def run(config: Config) -> Iterator[Row]:
    """Yield the captions' volumes, the bounds in one dimension, and the worst of random pairs for each dimension."""
    generator = torch.Generator().manual_seed(config.seed)
    for curvature in CURVATURES:
        a, b = caption(curvature)
        mean, geometric = (a + b) / 2, karcher_mean(torch.stack([a, b]))
        yield {
            "kind": "caption",
            "curvature": curvature,
            "volume_ratio": volume_ratio(mean, geometric),
            "determinant_ratio": volume_ratio(mean, geometric) ** 2,
            "geometric_volume": volume_ratio(geometric, a),
        }
    for ratio in RATIOS:
        a, b = torch.ones(1, 1, dtype=torch.float64), torch.full((1, 1), ratio, dtype=torch.float64)
        yield {"kind": "one-dimension", "ratio": ratio, **bounds(a, b)}
    for n in config.dimensions:
        for commute in (True, False):
            yield {"kind": "random", "n": n, "commute": commute, **worst(n, commute, config, generator)}


def bounds(a: Tensor, b: Tensor) -> dict[str, float]:
    """Return the inconsistency, counted as the proof and as the definition do, and both bounds, for epsilon = 1."""
    return {
        "inconsistency": proposition_3_inconsistency(a, b),
        "subtracted": proposition_3_inconsistency(a, b, subtract=True),
        "printed": proposition_3_bound(a, b, form="printed"),
        "corrected": proposition_3_bound(a, b),
    }


def worst(n: int, commute: bool, config: Config, generator: Generator) -> Row:
    """Return the largest ratios of inconsistency to bound over random pairs, and how well the Karcher mean is defined."""
    ratios = {"printed": 0.0, "corrected": 0.0}
    violations, residual, determinants = 0, 0.0, 0.0
    for index in range(config.pairs // 2):
        a, b = random_pair(n, commute, config.decades, generator)
        found = bounds(a, b)
        ratios = {form: max(ratio, found["inconsistency"] / found[form]) for form, ratio in ratios.items()}
        violations += found["inconsistency"] > found["printed"] * (1 + 1e-9)
        if index < 20:  # the mean takes longer than the bounds, and is tested by itself
            a, b = random_pair(n, commute, min(3.0, config.decades), generator)
            mean = karcher_mean(torch.stack([a, b]))
            residual = max(residual, karcher_residual(a, b, mean))
            determinants = max(determinants, float(torch.linalg.det(mean) / torch.linalg.det((a + b) / 2)))
    return {
        "worst_printed": ratios["printed"],
        "worst_corrected": ratios["corrected"],
        "violations": violations / (config.pairs // 2),
        "karcher_residual": residual,
        "determinants": determinants,
    }


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] != "random":
        return 0.0, "captions"
    done = 2 * config.dimensions.index(int(number(row, "n"))) + (1 if row["commute"] else 2)
    return done / (2 * len(config.dimensions)), f"{row['n']} parameters"
