"""The notebooks are their pages' text and code; that the code runs is tested on the pages."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]
SPEC = importlib.util.spec_from_file_location("notebooks", DOCS / "notebooks" / "make.py")
make = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(make)


@pytest.mark.parametrize("path", sorted((DOCS / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_is_its_page(path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    page = DOCS / make.PAGES[path.stem]
    wanted = [(kind, make.relinked(text, page) if kind == "markdown" else text) for kind, text in make.parts(page.read_text())]
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in cells] == wanted, "run `make notebooks`"
    assert path.stat().st_size < 100_000


def test_a_page_is_cut_into_cells(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n[a](b.md#c) [d](https://e.f)\n\n```python\nx = 1\nprint(x)\n```\n\nText\n")
    title, code, text = make.notebook(page, "made_up")["cells"]
    assert "".join(title["source"]).startswith("# Title")
    assert "https://e.f" in "".join(title["source"])
    assert "".join(code["source"]) == "x = 1\nprint(x)"
    assert code["outputs"][0]["text"] == ["1\n"]
    assert text["cell_type"] == "markdown"
