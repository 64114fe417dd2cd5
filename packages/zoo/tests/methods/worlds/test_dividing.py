import itertools
import math

import pytest
import torch
from scipy.sparse.csgraph import dijkstra

from dividing_oracles import Literal, best_plan, distances
from dividing_oracles import closure as literal_closure
from mechlearn_zoo.methods.worlds.dividing import Effort, Planning, Proposals, closure, divide_and_conquer
from mechlearn_zoo.tasks.finite.mazes import maze


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def low_levels(count, seed, share=0.6):
    v = torch.rand(count, count, dtype=torch.float64, generator=generator(seed))
    return v * (torch.rand(count, count, generator=generator(seed + 1000)) < share)


def asked(v, priors=None):
    """A problem of a table, and the list of what was asked."""
    count, seen = len(v), []
    table = v.tolist()

    def low_level(s, t):
        seen.append((s, t))
        return table[s][t]

    def propose(s, t):
        row = [1 / count] * count if priors is None else priors[s][t].tolist()
        return Proposals(range(count), row)

    return Planning(low_level, propose), seen


@pytest.mark.parametrize("seed", range(6))
def test_closure_is_the_recursion_every_path_and_dijkstra(seed):
    v = low_levels(3 + seed % 3, seed)
    found = closure(v)
    torch.testing.assert_close(found, torch.tensor(literal_closure(v.tolist()), dtype=torch.float64), rtol=0, atol=1e-12)
    for s, t in itertools.permutations(range(len(v)), 2):
        assert float(found[s, t]) == pytest.approx(best_plan(v.tolist(), s, t), abs=1e-12)
    big = low_levels(30, seed, 0.15)
    lengths = torch.where(big > 0, -big.clamp(min=1e-300).log(), torch.inf).numpy()
    lengths[lengths == math.inf] = 0  # no edge
    wanted = torch.exp(-torch.from_numpy(dijkstra(lengths))).to(big.device)
    off = ~torch.eye(30, dtype=torch.bool)
    torch.testing.assert_close(closure(big)[off], wanted[off], rtol=1e-12, atol=1e-12)


def test_closure_takes_batches_and_leaves_its_argument():
    v = torch.stack([low_levels(7, seed) for seed in range(4)])
    before = v.clone()
    found = closure(v)
    assert torch.equal(v, before)
    assert all(torch.equal(one, closure(own)) for one, own in zip(found, v, strict=True))
    torch.testing.assert_close(closure(found), found, rtol=1e-15, atol=0)
    assert closure(v.float()).dtype == torch.float32
    assert torch.autograd.gradcheck(closure, (0.1 + 0.8 * v[:1, :4, :4]).requires_grad_())
    assert torch.equal(closure(v.clone().requires_grad_()), found)  # in place and for a gradient: the same numbers


@pytest.mark.parametrize("seed", range(3))
def test_in_a_maze_of_certain_steps_the_closure_is_who_can_be_reached(seed):
    grid = maze(9, generator(seed), loops=1)
    near = (grid.distances <= 2).double()
    shut = near.clone()
    shut[: len(grid) // 2, len(grid) // 2 :] = shut[len(grid) // 2 :, : len(grid) // 2] = 0
    assert torch.equal(closure(near), torch.ones_like(near))
    neighbours = [row.nonzero().flatten().tolist() for row in shut]
    for s, row in enumerate(closure(shut)):
        assert set(row.nonzero().flatten().tolist()) == set(distances(neighbours, s))


@pytest.mark.parametrize("order", ["any", "forward"])
@pytest.mark.parametrize("seed", range(4))
def test_a_search_is_algorithm_1(seed, order, as_installed):
    count, passes = 6, 150
    v = low_levels(count, seed, 0.4)
    priors = torch.rand(count, count, count, dtype=torch.float64, generator=generator(seed + 50))
    problem, seen = asked(v, priors)
    found = divide_and_conquer(0, count - 1, problem, Effort(10**6, 0.7, 3, order, passes), generator())
    oracle = Literal(v.tolist(), [[dict(enumerate(row)) for row in one] for one in priors.tolist()], 0.7, 3, order == "forward")
    oracle.search(0, count - 1, found.tree[0, count - 1].visits - 1)
    assert set(found.tree) == set(oracle.value)
    for pair, known in found.tree.items():
        assert known.value == pytest.approx(oracle.value[pair], abs=1e-12)
        assert known.visits == oracle.visits[pair]
        assert known.best == pytest.approx(oracle.best[pair], abs=1e-12)
        tried = {m: n for m, n in zip(known.states, known.counts, strict=True) if n}
        assert tried == {m: n for (s, m, t), n in oracle.tried.items() if (s, t) == pair}
    assert found.queries == len(seen) == len(set(seen)) == len(found.tree)


@pytest.mark.parametrize("order", ["any", "forward"])
@pytest.mark.parametrize("seed", range(3))
def test_values_rise_to_the_closure_and_never_above(seed, order, as_installed):
    v = low_levels(5, seed, 0.7)
    best = closure(v)
    for passes in (1, 10, 2000):
        found = divide_and_conquer(0, 4, asked(v)[0], Effort(10**6, 1.0, 5, order, passes), generator(seed))
        for (s, t), known in found.tree.items():
            assert max(known.value, known.best) <= float(best[s, t]) + 1e-12
        assert found.value == pytest.approx(math.prod(float(v[a, b]) for a, b in itertools.pairwise(found.plan)), abs=1e-12)
    assert found.value == pytest.approx(float(best[0, 4]), abs=1e-12)
    assert found.estimate == pytest.approx(float(best[0, 4]), abs=0.03)
    assert found.plan[0] == 0
    assert found.plan[-1] == 4


def test_the_budget_is_kept_and_improvements_are_told():
    grid = maze(11, generator(3))
    v = (grid.distances <= 2).double()
    problem, seen = asked(v)
    found = divide_and_conquer(0, len(grid) - 1, problem, Effort(budget=37), generator())
    assert found.queries == len(seen) == 37
    assert found.plan == (0, len(grid) - 1)
    assert (found.value, found.improved) == (0, ())

    def towards(s, t):
        way = [m for m in range(len(grid)) if grid.distances[s, m] + grid.distances[m, t] == grid.distances[s, t]]
        return Proposals(way, [1 / (1 + abs(int(grid.distances[s, m] - grid.distances[m, t]))) ** 4 for m in way])

    told = divide_and_conquer(0, len(grid) - 1, Planning(problem.low_level, towards), Effort(budget=100), generator())
    assert told.value == 1
    assert told.improved == ((told.queries, 1.0),)
    assert all(grid.distances[a, b] <= 2 for a, b in itertools.pairwise(told.plan))
    assert told.queries < 50


def test_guesses_steer_and_do_not_enter_the_plan():
    v = low_levels(6, 1, 0.5)
    base = asked(v)[0]
    guessing = Planning(base.low_level, base.propose, lambda s, t: 1.0)
    found = divide_and_conquer(0, 5, guessing, Effort(30), generator())
    assert found.estimate > found.value
    assert found.value <= float(closure(v)[0, 5])


def test_the_same_generator_gives_the_same_search():
    v = low_levels(8, 2, 0.3)
    first, second = (divide_and_conquer(0, 7, asked(v)[0], Effort(25), generator(4)) for _ in range(2))
    assert first == second
    assert first.tree != divide_and_conquer(0, 7, asked(v)[0], Effort(25), generator(5)).tree


def test_what_is_refused(as_installed):
    v = low_levels(4, 0)
    problem = asked(v)[0]
    with pytest.raises(ValueError, match=r"`low_level` should have the shape \(\.\.\., S, S\)\. Found \(2, 3\)"):
        closure(torch.rand(2, 3))
    with pytest.raises(ValueError, match="probabilities in"):
        closure(torch.full((2, 2), math.nan))
    with pytest.raises(TypeError, match="`low_level` should hold data"):
        closure(torch.eye(2, device="meta"))
    with pytest.raises(TypeError, match="`low_level` should hold floating numbers"):
        closure(torch.eye(2).long())
    with pytest.raises(TypeError, match="`problem` should be Planning"):
        divide_and_conquer(0, 1, v, Effort(), generator())
    with pytest.raises(TypeError, match="`start` should be a whole number"):
        divide_and_conquer(0.5, 1, problem, Effort(), generator())
    with pytest.raises(ValueError, match="`budget` should be at least 1"):
        Effort(0)
    with pytest.raises(ValueError, match='`order` should be "any" or "forward"'):
        Effort(order="backward")
    with pytest.raises(ValueError, match=r"`low_level` should return a probability in \[0, 1\]\. Found 1\.5"):
        divide_and_conquer(0, 1, Planning(lambda s, t: 1.5, problem.propose), Effort(), generator())
    with pytest.raises(ValueError, match="a probability for each sub-goal"):
        divide_and_conquer(0, 1, Planning(problem.low_level, lambda s, t: Proposals([2], [])), Effort(), generator())
