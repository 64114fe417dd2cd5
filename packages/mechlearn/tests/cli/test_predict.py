import json
import os
from functools import partial

import numpy as np
import pytest

from mechlearn import cli
from mechlearn.tables import reading
from mechlearn.tables.reading_in import Column, Encoding
from mechlearn.tables.saving import Model, save

ARRAYS = {"mean": np.zeros(1), "spread": np.ones(1), "0.weight": np.full((1, 1, 1), 2.0), "0.bias": np.zeros((1, 1))}
ROWS = [1, 2, 3, 4, 5]


@pytest.fixture
def mechlearn(tmp_path, monkeypatch, capsys):
    """Runs `predict model` with a model that doubles `a`, which reads two rows at a time; a table is there, and an old
    file of predictions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading, "read_batches", partial(reading.read_batches, rows=2))
    target = {"target mean": np.zeros(1), "target spread": np.ones(1)}
    save(Model(Encoding((Column("a"),)), None, {**ARRAYS, **target}, "numbers", {"target": "y"}), tmp_path / "model")
    table(tmp_path / "t.csv", ROWS)
    (tmp_path / "said.csv").write_text("old\n")

    def _mechlearn(*words: str):
        return cli.main(["predict", "model", *words]), *capsys.readouterr()

    return _mechlearn


def table(path, cells):
    path.write_text("\n".join(["a,b", *(f"{cell},x" for cell in cells), ""]))


def test_predictions_are_cut_at_the_classes_shares(mechlearn, tmp_path):
    """A third row's probability of class 1 is .37, below its share of .4 in training; the second's is .5."""
    arrays = {**ARRAYS, "0.weight": np.array([[[0.538], [0.0]]]), "0.bias": np.zeros((1, 2))}
    facts = {"target": "y", "method": "screening"}
    save(Model(Encoding((Column("a"),)), (0, 1), arrays, "probabilities", facts, shares=(0.6, 0.4)), tmp_path / "model")
    table(tmp_path / "t.csv", [-1, 0, 1])
    status, out, err = mechlearn("t.csv")
    lines = [line.split(",") for line in out.splitlines()]
    assert (status, lines[0]) == (0, ["y", "probability of 0", "probability of 1"])
    assert [line[0] for line in lines[1:]] == ["1", "1", "0"]
    assert [float(line[2]) for line in lines[2:]] == pytest.approx([0.5, 0.368652], abs=1e-5)
    assert "be 1 (40.0 % there) may have a probability of it below a half" in err


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_predictions_take_the_place_of_an_old_file(mechlearn, tmp_path):
    (tmp_path / "said.csv").chmod(0o640)
    (tmp_path / "link.csv").symlink_to("said.csv")
    assert mechlearn("t.csv", "--out", "link.csv")[0] == 0
    assert (tmp_path / "said.csv").read_text() == "y\n" + "".join(f"{2.0 * row}\n" for row in ROWS)
    assert (tmp_path / "said.csv").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.csv").is_symlink()
    status, out, _ = mechlearn("t.csv", "--out", "new/said.csv", "--json")
    assert (status, json.loads(out)["rows"]) == (0, 5)
    assert names(tmp_path / "new") == ["said.csv"]


@pytest.mark.parametrize(
    ("cell", "found"), [("<0.3", "<0.3"), ("inf", "inf"), ("1e200", "1e+200"), ("2020-01-02", "2020-01-02")]
)
def test_a_bad_cell_is_named_and_leaves_the_old_file(mechlearn, tmp_path, cell, found):
    table(tmp_path / "t.csv", [1, 2, "", "\nNA", cell])
    before = names(tmp_path)
    status, out, err = mechlearn("t.csv", "--out", "said.csv")
    assert (status, out) == (2, "")
    assert "Column 'a' should hold finite numbers" in err
    assert f"Found '{found}' in data row 5 (line 7) of t.csv" in err
    assert (tmp_path / "said.csv").read_text() == "old\n"
    assert names(tmp_path) == before


def test_what_is_kept_is_as_it_stands(mechlearn, tmp_path):
    (tmp_path / "t.csv").write_text("country;a;b\nNA;1,5;1.234,5\n;2;01\n")
    assert mechlearn("t.csv", "--keep", "country", "--keep", "b")[1] == 'country,b,y\nNA,"1.234,5",3.0\n,01,4.0\n'


def test_a_stop_leaves_the_old_file(mechlearn, tmp_path, monkeypatch):
    def stopped(*args, **kwargs):
        yield {"a": np.ones(2)}
        assert any(name.startswith(".said.csv") for name in names(tmp_path))
        raise KeyboardInterrupt

    before = names(tmp_path)
    monkeypatch.setattr(reading, "read_batches", stopped)
    assert mechlearn("t.csv", "--out", "said.csv")[0] == 130
    assert (tmp_path / "said.csv").read_text() == "old\n"
    assert names(tmp_path) == before


@pytest.mark.parametrize("out", ["t.csv", "./t.csv", "link.csv", "model/card.json", "model/weights.safetensors"])
def test_what_is_read_is_not_written_over(mechlearn, tmp_path, out):
    (tmp_path / "link.csv").symlink_to("t.csv")
    before = (tmp_path / out).read_bytes()
    status, _, err = mechlearn("t.csv", "--out", out)
    assert status == 2
    assert "--out should name a file of its own" in err
    assert (tmp_path / out).read_bytes() == before


def test_a_folder_is_no_file_for_predictions(mechlearn):
    status, _, err = mechlearn("t.csv", "--out", "model")
    assert status == 2
    assert "model is a folder" in err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev")
def test_a_device_is_written_to_as_it_is(mechlearn):
    assert mechlearn("t.csv", "--out", os.devnull)[0] == 0
    assert not os.path.isfile(os.devnull)


def test_columns_to_keep_stand_beside_their_predictions(mechlearn, tmp_path):
    (tmp_path / "t.csv").write_text("a,patient,y\n1,01,2\n2,1,\n3,,6\n")
    status, out, _ = mechlearn("t.csv", "--keep", "patient", "--keep", "a")
    assert (status, out) == (0, "patient,a,y\n01,1,2.0\n1,2,4.0\n,3,6.0\n")
    status, out, _ = mechlearn("t.csv", "--keep", "y", "--keep", "y")  # what was so beside what is said
    assert (status, out) == (0, "y,predicted y\n2,2.0\n,4.0\n6,6.0\n")
    status, out, _ = mechlearn("t.csv", "--keep", "patient", "--json")
    assert json.loads(out)["predictions"][1:] == [{"patient": "1", "y": 4.0}, {"patient": None, "y": 6.0}]


def test_columns_to_keep_are_there_and_have_names_of_their_own(mechlearn, tmp_path):
    before = names(tmp_path)
    status, out, err = mechlearn("t.csv", "--keep", "c", "--out", "said.csv")
    assert (status, out) == (2, "")
    assert "--keep should name a column of the table. Found no 'c'. There are: a, b." in err
    assert names(tmp_path) == before
    (tmp_path / "said.csv").write_text("a,y,predicted y\n1,2,2\n")
    status, _, err = mechlearn("said.csv", "--keep", "y", "--keep", "predicted y")
    assert status == 2
    assert "Found 'predicted y' twice. Leave its --keep out." in err


@pytest.mark.parametrize("steps", ["0", "-3"])
def test_a_prediction_of_no_step_is_refused(mechlearn, steps):
    status, out, err = mechlearn("t.csv", f"--steps={steps}")
    assert (status, out) == (2, "")
    assert f"A prediction should take a step at least. Found --steps {steps}" in err


def test_values_far_from_all_that_was_trained_on_are_said_once(mechlearn, tmp_path):
    table(tmp_path / "t.csv", [1, -30, 19, 21, 500])
    status, out, err = mechlearn("t.csv")
    assert (status, out.splitlines()[-1]) == (0, "1000.0")
    assert err == (
        "Values of a (3 rows) are more than 20 standard deviations from the mean trained on: look whether units are the same, "
        "and empty codes for missing.\n"
    )
    table(tmp_path / "t.csv", ROWS)
    assert mechlearn("t.csv")[2] == ""


def test_no_cell_is_computed_by_a_spreadsheet(mechlearn, tmp_path):
    """Of a stranger's table or model: labels, names and cells that begin like a formula."""
    (tmp_path / "t.csv").write_text('a,b\n1,=1+1\n2,-5\n3,"@x"\n4,-x\n')
    status, out, said = mechlearn("t.csv", "--keep", "b", "--out", "new.csv")
    assert (status, out) == (0, "")
    assert (tmp_path / "new.csv").read_text() == "b,y\n'=1+1,2.0\n-5,4.0\n'@x,6.0\n'-x,8.0\n"
    assert "3 texts that a spreadsheet would take for formulas have an apostrophe in front." in said


def test_a_stop_while_commands_are_found_is_a_sentence(monkeypatch, capsys):
    def stopped():
        raise KeyboardInterrupt
        yield

    monkeypatch.setattr(cli, "_programs", stopped)
    for words in (["run", "spirals"], ["fit"], ["--help"]):
        assert cli.main(words) == 130
        assert capsys.readouterr().err == "mechlearn: stopped by Ctrl-C\n"
