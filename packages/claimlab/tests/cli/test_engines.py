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
        (("--on", "slurm"), "--on should be ray or ray:HOST:PORT. Found 'slurm'"),
        (("--gpus", "1"), "--gpus should come with --on ray"),
        (("--cpus", "2"), "--cpus should come with --on ray"),
        (("--on", "ray", "--cpus", "0"), "A seed should have a share of a core or of a GPU. Found --cpus 0 --gpus 0"),
        (("--on", "ray", "--gpus", "-1"), "Found --cpus 1 --gpus -1"),
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
    assert said.endswith("Run `pip install 'claimlab[cluster]'`.\n")
