"""Trajectories from files: npz and npy by ourselves, a table or a folder of such, Minari by minari."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craik.estimators.reading.tables import column, npz_arrays, read_table


class Recorded(NamedTuple):
    """Trajectories of a file.

    Attributes:
        names: of the features.
        frames: (T, D) each.
        notes: what was left out, in sentences.
    """

    names: tuple[str, ...]
    frames: list[NDArray[np.float64]]
    notes: tuple[str, ...] = ()


def read_trajectories(path: Path, by: str | None = None, time: str | None = None) -> Recorded:
    """Return the trajectories of a table, of an npz or npy file, or of a folder of such, a trajectory each.

    A table has a row for each frame: `by` says whose it is, `time` in which order they come (that of the file, if None), and
    all other columns are features. An npy file is an array (n, T, D), or (T, D) in a folder; an npz file has an array, with
    `lengths` (n,) beside it where trajectories end early, or an array (T, D) for each trajectory. A folder may be a Minari data
    set, of which the observations are taken.

    Raises:
        FileNotFoundError: there is nothing.
        ImportError: a Minari data set without minari.
        ValueError: what is no trajectory, or features that differ between files.
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
    table = read_table(path)
    if by is None:
        raise ValueError(
            f"A table of trajectories should say whose frame a row is. Found no column named in --trajectory for {path.name}; "
            f"it has {', '.join(list(table)[:8])}."
        )
    return _by_column(table, by, time)


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    if path.suffix.lower() == ".npy":
        return {path.stem: np.load(path, allow_pickle=False)}
    return npz_arrays(path)


def _stacked(arrays: dict[str, NDArray[Any]], path: Path) -> Recorded:
    lengths = arrays.pop("lengths", None)
    whole = [values for values in arrays.values() if values.ndim == 3]
    if len(whole) == 1 and len(arrays) == 1:
        ends = np.full(len(whole[0]), whole[0].shape[1]) if lengths is None else lengths
        if ends.shape != (len(whole[0]),) or ends.min() < 1 or ends.max() > whole[0].shape[1]:
            raise ValueError(
                f"`lengths` should be {len(whole[0])} whole numbers from 1 to {whole[0].shape[1]}. Found shape {ends.shape}, "
                f"from {ends.min() if ends.size else None} to {ends.max() if ends.size else None}, in {path.name}."
            )
        return _named([one[: int(end)] for one, end in zip(whole[0], ends, strict=True)])
    if lengths is not None or any(values.ndim != 2 for values in arrays.values()):
        shapes = ", ".join(f"{name} {values.shape}" for name, values in list(arrays.items())[:5])
        raise ValueError(
            f"{path.name} should hold one array (trajectories, frames, features), or an array (frames, features) for each "
            f"trajectory. Found {shapes}."
        )
    return _named(list(arrays.values()))


def _named(frames: list[NDArray[Any]]) -> Recorded:
    numbers = [np.asarray(one, dtype=np.float64) for one in frames]
    return Recorded(tuple(f"x{j}" for j in range(numbers[0].shape[1])), numbers)


def _folder(path: Path, time: str | None) -> Recorded:
    kinds = (".csv", ".tsv", ".parquet", ".npy")
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in kinds)
    if not files:
        raise ValueError(
            f"A folder of trajectories should hold {', '.join(kinds)} files, one a trajectory, or be a Minari data set. Found "
            f"none in {path.name}."
        )
    found = [_named([_arrays(file).popitem()[1]]) if file.suffix == ".npy" else _alone(file, time) for file in files]
    for file, one in zip(files, found, strict=True):
        if one.names != found[0].names:
            raise ValueError(
                f"All trajectories should have the same features. Found {', '.join(one.names[:8])} in {file.name} and "
                f"{', '.join(found[0].names[:8])} in {files[0].name}."
            )
    return Recorded(found[0].names, [one.frames[0] for one in found], found[0].notes)


def _alone(file: Path, time: str | None) -> Recorded:
    table = read_table(file)
    rows = len(next(iter(table.values())))
    return _by_column({**table, "\0": np.zeros(rows, dtype=np.int64)}, "\0", time)


def _by_column(table: dict[str, NDArray[Any]], by: str, time: str | None) -> Recorded:
    whose, when = column(table, by), None if time is None else column(table, time)
    rest = {name: values for name, values in table.items() if name not in (by, time)}
    numbers = {name: values for name, values in rest.items() if values.dtype.kind in "fiu"}
    left = tuple(name for name in rest if name not in numbers)
    if not numbers:
        raise ValueError(f"Trajectories should have columns of numbers. Found {', '.join(left) or 'no other column'}.")
    values = np.stack([one.astype(np.float64) for one in numbers.values()], 1)
    order = np.arange(len(values)) if when is None else np.argsort(when, kind="stable")
    labels = whose.astype(str)[order]
    frames = [values[order][labels == label] for label in dict.fromkeys(labels.tolist())]
    notes = (f"Left out, as no numbers: {', '.join(left)}.",) if left else ()
    return Recorded(tuple(numbers), frames, notes)


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
    return _named(frames)
