"""Students that model the world step by step (thesis appendix C.2.2.3): `stacked`, `pairs` and a state-space model, `ssm`.

All predict the sixteen observations that follow, states and rewards; the label is read off the sum of the predicted rewards. A
prediction takes sixteen evaluations of the network, where the other students take one.
"""

from collections.abc import Iterator
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.utils import parametrize

from claimlab import Row, Saved
from mechlearn.distill.examples.streams import Stream
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill.bodies import Training
from mechlearn_zoo.experiments.distill.mujoco.baselines import Setting, without_direction
from mechlearn_zoo.experiments.distill.training import ordinary_steps
from mechlearn_zoo.tasks.bodies.quantiles import BINS, quantiles
from mechlearn_zoo.tasks.bodies.rollouts import STEPS
from mechlearn_zoo.tasks.privileged import Part, PrivilegedData
from mechlearn_zoo.tasks.streams import same_stream

ModelBased = Literal["ssm", "stacked", "pairs"]
MODEL_BASED: tuple[ModelBased, ...] = ("ssm", "stacked", "pairs")


class World(nn.Module):
    """A model of a body that is rolled out over sixteen actions, and reads the return's bin off its rewards.

    Args:
        states: components of a state.
        returns: (n,) of the training examples, sums of standardised rewards, whose ranks are the label's quantiles.
    """

    def __init__(self, states: int, returns: Tensor) -> None:
        super().__init__()
        self.states = states
        self.register_buffer("returns", returns.sort().values)

    def split(self, x: Float[Tensor, "b i"]) -> tuple[Float[Tensor, "b s"], Float[Tensor, "b 16 a"]]:
        """Return the state and the sixteen actions that a student sees."""
        return x[:, : self.states], x[:, self.states :].unflatten(1, (STEPS, -1))

    def roll_out(self, x: Float[Tensor, "b i"]) -> Float[Tensor, "b 16 o"]:
        """Return the observations that follow, states and rewards."""
        raise NotImplementedError

    def losses(self, x: Tensor, following: Tensor) -> Float[Tensor, " b"]:
        """Return what is descended, of inputs and the true observations."""
        raise NotImplementedError

    def forward(self, x: Float[Tensor, "b i"]) -> Float[Tensor, "b 32"]:
        """Return logits whose expected bin is the quantile of the predicted return: one bin, or two neighbours."""
        predicted = self.roll_out(x)[..., -1].sum(1)
        psi = quantiles(predicted.detach().double().cpu().numpy(), self.get_buffer("returns").double().cpu().numpy())
        return as_logits(torch.from_numpy(np.asarray(psi)).to(predicted))


class Markov(World):
    """The student's network as a transition: from a state and an action to the next state and the reward.

    Args:
        states: components of a state.
        actions: components of an action.
        widths: of the hidden layers, the student's.
        returns: see `World`.
        whole: True trains on roll-outs, each output the next step's input ("stacked"); False on pairs of consecutive true
            observations, each by itself ("pairs").
        generator: of the initial weights.
    """

    def __init__(
        self, states: int, actions: int, widths: tuple[int, ...], returns: Tensor, whole: bool, generator: torch.Generator
    ) -> None:
        super().__init__(states, returns)
        self.transition = relu_mlp((states + actions, *widths, states + 1), generator, weight_norm=True)
        self.whole = whole

    def roll_out(self, x: Tensor) -> Tensor:
        """Stack the transition sixteen times."""
        state, actions = self.split(x)
        found: list[Tensor] = []
        with parametrize.cached():
            for t in range(STEPS):
                found.append(self.transition(torch.cat([state, actions[:, t]], 1)))
                state = found[-1][:, : self.states]
        return torch.stack(found, 1)

    def losses(self, x: Tensor, following: Tensor) -> Tensor:
        """Return the mean squared error of all sixteen observations."""
        if self.whole:
            return (self.roll_out(x) - following).square().mean((1, 2))
        state, actions = self.split(x)
        before = torch.cat([state[:, None], following[:, :-1, : self.states]], 1)
        return (self.transition(torch.cat([before, actions], 2)) - following).square().mean((1, 2))


class StateSpace(World):
    """A recurrent state-space model: a cell moves a latent state by an action, a decoder gives the observation's Gaussian.

    Trained by the likelihood of the observed trajectory given the first state (thesis 4.3.2); the deviations are parameters.

    Args:
        states, actions, returns: see `Markov`.
        width: of the latent state and of the decoder.
        generator: of the initial weights.
    """

    def __init__(self, states: int, actions: int, width: int, returns: Tensor, generator: torch.Generator) -> None:
        super().__init__(states, returns)
        self.enter = relu_mlp((states, width, width), generator)
        self.cell = nn.GRUCell(actions, width)
        self.decode = relu_mlp((width, width, states + 1), generator)
        self.log_deviation = nn.Parameter(torch.zeros(states + 1))
        with torch.no_grad():
            for parameter in self.cell.parameters():
                parameter.uniform_(-(width**-0.5), width**-0.5, generator=generator)

    def roll_out(self, x: Tensor) -> Tensor:
        """Move the latent state, and decode it after every action."""
        state, actions = self.split(x)
        latent, found = self.enter(state), list[Tensor]()
        for t in range(STEPS):
            latent = self.cell(actions[:, t], latent)
            found.append(self.decode(latent))
        return torch.stack(found, 1)

    def losses(self, x: Tensor, following: Tensor) -> Tensor:
        """Return the negative log-likelihood of a component, without its constant."""
        error = (self.roll_out(x) - following) / self.log_deviation.exp()
        return (0.5 * error.square() + self.log_deviation).mean((1, 2))


def as_logits(psi: Float[Tensor, " b"]) -> Float[Tensor, "b 32"]:
    """Return logits of the 32 bins whose expected centre is psi, as near as centres allow; of one bin or two neighbours."""
    place = (psi * BINS - 0.5).clamp(0, BINS - 1)
    lower = place.floor().nan_to_num(0).long().clamp(max=BINS - 2)
    share = (place - lower)[:, None]
    columns = torch.arange(BINS, device=psi.device)
    weights = torch.where(columns == lower[:, None], 1 - share, torch.where(columns == lower[:, None] + 1, share, 0.0))
    return torch.where(psi.isnan()[:, None], torch.nan, weights.log())


def make_world(config: Training, method: ModelBased, examples: Part) -> World:
    """Return the model of a config's seed, with the student's widths."""
    generator = same_stream(config.seed)
    states = examples.privileged.shape[2] - 1
    actions = (examples.x.shape[1] - states) // STEPS
    returns = examples.privileged[..., -1].sum(1)
    if method == "ssm":
        return StateSpace(states, actions, config.student_widths[0], returns, generator)
    return Markov(states, actions, config.student_widths, returns, method == "stacked", generator)


def train_world(config: Training, world: World, examples: Part, setting: Setting, saved: Saved | None = None) -> Iterator[int]:
    """Train a model in place on its observations; yield after every round, as `baselines.train_plainly` does."""
    saved = saved or Saved()
    generator = same_stream(config.seed)
    optimizer = torch.optim.Adam(without_direction(world, setting.decay), setting.lr)
    batches = Stream(torch.arange(len(examples.y)), setting.batch, generator)

    def losses(rows: Tensor) -> Tensor:
        return world.losses(examples.x[rows], examples.privileged[rows])

    saved.restore(world, optimizer, batches, generator)
    steps = config.student_steps
    yield from ordinary_steps(losses, batches, optimizer, config.rounds * steps, steps, saved.done * steps)


def evaluations(config: Training, setting: Setting) -> Row:
    """Return how many evaluations of the network a training and a prediction take; other students take a 16th of both."""
    return {"evaluations": config.rounds * config.student_steps * setting.batch * STEPS, "per_prediction": STEPS}


def depths(world: World, data: PrivilegedData, row: Row) -> Iterator[Row]:
    """Yield the test error of the observation at each depth, over that of the training examples' mean at this depth."""
    with torch.no_grad():
        predicted = world.roll_out(data.test.x)
    constant = data.train.privileged.mean(0)
    for t in range(STEPS):
        error = (predicted[:, t] - data.test.privileged[:, t]).square().mean()
        ignorant = (constant[t] - data.test.privileged[:, t]).square().mean()
        yield {"kind": "depth", **row, "depth": t + 1, "frame_error": float(error), "relative_error": float(error / ignorant)}
