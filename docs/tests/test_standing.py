"""The page that says which results stand agrees with the records, and every claim that fails is explained once."""

import re
from collections import Counter
from pathlib import Path

from craik.lab.showing.folding import FAILED, folded
from craik.lab.showing.standing import FOUR, explanations
from recorded import records

ROOT = Path(__file__).parents[2]
EVIDENCE = ROOT / "docs" / "evidence"
WHERE = "Why what fails fails"
STANDING, _, REASONS = (EVIDENCE / "standing.md").read_text(encoding="utf-8").partition(f"## {WHERE}")
RUNS = records()
FOUND = {
    one.claim.id: one
    for name in {run.recipe.name for run in RUNS}
    for one in folded(run for run in RUNS if run.recipe.name == name)
}
FAILING = {claim for claim, one in FOUND.items() if one.claim.verdict in FAILED}
SLOPES = dict(re.findall(r"^\| `([\w.-]+)` \|.* \| (\w+)[^|]*\|$", (EVIDENCE / "slopes.md").read_text(encoding="utf-8"), re.M))
"""Of claims with a recorded curve, the first word of what it says."""


def explained(*classes, why=""):
    """The claims in the lines of these classes, or of all, with these words in their reason."""
    lines = re.findall(r"^\| ([a-z' ]+) \| (.*?) \| (`.*`) \|$", REASONS, re.M)
    chosen = [ids for name, reason, ids in lines if (not classes or name in classes) and why in reason]
    assert chosen, (classes, why)
    return re.findall(r"`([\w-]+\.[\w-]+)`", " ".join(chosen))


def test_each_line_has_its_claim_s_verdict_and_the_command_of_its_rows():
    lines = re.findall(r"^\| .*? \| `([\w.-]+)` \| ([\w ]+) \| `(.*?)` \|$", STANDING, re.M)
    assert len(lines) == 22
    recorded = [(claim, FOUND[claim].claim.verdict, FOUND[claim].first.run.recipe.command) for claim, _, _ in lines]
    assert lines == recorded


def test_the_number_at_the_printed_setting_is_its_record_s():
    (run,) = [run for run in RUNS if (run.recipe.name, run.recipe.label) == ("spirals", "paper, l2 0.0001, batch 128")]
    (claim,) = [claim for claim in run.claims if claim.id == "spirals.and-mask-accuracy"]
    assert f"with those printed as best its accuracy is {claim.measured:.3f})" in STANDING


def test_how_many_seeds_the_printed_setting_finds_in_four_times_as_long_is_its_record_s():
    (run,) = [
        run for run in RUNS if (run.recipe.name, run.recipe.label) == ("spirals", "paper, l2 0.0001, batch 128, epochs 372")
    ]
    ends = run.rows().where(kind="final", method="and-mask")["test_accuracy"]
    assert (sum(accuracy > 0.95 for accuracy in ends), len(ends)) == (4, 6)
    assert "after four times as many epochs with those printed as best it does on four seeds of six" in STANDING


def test_every_failing_claim_is_explained_once():
    counts = Counter(explained())
    assert {claim for claim, count in counts.items() if count > 1} == set()
    assert FAILING - counts.keys() == set(), f"they fail: a line each in docs/evidence/standing.md, {WHERE!r}"
    assert counts.keys() - FAILING == set(), f"they do not fail: no line in docs/evidence/standing.md, {WHERE!r}"
    assert len(counts) == len(re.findall(r"`[\w-]+\.[\w-]+`", REASONS))


def test_each_row_of_the_four_is_read_for_the_pages():
    assert explanations(ROOT / "results") == {claim: name for name in FOUR for claim in explained(name)}


def test_the_four_are_asked_of_claims_of_the_texts():
    kinds = {claim: FOUND[claim].claim.kind for claim in FAILING}
    assert {claim for claim in explained(*FOUR) if kinds[claim] in ("ours", "control")} == set()
    assert {
        claim for claim in explained("no claim of the texts", why="ours") if kinds[claim] in ("claim", "hypothesis")
    } == set()


def test_what_a_larger_budget_would_do_is_what_the_slopes_say():
    toward = {claim for claim, said in SLOPES.items() if said == "toward"}
    assert SLOPES.keys() <= FAILING
    assert set(explained("budget")) == toward - set(explained("the texts' mistake", "another reading"))
    assert {SLOPES.get(claim) for claim in explained("open", why="does not lead there")} <= {"flat", "away"}
    assert {SLOPES.get(claim) for claim in explained("open", why="no curve was recorded")} <= {None, "too"}
    assert {SLOPES.get(claim) for claim in explained("open", why="the opposite")} <= {None, "flat", "away"}


def test_what_is_said_of_two_slopes_that_rest_on_little_is_their_records():
    words = " ".join(REASONS.split())
    runner, rate = (FOUND[name].claim for name in ("skips-accuracy.room-runner-per-epoch", "coinrun.learning-rate"))
    assert f"lies below 0, {runner.measured:.3f} [{runner.low:.3f}, {runner.high:.3f}]" in words
    assert f"printed range is {rate.measured:.3f} where 0.75 is asked" in words
    (end,) = re.findall(
        rf"^\| `{runner.id}` .* \| \S+ \((\S+)\) \| toward", (EVIDENCE / "slopes.md").read_text(encoding="utf-8"), re.M
    )
    assert f"comes up to {end}; on test" in words
