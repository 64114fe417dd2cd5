"""A witness beside the source that made a record, where the record is from another kind of processor."""

import dataclasses
import subprocess
from pathlib import Path

import pytest

from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.plan import Recipe, plan
from claimlab.running.runfiles import keep, read_run
from claimlab.running.verification.beside import made_beside
from claimlab.running.verification.verify import verify
from claimlab.showing.evidence import confirmed_words
from fake_copies import edit, folder_of


def committed(package):
    """Commits the package's folder as it is; the name of the commit."""
    folder = folder_of(package).parent
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "as it is")):
        subprocess.run([*git, *words], check=True)
    return subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def foreign(package, record):
    """A record that another processor made: its rows differ by more than the tolerance from what either source makes here."""
    commit = committed(package)
    edit(package, "steps.py", "2 * x", "2.5 * x")
    run = record()
    edit(package, "steps.py", "2.5 * x", "2 * x")
    made = run.made[0]
    code = dataclasses.replace(made.code, commit=commit, changes=False)
    machine = dataclasses.replace(made.machine, processor="another")
    keep(dataclasses.replace(run, made=(dataclasses.replace(made, code=code, machine=machine),)))
    return read_run(run.folder)


def test_rows_of_both_sources_on_one_machine_are_compared(foreign, package, tmp_path):
    (found,) = verify(tmp_path / "results", package, both=True)
    (witness,) = read_run(foreign.folder).confirmed
    assert found.witness == witness
    assert (witness.outcome, witness.rows, witness.where) == ("equal", (3, 3), "")
    assert witness.beside == foreign.made[0].code.commit
    words = confirmed_words(read_run(foreign.folder))
    assert words.endswith(f"(1 of 2 seeds, equal, beside the source of {witness.beside[:10]} on one machine)")
    (again,) = verify(tmp_path / "results", package, both=True)
    assert again.before


def test_a_witness_that_found_a_difference_is_no_reason_to_skip_this_one(foreign, package, tmp_path):
    (plain,) = verify(tmp_path / "results", package)
    assert (plain.witness.outcome, plain.witness.beside) == ("differs", None)
    (both,) = verify(tmp_path / "results", package, both=True)
    assert (both.before, both.witness.outcome) == (False, "equal")


def recipe_of(package: str) -> Recipe:
    return Recipe.of(plan(load("counter-walk", package), "quick", {}, 1, package))


def test_a_source_that_makes_other_rows_is_found_out(foreign, package, tmp_path):
    edit(package, "steps.py", "2 * x", "2.000001 * x")
    (found,) = verify(tmp_path / "results", package, both=True)
    assert (found.witness.outcome, found.witness.beside) == ("differs", foreign.made[0].code.commit)
    assert found.witness.difference == pytest.approx(5e-7, rel=0.1)


def test_a_source_that_makes_more_rows_is_found_out(foreign, package, tmp_path):
    edit(package, "counter/run.py", "range(config.steps)", "range(config.steps + 1)")
    (found,) = verify(tmp_path / "results", package, both=True)
    assert (found.witness.outcome, found.witness.where) == ("differs", "seed 0: 4 rows, recorded 3")


def test_what_was_made_in_time_is_compared(foreign, package, tmp_path):
    slow = "        time.sleep(600 * (step == 2))\n        value = config.seed"
    edit(package, "counter/run.py", "        value = config.seed", slow)
    (found,) = verify(tmp_path / "results", package, minutes=0.1, both=True)
    assert (found.witness.outcome, found.witness.rows) == ("equal", (2, 3))


def test_equal_rows_need_no_second_source(record, package, tmp_path):
    record()
    (found,) = verify(tmp_path / "results", package, both=True)
    assert (found.witness.outcome, found.witness.beside) == ("equal", None)


def test_data_are_found_where_the_command_runs_and_packages_are_not(package, monkeypatch):
    read = "        value = config.seed + len(open('data.txt').read())"
    edit(package, "counter/run.py", "        value = config.seed", read)
    commit = committed(package)
    monkeypatch.chdir(folder_of(package).parent)
    edit(package, "counter/run.py", "len(open('data.txt').read())", "1000")  # today's source, in the current folder
    with pytest.raises(LabError, match=r"No such file.*data\.txt"):
        made_beside(commit, recipe_of(package), 0)
    Path("data.txt").write_text("five.")
    rows, whole = made_beside(commit, recipe_of(package), 0)
    assert whole
    assert [row["value"] for row in rows] == [5, 6, 7]


def test_without_a_commit_there_is_no_such_source(foreign, package, tmp_path):
    code = dataclasses.replace(foreign.made[0].code, commit=None)
    keep(dataclasses.replace(foreign, made=(dataclasses.replace(foreign.made[0], code=code),)))
    (found,) = verify(tmp_path / "results", package, both=True)
    assert (found.witness, read_run(foreign.folder).confirmed) == (None, ())
    assert "should find a commit that holds it. Found none in the record" in found.fault


def test_a_commit_that_is_not_there_and_a_source_that_fails(package, tmp_path):
    commit = committed(package)
    with pytest.raises(LabError, match=r"Found no .* of 0000000000 .*Fetch the whole history"):
        made_beside("0" * 40, recipe_of(package), 0)
    with pytest.raises(LabError, match=f"The source of {commit[:10]} should still run. Found .*no-such-walk"):
        made_beside(commit, dataclasses.replace(recipe_of(package), name="no-such-walk"), 0)
    assert sorted(path.name for path in folder_of(package).parent.iterdir()) == [".git", folder_of(package).name]
