"""The answer of `craik fit` as one HTML file: the audit first, then the candidates on held-out sites, then what to do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from craik.lab.running.storage import ensure_file, write_atomically
from craik.lab.showing.rendering import render

KINDS = {"helps": "yes", "harms": "no", "as good": "open", "cannot tell": "open"}
"""The verdict's colour; the word always stands beside it."""


def write_answer(facts: Mapping[str, Any], path: Path) -> Path:
    """Writes an answer.

    Args:
        facts: plain values; what is absent is not shown.
        path: of the file.

    Returns:
        The path.

    Raises:
        UsageError: the file cannot be written.
    """
    ensure_file(path)
    write_atomically(path, answer_page(facts))
    return path


def answer_page(facts: Mapping[str, Any]) -> str:
    """The answer's HTML."""
    differences = facts.get("differences", {})
    reach = max([2.5, *(abs(value) for value in differences.values())]) * 1.1
    dots = [(name, value, 50 + 50 * value / reach) for name, value in differences.items()]
    ends = (50 - 50 * 2 / reach, 100 * 2 / reach)
    absent = dict.fromkeys(
        (
            "features",
            "held_out",
            "others",
            "sites",
            "site_names",
            "votes",
            "privileged",
            "apart",
            "code",
            "classes",
            "differences",
            "counts",
        )
    )
    places = "%.3f" if facts.get("counts") else "%.1f"
    return render(
        "answer.html.jinja", {**absent, "places": places, **facts, "dots": dots, "ends": ends, "reach": reach, "kinds": KINDS}
    )
