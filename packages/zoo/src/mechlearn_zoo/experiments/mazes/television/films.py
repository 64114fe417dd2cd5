"""Episodes before a television, as moving pictures: curiosity on the left, reachability on the right."""

import numpy as np
from PIL import Image, ImageDraw

from claimlab import COLOURS, Animation, Rows
from mechlearn_zoo.learners.films import gif
from mechlearn_zoo.learners.plots import first_seed

CELL, PAUSE = 10, 90
"""Pixels of a cell, milliseconds of a frame."""
CAPTION = (
    "The last episode of training, four walkers of the first seed: on the left curiosity in random features, on the right "
    "reachability. Whoever presses the button sees another picture, drawn as a square in another colour; who walks is a disc, "
    "and leaves the cells it came through shaded."
)


def draw(rows: Rows) -> Animation | None:
    """Return the film of the first seed that has both."""
    if not rows:
        return None
    own = first_seed(rows)
    sides = [_side(str(row["maze"]), str(row["cells"]), str(row["pressed"])) for row in own]
    return Animation(CAPTION, gif([np.concatenate(pair, 1) for pair in zip(*sides, strict=True)], PAUSE))


def _side(maze: str, cells: str, pressed: str) -> list[np.ndarray]:
    """Return a frame a step, each (h, w, 3) bytes with a white edge."""
    free = np.array([[cell == "." for cell in line] for line in maze.split("/")])
    places = np.argwhere(free)
    walks = [[int(cell) for cell in walk.split()] for walk in cells.split("/")]
    presses = [[mark == "1" for mark in walk] for walk in pressed.split("/")]
    seen, shown, out = np.zeros(len(places)), [0] * len(walks), list[np.ndarray]()
    for t in range(len(presses[0])):
        for walk in walks:
            seen[walk[t]] = 1
        frame = Image.fromarray(np.kron(_floor(free, seen), np.ones((CELL, CELL, 1), np.uint8)))
        canvas = ImageDraw.Draw(frame)
        for number, walk in enumerate(walks):
            row, column = places[walk[t]] * CELL
            shown[number] += presses[number][t]
            box = (column + 1, row + 1, column + CELL - 2, row + CELL - 2)
            if presses[number][t]:
                canvas.rectangle(box, fill=f"hsl({(shown[number] * 150 + 90 * number) % 360}, 90%, 55%)")
            else:
                canvas.ellipse(box, fill=COLOURS["ours"])
        out.append(np.pad(np.asarray(frame), ((6, 6), (6, 6), (0, 0)), constant_values=255))
    return out


def _floor(free: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return a pixel a cell: walls dark, what was seen shaded."""
    picture = np.full((*free.shape, 3), 60, np.uint8)
    picture[free] = np.where(seen[:, None] > 0, np.array([214, 228, 240]), 255)
    return picture
