"""Every experiment's page shows a picture that is drawn from recorded rows."""

import importlib.util
import re
from pathlib import Path

import pytest
from PIL import Image

from claimlab.experiment import listing

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "docs" / "gallery" / "rows"


@pytest.fixture(scope="module")
def thumbnails():
    spec = importlib.util.spec_from_file_location("thumbnails", ROOT / "docs" / "gallery" / "thumbnails.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_picture_is_shown_and_small(thumbnails):
    shown = [
        name
        for readme in ROOT.glob("packages/zoo/src/mechlearn_zoo/experiments/*/*/README.md")
        for name in re.findall(r"docs/gallery/rows/([\w-]+)\.png\)", readme.read_text())
    ]
    assert sorted(shown) == sorted(path.stem for path in PLACE.glob("*.png"))
    recorded = thumbnails.recorded()
    experiments = [one.name for one in listing("mechlearn_zoo.experiments") if one.name in recorded]
    assert sorted(shown) == sorted([*experiments, *thumbnails.SECOND])
    assert max(path.stat().st_size for path in PLACE.glob("*.png")) < 60_000


def test_a_picture_is_drawn_from_recorded_rows(thumbnails, tmp_path):
    runs = thumbnails.recorded()
    assert {path.stem for path in PLACE.glob("*.png")} <= set(runs)
    thumbnails.save(thumbnails.thumbnail(runs["particle-language"]), tmp_path / "a.png")
    with Image.open(tmp_path / "a.png") as drawn, Image.open(PLACE / "particle-language.png") as kept:
        assert drawn.size == kept.size
