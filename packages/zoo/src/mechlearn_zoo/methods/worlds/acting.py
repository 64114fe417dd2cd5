"""Acting in worlds: a linear controller, and a whole population of them in one batched loop.

C of World Models is linear: a = tanh(W f + b) of features f = [z, h] (equation 1 of https://arxiv.org/abs/1809.01999). A
population of p
candidates times e episodes is one batch; candidates share the episodes' random numbers, so that they are compared on the same
luck, and a candidate's returns do not depend on who is evaluated beside it. `Watched` puts V and M before a world of frames.
"""

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from mechlearn.arguments import (
    all_finite,
    check_all_finite,
    check_floats,
    check_generator,
    check_kind,
    check_one_of,
    check_whole,
)
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN, check_actions, check_scale
from mechlearn_zoo.nn.autoencoders import ConvVAE
from mechlearn_zoo.nn.recurrent import Recurrent, put_rows, rows_of

State = Any
"""A world's own state, whatever it is."""


class Stepped(NamedTuple):
    """A world after one step: state, and (p, e) rewards and ends."""

    state: State
    rewards: Float[Tensor, "p e"]
    ended: Tensor


@runtime_checkable
class World(Protocol):
    """What a population can act in: p copies of the same e episodes. `dreaming.DreamWorld` is one."""

    def start(self, population: int, episodes: int, generator: Generator) -> State:
        """Return the state of p copies of e episodes before the first action; the generator draws for e of them only."""
        ...

    def features(self, state: State) -> Float[Tensor, "p e i"]:
        """Return what the controllers see."""
        ...

    def step(self, state: State, actions: Float[Tensor, "p e o"], generator: Generator) -> Stepped:
        """Return what follows; what an ended episode does no longer matters."""
        ...


Squash = Literal["tanh", "thirds", "car"]


@dataclass(frozen=True)
class LinearController:
    """C: from features to actions in [-1, 1], for a whole population at once.

    Args:
        inputs: features.
        actions: numbers of an action.
        squash: "tanh" leaves tanh(W f + b); "thirds" makes it -1, 0 or 1 by thresholds at a third, as for Doom in the published
            code; "car" takes three numbers to steering, gas (a + 1) / 2 and brake max(a, 0).

    Raises:
        TypeError: sizes that are no whole numbers.
        ValueError: sizes below 1, an unknown way to squash, or a car's with other than three actions.
    """

    inputs: int
    actions: int
    squash: Squash = "tanh"

    def __post_init__(self) -> None:
        check_one_of("squash", self.squash, ("tanh", "thirds", "car"))
        if self.squash == "car" and self.actions != 3:
            raise ValueError(f'A car has three actions: steering, gas, brake. Found {self.actions}. Take squash="tanh".')
        check_whole("inputs", self.inputs, 1)
        check_whole("actions", self.actions, 1)

    @property
    def parameters(self) -> int:
        """How many numbers a candidate is: o (i + 1)."""
        return self.actions * (self.inputs + 1)

    def act(self, candidates: Float[Tensor, "p n"], features: Float[Tensor, "p e i"]) -> Float[Tensor, "p e o"]:
        """Return the actions of each candidate on its own episodes.

        Args:
            candidates: (p, n) rows of W, then b.
            features: (p, e, i).

        Raises:
            TypeError, ValueError: another number of parameters or features, or of another type. Values are not looked at.
        """
        check_floats("candidates", candidates, "p", self.parameters)
        check_floats("features", features, len(candidates), "e", self.inputs, like=candidates)
        cut = self.actions * self.inputs
        weight = candidates[:, :cut].reshape(-1, self.actions, self.inputs)
        squashed = torch.tanh(torch.baddbmm(candidates[:, None, cut:], features, weight.mT))
        if self.squash == "thirds":
            return (squashed > 1 / 3).to(squashed) - (squashed < -1 / 3).to(squashed)
        if self.squash == "car":
            steering, gas, brake = squashed.unbind(-1)
            return torch.stack((steering, (gas + 1) / 2, brake.clamp(min=0)), -1)
        return squashed


@torch.no_grad()
def population_returns(
    controller: LinearController,
    candidates: Float[Tensor, "p n"],
    world: World,
    episodes: int,
    horizon: int,
    generator: Generator,
) -> Float[Tensor, "p e"]:
    """Return the sum of rewards of each candidate in each episode, in one loop over time: in the rewards' type, or float32.

    The same generator's state gives the same episodes to every population: re-seed it to evaluate candidates one by one.

    Args:
        controller: from features to actions.
        candidates: (p, n).
        world: what they act in.
        episodes: e, the same ones for every candidate.
        horizon: steps at most.
        generator: of the episodes.

    Raises:
        TypeError: arguments of another kind.
        ValueError: counts below 1, candidates of another length or not finite; rewards that are not: the candidate is named.
    """
    check_whole("episodes", episodes, 1)
    check_whole("horizon", horizon, 1)
    check_kind("controller", controller, LinearController, "a LinearController")
    check_kind("world", world, World, "a World with start, features and step")
    check_floats("candidates", candidates, "p", controller.parameters)
    check_all_finite("candidates", candidates, way_out="Evolve from finite ones.")
    check_generator("generator", generator)
    state = world.start(len(candidates), episodes, generator)
    returns = torch.zeros(len(candidates), episodes, device=candidates.device)
    alive = torch.ones(len(candidates), episodes, dtype=torch.bool, device=candidates.device)
    for _ in range(horizon):
        stepped = world.step(state, controller.act(candidates, world.features(state)), generator)
        state = stepped.state
        returns = returns + torch.where(alive, stepped.rewards, 0)  # what an ended episode is paid may be anything
        alive &= ~stepped.ended
        if not alive.any():
            break
    if not all_finite(returns):
        p, e = (~returns.isfinite()).nonzero()[0].tolist()
        found = f"a sum of {float(returns[p, e])} for candidate {p} in episode {e}"
        raise ValueError(f"`world` should give finite rewards. Found {found}. Bound them.")
    return returns


@runtime_checkable
class FrameWorld(Protocol):
    """A world that shows frames, for a population: `TakeCover` of the experiment take-cover is one."""

    def start(self, population: int, episodes: int, generator: Generator) -> State:
        """Return p copies of e episodes."""
        ...

    def frames(self, state: State) -> Float[Tensor, "p e c h w"]:
        """Return what is seen, in [0, 1]."""
        ...

    def step(self, state: State, actions: Float[Tensor, "p e o"], generator: Generator) -> Stepped:
        """Return what follows."""
        ...


class Seen(NamedTuple):
    """A world of frames as V and M see it: its own state, latents (p, e, l), M's state (p, e, hidden), what is over."""

    world: Any
    z: Float[Tensor, "p e l"]
    memory: Recurrent
    over: Bool[Tensor, "p e"]


class Watched:
    """A world of frames as a controller sees it through V and M: features [z / scale, h], or z alone.

    V no longer looks at an episode that has ended, whose latent and memory stay: it is what a step costs most, and the last
    episode goes on long after most are over.

    Args:
        world: that shows frames.
        vision: V; latents are its means.
        memory: M, trained or not; None for z alone.
        scale: (l,) what z is divided by, such as its standard deviation; None for 1.

    Raises:
        TypeError, ValueError: arguments of another kind, a scale that is not positive and finite.
    """

    def __init__(
        self, world: FrameWorld, vision: ConvVAE, memory: MixtureRNN | None, scale: Float[Tensor, " l"] | None = None
    ) -> None:
        for name, found, kind in (("world", world, FrameWorld), ("vision", vision, ConvVAE)):
            check_kind(name, found, kind, f"a {kind.__name__}")
        check_kind("memory", memory, (MixtureRNN, type(None)), "a MixtureRNN or None")
        self.world, self.vision, self.memory = world, vision, memory
        self.scale = vision.mean.weight.new_ones(vision.latent) if scale is None else scale
        check_scale(self.scale, vision.latent, vision.mean.weight)

    def start(self, population: int, episodes: int, generator: Generator) -> Seen:
        """Return the world before the first action, V's latents of it, and M at rest."""
        state = self.world.start(population, episodes, generator)
        device = self.scale.device
        rest = torch.zeros(population, episodes, 0, device=device)
        memory = Recurrent(rest, rest) if self.memory is None else self.memory.at_rest(population, episodes)
        over = torch.zeros(population, episodes, dtype=torch.bool, device=device)
        unseen = torch.zeros(population, episodes, self.vision.latent, device=device)
        return Seen(state, self._look(state, unseen, over), memory, over)

    def features(self, state: Seen) -> Float[Tensor, "p e i"]:
        """Return [z / scale, h]."""
        return torch.cat((state.z / self.scale, state.memory.shown), -1)

    @torch.no_grad()
    def step(self, state: Seen, actions: Float[Tensor, "p e o"], generator: Generator) -> Stepped:
        """Let M remember frame and action, and the world go on; actions that are not finite are refused."""
        check_actions(actions, state.over, None if self.memory is None else self.memory.action, state.z)
        check_generator("generator", generator)
        memory = state.memory if self.memory is None else self._remember(self.memory, state, actions)
        stepped = self.world.step(state.world, actions, generator)
        over = state.over | stepped.ended
        z = self._look(stepped.state, state.z, over)
        return Stepped(Seen(stepped.state, z, memory, over), stepped.rewards, stepped.ended)

    def _remember(self, memory: MixtureRNN, state: Seen, actions: Tensor) -> Recurrent:
        going = ~state.over
        if going.all():
            return memory.remember(state.z, actions, state.memory)
        if not going.any():
            return state.memory
        after = memory.remember(state.z[going], actions[going], rows_of(state.memory, going))
        return put_rows(state.memory, going, after)

    @torch.no_grad()
    def _look(self, state: State, last: Tensor, over: Tensor) -> Tensor:
        going = ~over
        if not going.any():
            return last
        mean = self.vision.encode(self.world.frames(state)[going]).mean
        z = last.to(mean.dtype, copy=True)
        z[going] = mean
        return z
