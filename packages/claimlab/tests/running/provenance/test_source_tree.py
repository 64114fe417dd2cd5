"""A record's identity: what its rows can depend on changes it, and nothing else does."""

import sys
from importlib.metadata import distributions, packages_distributions

import pytest

from claimlab.errors import LabError
from claimlab.running.provenance.made import loaded
from claimlab.running.provenance.reach import Modules, reached
from claimlab.running.provenance.source_tree import code_of, folder_of, source_digest, sources
from fake_copies import forget

HEAD = "from claimlab import Experiment\n"

FILES = {
    "__init__.py": "",
    "tasks/__init__.py": """from made_up_here.tasks.boards import board as board
from made_up_here.tasks.other import other as other
""",
    "tasks/boards.py": """'''Boards.'''
SIZE = 3
'''How many.'''

def board(x):
    if not x:
        raise ValueError("none")
    return SIZE
""",
    "tasks/other.py": "def other():\n    return 1\n",
    "tasks/annotated.py": "class Row: ...\n",
    "tasks/late.py": "LATE = 1\n",
    "tasks/fast.c": "int one() { return 1; }\n",
    "experiments/__init__.py": "",
    "experiments/family/__init__.py": "",
    "experiments/family/one/__init__.py": f"""{HEAD}from made_up_here.experiments.family.one import claims, run

EXPERIMENT = Experiment(name="one", title="t", reproduces="r", presets=run.PRESETS, run=run.run, claims=claims.CLAIMS)
""",
    "experiments/family/one/claims.py": "CLAIMS = ()\n",
    "experiments/family/one/run.py": """from typing import TYPE_CHECKING

from made_up_here.tasks import board

if TYPE_CHECKING:
    from made_up_here.tasks.annotated import Row

PRESETS = {}

def run(config):
    from made_up_here.tasks.late import LATE

    yield {'a': board(LATE)}
""",
    "experiments/family/two/__init__.py": f"""{HEAD}from made_up_here.tasks import other

EXPERIMENT = Experiment(name="two", title="t", reproduces="r", presets={{}}, run=lambda config: other())
""",
}


@pytest.fixture
def edited(tmp_path, monkeypatch):
    """Write a package with two experiments, change one file of it, and say of which the digest is another."""
    folder = tmp_path / "made_up_here"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))

    def digests():
        return {name: source_digest("made_up_here.experiments", name) for name in ("one", "two")}

    before = digests()

    def _edited(file, old, new):
        path = folder / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        now = digests()
        path.write_text(text)
        return {name for name in now if now[name] != before[name]}

    yield _edited
    forget("made_up_here")


@pytest.mark.parametrize(
    ("file", "old", "new", "stale"),
    [
        ("tasks/boards.py", "SIZE = 3", "SIZE = 4", {"one"}),
        ("tasks/boards.py", "Boards.", "Boards of a kind.", set()),
        ("tasks/boards.py", "How many.", "How many squares.", set()),
        ("tasks/boards.py", "SIZE = 3", "SIZE = 3  # enough", set()),
        ("tasks/boards.py", '"none"', '"there is no x"', set()),
        ("tasks/boards.py", "ValueError", "TypeError", {"one"}),
        ("tasks/other.py", "return 1", "return 2", {"two"}),
        ("tasks/late.py", "LATE = 1", "LATE = 2", {"one"}),
        ("tasks/annotated.py", "...", "a = 1", set()),
        ("tasks/fast.c", "return 1", "return 2", {"one", "two"}),
        ("experiments/family/one/claims.py", "()", "(1,)", set()),
        ("experiments/family/one/run.py", "'a'", "'b'", {"one"}),
        ("experiments/family/one/__init__.py", 'title="t"', 'title="another"', set()),
        ("experiments/family/two/__init__.py", "presets={}", "presets={1: 2}", {"two"}),
    ],
)
def test_what_a_row_can_depend_on_makes_records_stale_and_nothing_else(edited, file, old, new, stale):
    assert edited(file, old, new) == stale


def test_the_lab_counts_by_what_makes_rows(package):
    modules = Modules(tuple((top, folder_of(top)) for top in sources(package)))
    found = reached(modules, f"{package}.walks.counter")
    assert f"{package}.walks.counter.run" in found
    assert f"{package}.walks.counter.claims" not in found
    lab = {name.removeprefix("claimlab.") for name in found if name.startswith("claimlab.")}
    assert {"rows", "running.workers.worker", "running.checkpoints.loops"} <= lab
    assert not {name for name in lab if name.startswith(("cli", "showing", "sweeping", "running.verification"))}


def test_a_package_or_an_experiment_that_nobody_has_is_a_sentence(package):
    with pytest.raises(LabError, match="none named 'nobody_has'"):
        code_of("nobody_has.experiments")
    with pytest.raises(LabError, match="Found 'nothing'"):
        source_digest(package, "nothing")


def test_the_distributions_of_loaded_modules_are_those_that_the_standard_library_finds():
    everything = packages_distributions()
    tops = {name for name in sys.modules if "." not in name} & set(everything)
    found = {one for top in tops for one in everything[top]}
    assert {"torch", "numpy", "pytest"} <= found
    names = [one.metadata["Name"] for one in distributions()]
    assert loaded([*names, "claimlab-of-nobody"]) == sorted(found & set(names))
    assert loaded([]) == []
