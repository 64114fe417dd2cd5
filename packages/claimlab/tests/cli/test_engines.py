import sys

import pytest

RUN, SWEEP = ("run", "walker", "--package", "fake_trainings"), ("sweep", "climb", "--package", "fake_sweeps")


@pytest.mark.parametrize("command", [RUN, SWEEP])
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
    status, out, said = claimlab(*command, *words)
    assert (status, out) == (2, "")
    assert sentence in said


def test_without_ray_the_extra_is_named(claimlab, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    status, _, said = claimlab(*RUN, "--on", "ray")
    assert status == 1
    assert said.endswith("Run `pip install 'claimlab[cluster]'`.\n")
