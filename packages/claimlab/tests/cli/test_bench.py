import json

import pytest

from claimlab.cli import bench as benches
from claimlab.errors import LabError, UsageError

BENCH = '''"""A bench: of nothing."""
from dataclasses import dataclass

@dataclass(frozen=True)
class Config:
    rows: int = 2
    """How many."""

PRESETS = {"full": Config(), "quick": Config(1)}

def run(config, announce):
    for number in range(config.rows):
        print("chatter")
        announce(f"row {number}")
        numbers = {"ratio": 1.0, "low": 1.0, "high": 1.0, "memory_ratio": None, "exact": None}
        yield {"workload": "w", "method": f"m{number}", **numbers}
'''


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """The name of a package whose checkout has benchmarks."""
    where, name = tmp_path / "benchmarks", f"top_{tmp_path.name.replace('-', '_')}"
    tmp_path.joinpath("src", name).mkdir(parents=True)
    tmp_path.joinpath("src", name, "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path / "src"))
    where.joinpath("parts").mkdir(parents=True)
    where.joinpath("__init__.py").write_text("")
    where.joinpath("parts", "__init__.py").write_text("")
    where.joinpath("of_nothing.py").write_text(BENCH)
    where.joinpath("empty.py").write_text("")
    where.joinpath("broken.py").write_text("import no_such_module")
    return name


def test_the_listing_is_the_index(bench):
    assert benches.names(benches.folder(bench)) == ["broken", "empty", "of-nothing"]


def test_load(bench):
    found = benches.load("of_nothing", bench)
    assert (found.name, found.title) == ("of-nothing", "A bench: of nothing.")


def test_measure_records_and_keeps_stdout_clean(bench, tmp_path, capsys):
    loaded, out = benches.load("of-nothing", bench), tmp_path / "results" / "rows.jsonl"
    assert len(benches.measure(loaded, "quick", [], out)) == 1
    rows = benches.measure(loaded, "full", ["--rows", "3"], out)
    assert [row["method"] for row in rows] == ["m0", "m1", "m2"]
    assert len(out.read_text().splitlines()) == 3
    printed, said = capsys.readouterr()
    assert printed == ""
    assert "row 2" in said


@pytest.mark.parametrize(
    ("name", "kind", "sentence"),
    [
        ("of-nothin", UsageError, "Did you mean of-nothing?"),
        ("empty", LabError, "should define Config"),
        ("broken", LabError, "No module named 'no_such_module'"),
    ],
)
def test_what_cannot_be_loaded_is_a_sentence(bench, name, kind, sentence):
    with pytest.raises(kind, match=sentence.replace("?", "\\?")):
        benches.load(name, bench)


def test_the_folder_is_beside_the_sources_else_here_else_asked_for(bench, monkeypatch, tmp_path):
    assert benches.folder(bench) == tmp_path / "benchmarks"
    here = tmp_path / "here"
    here.mkdir()
    tmp_path.joinpath("benchmarks").rename(here / "benchmarks")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="Clone the repository"):
        benches.folder(bench)
    monkeypatch.chdir(here)
    assert benches.folder(bench) == here / "benchmarks"


TIME = "2026-01-01T00:00:00Z"
MADE = {"hardware": "a processor, 2 cores", "commit": "abc", "dirty": True, "time": TIME, "torch": "2.13.0"}
SLOW = {"workload": "w", "method": "slow|est", "ratio": 24.6, "low": 20.0, "high": 30.0, "memory_ratio": 7.0, "exact": False}
FAST = {"workload": "w", "method": "claimlab", "ratio": 1.1, "low": 1.0, "high": 1.2, "memory_ratio": 1.05, "exact": True}
NONE = {"workload": "w", "method": "absent", **dict.fromkeys(benches.KEYS[2:]), "note": "not installed"}
OTHER = {**FAST, "workload": "v", "mismatches": 3}
SLOW["mismatches"] = 5


def test_every_line_has_the_row_with_where_and_when(tmp_path):
    path = tmp_path / "rows.jsonl"
    benches.write_results(path, "agreement", MADE, [SLOW, NONE])
    slow, none = map(json.loads, path.read_text().splitlines())
    assert slow == {"bench": "agreement", **MADE, **SLOW}
    assert none == {"bench": "agreement", **MADE, **NONE}


def test_tables_have_the_fastest_first(capsys):
    benches.print_rows([NONE, SLOW, FAST, OTHER])
    first, second = capsys.readouterr().out.split("\nv")
    assert first.index("claimlab") < first.index("slow|est") < first.index("absent")
    assert "differ (5 components)" in first
    assert "exact (3 differ by rounding)" in second
