import json

import pytest

from claimlab.cli.bench import KEYS
from mechlearn import cli

OWN = ("roll-outs", "trellis", "eager")


def rows(capsys, monkeypatch, tmp_path, *words):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "language", "--quick", "--json", *words)) == 0
    found = json.loads(capsys.readouterr().out)["rows"]
    assert all(set(KEYS) <= set(row) for row in found)
    return found


def test_what_needs_no_peer(capsys, monkeypatch, tmp_path):
    found = rows(capsys, monkeypatch, tmp_path, "--workloads", ",".join(OWN))
    assert [row["workload"] for row in found] == [name for name in OWN for _ in range(2)]
    assert all(row["ratio"] > 0 for row in found)


@pytest.mark.extra("language", "transformers", "sacrebleu", "tokenizers", "nltk")
def test_peers(capsys, monkeypatch, tmp_path):
    found = rows(capsys, monkeypatch, tmp_path)
    assert all(row["ratio"] > 0 for row in found)
    assert all(row["exact"] for row in found if row.get("difference") is not None)
