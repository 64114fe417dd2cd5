"""What docs/hooks/site.py makes of links and listings; `make docs` builds the whole site, strictly."""

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs mechlearn's extra dev")

ROOT = Path(__file__).parents[2]
PLACE = importlib.util.spec_from_file_location("docs_site", ROOT / "docs" / "hooks" / "site.py")
site = importlib.util.module_from_spec(PLACE)
PLACE.loader.exec_module(site)


def test_links_lead_to_the_site_s_pages_and_sources_become_their_names():
    text = "[a](docs/skips/README.md#x) [b](packages/zoo/src/mechlearn_zoo/experiments/spirals/mechanism/README.md) "
    text += "[c](packages/mechlearn/src/mechlearn/losses.py) [d](#y)"
    turned = site.relinked(text, ROOT / "README.md", "index.md")
    assert turned == "[a](skips/README.md#x) [b](experiments/spirals/mechanism.md) c [d](#y)"


def test_links_out_of_a_folder_are_counted_from_the_page_s_place():
    readme = ROOT / "packages/zoo/src/mechlearn_zoo/experiments/spirals/baselines/README.md"
    turned = site.relinked(
        "[x](../mechanism/README.md) [y](../../../../../../../docs/skips/README.md)", readme, site.generated(readme)
    )
    assert turned == "[x](mechanism.md) [y](../../skips/README.md)"


def test_code_keeps_its_brackets():
    text = "```python\nlosses[rows](docs/skips/README.md)\n```\n"
    assert site.relinked(text, ROOT / "README.md", "index.md") == text


def test_names_of_a_door_are_found_where_they_are_defined():
    assert site.imported("mechlearn.agreement")["AndMask"] == "mechlearn.agreement.rules.and_mask.AndMask"
    assert site.summary("mechlearn.agreement.rules.and_mask.AndMask").startswith("The AND-mask: ")
    assert site.summary("mechlearn.agreement.rules.and_mask.Nothing") == ""


def test_a_room_s_page_begins_with_what_its_door_gives():
    page = site.api_of(ROOT / "packages/mechlearn/src/mechlearn/skips")
    modules = [line.removeprefix("::: ") for line in page.splitlines() if line.startswith(":::")]
    assert "- [`match`][mechlearn.skips.matching.match]: Predict" in page
    assert modules.index("mechlearn.skips.matching") < modules.index("mechlearn.skips.matchings.paths")
    assert len(set(modules)) == len(modules)
