import csv
import json
import sys
import unicodedata

import numpy as np
import pytest

from mechlearn import cli
from site_tables import shortcut

ASKED = ("fit", "sites", "wards.csv", "--target", "ill", "--environment", "ward")

MINE = """
from sklearn.linear_model import LogisticRegression

pipeline, number = LogisticRegression(), 3


def made():
    return LogisticRegression(C=0.1)
"""


@pytest.fixture
def mechlearn(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder with a table of two wards and a module of one's own; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    table = shortcut(sites=2, rows=30, strength=2.0, turned=0)
    with open("wards.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(11)), "ward", "ill"])
        for x, y, site in zip(table.x, table.y, table.site, strict=True):
            writer.writerow([*np.round(x, 3), f"ward {site}", ["no", "yes"][y]])
    (tmp_path / "pipelines_of_mine.py").write_text(MINE)

    def _mechlearn(*words: str):
        return cli.main(words), *capsys.readouterr()

    yield _mechlearn
    sys.modules.pop("pipelines_of_mine", None)


def test_the_terminal_has_the_verdict_and_a_line_for_each_candidate(mechlearn, tmp_path):
    status, out, err = mechlearn(*ASKED, "--model", "pipelines_of_mine:pipeline", "--drop", "x1")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("Expect an AUC of ")
    assert "of pipelines_of_mine:pipeline at the next site" in lines[0]
    assert [line.split("  ")[0] for line in lines[3:8]] == [
        *("best simple", "pipelines_of_mine:pipeline", "constant", "linear", "boosting")
    ]
    assert "With two sites, one is left to train on" in out
    page = (tmp_path / "runs" / "sites-wards" / "report.html").read_text()
    assert "Expect an AUC of " in page
    assert "<svg" in page
    assert "http" not in page.replace("Content-Security-Policy", "").replace("http-equiv", "")


def test_json_is_one_object_and_names_no_site_where_they_are_masked(mechlearn, tmp_path):
    lines = (tmp_path / "wards.csv").read_text().splitlines()
    lines[7] = lines[7].rsplit(",", 1)[0] + ","
    (tmp_path / "wards.csv").write_text("\n".join([*lines, ""]))
    status, out, _ = mechlearn(*ASKED, "--json", "--anonymous", "--labelled", "--model", "pipelines_of_mine:made")
    found = json.loads(out)
    assert (status, found["score"], found["sites"]) == (0, "AUC", ["site 1", "site 2"])
    assert "ward " not in out
    assert found["notes"][0].startswith("1 of 60 rows have no ill and are left out.")
    assert found["own"] == ["pipelines_of_mine:made"]
    assert found["verdict"].startswith("Expect an AUC of ")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fit", "sites", "wards.csv", "--target", "ill"), "mechlearn fit sites should be given --environment. Found none"),
        ((*ASKED, "--model", "mine"), "--model should name a module and a pipeline in it, as mine:pipeline. Found 'mine'."),
        ((*ASKED, "--model", "no_such:one"), "that can be imported. Found 'no_such:one': ModuleNotFoundError: No module"),
        ((*ASKED, "--model", "pipelines_of_mine:one"), "AttributeError: module 'pipelines_of_mine' has no attribute 'one'"),
        ((*ASKED, "--model", "pipelines_of_mine:number"), "`candidates` should be estimators of scikit-learn's kind with fit"),
        ((*ASKED, "--budget", "0"), "--budget should be above 0 minutes"),
        ((*ASKED, "--candidates", "lasso"), "A candidate by name should be one of site-informed linear"),
        (
            ("fit", "agreement", *ASKED[2:], "--candidates", "forest"),
            "--candidates should come with mechlearn fit sites. Found it",
        ),
        ((*ASKED, "--test-environment", "ward 1"), "Found it with mechlearn fit sites. Every site is left out once"),
        (("fit", "agreement", *ASKED[2:], "--model", "a:b"), "--model should come with mechlearn fit sites. Found it with"),
        (("fit", "sites", "wards.csv", "--target", "il", "--environment", "ward"), "il"),
        (("fit", "sites", "none.csv", "--target", "ill", "--environment", "ward"), "none.csv"),
        (("fit", "sites", "wards.csv", "--target", "ward", "--environment", "ward"), "should be two columns"),
    ],
)
def test_bad_usage_is_a_sentence(mechlearn, words, sentence):
    status, out, err = mechlearn(*words)
    assert status > 0
    assert out == ""
    assert sentence in err


def test_candidates_by_name_stand_beside_the_simple_ones(mechlearn, tmp_path):
    words = ("--candidates", "forest, site-informed linear", "--out", "there", "--json")
    status, out, _ = mechlearn(*ASKED, *words)
    found = json.loads(out)
    assert status == 0
    assert list(found["candidates"]) == [*("best simple", "site-informed linear", "constant", "linear", "boosting", "forest")]
    assert found["own"] == ["site-informed linear"]
    assert found["report"] == "there/report.html"
    assert {"column", "score", "flagged", "screened", "signs"} == {*found["features"][0]}
    assert (tmp_path / "there" / "report.html").exists()


def test_what_a_strangers_table_calls_its_columns_and_sites_is_only_seen(mechlearn, tmp_path):
    """Escapes that clear a terminal, C1 controls, and marks that turn the direction of reading, in text, JSON and HTML."""
    path = tmp_path / "wards.csv"
    text = path.read_text()
    for name, wrong in {"x1,": "x\x1b[2J\x9b31m,", "ward 1": "s\u202e\x1b]0;own", "x0": "\u2066x"}.items():
        text = text.replace(name, wrong)
    path.write_text(text)
    for words in ((), ("--json",)):
        status, out, err = mechlearn(*ASKED, "--budget", "0.001", *words)
        assert (status, err) == (0, "")
        page = (tmp_path / "runs" / "sites-wards" / "report.html").read_text()
        for text in (out, page):
            assert not [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf")]
            assert "s\\u202e" in text
    assert "s\u202e\x1b]0;own" in json.loads(out)["sites"]


def test_all_that_cannot_be_used_is_one_list_with_the_command_that_continues(mechlearn):
    with open("wards.csv", newline="") as file:
        names, *rows = csv.reader(file)
    with open("wards.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "blood pressure", "seen"])
        writer.writerows([*row[:-1], "" if place == 4 else row[-1], "130/85", "2026-01-31"] for place, row in enumerate(rows))
    _, _, refused = mechlearn(*ASKED)
    assert refused.startswith("mechlearn: 2 columns cannot be used")  # of one value, 130/85 is a category
    _, *said, last = refused.strip().splitlines()
    assert [sentence.split(" should")[0] for sentence in said] == ["  Columns", "  The target"]
    assert last == (
        "Mend them, or leave all out: mechlearn fit sites wards.csv --target ill --environment ward --budget 3 --seed 0 --drop "
        "seen --labelled"
    )
    with open("wards.csv", "a") as file:
        file.write(",".join(["inf", *rows[0][1:-1], "yes", "140/90", "2026-02-01"]) + "\n")
    constant = ("fit", "sites", "wards.csv", "--target", "x0", "--environment", "ward", "--task", "regression")
    last = mechlearn(*constant)[2].strip().splitlines()[-1]
    assert last.startswith("Mend x0, and mend the others or leave them out: mechlearn fit sites wards.csv --target x0")
    assert last.endswith("--seed 0 --drop 'blood pressure' --drop seen")
