"""Two rooms: states abstracted from pairs of points in five ways, what they make of the wall, and plans through them.

All trained ways take equal steps of equal batches. k-means and the contrastive way count their transitions from the same pairs.
Early stopping is a baseline: other points, places and plans, drawn like those that judge, say for each score when to stop.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise

import torch
from torch import Generator, Tensor

from claimlab import Row, part
from mechlearn_zoo.experiments.worlds.two_rooms import ways
from mechlearn_zoo.experiments.worlds.two_rooms.looks import Looks
from mechlearn_zoo.experiments.worlds.two_rooms.settings import Config
from mechlearn_zoo.experiments.worlds.two_rooms.two_rooms import TwoRooms
from mechlearn_zoo.experiments.worlds.two_rooms.ways import Abstraction
from mechlearn_zoo.methods.worlds.infogan import most_plausible, waypoints
from mechlearn_zoo.tasks.streams import stream


def make(config: Config) -> dict[str, Callable[[Tensor, Generator, Looks[Abstraction]], Abstraction]]:
    """Return the five ways by name."""
    return {
        "causal": lambda pairs, rng, looks: ways.causal_infogan(config, pairs, rng, looks, config.information),
        "no-information": lambda pairs, rng, looks: ways.causal_infogan(config, pairs, rng, looks, 0.0),
        "infogan": lambda pairs, rng, looks: ways.infogan(config, pairs, rng, looks),
        "contrastive": lambda pairs, rng, looks: ways.contrastive(config, pairs, rng, looks),
        "k-means": lambda pairs, rng, looks: ways.k_means(config, pairs, rng, looks),
    }


def run(config: Config) -> Iterator[Row]:
    """Yield each way's scores, its states on a grid of points, and one plan."""
    rooms = TwoRooms()
    generator = Generator().manual_seed(config.seed)
    pairs = lit(config, rooms.pairs(config.pairs, generator), generator)
    for name in make(config):
        yield from part(name, abstracted(config, name, rooms, pairs))


def lit(config: Config, places: Tensor, generator: Generator) -> Tensor:
    """Return places (..., 2) with the lamps' brightness beside them (..., d), drawn for each."""
    if not config.lamps:
        return places
    drawn = torch.rand(*places.shape[:-1], config.lamps, generator=generator)
    return torch.cat((places, config.brightness * (2 * drawn - 1)), -1)


def abstracted(config: Config, name: str, rooms: TwoRooms, pairs: Tensor) -> Iterator[Row]:
    """Yield a way's scores, its states on a grid of points, and one plan."""
    ways_, looks = make(config), looking(config, rooms)
    found = ways_[name](pairs, Generator().manual_seed(8 * (config.seed + 1) + list(ways_).index(name)), looks)
    budget = 0 if name == "k-means" else config.steps
    yield {"kind": "final", "method": name, **scores(config, rooms, found, pairs), "budget": budget, **looks.row}
    yield {"kind": "grid", "method": name, "states": grid(config, found)}
    generator = Generator().manual_seed(config.seed)
    ends = lit(config, torch.tensor([[-0.7, -0.6], [0.7, -0.6]]), generator)
    path = planned(config, found, ends[0], ends[1], generator)
    for index, point in enumerate(path.tolist() if path is not None else []):
        yield {"kind": "plan", "method": name, "index": index, "x": point[0], "y": point[1]}


def looking(config: Config, rooms: TwoRooms) -> Looks[Abstraction]:
    """Return looks at a way that is stopped by points, places and plans of their own."""
    validation, test = stream(config.seed, "validation").initial_seed(), config.seed + 1

    def at(seed: int) -> Callable[[Abstraction], Row]:
        return lambda found: compared(config, rooms, found, Generator().manual_seed(seed))[1]

    return Looks(at(validation), at(test))


def scores(config: Config, rooms: TwoRooms, found: Abstraction, pairs: Tensor) -> Row:
    """Return what a way's states and plans are worth."""
    states, worth = compared(config, rooms, found, Generator().manual_seed(config.seed + 1))
    counted = ways.empirical(found.read, pairs, config.states)
    used = torch.bincount(states, minlength=config.states) > 0
    distance = 0.5 * (counted - found.table.double()).abs().sum(1)[used].mean()
    return {"used": int(used.sum()), "distance": float(distance), "loss": found.loss, **_crossing(rooms, found), **worth}


def compared(config: Config, rooms: TwoRooms, found: Abstraction, generator: Generator) -> tuple[Tensor, Row]:
    """Return the states of points that a generator draws, and what ways are compared by."""
    points = 2 * torch.rand(4000, 2, generator=generator) - 1
    states, right = found.read(lit(config, points, generator)), points[:, 0] > 0
    rooms_of = torch.stack([torch.bincount(states[side], minlength=config.states) for side in (~right, right)])
    across = rooms.near_the_wall(4000, generator)
    # Lamps are the same on either side: what differs is the wall.
    light = lit(config, across[:, :1], generator)[..., 2:].expand(-1, 2, -1)
    across = torch.cat((across, light), -1)
    shared = (found.read(across[:, 0]) == found.read(across[:, 1])).float().mean()
    purity = float(rooms_of.max(0).values.sum() / len(points))
    return states, {"purity": purity, "shared": float(shared), **_plans(config, rooms, found, generator)}


def _crossing(rooms: TwoRooms, found: Abstraction) -> Row:
    """Return which share of the generated pairs is impossible, and how long they are."""
    if found.decode is None:
        return {"impossible": None, "length": None}
    generator = Generator().manual_seed(0)
    count = len(found.table)
    chosen = torch.multinomial(found.table.flatten() / count, 60, replacement=True, generator=generator)
    made = torch.cat([found.decode(int(one) // count, int(one) % count, generator) for one in chosen])
    here, there = (one[..., :2] for one in made.clamp(-1, 1).chunk(2, -1))
    return {
        "impossible": float((~rooms.possible(here, there)).float().mean()),
        "length": float((there - here).square().mean().sqrt()),
    }


def _plans(config: Config, rooms: TwoRooms, found: Abstraction, generator: Generator) -> Row:
    """Return how many plans from room to room there are, and the share of their legs that a straight walk can do."""
    ends = 2 * torch.rand(config.plans, 2, 2, generator=generator) - 1
    ends[..., 0] = ends[..., 0].abs().clamp(min=0.05) * torch.tensor([-1.0, 1.0])
    legs, done, planned_ = list[float](), 0, 0
    for start, goal in lit(config, ends, generator).unbind(0):
        path = planned(config, found, start, goal, generator)
        # Where there is no plan, what is left is to walk straight: one leg, through the wall or the gap.
        whole = (torch.stack((start, goal)) if path is None else path)[:, :2]
        fits = rooms.possible(whole[:-1].clamp(-1, 1), whole[1:].clamp(-1, 1))
        planned_ += path is not None
        done += bool(fits.all())
        legs.append(float(fits.float().mean()))
    return {"feasible": sum(legs) / len(legs), "whole": done / len(legs), "planned": planned_ / len(legs)}


def planned(config: Config, found: Abstraction, start: Tensor, goal: Tensor, generator: Generator) -> Tensor | None:
    """Return start, waypoints and goal (n, d); None where the states are not connected."""
    here, there = (int(found.read(point[None])[0]) for point in (start, goal))
    plan = waypoints(found.table, here, there, config.least)
    if plan is None:
        return None
    if found.decode is None or found.judge is None or len(plan.states) == 1:
        return torch.cat((start[None], found.centres[list(plan.states)], goal[None]))
    made = [found.decode(here, there, generator) for here, there in pairwise(plan.states)]
    stages = [start[None], made[0][:, : config.seen], *(pairs[:, config.seen :] for pairs in made), goal[None]]
    return most_plausible(found.judge, stages)


SIDE = 40
"""Points of the recorded grid's side."""


def grid(config: Config, found: Abstraction) -> str:
    """Return the states of a grid of points, a letter each, row by row from below; lamps are at 0, their mean."""
    y, x = torch.meshgrid(*(2 * [(2 * torch.arange(SIDE) + 1) / SIDE - 1]), indexing="ij")
    points = torch.stack((x.flatten(), y.flatten(), *config.lamps * [torch.zeros(SIDE * SIDE)]), -1)
    return "".join(chr(ord("a") + state) for state in found.read(points).tolist())
