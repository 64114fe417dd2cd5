"""M's dream for a population: p copies of e dreams, with one draw of noise for all copies.

What a dream is stands in `dreaming`; `acting.population_returns` lives in it.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from mechlearn.arguments import (
    check_all_finite,
    check_floats,
    check_generator,
    check_kind,
    check_not_negative,
    check_one_of,
    check_whole,
)
from mechlearn_zoo.methods.worlds.acting import Stepped
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN, check_actions, check_scale
from mechlearn_zoo.nn.mixtures import mixture_quantile, tempered
from mechlearn_zoo.nn.recurrent import Recurrent, put_rows, rows_of

Done = Literal["threshold", "sample"]


class DreamState(NamedTuple):
    """Where dreams are: latents (p, e, l), M's state (p, e, hidden), and which dreams are over (p, e)."""

    z: Float[Tensor, "p e l"]
    memory: Recurrent
    over: Bool[Tensor, "p e"]


class _Noise(NamedTuple):
    """A step's random numbers, of each of e episodes: (e, l) twice for its latents, (e,) for its end where that is drawn."""

    uniform: Tensor
    normal: Tensor
    chance: Tensor | None

    def of(self, going: Bool[Tensor, "p e"]) -> "_Noise":
        """Return those of the copies that are going on, (m, l) and (m,)."""
        uniform, normal = (part.expand(len(going), -1, -1)[going] for part in self[:2])
        return _Noise(uniform, normal, None if self.chance is None else self.chance.expand(len(going), -1)[going])


class DreamWorld:
    """M's dream for a population: p copies of e dreams, with one draw of noise for all copies.

    A dream that is over stays where it is and costs nothing: the longest of a population lasts several times the mean.

    Args:
        memory: M; it is used without gradients and not changed.
        starts: (n, l) latents of first frames.
        temperature: tau, at least 0; at 0 a dream is deterministic but for its start.
        done: "threshold": over when the end's logit is above 0, as in the published code; "sample": drawn from its probability.
        scale: (l,) what z is divided by before a controller sees it, such as its standard deviation; None for 1.

    Raises:
        TypeError: an M, starts or a temperature of another kind.
        ValueError: no starts, of another width or not finite; a temperature below 0; a scale that is not positive.
    """

    def __init__(
        self,
        memory: MixtureRNN,
        starts: Float[Tensor, "n l"],
        temperature: float = 1.0,
        done: Done = "threshold",
        scale: Float[Tensor, " l"] | None = None,
    ) -> None:
        check_kind("memory", memory, MixtureRNN, "a MixtureRNN")
        weight = memory.head.linear.weight
        check_floats("starts", starts, "n", memory.latent, like=weight, way_out="Encode first frames of episodes with V.")
        check_all_finite("starts", starts, way_out="Leave such frames out.")
        check_not_negative("temperature", temperature, way_out="1 is M as it was trained.")
        check_one_of("done", done, ("threshold", "sample"))
        self.memory, self.starts, self.temperature, self.done = memory, starts.detach(), float(temperature), done
        self.scale = starts.new_ones(memory.latent) if scale is None else scale
        check_scale(self.scale, memory.latent, starts)
        self.scale = self.scale.detach()

    def start(self, population: int, episodes: int, generator: Generator) -> DreamState:
        """Return p copies of e dreams at starts drawn with replacement, M at rest.

        Raises:
            TypeError, ValueError: numbers that are not whole, or below 1; no generator on the starts' device.
        """
        check_whole("population", population, 1)
        check_whole("episodes", episodes, 1)
        check_generator("generator", generator, beside=self.starts)
        rows = torch.randint(len(self.starts), (episodes,), generator=generator, device=self.starts.device)
        z = self.starts[rows].expand(population, episodes, -1)
        over = torch.zeros(population, episodes, dtype=torch.bool, device=z.device)
        return DreamState(z, self.memory.at_rest(population, episodes), over)

    def features(self, state: DreamState) -> Float[Tensor, "p e i"]:
        """Return [z / scale, h]."""
        return torch.cat((state.z / self.scale, state.memory.shown), -1)

    @torch.no_grad()
    def step(self, state: DreamState, actions: Float[Tensor, "p e a"], generator: Generator) -> Stepped:
        """Return the dreams a step on; rewards are 1, in the step that ends a dream, too, and 0 of what was over before.

        Raises:
            TypeError, ValueError: no state, no generator; actions of another kind or shape, or not finite. Nothing was drawn.
        """
        check_kind("state", state, DreamState, "a DreamState", way_out="Begin with start(population, episodes, generator).")
        check_actions(actions, state.over, self.memory.action, state.z)
        check_generator("generator", generator, beside=state.z)
        noise, going = self._draw(state.z, generator), ~state.over
        rewards = going.to(state.z)
        if not going.any():
            return Stepped(state, rewards, state.over)
        if going.all():
            after = self._dreamt(state.z, actions, state.memory, noise)
            return Stepped(after, rewards, after.over)
        some = self._dreamt(state.z[going], actions[going], rows_of(state.memory, going), noise.of(going))
        z = state.z.masked_scatter(going.unsqueeze(-1), some.z)
        over = state.over.masked_scatter(going, some.over)
        return Stepped(DreamState(z, put_rows(state.memory, going, some.memory), over), rewards, over)

    def _draw(self, z: Tensor, generator: Generator) -> _Noise:
        uniform = torch.rand(z.shape[1:], generator=generator, dtype=z.dtype, device=z.device)
        normal = torch.randn(z.shape[1:], generator=generator, dtype=z.dtype, device=z.device)
        sampled = self.done == "sample" and self.memory.ending is not None
        return _Noise(uniform, normal, torch.rand(z.shape[1], generator=generator, device=z.device) if sampled else None)

    def _dreamt(self, z: Tensor, actions: Tensor, memory: Recurrent, noise: _Noise) -> DreamState:
        """Return dreams a step on, any leading dimensions."""
        predicted = self.memory.step(z, actions, memory)
        dreamt = mixture_quantile(tempered(*predicted.mixture, self.temperature), noise.uniform, noise.normal)
        if predicted.ends is None:
            return DreamState(dreamt, predicted.state, torch.zeros(z.shape[:-1], dtype=torch.bool, device=z.device))
        over = predicted.ends > 0 if noise.chance is None else noise.chance < torch.sigmoid(predicted.ends)
        return DreamState(dreamt, predicted.state, over)
