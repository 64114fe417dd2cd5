"""The maze generator: passages one cell wide, carved depth first, with as many loops as wanted."""

import torch
from torch import Generator

from mechlearn.arguments import check_generator, check_whole
from mechlearn_zoo.tasks.finite.grids import Grid


def maze(size: int, generator: Generator, loops: int = 0, stay: bool = False) -> Grid:
    """Return a maze in which every free cell can be reached from every other.

    Rooms stand at odd rows and columns; a walk that turns back only where it is shut in opens a wall between every two rooms
    that it visits one after the other (recursive backtracking), so that there is one way between any two. Then walls are
    opened at random.

    >>> len(maze(15, torch.Generator().manual_seed(0), loops=5))
    102

    Args:
        size: of each side, odd and at least 5, the wall around included: ((size - 1) / 2)^2 rooms.
        generator: of the walk and the loops.
        loops: how many further walls are opened; every one closes a loop.
        stay: whether staying is a fifth action.

    Raises:
        TypeError: numbers that are not whole, or no generator.
        ValueError: an even or small size, or more loops than there are walls between rooms.
    """
    check_generator("generator", generator)
    check_whole("size", size, 5)
    check_whole("loops", loops)
    if size % 2 == 0:
        raise ValueError(f"`size` should be odd: rooms and walls alternate, a wall at both ends. Found {size}. Try {size + 1}.")
    rooms = (size - 1) // 2
    walls = {(a, b) for a in range(rooms**2) for b in _beside(a, rooms) if a < b}
    opened = _walk(rooms, generator)
    shut = sorted(walls - opened)
    if loops > len(shut):
        raise ValueError(f"`loops` should be at most {len(shut)}: no more walls stand between rooms. Found {loops}.")
    opened |= {shut[number] for number in torch.randperm(len(shut), generator=generator)[:loops].tolist()}
    free = torch.zeros(size, size, dtype=torch.bool)
    free[1::2, 1::2] = True
    for a, b in opened:
        free[a // rooms + b // rooms + 1, a % rooms + b % rooms + 1] = True  # the cell between rooms (2r + 1, 2c + 1)
    return Grid(free, stay)


def _beside(room: int, rooms: int) -> list[int]:
    row, column = divmod(room, rooms)
    around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
    return [r * rooms + c for r, c in around if 0 <= r < rooms and 0 <= c < rooms]


def _walk(rooms: int, generator: Generator) -> set[tuple[int, int]]:
    path, seen, opened = [0], {0}, set[tuple[int, int]]()
    while path:
        ways = [room for room in _beside(path[-1], rooms) if room not in seen]
        if not ways:
            path.pop()
            continue
        after = ways[int(torch.randint(len(ways), (), generator=generator))]
        opened.add((min(path[-1], after), max(path[-1], after)))
        seen.add(after)
        path.append(after)
    return opened
