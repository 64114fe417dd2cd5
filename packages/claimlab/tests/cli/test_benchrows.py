import json

from claimlab.cli import benchrows

TIME = "2026-01-01T00:00:00Z"
MADE = {"hardware": "a processor, 2 cores", "commit": "abc", "dirty": True, "time": TIME, "torch": "2.13.0"}
SLOW = {"workload": "w", "method": "slow|est", "ratio": 24.6, "low": 20.0, "high": 30.0, "memory_ratio": 7.0, "exact": False}
FAST = {"workload": "w", "method": "claimlab", "ratio": 1.1, "low": 1.0, "high": 1.2, "memory_ratio": 1.05, "exact": True}
NONE = {"workload": "w", "method": "absent", **dict.fromkeys(benchrows.KEYS[2:]), "note": "not installed"}
OTHER = {**FAST, "workload": "v", "mismatches": 3}
SLOW["mismatches"] = 5


def test_every_line_has_the_row_with_where_and_when(tmp_path):
    path = tmp_path / "rows.jsonl"
    benchrows.write_results(path, "agreement", MADE, [SLOW, NONE])
    slow, none = map(json.loads, path.read_text().splitlines())
    assert slow == {"bench": "agreement", **MADE, **SLOW}
    assert none == {"bench": "agreement", **MADE, **NONE}


def test_tables_have_the_fastest_first(capsys):
    benchrows.print_rows([NONE, SLOW, FAST, OTHER])
    first, second = capsys.readouterr().out.split("\nv")
    assert first.index("claimlab") < first.index("slow|est") < first.index("absent")
    assert "differ (5 components)" in first
    assert "exact (3 differ by rounding)" in second
