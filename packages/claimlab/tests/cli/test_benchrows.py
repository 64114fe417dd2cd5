import pytest

from claimlab.cli import benchrows
from claimlab.errors import LabError

TIME = "2026-01-01T00:00:00Z"
MADE = {"hardware": "a processor, 2 cores", "commit": "abc", "dirty": True, "time": TIME, "torch": "2.13.0"}
SLOW = {"workload": "w", "method": "slow|est", "ratio": 24.6, "low": 20.0, "high": 30.0, "memory_ratio": 7.0, "exact": False}
FAST = {"workload": "w", "method": "claimlab", "ratio": 1.1, "low": 1.0, "high": 1.2, "memory_ratio": 1.05, "exact": True}
NONE = {"workload": "w", "method": "absent", **dict.fromkeys(benchrows.KEYS[2:]), "note": "not installed"}
OTHER = {**FAST, "workload": "v", "mismatches": 3}
SLOW["mismatches"] = 5


def test_results_are_read_back_as_written_with_where_and_when(tmp_path):
    path = tmp_path / "rows.jsonl"
    benchrows.write_results(path, "agreement", MADE, [SLOW, NONE])
    slow, none = benchrows.read_results(path)
    assert slow.items() >= SLOW.items()
    assert none.items() >= NONE.items()
    assert (slow["hardware"], slow["commit"], slow["torch"]) == ("a processor, 2 cores", "abc", "2.13.0")


@pytest.mark.parametrize("line", ["{", '{"workload": "w"}', "[]"])
def test_a_damaged_file_is_a_sentence(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text(line + "\n")
    with pytest.raises(LabError, match=r"a line of rows\.jsonl must be a benchmark's row"):
        benchrows.read_results(path)


def test_markdown_has_a_table_a_workload_with_the_fastest_first(tmp_path):
    path = tmp_path / "rows.jsonl"
    benchrows.write_results(path, "agreement", MADE, [NONE, SLOW, FAST, OTHER])
    page = benchrows.markdown(benchrows.read_results(path))
    first, second = page.split("### ")[1:]
    assert [line.split(" | ")[0] for line in first.splitlines()[4:7]] == ["| claimlab", "| slow\\|est", "| absent"]
    assert "| claimlab | 1.1 | [1, 1.2] | 1.05 | exact |" in first
    assert "differ (5 components)" in first
    assert "exact (3 differ by rounding)" in second
    assert "a processor, 2 cores · 2026-01-01T00:00:00Z · torch 2.13.0 · commit abc with changes" in first


def test_tables_have_the_fastest_first(capsys):
    benchrows.print_rows([SLOW, FAST])
    drawn = capsys.readouterr().out
    assert drawn.index("claimlab") < drawn.index("slow|est")
    assert "differ (5 components)" in drawn
