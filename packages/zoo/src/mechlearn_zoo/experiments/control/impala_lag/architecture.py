"""IMPALA's architecture by Ray: actors that act in processes of their own, and a learner that takes whatever roll-out is there.

An actor never waits for the learner: its next roll-out is asked for before the last one is learned from. So with one actor the
learner is an update ahead, and lag is what the machine makes of more of them; nobody sets it.
"""

import os
from collections.abc import Iterator
from typing import Any

import torch
from torch import Generator, Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from claimlab import LabError, Row
from mechlearn_zoo.experiments.control.impala_lag.run import CORRECTIONS, HIDDEN, NORM, REPORTS, Config, catch, loss
from mechlearn_zoo.learners.actor_critic import ActorCritic, falling
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.control import Rollout, collect

ADDRESS = "RAY_ADDRESS"
STORE = 200 * 2**20
"""Bytes for what is under way: a roll-out of the quick preset has half a megabyte."""


class Actor:
    """Catch, and the weights it is played with: an actor of Ray.

    Args:
        config: the settings.
        number: which of the actors it is; each draws numbers of its own.
    """

    def __init__(self, config: Config, number: int) -> None:
        torch.set_num_threads(1)
        self._world, self._steps = catch(config), config.steps
        self._model = _model(config, Generator())
        self._generator = Generator().manual_seed(config.seed * 1000 + number)

    def act(self, weights: Tensor, update: int) -> tuple[Rollout, int]:
        """Return an episode of every environment, and how many updates had made the weights."""
        vector_to_parameters(weights, self._model.parameters())
        return collect(self._world, self._model.act, self._steps, self._generator, None), update


def scaled(config: Config) -> Iterator[Row]:
    """Yield scores and lags on the way, for every number of actors with and without V-trace."""
    try:
        import ray  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # of the extra `cluster`
    except ModuleNotFoundError as error:
        raise LabError("Ray should be installed for actors. Found none. Run `pip install 'claimlab[cluster]'`.") from error
    joined = ray.is_initialized()  # a seed of `--on ray` is a task of a cluster already
    if not joined:
        _join(ray, max(config.actors))
    try:
        for count in config.actors:
            for method in CORRECTIONS:
                yield from _updates(ray, config, count, method)
    finally:
        if not joined:
            ray.shutdown()


def _join(ray: Any, actors: int) -> None:  # noqa: ANN401  # the module
    """Joins the cluster of the environment's RAY_ADDRESS, or starts one here with a core an actor, whatever the machine has."""
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address := os.environ.get(ADDRESS):
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as error:
            found = str(error).strip().partition("\n")[0]
            raise LabError(
                f"{ADDRESS} should name a cluster. Found none at {address} ({found}). Unset it to start one here."
            ) from error
    else:
        ray.init(num_cpus=actors, object_store_memory=STORE, include_dashboard=False, **quiet)


def _updates(ray: Any, config: Config, count: int, method: str) -> Iterator[Row]:  # noqa: ANN401
    learner = _model(config, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(learner.parameters(), lr=config.rate)
    rate, every = falling(config.rate, config.updates), max(1, config.updates // REPORTS)
    # One that dies is started anew and asked again.
    made = ray.remote(num_cpus=1, max_restarts=2, max_task_retries=2)(Actor)
    actors = [made.remote(config, number) for number in range(count)]

    def ask(actor: Any, update: int) -> Any:  # noqa: ANN401  # a handle, and the promise of a roll-out
        return actor.act.remote(parameters_to_vector(learner.parameters()).detach(), update)

    under_way = {ask(actor, 0): actor for actor in actors}
    scores, lags = list[Tensor](), list[int]()
    for update in range(config.updates):
        promise = ray.wait(list(under_way), num_returns=1)[0][0]
        actor = under_way.pop(promise)
        rollout, version = ray.get(promise)
        under_way[ask(actor, update)] = actor
        optimizer.param_groups[0]["lr"] = rate(update)
        descend(optimizer, loss(learner, rollout, method), clip=NORM)
        scores.append(rollout.rewards.sum(0).mean())
        lags.append(update - version)
        if (update + 1) % every == 0 or update + 1 == config.updates:
            frames = (update + 1) * config.steps * config.envs
            score, lag = float(torch.stack(scores).mean()), sum(lags) / len(lags)
            yield {"kind": "actors", "actors": count, "method": method, "frames": frames, "score": score, "lag": lag}
            scores, lags = [], []
    for actor in actors:
        ray.kill(actor)


def _model(config: Config, generator: Generator) -> ActorCritic:
    world = catch(config)
    return ActorCritic(world.observation_shape, world.actions, 1, HIDDEN["catch"], generator)
