"""M's dream as a world: for populations (`DreamWorld`) and for anybody's agent (`Dream`, a gymnasium VectorEnv).

A step of the dream samples z_{t+1} from M's mixture at a temperature tau: weights' logits over tau, deviations times sqrt(tau)
(https://arxiv.org/abs/1809.01999, section 4.3). The temperature is that of M's randomness, not of an agent's actions. A
controller that is trained at a low one learns what M has wrong rather than what the world has right: test it in the world.

Reward is 1 for each step survived, as in Take Cover; M learns no other here.
"""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor

from craik.arguments import check_generator, check_kind, check_not_negative, check_one_of, check_shape, check_whole
from craik.methods.paper import Paper
from craik.methods.worlds.acting import Stepped
from craik.methods.worlds.world_model import MixtureRNN
from craik.nn.mixtures import mixture_quantile, tempered
from craik.nn.recurrent import Recurrent, put_rows, rows_of

if TYPE_CHECKING:
    from gymnasium.spaces import Space

PAPER = Paper(
    "Dreaming",
    2018,
    "Ha and Schmidhuber, section 4",
    "https://arxiv.org/abs/1809.01999",
    "a step of M instead of a step of the world",
)

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
        ValueError: no starts, or of another width; a temperature below 0; a scale that is not positive.
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
        check_shape("starts", starts, "n", memory.latent, way_out="Encode the first frames of some episodes with V.")
        check_not_negative("temperature", temperature, way_out="1 is M as it was trained.")
        check_one_of("done", done, ("threshold", "sample"))
        self.memory, self.starts, self.temperature, self.done = memory, starts.detach(), float(temperature), done
        self.scale = starts.new_ones(memory.latent) if scale is None else scale.detach()
        check_shape("scale", self.scale, memory.latent)
        if not bool((self.scale > 0).all()):
            raise ValueError(
                f"`scale` should be positive. Found {float(self.scale.min()):g}. Clamp standard deviations to 1e-3."
            )

    def start(self, population: int, episodes: int, generator: Generator) -> DreamState:
        """Return p copies of e dreams at starts drawn with replacement, M at rest."""
        rows = torch.randint(len(self.starts), (episodes,), generator=generator)
        z = self.starts[rows].expand(population, episodes, -1)
        over = torch.zeros(population, episodes, dtype=torch.bool)
        return DreamState(z, self.memory.at_rest(population, episodes), over)

    def features(self, state: DreamState) -> Float[Tensor, "p e i"]:
        """Return [z / scale, h]."""
        return torch.cat((state.z / self.scale, state.memory.shown), -1)

    @torch.no_grad()
    def step(self, state: DreamState, actions: Float[Tensor, "p e a"], generator: Generator) -> Stepped:
        """Return the dreams a step on; rewards are 1, in the step that ends a dream, too, and 0 of what was over before."""
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
        uniform = torch.rand(z.shape[1:], generator=generator, dtype=z.dtype)
        normal = torch.randn(z.shape[1:], generator=generator, dtype=z.dtype)
        sampled = self.done == "sample" and self.memory.ending is not None
        return _Noise(uniform, normal, torch.rand(z.shape[1], generator=generator) if sampled else None)

    def _dreamt(self, z: Tensor, actions: Tensor, memory: Recurrent, noise: _Noise) -> DreamState:
        """Return dreams a step on, any leading dimensions."""
        predicted = self.memory.step(z, actions, memory)
        dreamt = mixture_quantile(tempered(*predicted.mixture, self.temperature), noise.uniform, noise.normal)
        if predicted.ends is None:
            return DreamState(dreamt, predicted.state, torch.zeros(z.shape[:-1], dtype=torch.bool))
        over = predicted.ends > 0 if noise.chance is None else noise.chance < torch.sigmoid(predicted.ends)
        return DreamState(dreamt, predicted.state, over)


try:  # gymnasium is an extra; without it populations dream as before
    from gymnasium.vector import AutoresetMode, VectorEnv
except ImportError:  # pragma: no cover
    AutoresetMode, VectorEnv = None, object


class Dream(VectorEnv):  # pyright: ignore[reportUntypedBaseClass, reportGeneralTypeIssues]
    """M's dreams as a gymnasium VectorEnv: observations are [z, h], a dream that ended starts anew in the next step.

    Args:
        world: M, starts, temperature and ends.
        dreams: how many side by side.
        horizon: steps after which a dream is cut off (truncated); needed where M predicts no end.
        generator: of starts and noise; `reset(seed=...)` seeds it.
        actions: "box" for numbers in [-1, 1]; "discrete" for positions, given to M one-hot.

    Raises:
        ImportError: gymnasium is not installed.
        TypeError: arguments of another kind.
        ValueError: numbers out of range, or neither ends nor a horizon.
    """

    metadata: dict[str, Any] = {"autoreset_mode": None if AutoresetMode is None else AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        world: DreamWorld,
        dreams: int,
        horizon: int | None,
        generator: Generator,
        actions: Literal["box", "discrete"] = "box",
    ) -> None:
        if AutoresetMode is None:
            raise ImportError("A Dream is a gymnasium VectorEnv. Found no gymnasium. Run `pip install 'craik[experiments]'`.")
        check_kind("world", world, DreamWorld, "a DreamWorld")
        check_whole("dreams", dreams, 1)
        check_generator("generator", generator)
        check_one_of("actions", actions, ("box", "discrete"))
        if horizon is None and world.memory.ending is None:
            raise ValueError(
                "A dream should end. Found an M that predicts no end, and no `horizon`. Name one, or make M with ends=True."
            )
        if horizon is not None:
            check_whole("horizon", horizon, 1)
        self.world, self.num_envs, self.horizon, self.generator, self.discrete = (
            world,
            dreams,
            horizon,
            generator,
            actions == "discrete",
        )
        self._spaces()
        self._state = world.start(1, dreams, generator)
        self._age = np.zeros(dreams, dtype=np.int64)
        self._over = np.zeros(dreams, dtype=bool)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        """Start every dream anew; see gymnasium. `options` is not read."""
        if seed is not None:
            self.generator.manual_seed(seed)
        self._state = self.world.start(1, self.num_envs, self.generator)
        self._age[:], self._over[:] = 0, False
        return self._observed(), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:  # noqa: ANN401  # arrays of any kind
        """Take one action in each dream; see gymnasium. Where a dream was over it starts anew instead, with reward 0.

        Raises:
            ValueError: actions of another shape or number.
        """
        fresh = self._over.copy()
        stepped = self.world.step(self._state, self._given(actions), self.generator)
        again = self.world.start(1, self.num_envs, self.generator)
        mask = torch.from_numpy(fresh)[None, :, None]
        self._state = DreamState(
            torch.where(mask, again.z, stepped.state.z),
            Recurrent(*(torch.where(mask, new, old) for new, old in zip(again.memory, stepped.state.memory, strict=True))),
            stepped.state.over & ~mask.squeeze(-1),
        )
        self._age = np.where(fresh, 0, self._age + 1)
        terminated = stepped.ended[0].numpy() & ~fresh
        late = np.zeros_like(fresh) if self.horizon is None else self._age >= self.horizon
        truncated = late & ~terminated & ~fresh
        self._over = terminated | truncated
        return self._observed(), np.where(fresh, 0.0, stepped.rewards[0].numpy()), terminated, truncated, {}

    def _spaces(self) -> None:
        from gymnasium.spaces import Box, Discrete  # noqa: PLC0415  # an extra
        from gymnasium.vector.utils import batch_space  # noqa: PLC0415

        memory = self.world.memory
        self.single_observation_space: Space[Any] = Box(-np.inf, np.inf, (memory.latent + memory.hidden,), np.float32)
        self.single_action_space: Space[Any] = (
            Discrete(memory.action) if self.discrete else Box(-1.0, 1.0, (memory.action,), np.float32)
        )
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def _observed(self) -> np.ndarray:
        return self.world.features(self._state)[0].detach().numpy().astype(np.float32)

    def _given(self, actions: Any) -> Tensor:  # noqa: ANN401  # arrays of any kind
        given = torch.as_tensor(np.asarray(actions))
        width = self.world.memory.action
        if self.discrete:
            check_shape("actions", given, self.num_envs, way_out="One position for each dream.")
            if given.is_floating_point() or int(given.min()) < 0 or int(given.max()) >= width:
                raise ValueError(f"`actions` should be whole numbers from 0 to {width - 1}. Found {given.tolist()}.")
            return torch.nn.functional.one_hot(given.long(), width).to(self._state.z)[None]
        check_shape("actions", given, self.num_envs, width, way_out="One row for each dream.")
        return given.to(self._state.z)[None]
