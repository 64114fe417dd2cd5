"""The scripts of the guide run as they are; its plain loop is run with all other pages."""

import re
import warnings
from pathlib import Path

import pytest
import torch

GUIDE = Path(__file__).parents[4] / "docs" / "running" / "watch.md"
SCRIPT = re.compile(r'^```py title="(\w+)\.py"\n(.*?)^```$', re.M | re.S)
NEEDS = {"trainer": ("transformers", "accelerate"), "lightning": ("lightning",), "skorch": ("skorch",)}


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.extra("integrations", *NEEDS[name])) for name in NEEDS])
def test_a_script_runs_and_writes_its_page(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scripts = dict(SCRIPT.findall(GUIDE.read_text(encoding="utf-8")))
    assert scripts.keys() == NEEDS.keys()
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")  # other people's
        exec(compile(scripts[name], f"{name}.py", "exec"), {"__name__": "guide"})
    assert "Too few measurements" in (tmp_path / "runs" / "sources.html").read_text()
