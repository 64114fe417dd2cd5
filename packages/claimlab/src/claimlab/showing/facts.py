"""What is known of claims beside their rows: `facts.toml` in the folder of records, or in one above, which people write."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from claimlab.errors import LabError

FILE = "facts.toml"
"""Tables `[[failing]]`: `is`, one of `FOUR`; `why`, a line; `claims`, the ids of claims of the texts that fail so. Tables
`[[size]]`: `is`, one of `SIZES`; `records`, each an experiment's name and a preset of it. Tables `[[data]]`: `is`,
`ONE_DATA_SET`; `records`, whose seeds all train on the same data."""

FOUR = ("the text's mistake", "another reading", "budget", "open")
"""What a failing claim of the texts is one of."""

ONE_DATA_SET = "one data set"
"""What an interval over the seeds of a record is over trainings on."""

SIZES = ("the paper's size and data", "the paper's size, other data", "smaller", "toy or arithmetic")
"""What a record is one of, beside the text that it reproduces."""


def explanations(directory: Path) -> dict[str, str]:
    """Return which of the four each failing claim of the texts is, by the claim's id; empty where there is no such file."""
    return _said(directory, "failing", FOUR, "claims", ("why",))


def sizes(directory: Path) -> dict[str, str]:
    """Return of which size each record is, by "NAME PRESET"; empty where there is no such file."""
    return _said(directory, "size", SIZES, "records")


def on_one_data_set(directory: Path) -> frozenset[str]:
    """Return the records, by "NAME PRESET", whose seeds all train on the same data; none where there is no such file."""
    return frozenset(_said(directory, "data", (ONE_DATA_SET,), "records"))


def _said(directory: Path, table: str, words: Sequence[str], of: str, further: Sequence[str] = ()) -> dict[str, str]:
    above = (directory.absolute(), *directory.absolute().parents)
    path = next((folder / FILE for folder in above if (folder / FILE).is_file()), None)
    if path is None:
        return {}
    try:
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get(table, [])
    except ValueError as error:
        raise LabError(f"{path} should be TOML. Found {error}. Fix it.") from error
    for entry in entries:
        if entry.get("is") not in words or not isinstance(entry.get(of), list) or not all(entry.get(one) for one in further):
            asked = ", ".join([f"`is` (one of {', '.join(words)})", *(f"`{one}`" for one in (*further, of))])
            raise LabError(f"An entry [[{table}]] of {path} should have {asked}. Found {entry}. Fix it.")
    return {one: entry["is"] for entry in entries for one in entry[of]}


def project_of(directory: Path) -> Path:
    """Return the folder whose `docs/` tells of records: the nearest above them that has one, else the one they lie in."""
    above = directory.absolute().parents
    return next((folder for folder in above if (folder / "docs").is_dir()), above[0])
