"""Take Cover: episodes of a random policy, V, M, and controllers that are evolved in a dream or in the world.

All controllers have equal generations, populations and trials. Those of a dream never see the world before they are tested.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Generator, Tensor

from claimlab import Row, number, part
from mechlearn_zoo.experiments.worlds.take_cover import films, models
from mechlearn_zoo.experiments.worlds.take_cover.playing import Episodes, Policy, brownian, record, thirds
from mechlearn_zoo.experiments.worlds.take_cover.settings import Config
from mechlearn_zoo.experiments.worlds.take_cover.simulated import car_racing, doom
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.methods.worlds.acting import LinearController, Watched, World, population_returns
from mechlearn_zoo.methods.worlds.dreaming import DreamWorld
from mechlearn_zoo.methods.worlds.evolving import evolve
from mechlearn_zoo.methods.worlds.world_model import energy_lost

SHOWN_EVERY = 5
"""Generations between two rows of an evolution."""


def run(config: Config) -> Iterator[Row]:
    """Yield what V and M have learnt, and the returns of every controller."""
    generator = Generator().manual_seed(config.seed)
    world = make_world(config)
    episodes = recorded(config, world, generator)
    held_out = torch.arange(len(episodes.lengths)) >= len(episodes.lengths) * 9 // 10
    vision = models.train_vision(config, _some(episodes, ~held_out).shown(), generator)
    new = _some(episodes, held_out).shown()[:4096].float() / 255
    lost = energy_lost(vision, new)
    yield {"kind": "vision", "lost": lost, "steps": int(episodes.lengths.sum())}
    if config.film and config.world != "ours":
        yield films.seen(vision, new)
    if lost > config.most_lost:
        yield {"kind": "refused", "lost": lost}
        return
    data = models.encode(vision, episodes)
    scale = data.encoded.mean[:, :-1][data.mask].std(0).clamp(min=1e-3)
    memory, untrained = (models.make_memory(config, episodes.actions.shape[-1], generator) for _ in range(2))
    models.train_memory(config, memory, data.rows(~held_out), generator)
    for name, one in (("trained", memory), ("untrained", untrained.eval().requires_grad_(False))):
        loss = float(models.predict_loss(one, data.rows(held_out), generator))
        yield {"kind": "memory", "memory": name, "loss": loss, "auc": models.end_auc(one, data.rows(held_out))}
    yield from part("references", references(config, world))
    for temperature in config.temperatures:
        dream = DreamWorld(memory, data.encoded.mean[:, 0], temperature, scale=scale)
        name = f"dream {temperature:g}"
        yield from part(name, evolved(config, name, dream, Watched(world, vision, memory, scale)))
    for name in config.in_world:
        own = Watched(world, vision, {"z": None, "z-h": memory, "z-untrained": untrained}[name], scale)
        yield from part(name, evolved(config, name, own, own))


def make_world(config: Config) -> Any:  # noqa: ANN401  # three classes of one protocol
    """Return the world of frames."""
    if config.world == "ours":
        return TakeCover(fog=config.fog)
    return doom(config.frame_skip) if config.world == "doom" else car_racing()


def recorded(config: Config, world: Any, generator: Generator) -> Episodes:  # noqa: ANN401
    """Return episodes of a random policy, at most `lanes` side by side."""
    policy = brownian if config.world == "car" else thirds
    counts = [config.lanes] * (config.episodes // config.lanes)
    counts += [config.episodes % config.lanes] if config.episodes % config.lanes else []
    parts = [record(world, count, config.steps, policy, generator) for count in counts]
    return Episodes(*(torch.cat(some) for some in zip(*parts, strict=True)))


def references(config: Config, world: Any) -> Iterator[Row]:  # noqa: ANN401
    """Yield the returns of the random policy that was recorded, and of doing nothing."""
    car = config.world == "car"

    def still(last: Tensor | None, episodes: int, generator: Generator) -> Tensor:
        return torch.zeros(episodes, 3 if car else 1)

    policies: dict[str, Policy] = {"random": brownian if car else thirds, "still": still}
    for name, policy in policies.items():
        generator, returns, left = Generator().manual_seed(config.seed + 1), list[Tensor](), config.tested
        while left > 0:
            count = min(left, config.lanes)
            returns.append(_played(world, policy, count, config.horizon, generator))
            left -= count
        yield {"kind": "reference", "method": name, "actual": float(torch.cat(returns).mean())}


def evolved(config: Config, name: str, world: World, real: Watched) -> Iterator[Row]:
    """Evolve a controller in a world, dreamt or real, and yield its way and its returns there and in the real one."""
    inputs = real.features(real.start(1, 1, Generator())).shape[-1]
    controller = LinearController(inputs, 3 if config.world == "car" else 1, "car" if config.world == "car" else "thirds")

    def fitness(candidates: Tensor, generation: int) -> Tensor:
        return returns(config, controller, candidates, world, config.trials, 7919 * (config.seed + 1) + generation).mean(1)

    found = evolve(
        fitness,
        controller.parameters,
        generations=config.generations,
        population=config.population,
        sigma=config.sigma,
        seed=config.seed + 1,
    )
    for generation, (best, mean) in enumerate(found.history.tolist()):
        if generation % SHOWN_EVERY == 0 or generation + 1 == config.generations:
            yield {"kind": "generation", "method": name, "generation": generation, "best": best, "mean": mean}
    there, actual = (
        returns(config, controller, found.mean[None], one, config.tested, config.seed + 2)[0] for one in (world, real)
    )
    if isinstance(world, DreamWorld) and config.world == "doom":
        there = there * config.frame_skip  # VizDoom pays for tics, a dream for steps
    yield {
        "kind": "final",
        "method": name,
        "virtual": float(there.mean()),
        "actual": float(actual.mean()),
        "deviation": float(actual.std()),
        "parameters": controller.parameters,
        "budget": config.generations * config.population * config.trials,
    }
    if config.film and config.world == "ours" and isinstance(world, DreamWorld):
        yield from films.rows(config, name, controller, found.mean[None], world, real)
    elif config.film and name == "z-h" and isinstance(real.world, TakeCover) and real.world.fog < 1:
        yield films.foggy(config, name, controller, found.mean[None], real, real.world)


def returns(config: Config, controller: LinearController, candidates: Tensor, world: World, episodes: int, seed: int) -> Tensor:
    """Return (p, e) returns; simulators in parts of a few, whose seeds are the same for each candidate."""
    if not isinstance(world, Watched) or config.world == "ours":
        return population_returns(controller, candidates, world, episodes, config.horizon, Generator().manual_seed(seed))
    parts = [min(config.lanes, episodes - at) for at in range(0, episodes, config.lanes)]
    found: list[Tensor] = []
    for candidate in candidates.split(1):
        generator = Generator().manual_seed(seed)
        found.append(
            torch.cat([population_returns(controller, candidate, world, n, config.horizon, generator) for n in parts], 1)
        )
    return torch.cat(found)


@torch.no_grad()
def _played(world: Any, policy: Policy, episodes: int, horizon: int, generator: Generator) -> Tensor:  # noqa: ANN401
    state, action = world.start(1, episodes, generator), None
    total, alive = torch.zeros(episodes), torch.ones(episodes, dtype=torch.bool)
    for _ in range(horizon):
        action = policy(action, episodes, generator)
        state, rewards, ended = world.step(state, action.unsqueeze(0), generator)
        total += rewards[0] * alive
        alive &= ~ended[0]
        if not alive.any():
            break
    return total


def _some(episodes: Episodes, index: Tensor) -> Episodes:
    return Episodes(*(part[index] for part in episodes))


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    methods = [f"dream {temperature:g}" for temperature in config.temperatures] + list(config.in_world)
    if row["kind"] in ("generation", "final") and row["method"] in methods:
        share = number(row, "generation") / config.generations if row["kind"] == "generation" else 1.0
        return 0.3 + 0.7 * (methods.index(str(row["method"])) + share) / len(methods), str(row["method"])
    return {"vision": 0.15, "memory": 0.3}.get(str(row["kind"]), 0.3), str(row["kind"])
