from argparse import Namespace
from types import SimpleNamespace

import pytest
import torch

from claimlab.errors import UsageError
from mechlearn_zoo.commands import PROGRAM, coinrun
from mechlearn_zoo.tasks.pictures.cloning import Recording, States
from mechlearn_zoo.tasks.pictures.coinrun import collecting, interpreter, keeping
from mechlearn_zoo.tasks.pictures.coinrun.expert import Expert

DEFAULTS = {"levels": 2, "states": 1, "validation": 1, "test": 1, "mode": "easy", "seed": 0}


def states(level):
    return States(torch.zeros(1, 4, 4, 3, dtype=torch.uint8), torch.ones(1, 15) / 15, torch.tensor([level]))


@pytest.fixture
def collected(tmp_path, monkeypatch):
    """Collect with a made-up simulator and training; returns which experts were trained from, played and kept."""
    seen = SimpleNamespace(starts=[], played=[], kept=[])

    def train(python, training, on_progress, start, keep):
        del python
        seen.starts.append(start)
        on_progress(training.steps, None)
        keep(Expert("halfway", 1, 1.0, None))
        return Expert("trained", (start.steps if start else 0) + training.steps, 2.0, 5.0)

    def collect(python, expert, wanted, say):
        del python, wanted, say
        seen.played.append(expert)
        return Recording(states(0), states(1), states(2), {})

    def save(expert, path):
        path.touch()
        seen.kept.append(expert.policy)

    for name, function in {"train": train, "save": save, "load": lambda path: Expert(path.name, 100, 9.0, 4.0)}.items():
        monkeypatch.setattr(keeping, name, function)
    monkeypatch.setattr(collecting, "collect", collect)
    monkeypatch.setattr(interpreter, "interpreter", lambda cache, python: tmp_path / "python")

    def run(**options):
        paths = {"to": tmp_path / "recording", "cache": tmp_path, "python": None}
        training = {"expert": tmp_path / "expert.pt", "further": False, "steps": 10, "minutes": None}
        coinrun.collect(Namespace(**DEFAULTS, **paths, **{**training, **options}))
        return seen

    return run


def test_an_expert_is_trained_and_kept_as_training_goes(collected):
    seen = collected()
    assert seen.starts == [None]
    assert seen.kept == ["halfway", "trained"]
    assert seen.played[0].steps == 10


def test_an_expert_that_is_there_is_used_as_it_is(collected, tmp_path):
    (tmp_path / "expert.pt").touch()
    seen = collected()
    assert (seen.starts, seen.kept) == ([], [])
    assert seen.played[0].steps == 100


def test_an_expert_that_is_there_is_trained_on(collected, tmp_path):
    (tmp_path / "expert.pt").touch()
    seen = collected(further=True)
    assert seen.starts[0].policy == "expert.pt"
    assert seen.played[0].steps == 110


@pytest.mark.parametrize("option", [{"steps": 0}, {"minutes": 0.0}, {"minutes": float("nan")}])
def test_a_training_takes_steps_and_minutes(collected, option):
    with pytest.raises(UsageError, match=f"--{next(iter(option))} should be"):
        collected(**option)


@pytest.mark.parametrize("name", [None, "none.pt"])
def test_there_must_be_one_to_train_on(collected, tmp_path, name):
    with pytest.raises(UsageError, match="--further should find an expert"):
        collected(further=True, expert=name and tmp_path / name)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [((), "Found none. Run `mechlearn coinrun collect"), (("collect", "--to", "."), "--to should name a file")],
)
def test_bad_usage_is_one_sentence_and_status_2(words, sentence, capsys):
    assert PROGRAM.main(["coinrun", *words]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mechlearn: ")
    assert sentence in said
    assert said.count("\n") == 1
