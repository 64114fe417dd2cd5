"""The page that says which results stand agrees with the records, and every claim that fails is explained once."""

import re
from collections import Counter
from pathlib import Path

from craik.lab.running.runfiles import find_runs
from craik.lab.showing.folding import FAILED, folded

ROOT = Path(__file__).parents[2]
WHERE = "Why what fails fails"
STANDING, _, REASONS = (ROOT / "docs" / "evidence" / "standing.md").read_text(encoding="utf-8").partition(f"## {WHERE}")
RUNS = [run for run in find_runs(ROOT / "results") if not run.is_older]
VERDICTS = {
    one.claim.id: one.claim.verdict
    for name in {run.recipe.name for run in RUNS}
    for one in folded(run for run in RUNS if run.recipe.name == name)
}


def test_each_line_has_its_claim_s_verdict():
    lines = re.findall(r"^\| .*? \| `([\w.-]+)` \| ([\w ]+) \|$", STANDING, re.M)
    assert len(lines) == 20
    assert {claim: verdict for claim, verdict in lines if VERDICTS[claim] != verdict} == {}


def test_every_failing_claim_is_explained_once():
    explained = Counter(re.findall(r"`([\w-]+\.[\w-]+)`", REASONS))
    failing = {claim for claim, verdict in VERDICTS.items() if verdict in FAILED}
    assert {claim for claim, count in explained.items() if count > 1} == set()
    assert failing - explained.keys() == set(), f"they fail: a line each in docs/evidence/standing.md, {WHERE!r}"
    assert explained.keys() - failing == set(), f"they do not fail: no line in docs/evidence/standing.md, {WHERE!r}"
