import json

import pytest

from claimlab.cli.benchrows import KEYS

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
