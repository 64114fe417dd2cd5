"""The collector against a simulator that is easy to predict; the real one needs Python 3.10 and an installation."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from mechlearn_zoo.tasks.pictures.coinrun import interpreter as interpreters
from mechlearn_zoo.tasks.pictures.coinrun.collecting import Collection, collect
from mechlearn_zoo.tasks.pictures.coinrun.errors import CollectorError
from mechlearn_zoo.tasks.pictures.coinrun.expert import Expert
from mechlearn_zoo.tasks.pictures.coinrun.levels import Levels


class Uniform:
    """A policy as stable-baselines3's, reduced to what is read of it."""

    def get_distribution(self, images):
        return SimpleNamespace(distribution=torch.distributions.Categorical(logits=torch.zeros(len(images), 15)))


def expert():
    return Expert(Uniform(), steps=12, seconds=1.0, mean_return=None)


def test_levels_are_played_through_the_pipe(python):
    with Levels(python, games=2, levels=3, start=10) as levels:
        assert levels.observe().begins.tolist() == [True, True]
        seen = [levels.step(np.array([7, 0], dtype=np.int32)) for _ in range(3)]
    assert [step.begins.tolist() for step in seen] == [[False, False], [False, False], [True, True]]
    assert seen[2].rewards.tolist() == [10.0, 0.0]
    assert seen[2].levels.tolist() == [12, 10]
    assert seen[2].frames.shape == (2, 64, 64, 3)
    assert (seen[2].frames[0] == 12).all()


def test_a_simulator_that_ends_says_its_last_word(python):
    with Levels(python, games=2, levels=3, seed=13) as levels:
        for _ in range(2):
            levels.step(np.zeros(2, dtype=np.int32))
        with pytest.raises(CollectorError, match="the coin fell off the world"):
            levels.step(np.zeros(2, dtype=np.int32))


def test_a_collection_has_what_was_asked_for(python):
    wanted = Collection(levels=5, states=4, keep=0.5, validation=6, test=7, games=3, seed=2)
    recording = collect(python, expert(), wanted)
    assert torch.bincount(recording.train.levels).tolist() == [4] * 5
    assert len(recording.validation.levels) == 6
    others = torch.cat([recording.validation.levels, recording.test.levels]).tolist()
    assert len(set(others)) == 13
    assert min(others) >= 5
    for part in recording[:3]:
        assert (part.frames[:, 0, 0, 0] == part.levels % 250).all()
    assert recording.about["expert_steps"] == "12"
    again = collect(python, expert(), wanted)
    assert torch.equal(again.train.frames, recording.train.frames)


@pytest.mark.parametrize("settings", [{"levels": 0}, {"test": -1}, {"keep": 0.0}, {"keep": 1.5}])
def test_a_collection_that_cannot_be(settings):
    with pytest.raises(CollectorError, match="Found"):
        Collection(**settings)


def test_the_wrong_python_is_refused(tmp_path):
    with pytest.raises(CollectorError, match=r"should be run by Python 3\.10\. Found that .* is Python 3\.1"):
        interpreters.interpreter(tmp_path, sys.executable)
    with pytest.raises(CollectorError, match="cannot be run"):
        interpreters.interpreter(tmp_path, str(tmp_path / "no-python"))


def test_no_python_is_one_clear_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(interpreters, "_candidates", lambda: iter(()))
    with pytest.raises(CollectorError, match=r"Found none on PATH, in pyenv or in uv\. Install one"):
        interpreters.interpreter(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_finished_installation_is_used_again(tmp_path):
    home = tmp_path / "procgen-0.10.7"
    home.mkdir()
    (home / "installed").touch()
    assert interpreters.interpreter(tmp_path) == home / "bin" / "python"


def test_a_simulator_that_has_ended_is_closed(python):
    with Levels(python, games=2, levels=3, seed=13) as levels:
        for _ in range(2):
            levels.step(np.zeros(2, dtype=np.int32))
        for _ in range(2):
            with pytest.raises(CollectorError, match="Found an end"):
                levels.step(np.zeros(2, dtype=np.int32))
    assert levels._process.returncode is not None
    assert levels._process.stdout.closed
    assert levels._process.stderr.closed


def test_actions_are_one_a_game(python):
    with Levels(python, games=2, levels=3) as levels, pytest.raises(ValueError, match=r"of shape \(2,\). Found .* \(1,\)"):
        levels.step(np.zeros(1, dtype=np.int32))


def test_an_interpreter_that_is_not_there_is_said(tmp_path):
    with pytest.raises(CollectorError, match=r"should be run by a Python\. Found that .*nowhere cannot be run \(No such file"):
        Levels(tmp_path / "nowhere", games=2, levels=3)
