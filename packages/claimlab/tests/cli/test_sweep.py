import functools
import json
import sys

import pytest

from claimlab import cli


@pytest.fixture
def claimlab(claimlab):
    """Runs `claimlab sweep climb` in an empty folder and gives its exit status, stdout and stderr."""
    return functools.partial(claimlab, "sweep", "climb", "--package", "fake_sweeps")


def test_a_sweep_from_the_command_line(claimlab, here, tmp_path):
    words = ("--trials", "4", "--sampler", "random", "--seeds", "1", "--steps", "1", "--jobs", "1")
    status, out, said = claimlab(*words, "--json")
    assert status == 0, said
    answer = json.loads(out)
    assert (answer["name"], answer["trials"], answer["sampler"], answer["pruner"]) == ("climb", 4, "random", "median")
    assert [(one["method"], one["complete"] + one["failed"]) for one in answer["methods"]] == [("up", 4), ("down", 4)]
    assert answer["methods"][0]["fields"]["methods"] == ["up"]
    assert set(answer["methods"][0]["fresh"]) == {"validation_height", "test_height"}
    assert sum(answer["methods"][0]["importance"].values()) == pytest.approx(1)
    report = (tmp_path / answer["artifacts"][0]).read_text()
    assert "claimlab sweep climb --package fake_sweeps --preset quick --trials 4 --sampler random --pruner median" in report
    assert "--pruner median --steps 1" in report
    assert report.count("data:image/svg+xml") == 3  # importance, and each method's slices
    assert [path.rsplit("/")[-1] for path in answer["artifacts"][1:]] == ["importance.svg", "slices-up.svg", "slices-down.svg"]
    assert said.count("trial") == 8

    status, out, said = claimlab(*words)  # all is there
    assert (status, said) == (0, "climb: 8 trials recorded before\n")
    assert out.splitlines()[-2].startswith("sweep   runs/climb/sweep-quick,random,steps=1-")


def test_help_shows_ranges(claimlab):
    status, out, _ = claimlab("--help")
    assert status == 0
    assert "ranges of quick: highest validation_height, of up, down\n  x: log-uniform 0.0001 to 1\n" in out


def test_without_optuna_a_sentence_says_what_to_install(claimlab, monkeypatch):
    for name in ("claimlab.cli.sweep", "claimlab.sweeping.report"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "optuna", None)
    status, _, said = claimlab()
    assert status == 1
    assert "pip install 'claimlab'" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--trials", "many"], "should be a whole number"),
        (["--jobs", "0"], "--jobs should be at least 1"),
        (["--seeds", "0"], "--seeds should be at least 1"),
        (["--storage", "nowhere"], "A storage should be a URL"),
        (["--sampler", "annealing"], "invalid choice: 'annealing'"),
        (["--zzz", "0.5"], "should be one of its fields"),
        (["--out", ""], "should name a file or a folder"),
    ],
)
def test_what_cannot_be_is_a_sentence(claimlab, words, sentence):
    status, out, said = claimlab(*words)
    assert (status, out) == (2, "")
    assert sentence in said


def test_an_experiment_without_ranges(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["sweep", "counter-walk", "--package", "fake_experiments"]) == 2
    assert "Declare them next to its Config" in capsys.readouterr().err
    assert cli.main(["sweep"]) == 2
    assert "should be given the name of an experiment" in capsys.readouterr().err
