"""The paper presets in their simulators: a run that its time stops, kept in the middle, gone on with, and still finite."""

import json

import pytest
import torch
from safetensors.torch import load_file

from craik import cli

SHORT = {
    "impala-lag": "--lags 1 --mdps 0 --updates 60 --envs 8 --steps 2",
    "popart-tasks": "--updates 60 --envs 1 --steps 2",
    "promp-corners": "--tasks 2 --trajectories 2 --horizon 4 --iterations 60 --meta-steps 1",
}
"""What makes a stop come soon; world and networks are the preset's."""


@pytest.mark.extra("rl", "gymnasium", "ale_py", "mujoco")
@pytest.mark.parametrize("name", list(SHORT))
def test_a_paper_preset_stops_in_time_and_goes_on(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["run", name, "--preset", "paper", "--seeds", "1", "--jobs", "1", *SHORT[name].split()]
    kept = list[dict[str, torch.Tensor]]()
    for turn in range(2):
        assert cli.main([*words, "--max-minutes", "0.0002", "--json"]) == 143
        out, said = capsys.readouterr()
        assert "the same command goes on from there" in json.loads(out)["error"]
        assert ("goes on from its checkpoint" in said) == (turn == 1)
        (path,) = tmp_path.glob(f"runs/{name}/*/seed-*.checkpoint.safetensors")
        kept.append({key: value for key, value in load_file(path).items() if value.is_floating_point()})
    assert all(kept)
    assert all(bool(value.isfinite().all()) for state in kept for value in state.values())
