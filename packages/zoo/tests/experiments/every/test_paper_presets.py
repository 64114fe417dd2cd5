"""Paper presets that take hours, for some seconds: a checkpoint, rows, a resume, finite losses, parameters that move.

Status 143 and its sentence.
"""

import json
import math
import os
import re

import pytest
from safetensors.torch import load_file

from mechlearn import cli

pytestmark = pytest.mark.skipif(
    "test" not in os.environ.get("MECHLEARN_EXTRAS", "").split(","), reason="minutes: `make extras`"
)

EXPERIMENTS = {
    "divide-and-conquer": (),
    "particle-language": (),
    "social-dilemmas": (),
    "social-dilemmas influence-paper": (),
    "forward-models": (),
    "take-cover": ("worlds", "cma"),
    "two-rooms": (),
    "captions": (),
    "coordinates": (),
    "decoding": ("worlds", "nitime"),
    "loss-surface": (),
    "environment-surfaces": (),
    "masked-lm": (),
    "trellis": (),
    "eager": (),
    "winograd": (),
    "temperature-sweep seqgan-paper": (),
    "reprogramming": (),
    "poisoning": (),
    "impala-lag": ("paper", "gymnasium", "ale_py"),
    "popart-tasks": ("paper", "gymnasium", "ale_py"),
    "promp-corners": ("paper", "gymnasium", "mujoco"),
}
"""By name, of a part with its preset, too: the extra and the packages that the paper preset takes."""

SMALLER = {
    "divide-and-conquer": ("--mazes", "50"),
    "forward-models": ("--episodes", "50", "--test", "20"),
    "take-cover": ("--world", "ours", "--widths", "32,64", "--episodes", "100"),
    "two-rooms": ("--pairs", "5000"),
    "captions": ("--pictures", "500", "--tested", "50"),
    "decoding": ("--neurons", "1", "--pictures", "200", "--tested", "20"),
    "masked-lm": ("--modules", "20"),
    "trellis": ("--epochs", "1"),
    "winograd": ("--guessers", "2", "--items", "50"),
    "temperature-sweep seqgan-paper": ("--sequences", "200"),
    "impala-lag": ("--lags", "1", "--mdps", "0", "--envs", "8"),
    "popart-tasks": ("--envs", "2"),
}
"""Data are fewer where drawing them takes more than the time there is; what is trained, and how, is the preset's own."""


@pytest.mark.parametrize(
    "name", [pytest.param(one, marks=pytest.mark.extra(*(extra or ("test",)))) for one, extra in EXPERIMENTS.items()]
)
def test_a_paper_preset_is_kept_stops_and_goes_on(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    experiment, _, preset = name.partition(" ")
    words = ["run", experiment, "--preset", preset or "paper", "--seeds", "1", "--jobs", "1", "--json"]
    words += ["--checkpoint-seconds", "1", *SMALLER.get(name, ())]
    looks = []
    for _ in range(2):
        status = cli.main([*words, "--max-minutes", "0.3"])
        out, said = capsys.readouterr()
        assert status == 143, said
        answer = json.loads(out)
        assert answer["error"].startswith("stopped by --max-minutes 0.3; 0 of 1 seeds are recorded")
        assert "its state is kept" in said
        (path,) = tmp_path.rglob("seed-*.checkpoint.safetensors")
        numbers = {name: value for name, value in load_file(path).items() if value.is_floating_point()}
        assert all(bool(value.isfinite().all()) for value in numbers.values())
        looks.append((*kept(path), numbers))
        assert numbers or not any(done and not finished for done, _, finished in looks[-1][1].values()), "a loop holds nothing"
    assert "goes on from its checkpoint" in said
    (first, before, old), (second, after, new) = looks
    assert len(second) >= len(first)
    assert second[: len(first)] == first
    assert before != after, "no loop went on"
    under_way = [name for name in parameters(old) if not before[loop_of(name)][2] and name in new]
    assert not under_way or any(not old[name].equal(new[name]) for name in under_way), "no parameter moved"
    assert all(math.isfinite(value) for row in second for key, value in row.items() if key == "loss" and value is not None)


def loop_of(name):
    """The loop that a checkpoint's tensor belongs to."""
    return name.partition("\n")[0]


def parameters(tensors):
    """Names of the tensors that modules hold: an optimiser's own, and tensors that are no module's, move at any step."""
    return [name for name in tensors if re.search(r"\n\d+\.", name) and not re.search(r"\n\d+\.state\.\d+\.", name)]


def kept(path):
    """The rows of a checkpoint, without their time; and how far its loops are."""
    data = path.read_bytes()
    facts = json.loads(json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]["mechlearn"])
    rows = [{key: value for key, value in row.items() if key != "seconds"} for row in facts["rows"]]
    return rows, {name: (one["done"], len(one["values"]), one["finished"]) for name, one in facts["loops"].items()}
