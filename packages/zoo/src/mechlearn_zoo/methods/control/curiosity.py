"""Curiosity: the error of a one-step prediction in a feature space is the reward (Pathak et al. 2017; Burda et al. 2018).

    r_t = mean over d of (f(phi(x_t), a_t) - phi(x_{t+1}))^2

phi may be the pixels, a fixed random network, what a model of inverse dynamics reads from, or a VAE's mean; f is trained on the
same roll-outs as the policy. As a squared error it is a log-likelihood under a Gaussian of fixed width: what is noisy stays
interesting. Observations should be normalised first (the published code takes mean and deviation of 10,000 random steps) and
bonuses divided by the running deviation of their discounted sums (`scaled`).

Not where something random can be watched at will, such as a television that the agent switches: the error never falls there,
and the agent stays (`mechlearn_zoo.methods.control.reachability` is the way out, or a forward model that may skip frames).
"""

import math
import warnings
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from mechlearn.arguments import check_all_finite, check_generator, check_ids, check_kind, check_shape, check_share, check_tensor
from mechlearn_zoo.methods.control.returns import linear_recurrence
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Curiosity", 2018, "Burda et al., section 2; Pathak et al. 2017", "https://arxiv.org/abs/1808.04355",
    "a forward model's pass and step",
)  # fmt: skip


class Pixels(nn.Module):
    """Observations themselves, flattened: phi(x) = x, in float32 at least."""

    def forward(self, observations: Tensor) -> Tensor:
        """Return (n, d) for observations (n, *o)."""
        return observations.flatten(1).to(torch.promote_types(observations.dtype, torch.float32))

    def losses(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:  # as those that learn
        """Return zeros (n,): nothing is learned."""
        return torch.zeros(len(before), device=before.device)


class RandomFeatures(nn.Module):
    """A network that stays as it was drawn; a warning says if its parameters still ask for gradients.

    Args:
        network: from observations (n, *o) to features (n, d).
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if any(parameter.requires_grad for parameter in network.parameters()):
            warnings.warn(
                "random features stay fixed, but their network has parameters that require gradients. They get none; call "
                "network.requires_grad_(False), so that no optimiser decays them.",
                stacklevel=2,
            )
        self.network = network

    @torch.no_grad()
    def forward(self, observations: Tensor) -> Tensor:
        """Return (n, d)."""
        return self.network(observations)

    def losses(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:  # as those that learn
        """Return zeros (n,): nothing is learned."""
        return torch.zeros(len(before), device=before.device)


class InverseFeatures(nn.Module):
    """Features from which the action between two observations can be told: they hold what the agent has to do with.

    Args:
        network: from observations (n, *o) to features (n, d).
        head: from two observations' features side by side (n, 2 d) to action logits (n, A).
    """

    def __init__(self, network: nn.Module, head: nn.Module) -> None:
        super().__init__()
        self.network, self.head = network, head

    def forward(self, observations: Tensor) -> Tensor:
        """Return (n, d)."""
        return self.network(observations)

    def losses(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:
        """Return the cross-entropy (n,) of the actions taken (n,), integers.

        Raises:
            TypeError: actions that are no whole numbers.
            ValueError: actions of another shape, or that the head has no logit for.
        """
        logits = self.head(torch.cat((self(before), self(after)), -1))
        way_out = "The head gives a logit for each action."
        check_ids("actions", actions, len(before), count=logits.shape[-1], way_out=way_out)
        return cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), actions.long(), reduction="none")


class VAEFeatures(nn.Module):
    """The mean of a variational autoencoder's code (Kingma and Welling 2014); decoded by squared error, flattened.

    Args:
        encoder: from observations (n, *o) to means and log-variances side by side (n, 2 d).
        decoder: from codes (n, d) to flattened observations.
        generator: of the codes' noise.

    Raises:
        TypeError: no generator.
    """

    def __init__(self, encoder: nn.Module, decoder: nn.Module, generator: torch.Generator) -> None:
        super().__init__()
        check_generator("generator", generator)
        self.encoder, self.decoder, self.generator = encoder, decoder, generator

    def forward(self, observations: Tensor) -> Tensor:
        """Return the means (n, d)."""
        return self.encoder(observations).chunk(2, -1)[0]

    def losses(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:  # as those that need them
        """Return the negative evidence bound (n,) of the observations after the action, up to a constant.

        Raises:
            ValueError: a decoder that gives another shape than flattened observations.
        """
        mean, log_variance = self.encoder(after).chunk(2, -1)
        noise = torch.randn(mean.shape, generator=self.generator, device=self.generator.device).to(mean)
        decoded = self.decoder(mean + (log_variance / 2).exp() * noise)
        flat = after.flatten(1)
        check_shape("decoder(codes)", decoded, *flat.shape, way_out="As many numbers as an observation has, flattened.")
        wide = torch.promote_types(mean.dtype, torch.float32)
        mean, log_variance, decoded = mean.to(wide), log_variance.to(wide), decoded.to(wide)
        divergence = (mean.square() + log_variance.exp() - 1 - log_variance).sum(-1) / 2
        return (decoded - flat).square().sum(-1) / 2 + divergence


Features = Pixels | RandomFeatures | InverseFeatures | VAEFeatures


class Curiosity(nn.Module):
    """Bonus and losses; the optimiser and its steps stay yours.

    Args:
        features: phi, one of this file's.
        forward_model: from features (n, d) and actions, one after the other, to the next features (n, d); it is called as
            ``forward_model(features, actions)``.

    Raises:
        TypeError: features of another kind.
    """

    def __init__(self, features: Features, forward_model: nn.Module) -> None:
        super().__init__()
        way_out = "Wrap a network in RandomFeatures, or an encoder and a head in InverseFeatures."
        check_kind("features", features, (Pixels, RandomFeatures, InverseFeatures, VAEFeatures), "features", way_out=way_out)
        self.features, self.forward_model = features, forward_model

    @torch.no_grad()
    def bonus(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Return r (T, B) for observations (T + 1, B, *o) and actions (T, B, *a); a step across an episode's end counts, too.

        Raises:
            ValueError: observations that are not one more than the actions, or predictions of another shape than the features.
        """
        before, acted, after = _flat(observations, actions)
        return self._errors(before, acted, after).view(actions.shape[:2])

    def losses(self, observations: Tensor, actions: Tensor) -> Tensor:
        """Return the forward model's errors (T, B) plus the features' own losses; no gradient goes from one into the other.

        Raises:
            ValueError: observations that are not one more than the actions, or predictions of another shape than the features.
        """
        before, acted, after = _flat(observations, actions)
        own = self.features.losses(before, acted, after)
        return (self._errors(before, acted, after) + own).view(actions.shape[:2])

    def _errors(self, before: Tensor, actions: Tensor, after: Tensor) -> Tensor:
        predicted, wanted = self.forward_model(self.features(before).detach(), actions), self.features(after).detach()
        check_shape(
            "forward_model(features, actions)", predicted, *wanted.shape, way_out="As many numbers as the features have."
        )
        wide = torch.promote_types(torch.promote_types(predicted.dtype, wanted.dtype), torch.float32)
        return (predicted.to(wide) - wanted.to(wide)).square().mean(-1)


def _flat(observations: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    for name, value in (("observations", observations), ("actions", actions)):
        check_tensor(name, value)
    if observations.shape[:2] != (len(actions) + 1, *actions.shape[1:2]) or actions.dim() < 2:
        raise ValueError(
            "`observations` should be (T + 1, B, ...) for actions (T, B, ...), the one after the last step included. "
            f"Found {tuple(observations.shape)} and {tuple(actions.shape)}. Use those of a Rollout."
        )
    return observations[:-1].flatten(0, 1), actions.flatten(0, 1), observations[1:].flatten(0, 1)


class RewardScale(NamedTuple):
    """What is known of discounted sums of bonuses so far.

    Attributes:
        sums: (B,) the running sums, s_t = r_t + discount s_{t-1}, across episodes.
        seen: how many sums.
        mean: of them.
        variance: of them.
    """

    sums: Tensor
    seen: int = 0
    mean: float = 0.0
    variance: float = 0.0


def scaled(state: RewardScale, bonuses: Tensor, discount: float = 0.99) -> tuple[Tensor, RewardScale]:
    """Return bonuses over the running deviation of their discounted sums, and what is known now.

    The sums run forward in time, as in the published code. Where they have not varied yet the result is 0. Not for bonuses that
    may be a constant below 0: divided by the deviation of a long sum they drown what is to be learned.

    Args:
        state: `RewardScale(torch.zeros(B))` at first.
        bonuses: (T, B).
        discount: in [0, 1].

    Raises:
        TypeError, ValueError: a discount out of range, bonuses of another number of environments, of no step or none, or such
            as are not finite or whose variance is not.
    """
    check_share("discount", discount)
    check_tensor("bonuses", bonuses)
    if bonuses.dim() != 2 or 0 in bonuses.shape or bonuses.shape[1:] != state.sums.shape:
        raise ValueError(
            f"`bonuses` should have the shape (T, {len(state.sums)}), time first, as the state has it, T and B at least 1. "
            f"Found {tuple(bonuses.shape)}."
        )
    check_all_finite("bonuses", bonuses, way_out="The state is unchanged. Put another bonus there, or end the run.")
    carried = bonuses.to(torch.float64, copy=True)
    carried[0] += discount * state.sums.to(carried.device)
    sums = linear_recurrence(torch.full_like(carried, discount), carried.flip(0)).flip(0)
    count, mean, variance = sums.numel(), float(sums.mean()), float(sums.var(correction=0))
    total, apart = state.seen + count, mean - state.mean
    try:
        spread = (state.variance * state.seen + variance * count + apart**2 * state.seen * count / total) / total
    except OverflowError:  # of the square
        spread = math.inf
    if not math.isfinite(spread):  # of a state that is none, or of numbers whose squares float64 does not hold
        raise ValueError(
            f"The variance of discounted sums should be finite. Found {spread!r}, from a state of mean {state.mean!r} and sums "
            f"of mean {mean!r}. Divide the bonuses by their size, or begin with a new state."
        )
    new = RewardScale(sums[-1], total, state.mean + apart * count / total, spread)
    return (bonuses / spread**0.5 if spread > 0 else torch.zeros_like(bonuses)), new
