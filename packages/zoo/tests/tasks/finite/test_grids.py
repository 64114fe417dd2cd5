from collections import deque

import pytest
import torch

from mechlearn_zoo.experiments.control.empowerment_maze.boxes import with_box
from mechlearn_zoo.experiments.control.max_chain.chain import chain
from mechlearn_zoo.tasks.finite.grids import MOVES, Grid, drawn_grid, open_grid, two_rooms
from mechlearn_zoo.tasks.finite.mazes import maze

ROOMS = drawn_grid(["#####", "#...#", "#.#.#", "#..##", "#####"], stay=True)


def literal_walk(grid, start):
    """Breadth first, cell by cell."""
    found, line = {start: 0}, deque([start])
    while line:
        row, column = line.popleft()
        for down, right in MOVES[:4]:
            cell = (row + down, column + right)
            if grid.free[cell] and cell not in found:
                found[cell] = found[(row, column)] + 1
                line.append(cell)
    return found


def test_moves_and_distances_are_a_walks():
    for grid in (ROOMS, maze(9, torch.Generator().manual_seed(0), 3), two_rooms(8)):
        for state, cell in enumerate(grid.cells.tolist()):
            walked = literal_walk(grid, tuple(cell))
            assert {grid.state(place): steps for place, steps in walked.items()} == dict(
                enumerate(grid.distances[state].tolist())
            )
            for action, (down, right) in enumerate(MOVES[: grid.next.shape[1]]):
                after = (cell[0] + down, cell[1] + right)
                wanted = grid.state(after) if grid.free[after] else state
                assert grid.next[state, action] == wanted


def test_cells_without_a_way_between_them_have_distance_minus_one():
    grid = drawn_grid([".#.", ".#."])
    assert grid.distances[0].tolist() == [0, -1, 1, -1]


def test_slipping_takes_another_action():
    rows = open_grid(3, 3).transitions(0.4)[4]  # in the middle
    assert rows[0].tolist() == pytest.approx([0, 0.7, 0, 0.1, 0, 0.1, 0, 0.1, 0])


def test_goals_pay_on_arrival_and_end():
    mdp = open_grid(1, 4).mdp({(0, 3): 5.0, (0, 0): 1.0}, (0, 1), 0.9)
    assert mdp.optimal().values[1] == pytest.approx(5 * 0.9)
    assert mdp.ending[2, 3] == 1
    assert mdp.rewards[1, 2] == 1


def test_pictures_have_walls():
    found = ROOMS.picture(torch.arange(len(ROOMS)).double())
    assert found.isnan().sum() == (~ROOMS.free).sum()
    assert found[1, 1] == 0


def test_a_maze_is_a_tree_with_loops():
    for seed in range(3):
        tree, looped = maze(11, torch.Generator().manual_seed(seed)), maze(11, torch.Generator().manual_seed(seed), 4)
        edges = [int((grid.distances == 1).sum()) // 2 for grid in (tree, looped)]
        assert edges[0] == len(tree) - 1
        assert edges[1] == len(looped) + 3
        assert (looped.distances >= 0).all()
    with pytest.raises(ValueError, match=r"odd.*Found 8. Try 9"):
        maze(8, torch.Generator())
    with pytest.raises(ValueError, match="at most"):
        maze(5, torch.Generator(), 9)


def test_a_box_is_pushed_or_not():
    grid = open_grid(1, 4)
    right, count = 3, 4
    loose, fast = with_box(grid, pushable=True), with_box(grid, pushable=False)
    assert loose[0 * count + 1, right] == 1 * count + 2
    assert fast[0 * count + 1, right] == 0 * count + 1
    assert loose[2 * count + 3, right] == 2 * count + 3  # against the wall
    assert loose[0 * count + 2, right] == 1 * count + 2  # not yet there
    pairs = torch.arange(16)
    apart = pairs // count != pairs % count
    assert (loose[apart] // count != loose[apart] % count).all()


def test_a_chain_leads_on_and_back():
    mdp = chain(5, torch.Generator().manual_seed(1))
    assert mdp.transitions[0].tolist() == [[0.5, 0.5, 0, 0, 0]] * 2
    for state in range(1, 5):
        assert mdp.transitions[state].argmax(-1).sort().values.tolist() == [state - 1, min(state + 1, 4)]
    assert mdp.start[1] == 1


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: drawn_grid(["..", "."]), "one length"),
        (lambda: drawn_grid(["##"]), "stand on"),
        (lambda: ROOMS.state((0, 0)), "free one"),
        (lambda: ROOMS.state((9, 0)), "free one"),
        (lambda: two_rooms(8, 7), "row from 1 to 6"),
        (lambda: chain(2, torch.Generator()), "at least 3"),
    ],
)
def test_bad_worlds_are_refused(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


@pytest.mark.usefixtures("as_installed")
def test_cells_of_whole_numbers_are_refused():
    with pytest.raises(TypeError, match=r"`free` should hold booleans. Found torch.int64. .*\.bool\(\)"):
        Grid(torch.tensor([[1, 0, 1]]))
