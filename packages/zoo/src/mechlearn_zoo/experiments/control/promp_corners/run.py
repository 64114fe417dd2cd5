"""Meta-learning of a Gaussian policy on tasks that only acting tells apart; all methods take the same steps in the same worlds.

An iteration: trajectories of the policy in each task, a gradient step for each task, trajectories after it. Then the methods
differ: ProMP takes several steps on its clipped objective, with the inner step made anew for each; MAML takes one on log pi.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated, Any, Literal

import numpy as np
import torch
from annotated_types import Ge
from torch import Generator, Tensor, nn
from torch.func import functional_call, grad, vmap

from claimlab import Limited, Positive, Preset, Row, checkpoint, number
from mechlearn.nn.perceptrons import linear
from mechlearn.params import Params
from mechlearn_zoo.experiments.control.promp_corners.corners import CORNERS, Corners
from mechlearn_zoo.methods.control import (
    Batch,
    ProMP,
    Rollout,
    adapt,
    collect,
    discounted,
    exploration_credit,
    meta_objective,
    surrogate,
)
from mechlearn_zoo.methods.control.promp import Kind

DISCOUNT, RIDGE, NEAR = 0.99, 1e-5, 1.0
REPORTS = 20


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    world: Literal["corners", "cheetah"] = "corners"
    """Points and corners, or HalfCheetah told to run forwards or backwards."""
    tasks: Annotated[int, Ge(1)] = 8
    """K, tasks of an iteration."""
    trajectories: Annotated[int, Ge(2)] = 20
    """N of each task, before and after its step."""
    horizon: Annotated[int, Ge(2)] = 20
    """Steps of a trajectory."""
    iterations: Annotated[int, Ge(1)] = 200
    """Of each method."""
    alpha: Positive = 0.01
    """Size of the inner step, on a surrogate that sums over a trajectory's steps."""
    meta_steps: Annotated[int, Ge(1)] = 5
    """ProMP's steps on a batch."""


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    "paper": Preset(Config(world="cheetah", tasks=40, horizon=100, iterations=1000), seeds=3),
}
RATE, CLIP, ETA = 1e-3, 0.3, 5e-4
SIZES = {"corners": (2, 32, 2), "cheetah": (17, 64, 6)}


class Gaussian(nn.Module):
    """Two tanh layers and a log standard deviation for each action, 0 at first: less, and no method finds the corners."""

    def __init__(self, inputs: int, hidden: int, actions: int, generator: Generator) -> None:
        super().__init__()
        widths = ((inputs, hidden), (hidden, hidden), (hidden, actions))
        first, second, last = (linear(*width, "default", generator) for width in widths)
        self.mean = nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last)
        self.log_std = nn.Parameter(torch.zeros(actions))

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Return means (*n, A) and log standard deviations (A,)."""
        return self.mean(observations), self.log_std


def log_density(actions: Tensor, mean: Tensor, log_std: Tensor) -> Tensor:
    """Return log-densities, summed over an action's dimensions."""
    return (-((actions - mean) / log_std.exp()).square() / 2 - log_std - 0.9189385332046727).sum(-1)


class Cheetahs:
    """HalfCheetah-v5 with the reward for speed in a direction of its own: gymnasium with MuJoCo.

    Args:
        goals: (B,) even for forwards, odd for backwards.
        limit: steps of an episode.
    """

    metadata: Mapping[str, str] = MappingProxyType({"autoreset_mode": "SameStep"})

    def __init__(self, goals: Tensor, limit: int) -> None:
        import gymnasium  # noqa: PLC0415 # an extra
        from gymnasium.vector import AutoresetMode  # noqa: PLC0415

        self.goals = goals
        self.envs: Any = gymnasium.make_vec(
            "HalfCheetah-v5", num_envs=len(goals), max_episode_steps=limit, vectorization_mode="sync",
            vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
        )  # fmt: skip

    def reset(self, *, seed: int) -> tuple[Any, Mapping[str, Any]]:
        """Begin everywhere."""
        observations, infos = self.envs.reset(seed=seed)
        return observations.astype(np.float32), infos

    def step(self, actions: Any, /) -> tuple[Any, Any, Any, Any, Mapping[str, Any]]:  # noqa: ANN401  # numpy's
        """Act; at an episode's last step gymnasium has the parts of the reward under "final_info"."""
        observations, _, terminated, truncated, infos = self.envs.step(np.clip(actions, -1, 1))
        last = infos.get("final_info", {})
        names = ("reward_forward", "reward_ctrl")
        parts = [np.where(truncated, last.get(name, 0.0), infos.get(name, 0.0)) for name in names]
        final = {"final_obs": torch.from_numpy(np.stack(infos["final_obs"])).float()} if truncated.all() else {}
        return (
            observations.astype(np.float32),
            (1 - 2 * (self.goals.numpy() % 2)) * parts[0] + parts[1],
            terminated,
            truncated,
            final,
        )


def batches(rollout: Rollout, config: Config) -> Batch:
    """Return a roll-out of K x N environments as a batch with a leading dimension of tasks; a linear baseline for each task."""

    def split(values: Tensor) -> Tensor:
        return values.unflatten(1, (config.tasks, config.trajectories)).transpose(0, 1)

    zeros = torch.zeros(config.horizon + 1, rollout.batch)
    found = discounted(rollout, zeros, DISCOUNT, None if not rollout.cuts else torch.zeros(rollout.cuts))
    observations, returns = split(rollout.observations[:-1]), split(found)
    advantages = returns - _baseline(observations, returns)
    mean, std = advantages.mean((1, 2), keepdim=True), advantages.std((1, 2), keepdim=True)
    return Batch(observations, split(rollout.actions), split(rollout.log_mu), (advantages - mean) / (std + 1e-8))


def _baseline(observations: Tensor, returns: Tensor) -> Tensor:
    """Return a ridge regression of returns (K, T, N) on observations, their squares and powers of time, for each task."""
    time = torch.linspace(0, 1, returns.shape[1])[None, :, None, None].expand(*returns.shape, 1)
    parts = (observations, observations.square(), time, time**2, time**3, torch.ones_like(time))
    inputs = torch.cat(parts, -1).flatten(1, 2).double()
    gram = inputs.mT @ inputs + RIDGE * torch.eye(inputs.shape[-1], dtype=torch.float64)
    weights = torch.linalg.solve(gram, inputs.mT @ returns.flatten(1)[..., None].double())
    return (inputs @ weights)[..., 0].view_as(returns).float()


@dataclass(frozen=True)
class Method:
    """What sets methods apart: the inner surrogate, the outer objective, and formulation II's credit to each trajectory."""

    kind: Kind = "lr"
    outer: Literal["clip", "log"] = "clip"
    credit: float = 0.0


METHODS = {"promp": Method(), "maml": Method("log", "log")}


class Learner:
    """The policy as functions of its parameters, and a method's objective."""

    def __init__(self, config: Config, method: Method, generator: Generator) -> None:
        self.config, self.model = config, Gaussian(*SIZES[config.world], generator)
        clips = method.outer == "clip"
        self.meta_steps = config.meta_steps if clips else 1
        self.kind: Kind = method.kind
        self.credit = method.credit
        self.settings = ProMP(config.alpha, CLIP, ETA if clips else 0.0, method.kind, method.outer)

    @property
    def params(self) -> Params:
        """The parameters, detached."""
        return {name: value.detach() for name, value in self.model.named_parameters()}

    def log_probability(self, params: Params, observations: Tensor, actions: Tensor) -> Tensor:
        """Return log-densities of actions."""
        mean, log_std = functional_call(self.model, params, (observations,))
        return log_density(actions, mean, log_std)

    def adapted(self, batch: Batch) -> Params:
        """Return each task's parameters after its step, with a leading dimension of tasks."""

        def one(own: Batch) -> Params:
            def objective(theta: Params) -> Tensor:
                log_pi = self.log_probability(theta, own.observations, own.actions)
                return surrogate(log_pi, own.log_old, own.advantages, self.kind)

            return adapt(self.params, objective, self.config.alpha)

        return vmap(one)(batch)

    def act(self, params: Params, observations: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        """Sample an action for each environment from its task's parameters (K, ...)."""
        tasks = observations.unflatten(0, (self.config.tasks, -1))

        def one(theta: Params, seen: Tensor) -> tuple[Tensor, Tensor]:
            return functional_call(self.model, theta, (seen,))

        mean, log_std = vmap(one)(params, tasks)
        noise = torch.randn(mean.shape, generator=generator)
        actions = mean + log_std.exp()[:, None] * noise
        return actions.flatten(0, 1), log_density(actions, mean, log_std[:, None]).flatten(0, 1)

    def step(self, optimizer: torch.optim.Optimizer, before: Batch, after: Batch, paid: Tensor) -> None:
        """Take the method's meta-steps on a batch; `paid` (K,) is what the tasks paid after the inner step."""
        above = (paid - paid.mean()) / (paid.std(correction=0) + 1e-8)  # over tasks, as the authors' code has it

        def credited(theta: Params, own: Batch, returns: Tensor) -> Tensor:
            return exploration_credit(self.log_probability(theta, own.observations, own.actions), own.log_old, returns)

        def objective(theta: Params) -> Tensor:
            found = meta_objective(theta, self.log_probability, before, after, self.settings)
            if self.credit:
                found = found + self.credit * vmap(credited, in_dims=(None, 0, 0))(theta, before, above)
            return found.mean()

        for _ in range(self.meta_steps):
            found = grad(objective)(self.params)
            for name, value in self.model.named_parameters():
                value.grad = -found[name]
            optimizer.step()


def train(config: Config, method: str, settings: Method) -> Iterator[Row]:
    """Yield returns before and after the step, and how many corners the policy visits before it."""
    generator = Generator().manual_seed(config.seed)
    learner = Learner(config, settings, generator)
    optimizer = torch.optim.Adam(learner.model.parameters(), lr=RATE)
    anywhere = torch.zeros(config.tasks * config.trajectories, dtype=torch.int64)
    world = Cheetahs(anywhere, config.horizon) if config.world == "cheetah" else Corners(anywhere, Generator(), config.horizon)
    saved = checkpoint(method, learner.model, optimizer, generator)
    yield from saved.values
    sums, count = torch.zeros(3), 0
    for iteration in range(saved.done, config.iterations):
        goals = torch.randint(4, (config.tasks,), generator=generator).repeat_interleave(config.trajectories)
        world.goals = goals
        shared = {name: value.expand(config.tasks, *value.shape) for name, value in learner.params.items()}
        first = collect(world, lambda x, g, theta=shared: learner.act(theta, x, g), config.horizon, generator)
        before = batches(first, config)
        own = learner.adapted(before)
        second = collect(world, lambda x, g, theta=own: learner.act(theta, x, g), config.horizon, generator)
        paid = second.rewards.sum(0).unflatten(0, (config.tasks, -1)).mean(1)
        learner.step(optimizer, before, batches(second, config), paid)
        sums += torch.stack((first.rewards.sum(0).mean(), second.rewards.sum(0).mean(), visited(first, config)))
        count += 1
        if (iteration + 1) % max(1, config.iterations // REPORTS) == 0 or iteration + 1 == config.iterations:
            steps = 2 * (iteration + 1) * config.horizon * config.tasks * config.trajectories
            means = dict(zip(("before", "after", "visited"), (sums / count).tolist(), strict=True))
            yield saved.keep(iteration + 1, {"kind": "curve", "method": method, "steps": steps, **means})
            sums, count = torch.zeros(3), 0
            if iteration + 1 == config.iterations and config.world == "corners":
                for row in paths(first, second, goals, method, config):
                    yield saved.keep(iteration + 1, row)
    saved.finish()


def visited(rollout: Rollout, config: Config) -> Tensor:
    """Return the share of corners that a task's trajectories come within 1 of, mean over tasks; 0 for bodies."""
    if config.world != "corners":
        return torch.zeros(())
    at = rollout.observations[:-1].unflatten(1, (config.tasks, config.trajectories))
    near = (at[..., None, :] - CORNERS).norm(dim=-1) < NEAR
    return near.any(0).any(1).float().mean()


def paths(first: Rollout, second: Rollout, goals: Tensor, method: str, config: Config) -> list[Row]:
    """Return where five points of the first two tasks with different goals went, before and after the step."""
    tasks = goals[:: config.trajectories].tolist()
    chosen = [0, next((k for k, goal in enumerate(tasks) if goal != tasks[0]), 0)]
    rows = list[Row]()
    for panel, task in enumerate(chosen):
        for when, rollout in (("before", first), ("after", second)):
            for point in range(min(5, config.trajectories)):
                at = rollout.observations[:-1, task * config.trajectories + point]
                for step, (x, y) in enumerate(at.tolist()):
                    rows.append(
                        {
                            "kind": "path", "method": method, "panel": panel, "goal": tasks[task], "when": when, "point": point,
                            "step": step, "x": round(x, 3), "y": round(y, 3),
                        }
                    )  # fmt: skip
    return rows


def run(config: Config) -> Iterator[Row]:
    """Yield both methods' curves, and paths at the end."""
    for method, settings in METHODS.items():
        yield from train(config, method, settings)


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return progress_of(METHODS, config, row)


def progress_of(methods: Mapping[str, Method], config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed of some methods is."""
    total = 2 * config.iterations * config.horizon * config.tasks * config.trajectories
    done = number(row, "steps") / total if row["kind"] == "curve" else 1.0
    return (list(methods).index(str(row["method"])) + done) / len(methods), str(row["method"])
