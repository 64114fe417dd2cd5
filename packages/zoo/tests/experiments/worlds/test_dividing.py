from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.worlds.dividing import EXPERIMENT, proposing, run
from mechlearn_zoo.experiments.worlds.dividing.measures import solved
from mechlearn_zoo.tasks.finite.grids import drawn_grid
from mechlearn_zoo.tasks.finite.mazes import maze

TINY = {"size": 7, "mazes": 12, "walked": 20, "layers": 1, "channels": 4, "steps": 4, "batch": 8, "problems": 2, "budget": 10}


def rows(**changes):
    config = replace(EXPERIMENT.presets["quick"].config, **{**TINY, **changes})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_a_tiny_run_can_be_judged_and_drawn():
    found = rows()
    judged = {claim.id: judge(claim, found, "quick") for claim in EXPERIMENT.claims}
    assert all(one.measured is not None for one in judged.values())
    assert set(EXPERIMENT.figures(Rows(found))) == {"solved", "plans"}
    assert found == rows()


def test_nobody_asks_more_than_the_budget():
    found = Rows(rows()).where(kind="search")
    assert len(found) == 2 * len(run.METHODS)
    assert max(found["asked"]) <= 10
    assert all(row["solved"] is None or row["solved"] <= row["asked"] for row in found)


def test_walks_are_solved_problems_both_ways():
    config = replace(EXPERIMENT.presets["quick"].config, **{**TINY, "mazes": 3})
    found = proposing.walked(config, torch.Generator().manual_seed(0))
    g = torch.Generator().manual_seed(0)
    grid = maze(7, g)
    own = found.rows[found.rows[:, 0] == 0][:, 1:]
    assert torch.equal(found.free[0], grid.free.float())
    states = grid.index.flatten()[own]
    far = grid.distances
    s, t, middle, following = states.unbind(1)
    assert torch.equal(far[s, middle] + far[middle, t], far[s, t])  # a tree has one way, and a walk without loops is it
    assert torch.equal(far[s, middle], far[s, t] // 2)
    assert torch.equal(far[s, following], torch.minimum(far[s, t] - 1, torch.tensor(2)))
    assert {(a, b) for a, b, *_ in own.tolist()} == {(b, a) for a, b, *_ in own.tolist()}


def test_proposals_are_probabilities_of_free_cells():
    grid = drawn_grid(["...", ".#.", "..."])
    network = proposing.ProposalNetwork(4, 2, torch.Generator().manual_seed(0))
    walls = torch.ones(3, 3, dtype=torch.bool)
    walls[0, 0] = False
    for propose in (
        proposing.by_network(network, grid, 0, 0.1),
        proposing.by_network(network, grid, 1, 0.1, walls),
        proposing.by_line(grid, 0.1),
    ):
        found = propose(0, 7)
        assert list(found.states) == list(range(8))
        assert sum(found.probabilities) == pytest.approx(1, abs=1e-6)
        assert min(found.probabilities) >= 0.1 / 8 - 1e-9
    assert proposing.by_line(grid, 0.0)(0, 7).probabilities.index(max(proposing.by_line(grid, 0.0)(0, 7).probabilities)) != 0


def test_what_is_counted():
    some = Rows({"kind": "search", "method": "forward", "solved": one, "asked": 9, "seed": 0} for one in (3, None, 8, None))
    assert [solved(some, "forward", budget) for budget in (2, 3, 8)] == [0, 0.25, 0.5]
    assert solved(some, "divided", 8) is None
