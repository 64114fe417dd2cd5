import pytest

from craik.lab.running.sources import bare_source, imported_files, source_hash
from fake_experiments import folder_of


def edit(path, old, new):
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_all_that_is_imported_is_found_without_importing(package):
    found = imported_files(f"{package}.counter_walk")
    assert {name.removeprefix(package) for name in found} >= {"", ".counter_walk", "._shared", "._shared.deep"}
    assert "craik" in found
    assert not [name for name in found if name.startswith("craik.harness")]


def test_the_experiments_of_craik_are_followed_into_its_packages(package):
    edit(folder_of(package) / "_shared" / "deep.py", "def double", "from craik.agreement import rules\n\n\ndef double")
    assert {"craik.agreement", "craik.agreement.rules"} <= set(imported_files(f"{package}.counter_walk"))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("counter_walk.py", "config.seed + double", "config.seed - double"),
        ("counter_walk.py", "steps: int = 3", "steps: int = 4"),
        ("_shared/deep.py", "2 * x", "3 * x"),
        ("_shared/__init__.py", "double", "double as double"),
    ],
)
def test_code_that_makes_rows_changes_the_hash(package, file, old, new):
    before = source_hash(f"{package}.counter_walk")
    edit(folder_of(package) / file, old, new)
    assert source_hash(f"{package}.counter_walk") != before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("counter_walk.py", "The walk <ends> high.", "The walk ends very high."),
        ("counter_walk.py", '"walk", COLOURS', '"a walk", COLOURS'),
        ("counter_walk.py", "How many rows a seed yields.", "The number of rows."),
        ("counter_walk.py", "Counting: a walk", "A walk"),
        ("counter_walk.py", '"quick": 2', '"quick": 3'),
        ("counter_walk.py", "return bootstrap(list", "return bootstrap(tuple"),  # a function that claims alone use
        ("counter_walk.py", "import Claim, bootstrap", "import Claim, bootstrap, judge"),
        ("counter_walk.py", "import os\n", "import os\nimport json\n"),
        ("_shared/deep.py", "    return", "    # twice\n\n    return"),
        ("_hidden.py", "No experiment", "Nothing"),
    ],
)
def test_words_and_analysis_do_not(package, file, old, new):
    before = source_hash(f"{package}.counter_walk")
    edit(folder_of(package) / file, old, new)
    assert source_hash(f"{package}.counter_walk") == before


def test_a_module_of_figures_does_not_count(package):
    before, drawing = source_hash(f"{package}.counter_walk"), folder_of(package) / "_walk_figures.py"
    drawing.write_text("def curve(rows):\n    return rows\n")
    edit(folder_of(package) / "counter_walk.py", "import os\n", f"import os\nfrom {package}._walk_figures import curve\n")
    assert source_hash(f"{package}.counter_walk") == before
    edit(drawing, "return rows", "return rows[:1]")
    assert source_hash(f"{package}.counter_walk") == before


@pytest.mark.parametrize(
    ("old", "new", "changes"),
    [
        ("The walk <ends> high.", "The walk ends very high.", False),
        ('"quick": Config()', '"quick": Config(steps=9)', True),  # an import may well use the other's presets
        ("return bootstrap(list", "return bootstrap(tuple", True),  # or any of its functions
    ],
)
def test_of_another_experiment_all_but_its_readings_count(package, old, new, changes):
    user = f"from {package} import counter_walk\n\n\ndef run(config):\n    yield from counter_walk.run(config)\n"
    (folder_of(package) / "user.py").write_text(user)
    before = source_hash(f"{package}.user")
    edit(folder_of(package) / "counter_walk.py", old, new)
    assert (source_hash(f"{package}.user") != before) == changes


def test_an_analysis_that_makes_rows_counts(package):
    path = folder_of(package) / "counter_walk.py"
    edit(path, "    odd = config", "    first = SEEDS['quick']\n    odd = config")
    before = source_hash(f"{package}.counter_walk")
    edit(path, '"quick": 2', '"quick": 3')
    assert source_hash(f"{package}.counter_walk") != before


def test_code_that_runs_on_import_counts():
    source = b"import os\nLIMIT = 1\nif LIMIT:\n    run = None\nunused = 2\nx, y = 3, 4\n"
    assert "unused" not in bare_source(source, frozenset({"run"}))
    assert "LIMIT = 1" in bare_source(source, frozenset({"run"}))
    assert "x, y = 3, 4" in bare_source(source, frozenset({"run"}))


def test_bare_source_keeps_strings_that_compute():
    source = b'x = "# no comment"  # a comment\ny = """two\n# lines"""\n"gone"; z = 1\n'
    assert bare_source(source) == 'x = "# no comment"\ny = """two\n# lines"""\n"gone"; z = 1'
