import subprocess
import sys
from dataclasses import dataclass, replace

import pytest

from claimlab import Experiment, Preset
from claimlab.errors import LabError, UsageError
from claimlab.experiment import Listing, listing, load
from fake_copies import edit, folder_of


def test_listing_the_folder_is_the_index(package):
    counter, drunkard = listing(package)
    title = "Counting: a walk that each seed starts elsewhere."
    assert counter == Listing("counter-walk", title, "Figure 0 of no thesis.", f"{package}.walks.counter")
    assert drunkard.name == "drunkard"
    further = folder_of(package) / "walks" / "second"
    further.mkdir()
    (further / "__init__.py").write_text('EXPERIMENT = Experiment(name="second", title="a " "b", reproduces="c")\n')
    assert listing(package)[2] == Listing("second", "a b", "c", f"{package}.walks.second")


def test_listing_imports_no_experiment(package):
    edit(package, "drunkard/__init__.py", "import random", 'raise RuntimeError("imported")')
    assert [one.name for one in listing(package)] == ["counter-walk", "drunkard"]


def test_two_experiments_of_one_name_are_refused(package):
    edit(package, "drunkard/__init__.py", 'name="drunkard"', 'name="counter-walk"')
    with pytest.raises(LabError, match=r"walks\.counter and .*walks\.drunkard are both 'counter-walk'"):
        listing(package)


def test_the_command_line_starts_without_torch_and_matplotlib():
    code = "import sys; from claimlab.cli import main; main(['list']); "
    code += "print(sorted({'torch', 'matplotlib', 'jinja2', 'rich'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("name", ["counter-walk", "counter_walk"])
def test_an_experiment_is_loaded_under_its_name(package, name):
    experiment = load(name, package)
    assert experiment.name == "counter-walk"
    assert experiment.presets["paper"].config.steps == 6
    assert experiment.config is type(experiment.presets["quick"].config)


def test_an_unknown_name_is_answered_with_the_nearest(package):
    with pytest.raises(UsageError, match="did you mean counter-walk"):
        load("counter-wlak", package)


@pytest.mark.parametrize("name", ["nobody_has_it", "nobody.has.it", "json.decoder"])
def test_a_package_that_is_none(name):
    with pytest.raises(UsageError, match=f"found none named '{name}'"):
        listing(name)


def test_a_folder_without_an_experiment_is_named(package):
    edit(package, "drunkard/__init__.py", "EXPERIMENT = ", "experiment = ")
    with pytest.raises(LabError, match="must define EXPERIMENT = Experiment"):
        load("drunkard", package)


def test_a_name_that_only_an_import_would_tell_is_refused(package):
    edit(package, "drunkard/__init__.py", 'name="drunkard"', "name=NAME")
    with pytest.raises(LabError, match=r"drunkard/__init__.py must say Experiment\(name=...\) in quotes"):
        listing(package)


def test_a_module_that_raises_is_a_sentence(package):
    edit(package, "drunkard/__init__.py", "import random", "1 / 0")
    with pytest.raises(LabError, match=r"drunkard must not raise when imported, but found ZeroDivisionError: division by zero"):
        load("drunkard", package)


def test_a_missing_dependency_is_a_sentence(package):
    edit(package, "drunkard/__init__.py", "import random", "import a_package_that_nobody_has")
    with pytest.raises(LabError, match="a_package_that_nobody_has"):
        load("drunkard", package)


@dataclass(frozen=True)
class One:
    seed: int = 0


@dataclass(frozen=True)
class Other:
    seed: int = 0


@pytest.mark.parametrize(
    ("presets", "found"), [({}, "no preset"), ({"quick": Preset(One(), 1), "paper": Preset(Other(), 1)}, "One, Other")]
)
def test_the_presets_are_of_one_class(presets, found):
    with pytest.raises(ValueError, match=found):
        Experiment(name="x", title="", reproduces="", presets=presets, run=lambda config: iter(()))


def test_a_config_without_a_seed_is_refused():
    with pytest.raises(ValueError, match=r"a field seed, but found object; add `seed: int = 0`"):
        Preset(object(), 1)


@pytest.mark.parametrize(("arguments", "found"), [({"seeds": 0}, "found 0"), ({"seeds": 1, "tolerance": -1.0}, "found -1")])
def test_a_preset_that_cannot_be(arguments, found):
    with pytest.raises(ValueError, match=found):
        Preset(One(), **arguments)


@pytest.mark.parametrize(("text", "found"), [("x = (\n", r", line 1: '\(' was never closed"), ("x\0", ".*null bytes")])
def test_a_file_that_is_no_python_is_named(package, text, found):
    (folder_of(package) / "walks" / "drunkard" / "__init__.py").write_text(text)
    with pytest.raises(LabError, match=rf"must be Python, but found in .*drunkard/__init__\.py{found}"):
        listing(package)


def test_claims_of_one_id_are_refused(package):
    experiment = load("counter-walk", package)
    claims = (*experiment.claims, experiment.claims[0])
    with pytest.raises(ValueError, match=r"must have ids of their own, but found 'counter\.high' twice"):
        replace(experiment, claims=claims)
