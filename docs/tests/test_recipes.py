"""Each recipe trains the same board to the same survivors as the plain loop."""

import json
import os
import re
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from mechlearn.agreement import Agreement, AndMask
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.tasks.boards.spirals import Shortcuts, spirals

FOLDER = Path(__file__).parents[2] / "docs" / "recipes"
NEEDS = re.compile(r"<!-- needs the extra (\w+): ([\w, ]+) -->")
FENCE = re.compile(r"^```(python|py)[^\n]*\n(.*?)^```$", re.M | re.S)


def page(path):
    needs = NEEDS.search(path.read_text())
    marks = [pytest.mark.extra(needs[1], *needs[2].split(", "))] if needs else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.fixture(scope="module")
def plain():
    x, y, site = spirals(0, environments=4, examples=64, shortcuts=Shortcuts(4)).train
    model = mlp(6, 1, torch.Generator().manual_seed(0), hidden=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    found = []
    with Agreement(model, AndMask(threshold=1.0)) as agreement:
        for _ in range(20):
            optimizer.zero_grad()
            losses = binary_cross_entropy_with_logits(model(x)[:, 0], y, reduction="none")
            found.append(agreement.backward(losses, site).survivors)
            optimizer.step()
    return survivors(found)


def survivors(found):
    return torch.tensor([[step[name] for name in sorted(step)] for step in found])


@pytest.mark.parametrize("path", [page(path) for path in sorted(FOLDER.glob("*.md"))])
def test_the_same_survivors(path, plain, tmp_path, monkeypatch):
    module = types.ModuleType(f"recipe_{path.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")  # other people's
        for language, code in FENCE.findall(path.read_text()):
            if language == "python":
                exec(compile(code, path, "exec"), vars(module))
    lists = {
        name: value for name, value in vars(module).items() if isinstance(value, list) and value and "0.weight" in str(value[0])
    }
    assert "survivors" in lists
    for name, found in lists.items():
        torch.testing.assert_close(survivors(found), plain, rtol=0, atol=1e-6, msg=name)


@pytest.mark.xdist_group("processes")
def test_two_processes(plain, tmp_path):
    (code,) = [code for language, code in FENCE.findall((FOLDER / "plain.md").read_text()) if language == "py"]
    (tmp_path / "train.py").write_text(code)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    source = os.pathsep.join(map(str, Path(__file__).parents[2].glob("packages/*/src")))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": source}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr[-8000:]
    line = next(line for line in ended.stdout.splitlines() if line.startswith("["))
    torch.testing.assert_close(survivors(json.loads(line)), plain, rtol=0, atol=1e-6)
