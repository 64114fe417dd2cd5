"""Trajectories from files: npz and npy by ourselves, a table or a folder of such, Minari by minari."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.reading.cells import texts_of
from mechlearn.tables.reading.files import Loaded, arrays_of, check_file, clear, column, read_noted
from mechlearn.tables.reading_in import HUGE, Doubt, is_missing, kind
from mechlearn.tables.reading_in.cells import check_strays

TIMES = ("t", "time", "frame", "timestamp")
"""What a column is called, in small letters or large, that says in which order frames come."""

UNEVEN = 1.5
"""Of the usual time between two frames, above which one is said to be longer."""


class Recorded(NamedTuple):
    """Trajectories of a file: the features' names, frames (T, D) each, and sentences on what was left out."""

    names: tuple[str, ...]
    frames: list[NDArray[np.float64]]
    notes: tuple[str, ...] = ()


def read_trajectories(path: Path, by: str | None = None, time: str | None = None) -> Recorded:
    """Return the trajectories of a table, of an npz or npy file, or of a folder of such, a trajectory each.

    A table has a row for each frame: `by` says whose it is, `time` in which order they come (that of the file, if None), and
    all other columns are features. An npy file is an array (n, T, D), or (T, D) in a folder; an npz file has an array, with
    `lengths` (n,) beside it where trajectories end early, or an array (T, D) for each trajectory. A folder may be a Minari data
    set, of which the observations are taken.
    """
    if path.is_dir():
        return _minari(path) if (path / "data" / "main_data.hdf5").is_file() else _folder(path, time)
    if path.suffix.lower() in (".npy", ".npz"):
        arrays = _arrays(path)
        if len(arrays) == 1 and next(iter(arrays.values())).ndim == 2:
            raise ValueError(
                f"A file of trajectories should hold several. Found one array of shape {next(iter(arrays.values())).shape} in "
                f"{path.name}. Make it (trajectories, frames, features), or put a file for each into a folder."
            )
        return _stacked(arrays, path)
    table = clear(read_noted(path, keys=() if by is None else (by,), key_of=texts_of))
    if by is None:
        raise ValueError(
            f"A table of trajectories should say whose frame a row is. Found no column named in --trajectory for {path.name}; "
            f"it has {', '.join(list(table.columns)[:8])}."
        )
    return _by_column(table, by, time, path)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    check_file(path)
    return arrays_of(path)


def _stacked(arrays: dict[str, NDArray[Any]], path: Path) -> Recorded:
    lengths = arrays.pop("lengths", None)
    whole = [values for values in arrays.values() if values.ndim == 3]
    if len(whole) == 1 and len(arrays) == 1:
        ends = _ends(whole[0], lengths, path)
        places = [f"trajectory {index} of {path.name}" for index in range(len(ends))]
        return _named([one[:end] for one, end in zip(whole[0], ends, strict=True)], places)
    if lengths is not None or not arrays or any(values.ndim != 2 for values in arrays.values()):
        shapes = ", ".join(f"{name} {values.shape}" for name, values in list(arrays.items())[:5])
        raise ValueError(
            f"{path.name} should hold one array (trajectories, frames, features), or an array (frames, features) for each "
            f"trajectory. Found {shapes or 'none'}. Save it so, or name the file that holds the frames."
        )
    return _named(list(arrays.values()), [f"{name!r} of {path.name}" for name in arrays])


def _ends(frames: NDArray[Any], lengths: NDArray[Any] | None, path: Path) -> list[int]:
    """How many frames each trajectory has."""
    if 0 in frames.shape:
        raise ValueError(
            f"An array of trajectories should hold some, of some frames and features. Found shape {frames.shape} in "
            f"{path.name}. Look at what wrote it."
        )
    count, longest = frames.shape[:2]
    if lengths is None:
        return [longest] * count
    if lengths.shape == (count,) and lengths.dtype.kind in "iuf":
        wrong = np.flatnonzero(~((lengths >= 1) & (lengths <= longest) & (lengths == np.round(lengths))))
        if not len(wrong):
            return [int(end) for end in lengths]
        found = f"{lengths[wrong[0]]} at place {wrong[0]}"
    else:
        found = f"shape {lengths.shape} of {lengths.dtype}"
    raise ValueError(
        f"`lengths` should be {count} whole numbers from 1 to {longest}. Found {found} in {path.name}. Mend it, or leave it "
        "out where all trajectories are as long."
    )


def _named(frames: Sequence[NDArray[Any]], places: Sequence[str]) -> Recorded:
    """Arrays as trajectories, each with where it lies for sentences."""
    for one, place in zip(frames, places, strict=True):
        if one.dtype.kind not in "biuf":
            raise ValueError(f"Frames should be real numbers. Found {one.dtype} in {place}. Save them as numbers.")
        if one.ndim != 2 or one.shape[1] != frames[0].shape[1] or 0 in one.shape:
            raise ValueError(
                f"Trajectories should be arrays (frames, features), all with the same features. Found shape {one.shape} in "
                f"{place} and {frames[0].shape} in {places[0]}. Make them alike, or leave one out."
            )
    numbers = [np.asarray(one, dtype=np.float64) for one in frames]
    for one, place in zip(numbers, places, strict=True):
        wrong = np.argwhere(~(np.abs(one) <= HUGE))
        if len(wrong):
            frame, feature = wrong[0]
            raise ValueError(
                _no_number(float(one[frame, feature]), f"feature x{feature}, frame {frame} of {place}, counted from 0")
            )
    return Recorded(tuple(f"x{j}" for j in range(numbers[0].shape[1])), numbers)


def _no_number(found: float, where: str) -> str:
    what = "a missing one" if np.isnan(found) else f"{found:g}"
    return f"Frames should be finite numbers up to {HUGE:g}. Found {what} in {where}. Fill it in, or cut the trajectory there."


def _folder(path: Path, time: str | None) -> Recorded:
    kinds = (".csv", ".tsv", ".parquet", ".npy")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in kinds)
    if not files:
        raise ValueError(
            f"A folder of trajectories should hold {', '.join(kinds)} files, one a trajectory, or be a Minari data set. Found "
            f"none in {path.name}. Name another folder, or put them there."
        )
    found = [_array(file) if file.suffix.lower() == ".npy" else _alone(file, time) for file in files]
    for file, one in zip(files, found, strict=True):
        if one.names != found[0].names:
            raise ValueError(
                f"All trajectories should have the same features. Found {', '.join(one.names[:8])} in {file.name} and "
                f"{', '.join(found[0].names[:8])} in {files[0].name}. Make them alike, or move one elsewhere."
            )
    notes = tuple(dict.fromkeys(note for one in found for note in one.notes))
    return Recorded(found[0].names, [one.frames[0] for one in found], notes)


def _array(file: Path) -> Recorded:
    frames = _arrays(file)[file.stem]
    if frames.ndim != 2:
        raise ValueError(
            f"An .npy file of a folder should hold one trajectory, an array (frames, features). Found shape {frames.shape} in "
            f"{file.name}. Save it so, or name a file with all of them."
        )
    return _named([frames], [file.name])


def _alone(file: Path, time: str | None) -> Recorded:
    table = clear(read_noted(file))
    rows = len(next(iter(table.columns.values())))
    return _by_column(table._replace(columns={**table.columns, "\0": np.zeros(rows, dtype=np.int64)}), "\0", time, file)


def _by_column(loaded: Loaded, by: str, time: str | None, path: Path) -> Recorded:
    table = loaded.columns
    whose, when = column(table, by), None if time is None else column(table, time)
    rest = {name: values for name, values in table.items() if name not in (by, time)}
    numbers = {name: values for name, values in rest.items() if values.dtype.kind in "fiu"}
    left = tuple(name for name in rest if name not in numbers)
    if not numbers:
        raise ValueError(
            f"Trajectories should have columns of numbers. Found {', '.join(left) or 'no other column'} in {path.name}. Mend "
            "the cells that are none."
        )
    values = np.stack([one.astype(np.float64) for one in numbers.values()], 1)
    _check_cells(values, list(numbers), path)
    for name in left:
        if kind(rest[name]) == "texts":
            check_strays(name, rest[name], "fill them in, or remove the column")
    if is_missing(whose).any():
        raise ValueError(
            f"A frame should say whose it is. Found nothing in column {by!r}, data row {int(is_missing(whose).argmax()) + 1} "
            f"of {path.name}. Fill it in, or leave the row out."
        )
    notes = (*loaded.notes, *([f"Left out, as no numbers: {', '.join(left)}."] if left else []))
    order = np.arange(len(values))
    if when is not None:
        _check_times(when, str(time), path)
        order = np.argsort(when, kind="stable")
    labels = whose.astype(str)[order]
    places = [order[labels == label] for label in dict.fromkeys(labels.tolist())]
    if when is None:
        notes += _order(places, rest, by)
    else:
        notes += _apart([when[rows] for rows in places], str(time), path)
    return Recorded(tuple(numbers), [values[rows] for rows in places], notes)


def _order(places: Sequence[NDArray[np.int64]], rest: Mapping[str, NDArray[Any]], by: str) -> tuple[str, ...]:
    """Sentences where frames are perhaps out of order: a column of times falls, or rows of one trajectory are apart."""
    notes, order = list[str](), "in the order of the file; --time names a column to order them by"
    for name, values in rest.items():
        if name.lower() in TIMES and values.dtype.kind in "fiuM" and any((np.diff(values[rows]) < 0).any() for rows in places):
            taken = "left out of the states" if values.dtype.kind == "M" else "taken for a part of the state"
            notes.append(f"{name} falls within a trajectory, and is {taken}: frames are taken {order}, as --time {name}.")
    if not notes and any(rows[-1] - rows[0] >= len(rows) for rows in places):
        notes.append(f"Rows of one {by} are not together: its frames are taken {order}.")
    return tuple(map(Doubt, notes))


def _check_times(when: NDArray[Any], time: str, path: Path) -> None:
    gaps = is_missing(when)
    if gaps.any():
        raise ValueError(
            f"The time of a frame should be known. Found none in column {time!r}, data row {int(gaps.argmax()) + 1} of "
            f"{path.name}. Fill it in, or leave --time out where rows are in order."
        )
    if kind(when) not in ("numbers", "dates"):
        raise ValueError(
            f"Times of frames should be numbers, or dates that begin with the year. Found {str(when[0])!r} in column {time!r} "
            f"of {path.name}. Write them so, or leave --time out where rows are in order."
        )


def _apart(times: Sequence[NDArray[Any]], time: str, path: Path) -> tuple[str, ...]:
    """Reject two frames of a trajectory at one time; a sentence where frames are unevenly apart."""
    for one in times:
        twice = np.flatnonzero(one[1:] == one[:-1])
        if len(twice):
            raise ValueError(
                f"Frames of one trajectory should have times of their own. Found {one[twice[0]]} twice in column {time!r} of "
                f"{path.name}. Leave one of them out, or leave --time out where rows are in order."
            )
    every = np.concatenate([np.diff(one) for one in times])
    if len(every) and every.max() > UNEVEN * np.median(every):
        return (f"Times between frames differ, by up to {every.max()}: each frame is taken as the one after the one before.",)
    return ()


def _check_cells(values: NDArray[np.float64], names: Sequence[str], path: Path) -> None:
    wrong = np.argwhere(~(np.abs(values) <= HUGE))
    if len(wrong):
        row, place = wrong[0]
        raise ValueError(_no_number(float(values[row, place]), f"column {names[place]!r}, data row {row + 1} of {path.name}"))


def _minari(path: Path) -> Recorded:
    try:
        from minari import MinariDataset  # noqa: PLC0415  # pyright: ignore  # an extra's
    except ImportError:
        raise ImportError("Reading a Minari data set needs minari; pip install 'minari[hdf5]'.") from None
    episodes: Any = MinariDataset(path / "data").iterate_episodes()
    frames = [np.asarray(episode.observations) for episode in episodes]
    if not frames or frames[0].ndim != 2:
        raise ValueError(
            f"Observations should be vectors. Found {type(frames[0]).__name__ if frames else 'no episode'} in {path.name}."
        )
    return _named(frames, [f"episode {index} of {path.name}" for index in range(len(frames))])
