"""Makes the notebooks from executed pages: `python docs/notebooks/make.py`, or `make notebooks`. Minutes.

A page's Python blocks become cells with what they print, its text becomes cells between them, and its links and pictures are
counted from this folder. Nothing but the page is edited.
"""

import base64
import contextlib
import io
import json
import os
import re
import sys
import tempfile
import types
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any
from unittest import mock

import torch
from matplotlib.figure import Figure

HERE = Path(__file__).parent
PAGES = {
    "agreement": "agreement/README.md",
    "skips": "skips/recipe.md",
    "distill": "distill/README.md",
    "tables": "own-data.md",
}
"""A notebook and its page."""
BLOCK = re.compile(r"^```python\n(.*?)^```\n", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?\)")


def parts(text: str) -> list[tuple[str, str]]:
    """Return a page's cells: "markdown" or "code", and the text."""
    found, last = list[tuple[str, str]](), 0
    for block in BLOCK.finditer(text):
        found += [("markdown", text[last : block.start()].strip()), ("code", block[1].strip())]
        last = block.end()
    return [(kind, cell) for kind, cell in [*found, ("markdown", text[last:].strip())] if cell]


def relinked(text: str, page: Path) -> str:
    """Return Markdown with links that are counted from the folder of the notebooks."""

    def turn(match: re.Match[str]) -> str:
        return f"]({os.path.relpath(page.parent / match[1], HERE)}{match[2] or ''})"

    return LINK.sub(turn, text)


def notebook(page: Path, name: str) -> dict[str, Any]:
    """Return the executed notebook of a page."""
    module = types.ModuleType(f"notebook_{name}")
    sys.modules[module.__name__] = module  # where dataclasses look for it
    cells = list[dict[str, Any]]()
    for number, (kind, text) in enumerate(parts(page.read_text(encoding="utf-8"))):
        if kind == "markdown":
            cells.append(cell(name, number, kind, relinked(text, page)))
            continue
        said, drawn = io.StringIO(), list[str]()
        with contextlib.redirect_stdout(said), pictures(drawn):
            exec(compile(text, f"{page.name}, cell {number}", "exec"), vars(module))
        outputs = [{"output_type": "stream", "name": "stdout", "text": lines(said.getvalue())}] if said.getvalue() else []
        outputs += [{"output_type": "display_data", "data": {"image/png": one}, "metadata": {}} for one in drawn]
        cells.append(cell(name, number, kind, text) | {"execution_count": None, "outputs": outputs})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


@contextlib.contextmanager
def pictures(drawn: list[str]) -> Generator[None]:
    """Collect what is saved of figures meanwhile, as base64 of small PNG files."""
    save: Callable[..., None] = Figure.savefig

    def kept(figure: Figure, *places: object, **options: object) -> None:
        save(figure, *places, **options)
        file = io.BytesIO()
        save(figure, file, format="png", dpi=50)
        drawn.append(base64.b64encode(file.getvalue()).decode())

    with mock.patch.object(Figure, "savefig", kept):
        yield


def cell(name: str, number: int, kind: str, text: str) -> dict[str, Any]:
    """Return what every cell has."""
    return {"cell_type": kind, "id": f"{name}-{number}", "metadata": {}, "source": lines(text)}


def lines(text: str) -> list[str]:
    """Return a text as a notebook keeps it: its lines with their ends."""
    return text.splitlines(keepends=True)


def main() -> None:
    """Write all notebooks, in a folder that keeps nothing else that they write."""
    for name in sys.argv[1:] or PAGES:
        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            made = notebook(HERE.parent / PAGES[name], name)
        (HERE / f"{name}.ipynb").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
