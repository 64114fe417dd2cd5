import json

import torch

from claimlab.cli.bench import KEYS, load
from mechlearn import cli


def test_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "surfaces", "--quick", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(set(KEYS) <= set(row) for row in rows)
    methods = [row["method"] for row in rows if row["method"] != "loss-landscapes"]
    assert methods == ["a model at a time", "mechlearn plane", "Conv2d", "CoordConv, concatenated", "mechlearn CoordConv2d"]
    assert all(row["exact"] is not False for row in rows)
    assert rows[0]["ratio"] == 1.0


def test_the_peer_s_points():
    bench = load("surfaces", "mechlearn_zoo").module
    wanted = torch.arange(12.0).view(3, 4)
    found = torch.stack([wanted[0, 1:], wanted[1, :-1], wanted[2, 1:]])
    assert bench.same_points(found, wanted)
    assert not bench.same_points(wanted[:, 1:], wanted)
