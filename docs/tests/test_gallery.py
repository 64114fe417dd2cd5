"""The gallery's pictures are those that its script draws, and each is shown."""

import importlib.util
import re
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt

DOCS = Path(__file__).parents[2] / "docs"


def script(name):
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location(name, DOCS / "gallery" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make():
    return script("make")


def test_each_picture_is_shown(make):
    shown = re.findall(r"\]\((\w+)\.png\)", (DOCS / "gallery" / "README.md").read_text())
    assert sorted(shown) == sorted(make.PICTURES)
    assert sorted(path.stem for path in (DOCS / "gallery").glob("*.png")) == sorted(shown)


@pytest.mark.parametrize("name", ["funnel", "directions", "environments", "life", "evidence"])
def test_a_picture_is_drawn(make, name, tmp_path):
    figure = make.PICTURES[name]()
    figure.savefig(tmp_path / "picture.png", dpi=30)
    plt.close(figure)
    assert all(panel.get_children() for panel in figure.axes)


def test_each_concept_shows_its_picture():
    pictures = script("concepts").PICTURES
    shown = {page.stem: re.findall(r"\]\((\w+)\.svg\)", page.read_text()) for page in (DOCS / "concepts").glob("*.md")}
    assert shown == {name: [name] for name in pictures}
    for draw in pictures.values():
        figure = draw()
        assert all(panel.get_children() for panel in figure.axes)
        plt.close(figure)


def test_the_pictures_of_guides_are_drawn_and_shown():
    pages = [page.read_text() for page in DOCS.glob("*/*.md")]
    for name, draw in script("guides").PICTURES.items():
        assert any(f"(../assets/{name}.svg)" in page for page in pages)
        figure = draw()
        assert all(panel.get_children() for panel in figure.axes)
        plt.close(figure)
