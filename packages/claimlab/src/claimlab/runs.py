"""Recorded rows for a notebook: `runs.load("runs")` is one frame of all rows below a folder, each with its settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claimlab.errors import UsageError
from claimlab.rows import Row
from claimlab.running.run import commit_words
from claimlab.running.runfiles import read_run, run_folders
from claimlab.values import written


def table(directory: Path | str) -> list[Row]:
    """Return all rows below a folder, each beside where it comes from: `experiment`, `preset`, `run`, `commit`, `config.FIELD`.

    Args:
        directory: a folder of runs or of records; finished or not, also what was set apart as older.

    Raises:
        UsageError: if the directory does not exist.
        LabError: if a run's files cannot be read, or its rows are not whole.
    """
    folder = Path(directory)
    if not folder.is_dir():
        raise UsageError(f"`directory` should be a folder of runs. Found no folder {directory}. Make one with the command run.")
    found: list[Row] = []
    for path in run_folders(folder):
        run = read_run(path)
        commits = {seed: commit_words(one.code) for one in run.made for seed in one.seeds}
        values = {name: value for name, value in run.recipe.config.items() if name != "seed"}
        config: Row = {f"config.{key}": written(one) if isinstance(one, tuple) else one for key, one in values.items()}
        head: Row = {"experiment": run.recipe.name, "preset": run.recipe.preset, "run": path.relative_to(folder).as_posix()}
        recorded = run.recorded()
        for seed in run.seeds:  # what a run under way has added since is not in its provenance yet
            above: Row = {**head, "commit": commits[seed], **config}
            # A row's own column of such a name must not hide where it comes from.
            rows = recorded[seed]
            found += [{**above, **{f"row.{key}" if key in above else key: cell for key, cell in row.items()}} for row in rows]
    return found


def load(directory: Path | str, frame: str = "pandas") -> Any:  # noqa: ANN401  # a frame of either
    """Return the same as a frame of pandas or polars; a column that a row lacks is empty there.

    Args:
        directory: a folder of runs or of records.
        frame: "pandas" or "polars".

    Raises:
        UsageError: if the directory does not exist, or there is no such kind of frame.
        LabError: if a run's files cannot be read, or its rows are not whole.
        ModuleNotFoundError: if the package of the frame is not installed. `table` needs none.
    """
    if frame not in ("pandas", "polars"):
        raise UsageError(f"`frame` should be 'pandas' or 'polars'. Found {frame!r}. Call `table` for rows without either.")
    rows = table(directory)
    if frame == "polars":
        import polars  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # not claimlab's to ask for

        return polars.DataFrame(rows, infer_schema_length=None)
    import pandas  # noqa: PLC0415  # pyright: ignore[reportMissingImports, reportMissingTypeStubs] # not claimlab's to ask for

    return pandas.DataFrame(rows)
