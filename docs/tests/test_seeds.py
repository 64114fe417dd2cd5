"""The page of the seeds and README's results are what their scripts print, and every item's code exists."""

import importlib.util
import tomllib
from pathlib import Path

from claimlab.claims import FAILED
from claimlab.showing.folding import OF_TEXTS

TABLES = Path(__file__).parents[1] / "tables"
ROOT = TABLES.parents[1]


def script(name):
    spec = importlib.util.spec_from_file_location(name, TABLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_seeds_page_is_up_to_date():
    seeds = script("seeds")
    assert seeds.PAGE.read_text(encoding="utf-8") == seeds.page(), "make pages"


def test_each_failing_claim_of_the_thesis_has_its_readings():
    readings = script("readings")
    assert readings.PAGE.read_text(encoding="utf-8") == readings.page(), "make pages"


def test_each_failing_claim_of_a_paper_has_its_reason():
    readings = script("readings").Readings()
    judged = [one.claim for some in readings.claims.values() for one in some]
    failing = {claim.id for claim in judged if claim.verdict in FAILED and claim.kind in OF_TEXTS}
    assert failing <= readings.why.keys()


def test_readme_has_the_recorded_results():
    results = script("results")
    text = results.README.read_text(encoding="utf-8")
    assert text == results.page(text), "make pages"


def test_every_item_has_its_code():
    items = tomllib.loads((ROOT / "packages/zoo/results/seeds.toml").read_text(encoding="utf-8"))["item"]
    assert [path for item in items for path in item["code"] if not (ROOT / path).exists()] == []
    assert [item["id"] for item in items] == [f"T{n}" for n in range(1, 75)] + [f"D{n}" for n in range(1, 30)]
