from dataclasses import replace

import pytest
import torch
from torch import Generator

from claimlab import Rows, judge
from mechlearn_zoo.experiments.mazes.crar import EXPERIMENT
from mechlearn_zoo.experiments.mazes.crar.keys import mazes_with_keys
from mechlearn_zoo.experiments.mazes.crar.run import Networks, Steps, run, score, wander

SMALL = replace(
    EXPERIMENT.presets["quick"].config, size=5, keys=1, mazes=5, walked=60, updates=3, batch=8, tested=4, horizon=5,
    depths=(0, 1, 6),
)  # fmt: skip


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))


def test_the_rows_can_be_judged_and_drawn(rows):
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["depth"]
    assert rows.by("seed")[1000].values("arm") == ["random", "shortest", *["crar"] * 3, "misled", "q-only"]
    assert EXPERIMENT.progress(SMALL, rows[-1])[0] == 1


def test_a_misled_planner_below_chance_does_not_show_that_a_model_helps():
    (claim,) = (one for one in EXPERIMENT.claims if one.id == "crar-mazes.misled")
    returned = {("misled", 6): -2.0, ("random", None): 0.5, ("crar", 0): 0.0}
    for own, verdict in ((0.0, "does not hold"), (1.0, "holds")):
        rows = [
            {"seed": seed, "arm": arm, "depth": depth, "return": value + 0.01 * seed, **then}
            for seed in range(6)
            for (arm, depth), value in {**returned, ("crar", 6): own}.items()
            for then in [{} if arm == "random" else {"stopped_return": value + 0.01 * seed}]
        ]
        judged = judge(claim, Rows(rows), "quick")
        assert judged.measured == pytest.approx(own - 0.5)
        assert judged.verdict == verdict


def test_early_stopping_is_a_baseline_of_planners():
    claims = {claim.id: claim for claim in EXPERIMENT.claims}
    returned = {("crar", 6): (1.0, 1.0), ("crar", 0): (0.0, 1.5), ("misled", 6): (-2.0, -2.0), ("random", None): (-1.0, None)}
    rows = [
        {"seed": seed, "arm": arm, "depth": depth, "return": end, **({} if best is None else {"stopped_return": best})}
        for seed in range(6)
        for (arm, depth), (end, best) in returned.items()
    ]
    for name in ("depth", "misled"):
        judged = judge(claims[f"crar-mazes.{name}"], Rows(rows), "quick")
        assert judged.measured == pytest.approx(-0.5)
        assert judged.verdict == "does not hold"
    before = Rows({key: value for key, value in row.items() if key != "stopped_return"} for row in rows)
    assert judge(claims["crar-mazes.misled"], before, "quick").verdict == "holds"  # a record of seeds 100 to 105: at the ends


def test_looks_change_nothing_of_a_training(rows, monkeypatch):
    looked = [row for row in rows.by("seed")[1000] if row["kind"] == "depth"]
    assert all(row["stopped_at"] in (1 / 3, 2 / 3, 1.0) for row in looked)
    assert all(row["stopped_return"] == row["return"] for row in looked if row["stopped_at"] == 1.0)
    monkeypatch.setattr("mechlearn_zoo.experiments.mazes.crar.run.LOOKS", 1)
    alone = [row for row in run(replace(SMALL, seed=1000, depths=(0,))) if row["kind"] == "depth" and row["depth"] == 0]
    ends = [
        [{k: v for k, v in row.items() if k != "seed" and "stopped" not in k} for row in some if row["arm"] != "misled"]
        for some in (Rows(looked).where(depth=0), alone)
    ]
    assert len(ends[0]) == 2
    assert ends[0] == ends[1]


def test_the_same_seed_gives_the_same_rows(rows):
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_random_steps_are_the_mazes_and_stop_at_an_end():
    world = mazes_with_keys(5, Generator().manual_seed(0), size=5, keys=1, loops=0)
    walk = wander(world, replace(SMALL, walked=200, horizon=20), Generator().manual_seed(1))
    after, rewards, ended = world.step(walk.before, walk.actions)
    assert torch.equal(after.cells, walk.after.cells)
    assert torch.equal(rewards, walk.rewards)
    assert torch.equal(ended, walk.terminated)
    assert bool(walk.before.left.any(1).all())  # nobody acts on where nothing is left


def test_who_knows_the_way_takes_the_fewest_moves():
    """A planner with exact values: the distance to the one key."""
    world = mazes_with_keys(6, Generator().manual_seed(2), size=7, keys=1, loops=0)

    def plan(observations):
        values = []
        for walls, keys, walker in observations:
            number = next(i for i in range(6) if torch.equal(~world.free[i], walls.bool()) and keys.flatten()[world.keys[i, 0]])
            from mechlearn_zoo.tasks.finite.grids import Grid

            grid = Grid(world.free[number])
            index = grid.index.flatten()
            here, goal = index[walker.flatten().argmax()], index[world.keys[number, 0]]
            values.append(-grid.distances[grid.next[here], goal].float())
        return torch.stack(values)

    found = score(world, replace(SMALL, size=7, tested=6, horizon=40, slip=0.0), plan)
    assert found["gathered"] == 1
    assert found["moves"] == pytest.approx(float(world.shortest().double().mean()))
    wanted = 1 - 0.1 * (float(found["moves"]) - 1)
    assert found["return"] == pytest.approx(wanted, abs=1e-5)


def test_the_networks_agree_on_shapes_and_a_misled_model_is_another_action_s():
    own = Networks(5, Generator().manual_seed(0))
    x = own.encode(torch.rand(4, 3, 5, 5))
    actions = torch.eye(4)
    assert own.value(x).shape == (4, 4)
    assert own.change(x, actions).shape == x.shape
    assert own.reward(x, actions).shape == own.going(x, actions).shape == (4,)
    torch.testing.assert_close(Steps(own, misled=True).change(x, actions), own.change(x, actions[[1, 2, 3, 0]]))


@pytest.mark.parametrize("misled", [False, True])
def test_a_change_is_computed_once_for_all_that_a_planner_asks(misled, monkeypatch):
    own, calls = Networks(5, Generator().manual_seed(0)).requires_grad_(False), []
    monkeypatch.setattr(Networks, "change", lambda self, x, a, change=Networks.change: calls.append(a) or change(self, x, a))
    for seed in (0, 1):
        x, actions = own.encode(torch.rand(4, 3, 5, 5, generator=Generator().manual_seed(seed))), torch.eye(4)
        told = actions.roll(1, 1) if misled else actions
        wanted = own.reward(x, told), own.going(x, actions), own.change(x, told)
        calls.clear()
        model = Steps(own, misled)
        found = model.reward(x, actions), model.going(x, actions), model.change(x, actions)
        assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
        assert len(calls) == 1 + misled


def test_reward_and_discount_do_not_grow_with_the_maze():
    """They are max-pooled over cells: an empty floor has the same kinds of cells at any size. Sums would differ."""
    small, large = (Networks(size, Generator().manual_seed(0)) for size in (5, 9))
    for name in ("encoder", "tau", "seen", "rho", "gamma"):
        getattr(large, name).load_state_dict(getattr(small, name).state_dict())
    found = []
    for own, size in ((small, 5), (large, 9)):
        x = own.encode(torch.zeros(4, 3, size, size))
        found.append(torch.stack([own.reward(x, torch.eye(4)), own.going(x, torch.eye(4))]))
    torch.testing.assert_close(*found)
