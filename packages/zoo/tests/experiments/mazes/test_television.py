from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.mazes.television import EXPERIMENT, rewards
from mechlearn_zoo.experiments.mazes.television import run as tv
from mechlearn_zoo.experiments.mazes.television.television import television
from mechlearn_zoo.tasks.finite.mazes import maze

TINY = replace(EXPERIMENT.presets["quick"].config, walkers=2, steps=6, rollouts=5, pair_updates=1)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": 0, **row} for row in tv.run(TINY))


def test_claims_are_measured(rows):
    found = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    for name in ("no-done", "no-done-random"):  # two walkers of six steps meet no pit
        assert found.pop(f"curiosity-tv.{name}") == "not measurable here"
    assert set(found.values()) <= {"holds so far", "does not hold so far"}


def test_first_visits_are_counted_by_hand():
    cells = torch.tensor([[0, 1, 0, 2, 2, 3, 1]]).T
    assert rewards.fresh(cells, 4)[:, 0].tolist() == [1, 0, 1, 0, 1, 0]


def test_a_goal_pays_once_in_an_episode():
    cells = torch.tensor([[0, 1, 2, 1, 2, 2, 3], [2, 2, 0, 1, 2, 0, 2]]).T
    assert rewards.arrivals(cells, 2).T.tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]
    grid = maze(15, torch.Generator().manual_seed(0), loops=5)
    moves = [int(grid.distances[0, rewards.goal_of(grid, place)]) for place in rewards.GOALS]
    assert moves == sorted(set(moves))
    assert moves[-1] == round(0.75 * int(grid.distances[0].max()))


def test_a_film_shows_presses_and_walks():
    generator = torch.Generator().manual_seed(0)
    world = tv.make(tv.Arm("random", on=True), generator)
    rollout, cells = tv.walk(tv.Walker(world.size, world.actions, generator), world, 5, 20, generator)
    kept = tv.filmed(rollout, cells)
    walks, presses = ([*str(kept[key]).split("/")] for key in ("cells", "pressed"))
    assert len(walks) == len(presses) == tv.FILMS
    assert [int(cell) for cell in walks[1].split()] == cells[:, 1].tolist()
    assert presses[3] == "".join(str(int(action == tv.PRESS)) for action in rollout.actions[:, 3].tolist())


def test_falls_are_counted_in_a_thousand_steps():
    generator = torch.Generator().manual_seed(0)
    world = tv.make(tv.Arm("none", pits=True), generator)
    rollout, cells = tv.walk(tv.Walker(world.size, world.actions, generator), world, 8, 200, generator)
    found = tv.measured(rollout, cells, world, 5)
    away = (cells[:-1] != 0) & (cells[1:] == 0)
    steps = world.grid.next[cells[:-1], rollout.actions.clamp(max=3)]
    fell = away & ~((steps == 0) & (rollout.actions != tv.PRESS))
    assert found["falls"] == pytest.approx(1000 * float(fell.double().mean()))
    assert found["falls"] > 0


def test_a_walk_is_what_the_world_does():
    generator = torch.Generator().manual_seed(0)
    world = television(maze(15, generator, loops=5), generator)
    model = tv.Walker(world.size, world.actions, generator)
    rollout, cells = tv.walk(model, world, TINY.walkers, 30, generator)
    moved = rollout.actions != tv.PRESS
    wanted = world.grid.next[cells[:-1], rollout.actions.clamp(max=3)]
    assert torch.equal(cells[1:], torch.where(moved, wanted, cells[:-1]))
    assert (cells[0] == 0).all()


def test_reachability_pays_for_what_is_far():
    """With a comparator that knows the first number alone, what is near a kept place is not paid."""
    generator = torch.Generator().manual_seed(0)
    world = television(maze(15, generator, loops=5), generator)
    rollout, _ = tv.walk(tv.Walker(world.size, world.actions, generator), world, TINY.walkers, TINY.steps, generator)

    class Same(torch.nn.Module):
        def forward(self, pair):
            one, other = pair.chunk(2, -1)
            return 10 - 100 * (one - other).abs().amax(-1, keepdim=True)

    network = rewards.Reachability(torch.nn.Identity(), Same())
    paid = rewards.remembered(network, rollout, "reachability", generator)
    seen = [[rollout.observations[0, b]] for b in range(2)]
    for t in range(6):
        for b in range(2):
            now = rollout.observations[t + 1, b]
            new = all((now - before).abs().max() > 0.1 for before in seen[b])
            assert float(paid[t, b]) == float(new)
            seen[b] += [now] if new else []


def test_rows_repeat_and_draw(rows, monkeypatch):
    assert list(EXPERIMENT.figures(rows)) == ["trapped", "coverage", "maps", "goals-and-pits", "television"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1
    done = [EXPERIMENT.progress(TINY, row)[0] for row in rows]
    assert done == sorted(done)
    monkeypatch.setattr(tv, "ARMS", (tv.Arm("random"),))
    assert list(tv.run(TINY)) == list(tv.run(TINY)) != list(tv.run(replace(TINY, seed=1)))
