"""What is reported of a batch's gradients, whole and by layer.

Index conventions: e an environment of E with n_e rows, i a row of B; G is the gradient of the expected loss, Sigma the
covariance of a draw's gradient.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from mechlearn.agreement.engine.collected import Path
from mechlearn.environments import Ids, named


class Noise(NamedTuple):
    """How much a gradient varies between draws, and what it is without that; one number, or one for each environment.

    McCandlish et al. 2018, [An empirical model of large-batch training](https://arxiv.org/abs/1812.06162), equation 2.9 and
    appendix A.1. Both estimates are unbiased, and their ratio is not: average `signal` and `variance` over calls
    (`Noise.averaged`) before you read `scale`.

    Attributes:
        signal: estimate of |G|^2; it may be negative where noise dominates. Unit: (loss / parameter)^2.
        variance: estimate of tr(Sigma) of one draw, in the same unit.
    """

    signal: Float[Tensor, "*e"]
    variance: Float[Tensor, "*e"]

    @property
    def scale(self) -> Float[Tensor, "*e"]:
        """B_simple = tr(Sigma) / |G|^2, in draws: with so many in a step, noise equals signal. Infinite without signal."""
        return torch.where(self.signal > 0, self.variance / self.signal, torch.inf)

    @property
    def signal_to_noise(self) -> Float[Tensor, "*e"]:
        """|G|^2 / tr(Sigma) of one draw, the inverse of `scale`; 0 without signal."""
        return self.signal.clamp(min=0) / self.variance

    @staticmethod
    def averaged(found: Sequence["Noise"]) -> "Noise":
        """Return the mean of several calls' estimates, whose `scale` varies less than that of each.

        Raises:
            ValueError: if there is none.
        """
        if not found:
            raise ValueError("`found` should hold the noise of at least one call. Found none. Append what a call returns.")
        signal, variance = (torch.stack(parts).mean(0) for parts in zip(*found, strict=True))
        return Noise(signal, variance)


class ParameterStatistics(NamedTuple):
    """What the environments' gradients of one parameter add up to; sums over its components, in float64.

    Attributes:
        size: how many components it has.
        squares: (E,) |g_e|^2, g_e being the gradient of environment e's mean loss.
        along: (E,) the dot product of g_e and the sum of all environments' gradients.
        gram: (E, E) the dot product of g_e and g_f. None without ``pairs``.
        agreeing: at how many components all environments have one sign; a gradient of 0 has none.
        conflicting: at how many components two environments have opposite signs.
        example_squares: (B,) |g_i|^2 of each row's own loss, in the caller's order. None unless they were asked for.
    """

    size: int
    squares: Float[Tensor, " e"]
    along: Float[Tensor, " e"]
    gram: Float[Tensor, "e e"] | None
    agreeing: int
    conflicting: int
    example_squares: Float[Tensor, " b"] | None


@dataclass(frozen=True, eq=False)
class GradientStatistics:
    """How the gradients of a batch's environments, and of its rows, differ; of a model or a part of it (`part`, `layers`).

    Environments weigh the same, however many rows they have. Everything is on the CPU, in float64. A gradient that is not
    finite makes the numbers NaN or infinite that depend on it.

    Attributes:
        environments: the E ids, ascending where they have an order.
        sizes: E numbers of rows.
        index: (B,) the position in ``environments`` of each row's environment.
        losses: (E,) each environment's mean loss.
        parameters: the sums that everything else is made of, for each parameter that the losses reach.
        paths: how a parameter's gradients were formed: "layer" in one backward pass; "per-environment" in one pass for each
            environment (for each row with ``examples``), while E gradients of this parameter were held.
    """

    environments: Ids
    sizes: tuple[int, ...]
    index: Int[Tensor, " b"]
    losses: Float[Tensor, " e"]
    parameters: Mapping[str, ParameterStatistics]
    paths: Mapping[str, Path]

    def part(self, name: str) -> "GradientStatistics":
        """Return the same statistics of some parameters: one, or all of a module, by its name.

        Raises:
            ValueError: if no parameter is or begins with that name.
        """
        chosen = {key: one for key, one in self.parameters.items() if key == name or key.startswith(f"{name}.")}
        if not chosen:
            raise ValueError(
                f"`name` should be that of a parameter, or of a module with some. Found {name!r}. There are "
                f"{', '.join(map(repr, self.parameters))}."
            )
        return replace(self, parameters=chosen, paths={key: self.paths[key] for key in chosen})

    def layers(self) -> dict[str, "GradientStatistics"]:
        """Return the same statistics of each module's own parameters, by its name; the model's own are under ""."""
        found: dict[str, dict[str, ParameterStatistics]] = {}
        for key, one in self.parameters.items():
            found.setdefault(key.rpartition(".")[0], {})[key] = one
        return {
            layer: replace(self, parameters=own, paths={key: self.paths[key] for key in own}) for layer, own in found.items()
        }

    @property
    def norms(self) -> Float[Tensor, " e"]:
        """The Euclidean norm of each environment's gradient, (E,)."""
        return self._squares.sqrt()

    @property
    def norm(self) -> Float[Tensor, ""]:
        """The norm of the mean of the environments' gradients."""
        return self._mean_square.sqrt()

    @property
    def example_norms(self) -> Float[Tensor, " b"]:
        """The norm of the gradient of each row's own loss, (B,), in the caller's order.

        Raises:
            ValueError: if they were not asked for.
        """
        return self._example_squares.sqrt()

    @property
    def cosines(self) -> Float[Tensor, "e e"]:
        """The cosine between each two environments' gradients, (E, E); NaN where one is 0.

        Raises:
            ValueError: with one environment, or without ``pairs``.
        """
        self._check_two("Cosines between environments")
        grams = [one.gram for one in self.parameters.values() if one.gram is not None]
        if not grams:
            raise ValueError(
                "Cosines between environments should be of a call that forms them. Found one with pairs=False. Leave it out; "
                "`cosines_with_mean` is there."
            )
        norms = self.norms
        return (torch.stack(grams).sum(0) / torch.outer(norms, norms)).clamp(-1, 1)

    @property
    def cosines_with_mean(self) -> Float[Tensor, " e"]:
        """The cosine between each environment's gradient and the mean of all, its own among them, (E,); NaN where one is 0."""
        return (self._along / (self.norms * self.norm * len(self.sizes))).clamp(-1, 1)

    @property
    def sign_agreement(self) -> float:
        """The share of components at which all environments' gradients have one sign: what ``AndMask(1.0)`` lets through."""
        return sum(one.agreeing for one in self.parameters.values()) / self._size

    @property
    def sign_conflict(self) -> float:
        """The share of components at which two environments' gradients have opposite signs."""
        return sum(one.conflicting for one in self.parameters.values()) / self._size

    @property
    def noise(self) -> Noise:
        """The noise of environments, each of which is a draw.

        Appendix A.1 of McCandlish et al. with B_small = 1 and B_big = E draws: tr(Sigma) = (mean_e |g_e|^2 - |mean_e g_e|^2) /
        (1 - 1 / E), |G|^2 = |mean_e g_e|^2 - tr(Sigma) / E. With every row its own environment, a draw is a row.

        Raises:
            ValueError: with one environment.
        """
        self._check_two("The noise of environments")
        count = len(self.sizes)
        variance = (self._squares.mean() - self._mean_square) * count / (count - 1)
        return Noise(self._mean_square - variance / count, variance)

    @property
    def noise_by_environment(self) -> Noise:
        """The noise of the rows of each environment, (E,), about its own gradient.

        Appendix A.1 with B_small = 1 and B_big = n_e rows.

        Raises:
            ValueError: if rows' gradients were not asked for, or if an environment has one row.
        """
        squares = self._example_squares
        for position, size in enumerate(self.sizes):
            if size < 2:
                way_out = "Read `noise`, where each environment is a draw" if max(self.sizes) == 1 else "Draw more of it"
                raise ValueError(
                    "The noise of an environment's rows should be of two rows or more. Found one of environment "
                    f"{named(self.environments, position)}. {way_out}."
                )
        sizes = torch.tensor(self.sizes, dtype=torch.float64)
        means = torch.zeros_like(sizes).index_add_(0, self.index, squares) / sizes
        variance = (means - self._squares) * sizes / (sizes - 1)
        return Noise(self._squares - variance / sizes, variance)

    @property
    def example_noise(self) -> Noise:
        """The noise of rows about their environments' gradients, where every environment gives a batch as many rows.

        Its draw is a row: tr(Sigma) is the mean of the environments' own, and |G|^2 is |mean_e g_e|^2 less what these variances
        add to it. With one environment that is appendix A.1; with every row its own environment it is `noise`.

        Raises:
            ValueError: as `noise_by_environment`; if every environment has one row, with fewer than two of them.
        """
        if max(self.sizes) == 1:
            return self.noise
        within, sizes = self.noise_by_environment, torch.tensor(self.sizes, dtype=torch.float64)
        added = (within.variance / sizes).sum() / len(sizes) ** 2
        return Noise(self._mean_square - added, within.variance.mean())

    @property
    def critical_batch_size(self) -> float:
        """How many rows a step should have, spread evenly over the environments: more of them buy little.

        B_crit = E_min / S_min (equation 2.12), predicted by the noise scale, B_simple (equation 2.9) of `example_noise`.

        Raises:
            ValueError: as `example_noise`.
        """
        return float(self.example_noise.scale)

    @property
    def _squares(self) -> Tensor:
        return torch.stack([one.squares for one in self.parameters.values()]).sum(0)

    @property
    def _along(self) -> Tensor:
        return torch.stack([one.along for one in self.parameters.values()]).sum(0)

    @property
    def _mean_square(self) -> Tensor:
        return self._along.sum().clamp(min=0) / len(self.sizes) ** 2

    @property
    def _size(self) -> int:
        return sum(one.size for one in self.parameters.values())

    @property
    def _example_squares(self) -> Tensor:
        found = [one.example_squares for one in self.parameters.values() if one.example_squares is not None]
        if not found:
            raise ValueError(
                "Statistics of rows should be of a call that forms them. Found one without. Pass examples=True, or every row "
                "as its own environment, environments=range(len(losses))."
            )
        return torch.stack(found).sum(0)

    def _check_two(self, what: str) -> None:
        if len(self.sizes) == 1:
            raise ValueError(
                f"{what} should be of two environments or more. Found one, {named(self.environments, 0)}. Give each source of "
                "rows its own id."
            )
