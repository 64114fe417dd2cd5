import subprocess
import sys

import pytest

from craik.lab.errors import LabError, UsageError
from craik.lab.experiment import CONTRACT, Listing, listing, load, names
from fake_experiments import folder_of


def test_listing_the_folder_is_the_index(package):
    assert listing(package) == [
        Listing("counter-walk", "Counting: a walk that each seed starts elsewhere.", "Figure 0 of no thesis.")
    ]
    (folder_of(package) / "second_one.py").write_text('"""A second one."""\nREPRODUCES: str = "a" + "b"\n')
    assert listing(package)[1] == Listing("second-one", "A second one.", "")
    assert "shared" not in names(package)
    assert "hidden" not in names(package)


def test_listing_imports_no_experiment(package):
    (folder_of(package) / "broken.py").write_text('"""Broken."""\nraise RuntimeError("imported")\n')
    assert names(package) == ["broken", "counter-walk"]
    assert listing(package)[0].title == "Broken."


def test_the_command_line_starts_without_torch_and_matplotlib():
    code = "import sys; from craik.cli import main; main(['list']); "
    code += "print(sorted({'torch', 'matplotlib', 'jinja2', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["counter-walk", "counter_walk"])
def test_an_experiment_is_loaded_under_its_name(package, name):
    experiment = load(name, package)
    assert (experiment.name, experiment.module) == ("counter-walk", f"{package}.counter_walk")
    assert experiment.presets["paper"].steps == 6


def test_an_unknown_name_is_answered_with_the_nearest(package):
    with pytest.raises(UsageError, match="did you mean counter-walk"):
        load("counter-wlak", package)


@pytest.mark.parametrize("part", CONTRACT)
def test_a_missing_part_of_the_contract_is_named(package, part):
    path = folder_of(package) / "counter_walk.py"
    path.write_text(path.read_text() + f"\ndel {part}\n")
    with pytest.raises(LabError, match=f"counter-walk must define {part}"):
        load("counter-walk", package)


def test_a_config_without_a_seed_is_refused(package):
    path = folder_of(package) / "counter_walk.py"
    path.write_text(path.read_text().replace("    seed: int = 0", "    sead: int = 0"))
    with pytest.raises(LabError, match="seed"):
        load("counter-walk", package)


def test_a_missing_dependency_is_a_sentence(package):
    (folder_of(package) / "needy.py").write_text("import a_package_that_nobody_has\n")
    with pytest.raises(LabError, match="a_package_that_nobody_has"):
        load("needy", package)
