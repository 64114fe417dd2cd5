"""What docs/hooks/site.py makes of links and listings; `make docs` builds the whole site, strictly."""

import importlib.util
import re
from pathlib import Path

import pytest
import yaml

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


def test_every_public_name_has_a_page_without_the_name_of_its_file():
    (index, text), *names = site.api_of("mechlearn.skips")
    assert index == "api/mechlearn/skips/index.md"
    assert "- [`mechlearn.skips.match`](match.md): Predict" in text
    assert dict(names)["api/mechlearn/skips/match.md"].startswith("::: mechlearn.skips.match\n")
    assert not any("matching." in page for _, page in names)


def test_names_that_differ_in_capitals_have_files_that_do_not():
    files = [uri.lower() for door in site.DOORS for uri, _ in site.api_of(door)]
    assert len(set(files)) == len(files)
    assert "api/mechlearn/surfaces/audit_function.md" in files


def test_doors_name_what_exists():
    assert [name for door, names in site.DOORS.items() for name in names if name not in site.public(door)] == []
    assert "Linear" in site.public("mechlearn.schedules")
    assert len(site.api_of("mechlearn.agreement.rules")) == 2


def test_the_navigation_names_pages_that_exist():
    nav = yaml.safe_load(re.sub(r"!!python\S+", "", (ROOT / "mkdocs.yml").read_text()))["nav"]
    assert [next(iter(tab)) for tab in nav] == ["Start", "Guides", "Tables", "API", "Seeds", "Zoo", "Evidence"]
    assert [uri for uri in site.named(nav) if uri not in site.FIXED and not (ROOT / "docs" / uri).is_file()] == []
