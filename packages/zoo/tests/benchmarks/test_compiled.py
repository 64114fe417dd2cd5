import json
from dataclasses import replace
from pathlib import Path

import pytest

from claimlab.cli.bench import KEYS, load

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")


@pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
def test_small_workloads(mechlearn):
    status, out, _ = mechlearn("bench", "compiled", "--quick", "--workloads", "mlp-34,weight norm", "--json")
    assert status == 0
    rows = json.loads(out)["rows"]
    assert all(set(KEYS) <= set(row) for row in rows)
    assert [row["workload"] for row in rows] == ["mlp-34"] * 6 + ["weight norm"] * 6
    ours = [row for row in rows if row["method"] == "mechlearn, compiled"]
    assert all(row["exact"] and not row["note"] and row["ratio"] > 0 for row in ours)


def test_a_gpu_has_the_clock_on_the_wall(mechlearn, monkeypatch):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    status, _, err = mechlearn("bench", "compiled", "--quick", "--device", "cuda")
    assert status == 2
    assert "Use the clock wall." in err


def test_compiling_is_measured_with_empty_caches(monkeypatch):
    module = load("compiled", "mechlearn_zoo").module
    asked = []

    def fresh(bench, probe, variables):
        folder = Path(variables["TORCHINDUCTOR_CACHE_DIR"])
        asked.append((bench, probe["method"], folder, list(folder.iterdir())))
        return module.probe(**probe) if len(asked) == 1 else float(len(asked))

    monkeypatch.setattr(module, "in_fresh_process", fresh)
    config = replace(module.PRESETS["quick"], workloads=("mlp-34",), compiling=2)
    rows = {row["method"]: row for row in module.run(config, lambda _: None)}
    methods = [method for _, method, _, _ in asked]
    assert methods == [*module.COMPILED, *reversed(module.COMPILED)]
    assert len({folder for _, _, folder, _ in asked}) == 6
    assert not any(found for *_, found in asked)
    assert rows["loop, compiled"]["compile_seconds"] == 3.5
    assert rows["mechlearn, compiled"]["compile_seconds"] == 3.5
    assert 3 < rows["plain, compiled"]["compile_seconds"] < 60
    assert rows["plain"]["compile_seconds"] is None
