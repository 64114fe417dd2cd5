import json

import pytest

from claimlab.cli.bench import KEYS
from mechlearn import cli


def rows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "robustness", "--quick", "--json")) == 0
    return json.loads(capsys.readouterr().out)["rows"]


def test_rows(capsys, monkeypatch, tmp_path):
    found = rows(capsys, monkeypatch, tmp_path)
    assert all(set(KEYS) <= set(row) for row in found)
    attacks = [row for row in found if row["workload"].startswith("pgd")]
    assert [row["ratio"] for row in attacks if row["method"] == "plain input gradients"] == [1.0] * 4
    assert all(row["exact"] for row in attacks if row["method"] == "mechlearn" and "box" not in row["workload"])
    missing = [row for row in found if row["ratio"] is None]
    assert all("pip install" in row["note"] for row in missing)


def test_the_implicit_gradient_is_that_of_the_hessian_written_out(capsys, monkeypatch, tmp_path):
    found = {(row["workload"], row["method"]): row["exact"] for row in rows(capsys, monkeypatch, tmp_path)}
    assert found["poisoning", "mechlearn"]
    assert ("program", "mechlearn") in found


@pytest.mark.extra("bench", "foolbox")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_peers_end_at_the_same_values(capsys, monkeypatch, tmp_path):
    found = rows(capsys, monkeypatch, tmp_path)
    equal = {(row["workload"], row["method"]): row["exact"] for row in found if row["exact"] is not None}
    assert equal["pgd-2", "foolbox"]
    assert equal["pgd-inf", "foolbox"]
    assert all(exact for (_, method), exact in equal.items() if method == "mechlearn")
