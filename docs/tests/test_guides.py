"""The tables in the guides are what their script prints of the records. Each guide has a picture and at most 1,200 words."""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1]
SYSTEMS = ("agreement", "skips", "distill", "surfaces", "concepts")
OTHERS = ("distributed", "statistics")
"""References, not guides."""


@pytest.fixture(scope="module")
def guides():
    spec = importlib.util.spec_from_file_location("guides", DOCS / "tables" / "guides.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_are_up_to_date(guides):
    stale = [path.name for path in guides.paths() if path.read_text(encoding="utf-8") != guides.page(path)]
    assert stale == [], "run `make pages`"


def test_a_cell_holds_one_number(guides):
    assert guides.shown(0.5, 0.25, 0.75, 10) == "0.5 [0.25, 0.75]"
    assert guides.shown(0.5, 0.5, 0.5, 1) == "0.5"
    assert guides.shown(None, None, None, 0) == "-"


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ({"run": "spirals/mechanism/paper", "claim": "spirals.nothing"}, "Found spirals.nothing"),
        ({"run": "spirals/mechanism/paper", "of": "test", "kind": "nothing"}, "Found none"),
        ({"bench": "agreement", "workload": "nothing"}, "should name a row"),
    ],
)
def test_what_no_record_has_is_an_error(guides, cell, fault):
    with pytest.raises(LookupError, match=fault):
        guides.cell(cell)


def test_each_guide_has_a_picture_and_at_most_1200_words():
    left_out = re.compile(r"^```.*?^```|<!-- ([\w-]+): generated.*?<!-- end of \1 -->", re.M | re.S)
    pages = [page for system in SYSTEMS for page in DOCS.glob(f"{system}/*.md") if page.stem not in OTHERS]
    texts = {page.name: left_out.sub("", page.read_text()) for page in pages}
    assert [name for name, text in texts.items() if "![" not in text] == []
    assert [name for name, text in texts.items() if len(text.split()) > 1200] == []
