"""The index of claims and the verdicts in the experiments' READMEs are what `make pages` makes of the records."""

from pathlib import Path

from claimlab.experiment import listing
from claimlab.showing.judging import judged_again
from claimlab.showing.pages import pages
from recorded import records

ROOT = Path(__file__).parents[2]


def test_the_pages_are_up_to_date():
    found = pages(ROOT / "packages" / "zoo" / "results", "mechlearn_zoo.experiments")
    assert len(found) == 1 + len(listing("mechlearn_zoo.experiments"))
    stale = [path for path, text in found.items() if path.read_text(encoding="utf-8") != text]
    assert stale == [], "run `make pages`"


def test_the_index_is_one_line_an_experiment():
    lines = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 160
    assert sum(line.startswith("| [") for line in lines) == len(listing("mechlearn_zoo.experiments"))


def test_every_recorded_verdict_is_the_present_claims_on_the_recorded_rows():
    assert [run.folder.name for run in records() if judged_again(run, "mechlearn_zoo.experiments") != run] == [], (
        "run `make pages`"
    )
