"""One actor-critic on all eight variants of Catch, acted for by itself as it was some updates ago; and V-trace, exactly.

An update is one episode of every environment. All methods of a lag see as many frames and begin with the same weights.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import torch
from annotated_types import Ge
from torch import Generator, Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from claimlab import Positive, Preset, Row, check_limits, checkpoint, number
from mechlearn_zoo.learners.actor_critic import ActorCritic, entropy, falling
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control import Clips, Rollout, VTrace, collect, gae, vtrace
from mechlearn_zoo.tasks.agents.atari import Games
from mechlearn_zoo.tasks.agents.catch import VARIANTS, Catch

METHODS = ("none", "epsilon", "one-step", "vtrace")
"""How lag is corrected: not at all; not, with 1e-6 added to probabilities; the policy's gradient weighted by its step's ratio;
V-trace."""
CORRECTIONS = ("none", "vtrace")
"""Those that are tried with actors in processes of their own."""
EPSILON = 1e-6
REPORTS = 20

GAMES = (
    "beam_rider", "breakout", "ms_pacman", "pong", "qbert", "seaquest", "space_invaders", "boxing", "assault", "asterix",
)  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 100
    """First seed: of everything that is drawn."""
    lags: tuple[Annotated[int, Ge(0)], ...] = (0, 4, 16, 64)
    """How many updates the acting policy is behind; 0 for none, () leaves it out."""
    actors: tuple[Annotated[int, Ge(1)], ...] = ()
    """Numbers of actors in processes of their own, whose lag is what it comes to; needs Ray. () leaves them out."""
    world: Literal["catch", "atari"] = "catch"
    """The eight variants of Catch, or ten Atari games, each learned on its own."""
    updates: Annotated[int, Ge(1)] = 600
    """Of each method at each lag."""
    envs: Annotated[int, Ge(8)] = 128
    """Environments, the same number of each variant of Catch."""
    steps: Annotated[int, Ge(1)] = 9
    """Of an update in every environment; 9 are an episode of Catch."""
    rate: Positive = 5e-3
    """Adam's learning rate, which falls linearly to 0."""
    mdps: Annotated[int, Ge(0)] = 100
    """Random MDPs for the fixed point; 0 leaves them out."""

    def __post_init__(self) -> None:
        check_limits(self)
        if not (self.lags or self.actors or self.mdps):
            raise ValueError("A run should have lags, actors or mdps. Found none of them. Pass lags=(0,), for example.")
        if self.actors and self.world == "atari":
            raise ValueError(f"actors should play Catch. Found world='atari' with actors={self.actors}. Leave actors out.")


PRESETS = {
    "quick": Preset(Config(), seeds=3),
    # 20 million frames of four are 5 million agent steps a game.
    "paper": Preset(Config(world="atari", updates=7800, steps=20, rate=6e-4), seeds=3),
    # What comes in first is learned from first: no two runs are alike.
    "actors": Preset(Config(lags=(), actors=(1, 2, 4), mdps=0), seeds=3),
}
HIDDEN = {"catch": 128, "atari": 256}
DISCOUNT, ENTROPY, VALUE, NORM = 0.99, 0.003, 0.5, 40.0


def targets(method: str, rollout: Rollout, values: Tensor, log_pi: Tensor, final: Tensor | None) -> VTrace:
    """Return a method's targets and advantages."""
    if method == "vtrace":
        return vtrace(rollout, values, log_pi, DISCOUNT, final_values=final)
    advantages = gae(rollout, values, DISCOUNT, 1.0, final)
    ratio = (log_pi - rollout.log_mu).exp().clamp(max=1.0) if method == "one-step" else torch.ones_like(log_pi)
    return VTrace(values[:-1] + advantages, ratio * advantages, advantages)


def loss(model: ActorCritic, rollout: Rollout, method: str) -> Tensor:
    """Return the actor-critic's loss, a mean over steps."""
    features = model.features(rollout.observations)
    tasks = torch.zeros(features.shape[:-1], dtype=torch.int64)
    values, logs = model.value(features, tasks), model.policy(features[:-1]).log_softmax(-1)
    log_pi = logs.gather(-1, rollout.actions[..., None])[..., 0]
    with torch.no_grad():
        ends = rollout.final_observations
        final = None if ends is None else model.value(model.features(ends), torch.zeros(len(ends), dtype=torch.int64))
    found = targets(method, rollout, values.detach(), log_pi.detach(), final)
    scored = (log_pi.exp() + EPSILON).log() if method == "epsilon" else log_pi
    policy = -(found.advantages * scored).mean() - ENTROPY * entropy(logs).mean()
    return policy + VALUE * (found.targets - values[:-1]).square().mean()


def train(config: Config, lag: int, method: str, world: Catch | Games, name: str) -> Iterator[Row]:
    """Yield the score on the way: mean reward of the episodes that ended."""
    generator = Generator().manual_seed(config.seed)
    shape = world.observation_shape, world.actions, 1, HIDDEN[config.world]
    learner, actor = ActorCritic(*shape, generator), ActorCritic(*shape, Generator())
    optimizer = torch.optim.Adam(learner.parameters(), lr=config.rate)
    rate, start = falling(config.rate, config.updates), None
    # Row u % (lag + 1) holds the weights of `lag` updates ago, until those after update u take their place.
    past = parameters_to_vector(learner.parameters()).detach().repeat(lag + 1, 1)
    saved = checkpoint(f"{name}-{method}-{lag}", learner, optimizer, past, generator)
    yield from saved.values
    ended: list[Tensor] = []
    for update in range(saved.done, config.updates):
        vector_to_parameters(past[update % (lag + 1)], actor.parameters())
        rollout = collect(world, actor.act, config.steps, generator, start)
        start = None if config.world == "catch" else rollout.observations[-1]
        optimizer.param_groups[0]["lr"] = rate(update)
        descend(optimizer, loss(learner, rollout, method), clip=NORM)
        past[update % (lag + 1)] = parameters_to_vector(learner.parameters()).detach()
        ended.append(rollout.rewards.sum(0).mean())
        if (update + 1) % max(1, config.updates // REPORTS) == 0 or update + 1 == config.updates:
            frames = (update + 1) * config.steps * world.num_envs
            score, ended = float(torch.stack(ended).mean()), []
            row: Row = {"kind": "curve", "world": name, "lag": lag, "method": method, "frames": frames, "score": score}
            yield saved.keep(update + 1, row)
    saved.finish()


def fixed_points(count: int, seed: int) -> Iterator[Row]:
    """Yield how far the fixed point of the expected operator is from the value of pi_rho, and how far c moves it.

    All trajectories of three steps in a random MDP are one roll-out; their errors, weighted by the behaviour, are the expected
    operator less the identity. It is affine in V: applied to 0 and to unit vectors it is known, and one solve gives V.
    """
    generator = Generator().manual_seed(seed)
    states, actions, time, discount = 3, 2, 3, 0.9
    paths = torch.tensor(list(itertools.product(range(states), *[range(actions), range(states)] * time))).T
    x, a = paths[0::2], paths[1::2]
    none = torch.zeros(a.shape, dtype=torch.bool)
    for mdp in range(count):
        kernel, reward, pi, mu = _random_mdp(states, actions, generator)
        weight = (mu[x[:-1], a] * kernel[x[:-1], a, x[1:]]).prod(0)
        rollout = Rollout(x[..., None], a, reward[x[:-1], a], none, none, mu[x[:-1], a].log())
        log_pi = pi[x[:-1], a].log()

        def change(
            value: Tensor, clips: Clips, rollout: Rollout = rollout, weight: Tensor = weight, log_pi: Tensor = log_pi
        ) -> Tensor:
            errors = vtrace(rollout, value[x], log_pi, discount, clips=clips).errors[0]
            return torch.zeros(states, dtype=torch.float64).index_add_(0, x[0], weight * errors)

        for rho in (1.0, 2.0, math.inf):
            clipped = torch.minimum(rho * mu, pi)
            clipped = clipped / clipped.sum(-1, keepdim=True)
            moved = discount * torch.einsum("sa,sat->st", clipped, kernel)
            value = torch.linalg.solve(torch.eye(states, dtype=torch.float64) - moved, (clipped * reward).sum(-1))
            found = torch.stack([_fixed_point(change, Clips(rho, c), states) for c in (1.0, 0.3)])
            yield {
                "kind": "fixed-point", "mdp": mdp, "rho": rho if rho < math.inf else None,
                "error": float((found - value).abs().max()), "moved": float((found[0] - found[1]).abs().max()),
            }  # fmt: skip


def _fixed_point(change: Callable[[Tensor, Clips], Tensor], clips: Clips, states: int) -> Tensor:
    base = change(torch.zeros(states, dtype=torch.float64), clips)
    slope = torch.stack([change(unit, clips) - base for unit in torch.eye(states, dtype=torch.float64)], 1)
    return torch.linalg.solve(slope, -base)


def _random_mdp(states: int, actions: int, generator: Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    def draw(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator, dtype=torch.float64)

    kernel, policies = draw(states, actions, states), draw(2, states, actions) + 0.05
    pi, mu = policies / policies.sum(-1, keepdim=True)
    return kernel / kernel.sum(-1, keepdim=True), draw(states, actions), pi, mu


def run(config: Config) -> Iterator[Row]:
    """Yield the fixed points, scores of every lag and method, then those with actors in processes of their own."""
    yield from fixed_points(config.mdps, config.seed)
    for name in GAMES if config.world == "atari" else ("catch",):
        for lag in config.lags:
            for method in METHODS:
                world = Games([name], config.envs) if config.world == "atari" else catch(config)
                yield from train(config, lag, method, world, name)
    if config.actors:
        from mechlearn_zoo.experiments.control.impala_lag.architecture import scaled  # noqa: PLC0415  # needs Ray

        yield from scaled(config)


def catch(config: Config) -> Catch:
    """Return as many environments of each variant."""
    return Catch(torch.arange(config.envs) % VARIANTS, Generator())


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    if row["kind"] == "fixed-point":
        return 0.0, "fixed points"
    if row["kind"] == "actors":
        share = number(row, "frames") / (config.updates * config.steps * config.envs)
        runs = [(count, method) for count in config.actors for method in CORRECTIONS]
        place = runs.index((int(number(row, "actors")), str(row["method"])))
        return min(1.0, (place + share) / len(runs)), f"{row['actors']} actors, {row['method']}"
    worlds = GAMES if config.world == "atari" else ("catch",)
    place = (worlds.index(str(row["world"])) * len(config.lags) + config.lags.index(int(number(row, "lag")))) * len(METHODS)
    done = number(row, "frames") / (config.updates * config.steps * config.envs)
    share = (place + METHODS.index(str(row["method"])) + done) / (len(worlds) * len(config.lags) * len(METHODS))
    return min(1.0, share), f"{row['world']}, lag {row['lag']}, {row['method']}"
