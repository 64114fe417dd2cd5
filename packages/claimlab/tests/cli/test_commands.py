import json
import os
import re
import sys
from pathlib import Path

import pytest

from fake_copies import edit

CLAIM = ["id", "kind", "text", "source", "printed", "measured", "low", "high", "n", "verdict"]


def test_list(claimlab):
    titles = ["counter-walk  Counting: a walk that each seed starts elsewhere.", "drunkard      A walk that each seed draws."]
    status, out, error = claimlab("list")
    assert (status, out.splitlines()[:2], error) == (0, titles, "")
    status, out, _ = claimlab("list", "--json")
    counter, drunkard = json.loads(out)["experiments"]
    assert (status, counter["name"], counter["reproduces"]) == (0, "counter-walk", "Figure 0 of no thesis.")
    assert drunkard == {"name": "drunkard", "title": "A walk that each seed draws.", "reproduces": "nothing"}


def test_run_prints_verdicts_and_where_the_run_is(claimlab):
    status, out, said = claimlab("run", "counter-walk")
    assert status == 0
    assert "✗ does not hold so far" in out  # whatever the verdicts, the run finished
    folder = next(line.split()[1] for line in out.splitlines() if line.startswith("run"))
    assert Path(folder, "claims.json").exists()
    (picture,) = (line.split()[1] for line in out.splitlines() if line.startswith("picture"))
    assert Path(picture).name == "walk.svg"
    assert Path(picture).exists()
    assert not Path(folder).is_absolute()
    assert said.splitlines()[-1].endswith("(2 of 2)")


def test_run_json_is_one_object_and_nothing_else(claimlab):
    status, out, _ = claimlab("run", "counter-walk", "--preset", "paper", "--seeds", "1", "--shortcut-scale=1", "--json")
    found = json.loads(out)
    assert status == 0
    assert list(found) == ["name", "preset", "seconds", "claims", "older", "artifacts"]
    assert (found["name"], found["preset"]) == ("counter-walk", "paper")
    assert list(found["claims"][0]) == CLAIM
    assert found["claims"][0]["measured"] == 10.0  # 5 steps of twice the scale
    assert {Path(path).name for path in found["artifacts"]} == {"run.json", "rows.jsonl.gz", "walk.svg", "claims.json"}
    assert all(Path(path).exists() and not Path(path).is_absolute() for path in found["artifacts"])


def test_a_chatty_experiment_does_not_spoil_the_json(command, package, tmp_path):
    edit(package, "counter/run.py", "    odd = config", "    print('chatter')\n    odd = config")
    out, said = command("run", "counter-walk", "--package", package, "--json", "--out", tmp_path / "runs").communicate()
    assert json.loads(out)["name"] == "counter-walk"
    assert "chatter" in said


def test_help_of_an_experiment_lists_its_fields(claimlab):
    status, out, _ = claimlab("run", "counter-walk", "--help")
    assert status == 0
    words = " ".join(out.split())
    assert "--steps How many rows a seed yields. (a whole number; quick 3, paper 6)" in words
    assert "--seeds N" in words


@pytest.mark.parametrize(
    "words", [("--help",), ("run", "--help"), ("list", "-h"), ("report", "--help"), ("verify", "-h"), ("--version",)]
)
def test_help_and_version_end_well(claimlab, words):
    status, out, said = claimlab(*words)
    assert (status, said) == (0, "")
    assert "claimlab" in out


def test_report(claimlab):
    claimlab("run", "counter-walk", "--seeds", "1")
    status, out, _ = claimlab("report")
    assert (status, out.splitlines()[-1]) == (0, "report  runs/report.html")
    assert "✓ holds so far" in out
    assert "made at no commit, not confirmed since" in out
    status, out, _ = claimlab("report", "--out", "elsewhere/page.html")
    assert (status, out.splitlines()[-1]) == (0, "report  elsewhere/page.html")
    assert Path("elsewhere/page.html").read_bytes() == Path("runs/report.html").read_bytes()


def test_records_are_verified_reported_and_shown_on_pages(claimlab, package):
    status, out, _ = claimlab("run", "counter-walk", "--seeds", "1", "--record", "--json")
    assert [Path(path).parts[:3] for path in json.loads(out)["artifacts"]] == [("results", "walks", "counter")] * 4
    status, out, said = claimlab("verify")
    assert status == 0
    assert re.search(r"counter-walk quick-\w{6} +1 of 1 +3 +equal +0", out)
    assert "confirmed at no commit (1 of 1 seed, equal)" in said
    status, out, _ = claimlab("verify", "results", "--json")
    (record,) = json.loads(out)["records"]
    assert (status, record["name"], record["before"], record["witness"]["outcome"]) == (0, "counter-walk", True, "equal")
    status, out, _ = claimlab("report", "results", "--pages", "--json")
    found = json.loads(out)
    assert (status, found["report"], found["pages"][0]) == (0, "results/report.html", "docs/claims.md")
    assert found["explained"] == {}
    assert list(found["runs"][0]["claims"][0]) == [*CLAIM, "made", "confirmed"]
    assert found["runs"][0]["witnesses"] == [{"commit": None, "outcome": "equal", "whole": True}]
    verdicts = [claim["verdict"] for claim in found["runs"][0]["claims"]]
    assert verdicts == ["holds so far", "does not hold so far", "not measurable here"]
    assert Path("docs/claims.md").exists()


def test_older_seeds_are_said_everywhere(claimlab, package):
    claimlab("run", "counter-walk", "--seeds", "1")
    edit(package, "steps.py", "2 * x", "x + x")
    status, out, said = claimlab("run", "counter-walk", "--seeds", "1", "--keep-older")
    assert status == 0
    assert "kept, and shown as older" in said
    assert "seed 0 by an older source" in " ".join(out.split())
    status, out, _ = claimlab("report", "--json")
    assert json.loads(out)["runs"][0]["older"] == [0]
    assert "seed 0 by an older source" in Path("runs/report.html").read_text()
    status, out, said = claimlab("run", "counter-walk", "--seeds", "1", "--json")
    assert (json.loads(out)["older"], "set apart in older/" in said) == ([], True)


SEEDS = """
pictures = "../pictures"

[seeds]
digest = "D"

[[item]]
id = "D1"
what = "walks"
experiments = ["counter-walk", "drunkard"]

[[item]]
id = "T1"
what = "another seed's"
experiments = ["drunkard"]
"""


def test_experiments_by_the_items_of_a_seed(claimlab, record, tmp_path):
    record()
    (tmp_path / "results" / "seeds.toml").write_text(SEEDS)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "counter-walk.png").touch()
    status, out, _ = claimlab("list", "--seed", "digest", "--json")
    [item] = json.loads(out)["items"]
    walk, drunkard = item["experiments"]
    assert (status, item["id"], walk["picture"]) == (0, "D1", os.path.join("pictures", "counter-walk.png"))
    assert walk["minutes"] >= 0
    assert drunkard == {"name": "drunkard", "minutes": None, "picture": None}
    assert claimlab("list", "--seed", "digest")[1].startswith("D1   walks\n     counter-walk ")
    assert "should be one of digest. Found 'thesis'" in claimlab("list", "--seed", "thesis")[2]


def test_seeds_need_their_table(claimlab):
    status, _, error = claimlab("list", "--seed", "digest")
    assert (status, "should have a seeds.toml. Found none in results" in error) == (2, True)


def test_a_package_in_the_current_folder_is_found(claimlab, package, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(tmp_path / "source")])
    monkeypatch.chdir(tmp_path / "source")
    status, out, _ = claimlab("list")
    assert (status, len(out.partition("\n\n")[0].splitlines())) == (0, 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ((), "claimlab should be given a command"),
        (("rnu",), "Found 'rnu'. Did you mean run?"),
        (("--nonsense", "list"), "--nonsense"),
        (("list", "--nonsense"), "An option should be one that exists. Found '--nonsense'"),
        (("list", "extra"), "Found the stray word 'extra'. Leave it out"),
        (("report", "runs", "extra"), "Found the stray word 'extra'"),
        (("run",), "should be given the name of an experiment"),
        (("run", "counter-wlak"), "Did you mean counter-walk?"),
        (("run", "counter-walk", "--step", "3"), "Did you mean --steps?"),
        (("run", "counter-walk", "--steps", "three"), "--steps must be a whole number. Found 'three'"),
        (("run", "counter-walk", "--steps", "-1"), "--steps must be at least 0, but found -1; for example --steps 3"),
        (("run", "counter-walk", "--package", "nobody.has"), "Found none named 'nobody.has'"),
        (("verify", "--seeds", "0"), "--seeds should be at least 1. Found 0"),
        (("verify", "--minutes", "0"), "--minutes should be above 0. Found 0"),
        (("verify", "nowhere"), "Records to verify should be in a folder. Found no folder nowhere. Name theirs: results"),
        (("verify", "."), "Records to verify should be below the folder. Found none in .. Name theirs: results"),
        (("run", "counter-walk", "--seeds", "few"), "Argument --seeds: should be a whole number. Found 'few'. See"),
        (("run", "counter-walk", "--seeds", "0"), "at least one seed"),
        (("run", "counter-walk", "--jobs", "0"), "at least one process"),
        (("run", "counter-walk", "--preset", "papre"), "Did you mean paper?"),
        (("run", "counter-walk", "--out", "file/runs"), "should be writable"),
        (("run", "counter-walk", "--seed", "-1"), "between 0 and 2^32. Found --seed -1"),
        (("run", "counter-walk", "--seed", str(2**32 - 1)), "between 0 and 2^32"),
        (
            ("run", "counter-walk", "--max-minutes", "0"),
            "--max-minutes should be above 0. Found 0. Leave it out for as long as",
        ),
        (("run", "counter-walk", "--max-minutes", "-1"), "--max-minutes should be above 0. Found -1."),
        (("run", "counter-walk", "--max-minutes", "nan"), "--max-minutes: should be a finite number. Found 'nan'"),
        (("run", "counter-walk", "--max-minutes", "two"), "--max-minutes: should be a finite number. Found 'two'"),
        (("run", "counter-walk", "--widths", "2,,3"), "--widths must be a list separated by commas"),
        (("run", "counter-walk", "--widths", ","), "Found ','"),
        (("run", "counter-walk", "--out", ""), "should name a file or a folder. Found ''"),
        (("report", ""), "should name a file or a folder. Found ''"),
        (("report", "runs", "--out", " "), "should name a file or a folder. Found ' '"),
        (("verify", "--minutes", "nan"), "should be a finite number. Found 'nan'"),
        (("run", "counter-walk", "--checkpoint-seconds", "-1"), "--checkpoint-seconds should be at least 0"),
        (("run", "counter-walk", "--checkpoint-seconds", "inf"), "should be a finite number"),
        (("run", "counter-walk", "--on", "slurm"), "--on should be ray or ray:HOST:PORT. Found 'slurm'"),
        (("run", "counter-walk", "--gpus", "1"), "--gpus should come with --on ray"),
        (("run", "counter-walk", "--cpus", "2"), "--cpus should come with --on ray"),
        (
            ("run", "counter-walk", "--on", "ray", "--cpus", "0"),
            "A seed should have a share of a core or of a GPU. Found --cpus 0 --gpus 0",
        ),
        (("run", "counter-walk", "--on", "ray", "--gpus", "-1"), "Found --cpus 1 --gpus -1"),
        (("sweep", "climb", "--package", "fake_sweeps", "--gpus", "1"), "--gpus should come with --on ray"),
        (("report", "nowhere"), "Found no folder nowhere"),
        (("report", "."), "should have a finished run"),
    ],
)
def test_bad_usage_is_one_sentence_and_status_2(claimlab, words, sentence):
    Path("file").write_text("")
    status, out, said = claimlab(*words)
    assert (status, out) == (2, "")
    assert said.startswith("claimlab: ")
    assert sentence in said
    assert said.count("\n") == 1
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("rnu", "--json"), 2, "Did you mean run?"),
        (("run", "counter-walk", "--json", "--steps", "x"), 2, "must be a whole number"),
        (("report", "nowhere", "--json"), 2, "Found no folder nowhere"),
        (("verify", ".", "--json"), 2, "Found none in ."),
        (("run", "counter-walk", "--mode", "raise", "--json"), 1, "the walk fell off"),
    ],
)
def test_a_failure_is_json_too(claimlab, words, status, sentence):
    found, out, said = claimlab(*words)
    answer = json.loads(out)
    assert found == answer["status"] == status
    assert sentence in answer["error"]
    assert f"claimlab: {answer['error']}" in said


def test_a_fault_of_figures_is_a_sentence(claimlab, package):
    edit(package, "counter/figures.py", "    curves =", "    rows[0]['nothing']\n    curves =")
    status, out, said = claimlab("run", "counter-walk", "--seeds", "1", "--json")
    assert (status, json.loads(out)["status"]) == (1, 1)
    assert "Found KeyError: 'nothing'" in said
    assert "Traceback" not in said


def test_a_reader_that_leaves_is_no_failure_to_speak_of(command):
    process = command("list", "--package", "fake_experiments")
    process.stdout.close()
    assert (process.stderr.read(), process.wait(60)) == ("", 1)


@pytest.mark.parametrize(
    ("missing", "words", "extra"),
    [
        ("rich.console", ("run", "counter-walk"), ""),
        ("jinja2", ("report", "runs"), ""),
        ("ray", ("run", "counter-walk", "--on", "ray"), "[cluster]"),
        ("tensorboard torch.utils.tensorboard", ("run", "counter-walk", "--track", "tensorboard"), "[tracking]"),
        ("mlflow mlflow.tracking", ("run", "counter-walk", "--track", "mlflow"), "[tracking]"),
    ],
)
def test_a_missing_package_is_a_sentence(claimlab, monkeypatch, missing, words, extra):
    Path("runs").mkdir()
    for name in [name for name in sys.modules if name.startswith(("claimlab.cli.r", "claimlab.showing"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in missing.split():
        monkeypatch.setitem(sys.modules, name, None)
    status, out, said = claimlab(*words)
    assert (status, out) == (1, "")
    assert missing.split()[0] in said
    assert said.endswith(f"Run `pip install 'claimlab{extra}'`.\n")


def test_a_failure_is_one_sentence_and_status_1(claimlab):
    status, out, said = claimlab("run", "counter-walk", "--mode", "raise", "--jobs", "1")
    assert (status, out) == (1, "")
    assert said.splitlines()[-1].startswith("claimlab: counter-walk, seed 1:")
    assert "Traceback" not in said
    status, _, said = claimlab("run", "counter-walk", "--mode", "raise", "--traceback")
    assert status == 1
    assert 'raise RuntimeError("the walk fell off")' in said


def test_a_full_disk_is_a_sentence(claimlab, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device", "rows.jsonl")

    monkeypatch.setattr("claimlab.running.storage._write_new", full)
    status, _, said = claimlab("run", "counter-walk", "--seeds", "1")
    assert status == 1
    assert said.splitlines()[-1] == (
        "claimlab: Files should be readable and writable. Found: No space left on device rows.jsonl. Fix that and try again."
    )


def test_a_sentence_about_files_is_said_as_it_is(claimlab, package):
    sentence = "The folder should hold walks.bin. Found none. Draw some."
    edit(package, "counter/run.py", "    odd = ", f"    raise FileNotFoundError({sentence!r})\n    odd = ")
    status, _, said = claimlab("run", "counter-walk", "--seeds", "1")
    assert (status, said.splitlines()[-1]) == (1, f"claimlab: counter-walk, seed 0: {sentence}")
    status, _, said = claimlab("run", "counter-walk", "--seeds", "1", "--traceback")
    assert "raise FileNotFoundError" in said
