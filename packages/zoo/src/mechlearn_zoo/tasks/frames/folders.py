"""Recorded play of your own: a folder of frames and a table of actions, as the episodes that V and M learn from.

The table, `actions.csv` in the folder, has a row for each frame, in the order of time: `file` (a picture's path below the
folder), `episode` (any name), `ended` (1 on an episode's last row if the world ended it, 0 if it was cut off; not read in other
rows), then a column for each number of an action, which is taken at that frame. The last row of an episode has no action; its
cells may be empty.
"""

import csv
from itertools import groupby
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from mechlearn.arguments import check_whole
from mechlearn_zoo.tasks.frames.playing import Episodes

TABLE = "actions.csv"
FIRST = ["file", "episode", "ended"]


def read_episodes(folder: str | Path, size: int) -> Episodes:
    """Return the episodes of a folder, frames resized to (3, size, size), padded with their last frame and actions of 0.

    Args:
        folder: that holds `actions.csv` and the pictures it names.
        size: pixels of a frame's side.

    Raises:
        FileNotFoundError: no table, or a picture that it names is missing.
        ImportError: pillow is not installed.
        TypeError: a size that is no whole number.
        ValueError: other columns or two of one name, a picture that cannot be read, an episode of one frame or in two parts, an
            action that is no finite number.
    """
    check_whole("size", size, 1)
    root = Path(folder)
    names, rows = _table(root / TABLE)
    parts = [(episode, list(some)) for episode, some in groupby(rows, key=lambda row: row["episode"])]
    _check_parts(parts)
    longest = max(len(some) for _, some in parts) - 1
    frames = torch.zeros(len(parts), longest + 1, 3, size, size, dtype=torch.uint8)
    actions, ended = torch.zeros(len(parts), longest, len(names)), torch.zeros(len(parts), longest, dtype=torch.bool)
    for index, (episode, some) in enumerate(parts):
        last = len(some) - 1
        for time, row in enumerate(some):
            frames[index, time] = _picture(root / row["file"], size)
        frames[index, last:] = frames[index, last]
        actions[index, :last] = torch.tensor([[_number(row[name], name, episode) for name in names] for row in some[:last]])
        ended[index, last - 1] = _number(some[last]["ended"], "ended", episode) > 0
    return Episodes(frames, actions, ended, torch.tensor([len(some) - 1 for _, some in parts]))


def _table(path: Path) -> tuple[list[str], list[dict[str, str]]]:
    if not path.is_file():
        raise FileNotFoundError(
            f"A folder of frames holds {TABLE}: a row for each frame with file, episode, ended and its action's numbers. "
            f"Found no {str(path)!r}. Write one; the docstring of mechlearn_zoo.tasks.frames.folders has the columns."
        )
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or []), list(reader)
    if columns[:3] != FIRST or len(columns) == len(FIRST) or not rows:
        raise ValueError(
            f"{TABLE} should have the columns file, episode, ended, then one or more for the action, and a row or more. "
            f"Found {columns} and {len(rows)} rows. Name the columns in its first line."
        )
    double = sorted({name for name in columns if columns.count(name) > 1})
    if double:
        raise ValueError(f"Columns of {TABLE} should have names of their own. Found {', '.join(double)} twice. Rename one.")
    return columns[3:], rows


def _check_parts(parts: list[tuple[str, list[dict[str, str]]]]) -> None:
    seen: set[str] = set()
    for episode, some in parts:
        if episode in seen:
            raise ValueError(f"Rows of an episode should follow each other. Found {episode!r} in two places. Sort the table.")
        if len(some) < 2:
            raise ValueError(f"An episode should have two frames or more. Found one in {episode!r}. Leave it out.")
        seen.add(episode)


def _number(cell: str | None, name: str, episode: str) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = float("nan")
    if not np.isfinite(value):
        raise ValueError(f"`{name}` should be a finite number in each row. Found {cell!r} in episode {episode!r}. Fill it in.")
    return value


def _picture(path: Path, size: int) -> Tensor:
    try:
        from PIL import Image  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ImportError("Pictures are read by pillow. Found none. Run `pip install pillow`.") from error
    if not path.is_file():
        raise FileNotFoundError(
            f"{TABLE} names pictures of its folder. Found no {str(path)!r}. Mend its name, or leave its row out."
        )
    try:
        with Image.open(path) as image:
            pixels = np.array(image.convert("RGB").resize((size, size), Image.Resampling.BOX))
    except OSError as error:  # no picture, or one that breaks off
        raise ValueError(
            f"{TABLE} names pictures of its folder. Found {str(path)!r}, which cannot be read. Mend it."
        ) from error
    return torch.from_numpy(pixels).movedim(-1, 0)
