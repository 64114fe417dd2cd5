import pytest
import torch
from torch import Generator

from mechlearn_zoo.experiments.mazes.crar.keys import Keys, mazes_with_keys


@pytest.fixture(scope="module")
def world():
    return mazes_with_keys(20, Generator().manual_seed(3), size=7, keys=2, loops=1)


def searched(world, number):
    """Return the fewest moves by a search over cells and keys left."""
    rows = world.next[number].tolist()
    begin = (int(world.start[number]), frozenset(world.keys[number].tolist()))
    seen, front, moves = {begin}, [begin], 0
    while front:
        moves += 1
        after = {(cell, left - {cell}) for place, left in front for cell in rows[place]}
        if any(not left for _, left in after):
            return moves
        front = list(after - seen)
        seen |= after
    raise AssertionError


def test_the_shortest_way_is_that_of_a_search(world):
    assert world.shortest().tolist() == [searched(world, number) for number in range(len(world))]


def test_a_step_is_the_rules_walker_by_walker(world):
    generator = Generator().manual_seed(0)
    state = world.begin(torch.arange(20))
    for _ in range(60):
        actions = torch.randint(4, (20,), generator=generator)
        after, rewards, ended = world.step(state, actions)
        for n in range(20):
            row, column = divmod(int(state.cells[n]), 7)
            down, right = ((-1, 0), (1, 0), (0, -1), (0, 1))[int(actions[n])]
            to = (row + down, column + right)
            cell = to[0] * 7 + to[1] if bool(world.free[n][to]) else int(state.cells[n])
            keys = [key for key, left in zip(world.keys[n].tolist(), state.left[n].tolist(), strict=True) if left]
            assert int(after.cells[n]) == cell
            assert float(rewards[n]) == pytest.approx(1 if cell in keys else -0.1)
            assert bool(ended[n]) == (keys == [cell])
        state = after
    assert not bool(state.left.all())


def test_what_is_seen_is_where_things_are(world):
    state = world.begin(torch.tensor([4, 4, 7]))
    seen = world.observe(state)
    assert torch.equal(seen[:, 0].bool(), ~world.free[state.mazes])
    assert seen[:, 1].sum((1, 2)).tolist() == [2, 2, 2]
    assert torch.equal(seen[:, 2].flatten(1).argmax(1), state.cells)
    gathered = world.observe(state._replace(left=torch.zeros_like(state.left)))
    assert float(gathered[:, 1].sum()) == 0


def test_cells_are_free_and_different(world):
    places = torch.cat([world.start[:, None], world.keys], 1)
    assert bool(world.free.flatten(1).gather(1, places).all())
    assert all(len(set(row)) == 3 for row in places.tolist())


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"count": 0}, ValueError, "count"),
        ({"keys": 0}, ValueError, "keys"),
        ({"keys": 1000}, ValueError, "leave a cell"),
        ({"size": 8}, ValueError, "odd"),
        ({"generator": 3}, TypeError, "generator"),
        ({"count": 1.5}, TypeError, "count"),
    ],
)
def test_bad_input(arguments, error, match):
    with pytest.raises(error, match=match):
        mazes_with_keys(**{"count": 1, "generator": Generator(), "size": 5, "loops": 0, **arguments})


def test_sizes_that_do_not_fit(world):
    with pytest.raises(ValueError, match="keys"):
        Keys(world.free, world.next, world.start, world.keys[:3])
