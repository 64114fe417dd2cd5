"""What is known of claims beside their rows: `facts.toml` in the folder of records, which people write."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from claimlab.errors import LabError

FILE = "facts.toml"
"""Tables `[[failing]]`: `is`, one of `FOUR`; `why`, a line; `claims`, the ids of claims of the texts that fail so."""

FOUR = ("the text's mistake", "another reading", "budget", "open")
"""What a failing claim of the texts is one of."""


def explanations(directory: Path) -> dict[str, str]:
    """Return which of the four each failing claim of the texts is, by the claim's id; empty where there is no such file.

    Args:
        directory: the folder of records, or one inside it.

    Raises:
        LabError: the file is no TOML, or an entry lacks what it should say.
    """
    above = (directory.absolute(), *directory.absolute().parents)
    path = next((folder / FILE for folder in above if (folder / FILE).is_file()), None)
    if path is None:
        return {}
    try:
        entries: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8")).get("failing", [])
    except ValueError as error:
        raise LabError(f"{path} must be TOML, but found {error}; mend it") from error
    for entry in entries:
        if entry.get("is") not in FOUR or not isinstance(entry.get("claims"), list) or not entry.get("why"):
            known = ", ".join(FOUR)
            raise LabError(
                f"an entry of {path} must have `is` (one of {known}), `why` and `claims`, but found {entry}; mend it"
            )
    return {claim: entry["is"] for entry in entries for claim in entry["claims"]}


def project_of(directory: Path) -> Path:
    """Return the folder whose `docs/` tells of records: the nearest above them that has one, else the one they lie in."""
    above = directory.absolute().parents
    return next((folder for folder in above if (folder / "docs").is_dir()), above[0])
