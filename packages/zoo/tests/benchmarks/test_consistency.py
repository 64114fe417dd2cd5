import itertools
import json

from claimlab.cli.bench import KEYS, load
from mechlearn import cli


def test_rows(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert cli.main(("bench", "consistency", "--quick", "--memory", "false", "--json")) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["method"].split(":")[0] for row in rows] == ["plain backpropagation", "mechlearn", "mechlearn", "mechlearn"]
    assert all(set(KEYS) <= set(row) for row in rows)
    assert rows[0]["ratio"] == 1.0
    score = rows[-1]
    assert score["products"] <= 2 * 2 * 2 * (3 + 3)  # pairs, signs, Hessians of a pair, start and iterations
    bench = load("consistency", "mechlearn_zoo").module
    assert bench.probe("score", hidden=8, inputs=6, examples=8, loss=2.0, basis=4, iterations=2, ridge=0.1, seed=0) > 0


def test_the_full_preset_has_a_million_parameters():
    bench = load("consistency", "mechlearn_zoo").module
    config = bench.PRESETS["full"]
    widths = [config.inputs, *[config.hidden] * 3, 10]
    assert sum(a * b + b for a, b in itertools.pairwise(widths)) >= 10**6
    assert len(bench.landscape(4, 3, 2, 1.0, 0).point) == 3 * 4 + 4 + 2 * (4 * 4 + 4) + 4 * 10 + 10


def test_the_network_is_trained_first():
    bench = load("consistency", "mechlearn_zoo").module
    losses = bench.landscape(8, 6, 8, 0.3, 0)
    assert sum(losses.loss(e) for e in (0, 1)) / 2 <= 0.3
    assert sum(losses.loss(e) for e in (0, 1)) / 2 > 0.25
