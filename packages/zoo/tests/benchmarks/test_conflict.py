import json
import shutil

from claimlab.cli.bench import KEYS
from mechlearn import cli


def test_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "conflict", "--quick", "--workloads", "mlp-34,language", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    rules = 8 if any(shutil.which(name) for name in ("cc", "gcc", "clang")) else 6
    assert [row["workload"] for row in rows] == ["mlp-34"] * rules + ["language"] * rules
    assert all(set(KEYS) <= set(row) for row in rows)
    assert rows[0]["ratio"] == rows[1]["over_and_mask"] == 1.0


def test_pairs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "conflict", "--quick", "--workloads", "pairs-4,pairs-16", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = [(row["workload"], row["method"]) for row in rows]
    methods = ("plain backprop", "mechlearn AND-mask", "PCGrad")
    assert found == [(name, method) for name in ("pairs-4", "pairs-16") for method in methods]
