"""Why what fails fails: the register of a project's failing claims, which its authors write by hand."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path("docs", "evidence", "standing.md")
"""Where the register stands, from the folder in which records lie: tables of three cells, is, why, the claims' ids."""

FOUR = ("the texts' mistake", "another reading", "budget", "open")
"""What a failing claim of the texts is one of; a line that begins with anything else is not of these."""

_LINE = re.compile(r"^\| *([^|]+?) *\|.*\| *(`[^|]*`) *\|$", re.MULTILINE)
_ID = re.compile(r"`([\w-]+\.[\w-]+)`")


def project_of(directory: Path) -> Path:
    """The folder whose `docs/` tells of records: the nearest above them that has one, else the one they lie in."""
    above = directory.absolute().parents
    return next((folder for folder in above if (folder / "docs").is_dir()), above[0])


def explanations(directory: Path) -> dict[str, str]:
    """Which of the four each failing claim of the texts is, by the claim's id; empty where there is no such page.

    Args:
        directory: the folder of records; the page is that of the project whose folder it lies in.
    """
    page = project_of(directory) / PAGE
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    return {claim: name for name, ids in _LINE.findall(text) if name in FOUR for claim in _ID.findall(ids)}
