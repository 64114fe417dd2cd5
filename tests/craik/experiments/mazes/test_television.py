from dataclasses import replace

import pytest
import torch

from craik.experiments.mazes.television import EXPERIMENT
from craik.experiments.mazes.television import run as tv
from craik.lab import Rows, judge
from craik.tasks.finite.mazes import maze
from craik.tasks.finite.television import television

TINY = replace(EXPERIMENT.presets["quick"].config, walkers=2, steps=6, rollouts=5, pair_updates=1)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": 0, **row} for row in tv.run(TINY))


def test_claims_are_measured(rows):
    verdicts = {judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts <= {"holds so far", "does not hold so far"}


def test_first_visits_are_counted_by_hand():
    cells = torch.tensor([[0, 1, 0, 2, 2, 3, 1]]).T
    assert tv.fresh(cells, 4)[:, 0].tolist() == [1, 0, 1, 0, 1, 0]


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

    network = tv.Reachability(torch.nn.Identity(), Same())
    paid = tv.remembered(network, rollout, "reachability", generator)
    seen = [[rollout.observations[0, b]] for b in range(2)]
    for t in range(6):
        for b in range(2):
            now = rollout.observations[t + 1, b]
            new = all((now - before).abs().max() > 0.1 for before in seen[b])
            assert float(paid[t, b]) == float(new)
            seen[b] += [now] if new else []


def test_rows_repeat_and_draw(rows, monkeypatch):
    assert list(EXPERIMENT.figures(rows)) == ["coverage", "maps"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1
    monkeypatch.setattr(tv, "METHODS", ("random",))
    monkeypatch.setattr(tv, "WITH_TV", ())
    assert list(tv.run(TINY)) == list(tv.run(TINY)) != list(tv.run(replace(TINY, seed=1)))
