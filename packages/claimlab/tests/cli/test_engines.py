import sys

import pytest

from claimlab import cli


@pytest.fixture
def claimlab(tmp_path, monkeypatch, capsys):
    """Runs a command on the made-up experiments in an empty folder; gives its exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def _claimlab(command, *words):
        name, package = {"run": ("walker", "fake_trainings"), "sweep": ("climb", "fake_sweeps")}[command]
        status = cli.main([command, name, "--package", package, *words])
        return status, *capsys.readouterr()

    return _claimlab


@pytest.mark.parametrize("command", ["run", "sweep"])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--on", "slurm"), "--on must be ray or ray:HOST:PORT, but found 'slurm'"),
        (("--gpus", "1"), "wishes of a cluster need one, but found --gpus without --on ray"),
        (("--cpus", "2"), "wishes of a cluster need one, but found --cpus without --on ray"),
        (("--on", "ray", "--cpus", "0"), "a seed needs some of a core or of a GPU, but found --cpus 0 --gpus 0"),
        (("--on", "ray", "--gpus", "-1"), "found --cpus 1 --gpus -1"),
    ],
)
def test_engines_and_wishes_that_cannot_be(claimlab, command, words, sentence):
    status, out, said = claimlab(command, *words)
    assert (status, out) == (2, "")
    assert sentence in said


def test_without_ray_the_extra_is_named(claimlab, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    status, _, said = claimlab("run", "--on", "ray")
    assert status == 1
    assert said.endswith("pip install 'claimlab[cluster]'\n")
