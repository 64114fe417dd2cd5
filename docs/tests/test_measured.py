"""The tables of docs/methods/measured.md say what the records say."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("measured", ROOT / "docs" / "tables" / "control.py")
assert SPEC is not None
assert SPEC.loader is not None
measured = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(measured)
PAGE = measured.PAGE.read_text(encoding="utf-8")


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("| ")]


@pytest.mark.parametrize("name", ["experiments", "benchmark"])
def test_every_row_is_a_record_s(name):
    """A record that is newer than the page may be missing there; `python docs/tables/control.py` adds it."""
    (shown,) = re.findall(rf"<!-- {name}: [^\n]* -->\n(.*?)<!-- end of {name} -->", PAGE, re.S)
    made = rows_of(getattr(measured, name)())
    assert len(rows_of(shown)) > 5
    assert set(rows_of(shown)) <= set(made), "run `python docs/tables/control.py`"


def test_a_record_that_others_made_is_left_out(tmp_path):
    folder = tmp_path / "control" / "unknown" / "quick-123456"
    folder.mkdir(parents=True)
    (folder / "claims.json").write_text('{"name": "unknown", "older": [], "claims": [], "seeds": [1], "seconds": 1}')
    assert len(measured.experiments(tmp_path).splitlines()) == 2
