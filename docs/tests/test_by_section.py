"""The page of sections is the one that its script writes, and the script finds the places that sources name."""

import importlib.util
from pathlib import Path

import pytest

TABLES = Path(__file__).parents[2] / "docs" / "tables"


@pytest.fixture(scope="module")
def sections():
    spec = importlib.util.spec_from_file_location("sections", TABLES / "sections.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("thesis section 3.3.2 and figure 3.9; paper section 2 and figure 9", {("section", "3.3.2"), ("figure", "3.9")}),
        ("thesis figure 4.3b; paper figure 3b", {("figure", "4.3")}),
        ("ours, after thesis chapter 5: 'section 9.9'", {("section", "5")}),
        ("thesis sections 4.2, 4.4.3", {("section", "4.2"), ("section", "4.4.3")}),
        ("thesis appendix B.2.3, tables A.1 and A.2", {("section", "B.2.3"), ("table", "A.1"), ("table", "A.2")}),
        ("thesis equation 2.3", set()),
        ("paper section 3.1", set()),
    ],
)
def test_places_that_a_source_names(sections, source, wanted):
    assert sections.places(source) == wanted


def test_numbers_are_in_the_thesis_order(sections):
    assert sorted(["B.1", "2.10", "5", "2.9", "2"], key=sections.order) == ["2", "2.9", "2.10", "5", "B.1"]


def test_the_page_is_up_to_date(sections):
    assert sections.PAGE.read_text(encoding="utf-8") == sections.page(), "make pages"
