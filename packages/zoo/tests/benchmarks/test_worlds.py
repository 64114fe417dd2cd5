import json
from collections import Counter

from claimlab.cli.bench import KEYS
from mechlearn import cli


def test_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "worlds", "--quick", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    counts = {"dream": 3, "take-cover": 3, "mixture": 3, "closure": 4}
    assert Counter(row["workload"].split(",")[0] for row in rows) == counts
    assert all(set(KEYS) <= set(row) for row in rows)
    assert all(row["exact"] for row in rows)
    assert sum(row["method"].startswith("mechlearn") for row in rows) == 4
