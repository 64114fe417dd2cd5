import json

import pytest

from claimlab.cli.bench import KEYS, load


def test_rows(mechlearn):
    status, out, _ = mechlearn("bench", "control", "--quick", "--json")
    assert status == 0
    rows = json.loads(out)["rows"]
    assert all(set(KEYS) <= set(row) for row in rows)
    ours = [row for row in rows if row["method"] == "mechlearn"]
    assert [row["workload"].split(",")[0] for row in ours] == [
        "V-trace",
        "GAE",
        "PopArt",
        "ProMP's meta-gradient",
        "Episodic memory",
        "capacity of 81 noisy states",
        "disagreement of 32 members at 4096 predictions",
        "planner of depth 6",
        "posterior of 200 episodes over 400 scenarios",
    ]
    assert all(row["exact"] for row in ours)
    assert ours[2]["share"] > 0


def test_an_old_peer_is_refused(monkeypatch):
    bench = load("control", "mechlearn_zoo").module
    monkeypatch.setattr(bench, "installed", lambda *_: object())
    monkeypatch.setattr(bench, "versioned", lambda _: "torchrl 0.7.2")
    assert bench._torchrl() == (None, "torchrl 0.7.2 is refused: older than 0.14; pip install 'torchrl>=0.14'")


@pytest.mark.extra("bench", "torchrl")
@pytest.mark.filterwarnings("ignore")
def test_the_peer_gives_the_same_values(mechlearn):
    status, out, _ = mechlearn("bench", "control", "--quick", "--json")
    assert status == 0
    peers = [row for row in json.loads(out)["rows"] if row["method"] == "torchrl"]
    assert [row["exact"] for row in peers] == [True, True, None]
