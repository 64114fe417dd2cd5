"""The page: one file, readable without a script, with every source and layer, and names that are text."""

import math
from html.parser import HTMLParser

import pytest

from mechlearn.integrations.page import written

VOID = {"meta", "circle", "path", "polyline"}


class Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.text, self.tags, self.wanted = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.wanted += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def read(path):
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    return " ".join(" ".join(reader.text).split()), reader


def test_a_page_needs_nothing_else_and_shows_everything(history, tmp_path):
    runs = history(lambda i, s, where: -0.5 if s == "c" else 0.5)
    text, reader = read(written(runs, {"a": 12.0, "b": math.inf}, tmp_path / "new" / "page.html"))
    assert "script" not in reader.tags
    assert reader.wanted == []
    assert "http" not in text
    assert "Source c has a negative cosine with the mean of the others in 20 of 20 measurements from step 400 on." in text
    assert "What to try" in text
    assert all(f" {name} " in text for name in ("h.0", "h.3", "12", "no signal", "unknown", "-0.50", "+0.50", "50%"))
    assert reader.tags.count("svg") == 4


def test_names_are_text(measurement, tmp_path):
    bad = "<script>alert('1')</script>\" onload=\"x"
    path = written([measurement(0, lambda s, where: math.nan, [bad, "b"])], {}, tmp_path / "page.html")
    text, reader = read(path)
    assert "script" not in reader.tags
    assert bad in text
    assert "What to try" not in text


def test_one_source_once(measurement, tmp_path):
    text, _ = read(written([measurement(0, lambda s, where: math.nan, ["alone"])], {}, tmp_path / "page.html"))
    assert "All rows are of one source" in text


def test_nothing_measured_is_told(tmp_path):
    with pytest.raises(ValueError, match="Found none"):
        written([], {}, tmp_path / "page.html")
