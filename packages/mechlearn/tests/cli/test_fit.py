import csv
import html
import io
import json
import re
import shlex

import numpy as np
import pytest

from mechlearn import cli
from mechlearn.cli import common
from mechlearn.cli.fit.output import in_order, teller
from mechlearn.tables import candidates
from mechlearn.tables.fitting import Training
from mechlearn.tables.saving.parts import Parts
from site_tables import shortcut


@pytest.fixture
def mechlearn(tmp_path, monkeypatch, capsys):
    """Runs a command in a folder with a table of three wards and gives its exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for kind in ("sites", "privileged"):
        monkeypatch.setattr(f"mechlearn.tables.reports.{kind}.TRAINING", Training(hidden=4, steps=8, rows_per_site=20))
    table = shortcut(sites=3, rows=30, strength=4.0, turned=1)
    with open("wards.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*(f"x{j}" for j in range(11)), "ward", "ill", "name"])
        for index, (x, y, site) in enumerate(zip(table.x, table.y, table.site, strict=True)):
            writer.writerow([*np.round(x, 3), f"ward {site}", ["no", "yes"][y], f"person {index}"])

    def _mechlearn(*words: str):
        return cli.main(words), *capsys.readouterr()

    return _mechlearn


QUICK = ("--budget", "0.0001", "--drop", "name")


ASKED = ("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward")


def command(page):
    """The words of the command that a report shows."""
    return shlex.split(html.unescape(re.search("Written by <code>(.*?)</code>", page)[1]))


def test_the_command_in_the_report_is_the_one_that_ran(mechlearn, tmp_path):
    words = (*ASKED, *QUICK, "--seed", "4", "--task", "classification", "--test-environment", "ward 1")
    page = (tmp_path / json.loads(mechlearn(*words, "--json")[1])["report"]).read_text()
    assert command(page)[0] == "mechlearn"
    again = command(page)[1:]
    assert sorted(again) == sorted(words)
    assert json.loads(mechlearn(*again, "--json")[1])["report"] in str(tmp_path / "runs/fit-wards/report.html")
    assert len(list((tmp_path / "runs/fit-wards/parts").iterdir())) == 1  # the same question
    masked = (tmp_path / json.loads(mechlearn(*words, "--anonymous", "--json")[1])["report"]).read_text()
    assert "--anonymous" in command(masked)
    assert "ward 1" not in masked


def test_steps_in_time_and_a_command_for_a_shell(mechlearn, tmp_path):
    words = ("fit", "distill", "wards.csv", "--target", "ill", "--in-time", *QUICK)
    columns = ("--privileged", "x1", "--privileged", "x[2]")
    status, out, _ = mechlearn(*words, *columns)
    assert status == 0
    assert "LUPTS" in out
    page = (tmp_path / "runs/fit-wards/report.html").read_text()
    assert sorted(command(page)[1:]) == sorted((*words, *columns, "--seed", "0"))
    assert mechlearn(*words, "--privileged", "x1*")[0] == 2


def test_rows_that_are_copies_are_said(mechlearn, tmp_path):
    lines = (tmp_path / "wards.csv").read_text().splitlines()
    (tmp_path / "wards.csv").write_text("\n".join([*lines, *lines[1:31], ""]))
    status, out, _ = mechlearn(*ASKED, *QUICK)
    assert status == 0
    assert "30 of 120 rows are exact copies of others." in out
    assert "30 of 120 rows are exact copies of others." in (tmp_path / "runs/fit-wards/report.html").read_text()
    assert "The budget allowed 1 of 6 settings for each network" in out


def test_a_code_for_missing_is_said_at_fitting_and_far_values_at_predicting(mechlearn, tmp_path):
    lines = [line.split(",") for line in (tmp_path / "wards.csv").read_text().splitlines()]
    for line in lines[1:40:6]:
        line[3] = "-999"  # x3
    (tmp_path / "wards.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    assert (
        "-999 in x3 (7 rows) looks like a code for missing, far from all other values. If it is,"
        in mechlearn(*ASKED, *QUICK)[1]
    )
    for line in lines[1:]:
        line[4] = "1000"
    (tmp_path / "wards.csv").write_text("\n".join(map(",".join, lines)) + "\n")
    status, out, err = mechlearn("predict", "runs/fit-wards/model", "wards.csv")
    assert (status, len(out.splitlines())) == (0, 91)
    assert "Values of x4 (90 rows) are more than 20 standard deviations from" in err


@pytest.mark.parametrize("kind", ["agreement", "distill"])
def test_a_target_that_is_missing_is_named_with_its_row(mechlearn, tmp_path, kind):
    lines = (tmp_path / "wards.csv").read_text().splitlines()
    lines[7] = re.sub(",(yes|no),", ",,", lines[7])
    (tmp_path / "wards.csv").write_text("\n".join([*lines, ""]))
    option = ("--environment", "ward") if kind == "agreement" else ("--privileged", "x1*")
    status, _, err = mechlearn("fit", kind, "wards.csv", "--target", "ill", *option, *QUICK)
    assert status == 2
    assert "missing of 'ill', first in data row 7 of 90" in err


def test_rows_without_a_target_are_left_out_where_that_is_asked(mechlearn, tmp_path):
    lines = (tmp_path / "wards.csv").read_text().splitlines()
    lines[7] = re.sub(",(yes|no),", ",,", lines[7])
    (tmp_path / "gaps.csv").write_text("\n".join([*lines, ""]))
    (tmp_path / "wards.csv").write_text("\n".join([*lines[:7], *lines[8:], ""]))
    asked = ("--target", "ill", "--environment", "ward", *QUICK, "--json")
    status, out, _ = mechlearn("fit", "agreement", "gaps.csv", *asked, "--labelled")
    answer, without = json.loads(out), json.loads(mechlearn("fit", "agreement", "wards.csv", *asked)[1])
    assert (status, answer["gain"], answer["method"]) == (0, without["gain"], without["method"])
    page = (tmp_path / answer["report"]).read_text()
    assert "1 of 90 rows have no ill and are left out." in page
    assert "--labelled" in command(page)


def test_distill_from_a_table_whose_rows_without_a_target_are_left_out(mechlearn, tmp_path):
    text = (tmp_path / "wards.csv").read_text()
    (tmp_path / "wards.csv").write_text(re.sub(",(yes|no),", ",,", text, count=1))
    status, out, _ = mechlearn("fit", "distill", "wards.csv", "--target", "ill", "--privileged", "x1*", *QUICK, "--labelled")
    assert status == 0
    assert "vote without privileged columns" in out
    assert "report runs" in out
    page = (tmp_path / "runs/fit-wards/report.html").read_text()
    assert "1 of 90 rows have no ill and are left out." in page
    assert "--labelled" in command(page)


def test_rows_that_are_left_out_are_counted_in_sentences(mechlearn, tmp_path):
    lines = (tmp_path / "wards.csv").read_text().splitlines()
    lines[7] = re.sub(",(yes|no),", ",,", lines[7])
    lines[9] = re.sub("^[^,]*", "inf", lines[9])
    (tmp_path / "wards.csv").write_text("\n".join([*lines, ""]))
    status, _, err = mechlearn(*ASKED, *QUICK, "--labelled")
    assert status == 2
    assert "first in data row 9 of 90" in err


def test_a_stray_text_among_a_target_s_numbers_is_refused_unless_classes_are_asked_for(mechlearn, tmp_path):
    lines = (tmp_path / "wards.csv").read_text().replace(",no,", ",0,").replace(",yes,", ",1,").splitlines()
    lines[7] = re.sub(",[01],person", ",?,person", lines[7])
    (tmp_path / "wards.csv").write_text("\n".join([*lines, ""]))
    for words in (ASKED, ("fit", "distill", "wards.csv", "--target", "ill", "--privileged", "x1*")):
        status, _, err = mechlearn(*words, *QUICK)
        assert status == 2
        assert "numbers in 89 of 90 filled cells of 'ill', and texts in the others, such as '?' in data row 7" in err
    status, out, _ = mechlearn(*ASKED, *QUICK, "--task", "classification")
    assert status == 0
    assert "The target is taken for classes, 3 of them: 0, 1, ?. Fewer than 5 rows are of ? (1)" in out


def test_from_a_table_to_a_verdict_and_predictions(mechlearn, tmp_path):
    words = ("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward", *QUICK)
    status, out, err = mechlearn(*words, "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    said = {"verdict", "sentence", "advice", "notes", "method", "against", "gain", "low", "high", "sites", "disagreeing"}
    assert set(answer) == {*said, "model", "report"}
    assert answer["sentence"]
    assert all(isinstance(note, str) for note in answer["advice"] + answer["notes"])
    assert answer["sites"] == 3
    assert answer["low"] is None
    page = (tmp_path / answer["report"]).read_text()
    assert page.index("What the sites disagree about") < page.index("Candidates") < page.index("The sites")
    assert "person 1" not in page
    card = json.loads((tmp_path / answer["model"] / "card.json").read_text())
    assert len(card["data"]) == 64
    status, out, _ = mechlearn("predict", answer["model"], "wards.csv")
    assert status == 0
    assert out.splitlines()[0] == "ill,probability of no,probability of yes"
    assert len(out.splitlines()) == 91
    assert mechlearn("predict", answer["model"], "wards.csv", "--out", "said.csv", "--json")[0] == 0
    assert (tmp_path / "said.csv").read_text() == out


def test_a_run_that_was_killed_goes_on(mechlearn, tmp_path, monkeypatch):
    words = ("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward", *QUICK, "--json")
    made = []

    def boosting(fold):
        made.append(fold.out)
        if len(made) == 1:
            raise KeyboardInterrupt
        return np.tile([0.6, 0.4], (int((~fold.trained_on).sum()), 1))

    monkeypatch.setitem(candidates.CANDIDATES, "pooled boosting", boosting)
    assert mechlearn(*words)[0] == 130
    parts = sorted((tmp_path / "runs/fit-wards/parts").glob("*/*.npz"))
    assert [part.stem for part in parts] == ["pooled-linear-0", "settings"]
    times = [part.stat().st_mtime_ns for part in parts]
    status, out, _ = mechlearn(*words)
    assert status == 0
    assert [part.stat().st_mtime_ns for part in parts] == times
    count, first = len(made), json.loads(out)
    assert json.loads(mechlearn(*words)[1]) == first
    assert len(made) == count  # the third time everything was there
    assert mechlearn(*words, "--seed", "1")[0] == 0
    assert len({part.parent for part in (tmp_path / "runs/fit-wards/parts").glob("*/*.npz")}) == 2
    (tmp_path / "wards.csv").write_text((tmp_path / "wards.csv").read_text().replace("ward 1", "ward 9"))
    assert mechlearn(*words)[0] == 0
    assert len({part.parent for part in (tmp_path / "runs/fit-wards/parts").glob("*/*.npz")}) == 3


def test_masked_names_are_nowhere(mechlearn, tmp_path):
    words = ("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward", "--anonymous", *QUICK, "--json")
    answer = json.loads(mechlearn(*words)[1])
    page = (tmp_path / answer["report"]).read_text()
    assert "Calibration" in page
    assert "ward 1" not in page
    assert "ward 1" not in json.dumps(answer)
    assert "site 2" in page
    assert not any("ward 1" in path.read_text() for path in (tmp_path / answer["model"]).glob("*.json"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("fit",), "distill or skips. Found nothing. Run: mechlearn fit agreement data.csv --target y --environment site"),
        (("fit", "skip"), "Found 'skip'. Did you mean skips?"),
        (("fit", "agreement"), "Found no file"),
        (("fit", "agreement", "wards.csv", "--environment", "ward"), "should be given --target"),
        (("fit", "distill", "wards.csv", "--target", "ill"), "should be given --privileged"),
        (("fit", "agreement", "wards.csv", "--target", "sick", "--environment", "ward"), "no 'sick'"),
        (("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "wart", *QUICK), "Did you mean 'ward'"),
        (("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward"), "at most 50 categories"),
        (("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ill", *QUICK), "should be two columns"),
        (("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward", "--budget", "0"), "above 0 minutes"),
        ((*ASKED, "--budget", "nan"), "above 0 minutes and finite. Found nan"),
        ((*ASKED, "--budget", "inf"), "above 0 minutes and finite. Found inf"),
        ((*ASKED, *QUICK, "--drop", "ill"), "can neither be dropped nor be privileged"),
        ((*ASKED, *QUICK, "--drop", "war*"), "What --environment names cannot be dropped, and is no input anyway."),
        ((*ASKED, "--drop", "[!x]*", "--test-environment", "Leeds"), "There are: ward 0, ward 1, ward 2."),
        ((*ASKED, "--drop", "*"), "should be there to learn from. Found none that --drop leaves. Keep"),
        ((*ASKED, *QUICK, "--test-environment", "Leeds"), "There are: ward 0, ward 1, ward 2."),
        (("fit", "distill", "wards.csv", "--target", "ill", "--privileged", "lab_*", *QUICK), "none for 'lab_"),
        (
            ("fit", "distill", "wards.csv", "--target", "ill", "--privileged", "il*", *QUICK),
            "can neither be dropped nor be privileged",
        ),
        (("fit", "agreement", "wards.csv", "--target", "ill", "--environment", "ward", "--what"), "See --help"),
        (
            (*ASKED, "--privileged", "x1*"),
            "--privileged should come with mechlearn fit distill. Found it with mechlearn fit agreement. --drop these columns",
        ),
        (
            (*ASKED, "--ahead", "0"),
            "--ahead should come with mechlearn fit skips. Found it with mechlearn fit agreement. Leave it out",
        ),
        (
            ("fit", "distill", "wards.csv", "--target", "ill", "--privileged", "x1*", "--test-environment", "ward 1"),
            "--test-environment should come with mechlearn fit agreement. Found it with mechlearn fit distill. Leave the rows",
        ),
        (
            ("fit", "skips", "wards.csv", "--drop", "name"),
            "--drop should come with mechlearn fit sites, agreement and distill. Found it with",
        ),
        (
            ("fit", "skips", "wards.csv", "--anonymous"),
            "--anonymous should come with mechlearn fit sites, agreement and distill. Found it with",
        ),
        (("predict", "here"), "a model and a table"),
        (("predict", "nowhere", "wards.csv"), "nowhere is no folder. mechlearn fit keeps one in runs/fit-FILE/model"),
        (
            ("predict", ".", "wards.csv"),
            "with the card.json that mechlearn fit wrote. Found that . holds no card.json. mechlearn fit keeps",
        ),
        (("predict", "mine", "wards.csv"), "mine holds no card.json. Name mine/model"),
    ],
)
def test_bad_usage_is_a_sentence(mechlearn, words, sentence, tmp_path):
    (tmp_path / "mine" / "model").mkdir(parents=True)
    (tmp_path / "mine" / "model" / "card.json").touch()
    status, out, err = mechlearn(*words)
    assert (status, out) == (2, "")
    assert sentence in err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--drop", "x [ab]"), "Found '1.234,5' in column 'x a'. Write them without marks between thousands, or leave"),
        (("--drop", "x [ab]", "--drop", "x a"), "should be there to learn from. Found none that --drop leaves."),
    ],
)
def test_a_name_is_itself_before_it_is_a_pattern(mechlearn, tmp_path, words, sentence):
    """Of the columns `x [ab]` and `x a` the first, as a pattern, means the other one; what is dropped may hold anything."""
    (tmp_path / "t.csv").write_text("site;x [ab];x a;y\nA;1.234,5;1.234,5;0\nB;1,5;1,5;1\n")
    status, _, err = mechlearn("fit", "agreement", "t.csv", "--target", "y", "--environment", "site", *words)
    assert status == 2
    assert sentence in err


def test_no_table_there(mechlearn):
    assert mechlearn("fit", "agreement", "none.csv", "--target", "a", "--environment", "b")[0] == 1


def test_help(mechlearn):
    assert mechlearn("fit", "--help")[0] == 0
    assert mechlearn("predict", "--help")[0] == 0


def test_skips_from_trajectories(mechlearn, tmp_path):
    angle = np.linspace(0, 6, 20)[:, None] + np.arange(6) * 0.3
    np.savez("swings.npz", frames=np.stack([np.cos(angle), np.sin(angle)], -1))
    status, out, err = mechlearn("fit", "skips", "swings.npz", "--budget", "0.0001", "--json")
    assert (status, err) == (0, "")
    answer = json.loads(out)
    assert answer["verdict"] in ("helps", "as good", "harms", "cannot tell")
    page = (tmp_path / answer["report"]).read_text()
    assert "4 frames ahead" in page
    assert "120 frames of 20 trajectories" in page
    (tmp_path / "states.csv").write_text("x0,x1\n1,0\n")
    status, out, _ = mechlearn("predict", answer["model"], "states.csv", "--steps", "2")
    assert status == 0
    assert out.splitlines()[0] == "start,step,frames ahead,x0,x1"
    assert len(out.splitlines()) == 3
    status, out, _ = mechlearn("fit", "skips", "swings.npz", "--budget", "0.0001", "--ahead", "5")
    assert "standing still" in out
    assert mechlearn("fit", "skips", "swings.npz", "--ahead", "9")[0] == 2


def test_a_report_lists_sites_that_are_numbers_by_value():
    names = ["(missing)", "1", "10", "11", "2"]
    lists = {"held_out": names, "site_names": names[1:], "sites": [{"name": name} for name in names]}
    facts = {
        **lists,
        "candidates": [{"name": "AND-mask", "scores": [0, 1, 10, 11, 2]}],
        "features": [{"column": "age", "signs": ["+", "-", "0", ""]}],
        "differences": dict.fromkeys(names[1:], 1.0),
        "calibration": {"curve": [], "sites": [{"name": name} for name in names]},
    }
    found = in_order(facts)
    assert found["held_out"] == ["(missing)", "1", "2", "10", "11"]
    assert found["candidates"][0] == {"name": "AND-mask", "scores": [0, 1, 2, 10, 11]}
    assert found["features"][0]["signs"] == ["+", "", "-", "0"]
    assert list(found["differences"]) == ["1", "2", "10", "11"]
    assert (
        [one["name"] for one in found["sites"]] == [one["name"] for one in found["calibration"]["sites"]] == found["held_out"]
    )
    facts["held_out"] = ["ward 10", "1", "2", "3", "4"]
    assert in_order(facts)["held_out"] == facts["held_out"]
    assert in_order({"notes": []}) == {"notes": []}


def test_how_far_it_is_and_how_long_it_takes(capsys):
    parts = Parts(None)
    told = teller(parts)
    parts.found = 2
    told(2, 10)
    assert capsys.readouterr().err.strip() == "2 of 10 fits, 2 of them there already"
    told(4, 10)
    assert "s left" in capsys.readouterr().err
    told(10, 10)
    assert capsys.readouterr().err.endswith("\n")


def test_another_question_does_not_replace_a_model_unless_its_folder_is_named(mechlearn, tmp_path):
    card = tmp_path / "runs/fit-wards/model/card.json"
    assert mechlearn(*ASKED, *QUICK)[0] == 0
    before = card.read_bytes()
    other = ("fit", "agreement", "wards.csv", "--target", "x1", "--environment", "ward", *QUICK)
    status, _, err = mechlearn(*other)
    assert (status, card.read_bytes()) == (2, before)
    assert "Found another one's in runs/fit-wards. Name a folder with --out, or this one to replace it" in err
    for mistyped, said in (
        (("wards.csv", "--target", "il", "--environment", "ward"), "Found no 'il'. Did you mean 'ill'?"),
        (("wards.csv", "--target", "x1", "--environment", "wart"), "Found no 'wart'. Did you mean 'ward'?"),
        (("elsewhere/wards.csv", "--target", "ill", "--environment", "ward"), "elsewhere/wards.csv"),
    ):
        status, _, err = mechlearn("fit", "agreement", *mistyped)
        assert status != 0
        assert said in err
        assert "another one's" not in err
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/wards.csv").write_bytes((tmp_path / "wards.csv").read_bytes())
    again = ("fit", "agreement", "elsewhere/wards.csv", *ASKED[3:], *QUICK)
    assert mechlearn(*again)[0] == 2
    assert mechlearn(*other, "--out", "runs/fit-wards")[0] == 0
    assert json.loads(card.read_text())["target"] == "x1"


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_what_stdout_has_no_characters_for_is_spelled_out(monkeypatch, encoding):
    stream = io.TextIOWrapper(memory := io.BytesIO(), encoding=encoding, newline="")
    monkeypatch.setattr("sys.stdout", stream)
    with common.printable():
        print("病棟")
        common.print_json({"ward": "病棟 😀"})
    assert stream.errors == "strict"
    stream.flush()
    said, _, found = memory.getvalue().decode(encoding).partition("\n")
    assert said == ("病棟" if encoding == "utf-8" else r"\u75c5\u68df")
    assert json.loads(found) == {"ward": "病棟 😀"}
