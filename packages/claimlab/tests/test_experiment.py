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


@pytest.mark.parametrize("name", ["counter-walk", "counter_walk"])
def test_an_experiment_is_loaded_under_its_name(package, name):
    experiment = load(name, package)
    assert experiment.name == "counter-walk"
    assert experiment.presets["paper"].config.steps == 6
    assert experiment.config is type(experiment.presets["quick"].config)


@pytest.mark.parametrize("name", ["nobody_has_it", "nobody.has.it", "json.decoder"])
def test_a_package_that_is_none(name):
    with pytest.raises(UsageError, match=f"Found none named '{name}'"):
        listing(name)


@pytest.mark.parametrize(
    ("call", "old", "new", "sentence"),
    [
        (listing, 'name="drunkard"', 'name="counter-walk"', r"counter and .*walks\.drunkard with the name 'counter-walk'"),
        (listing, 'name="drunkard"', "name=NAME", r"drunkard/__init__\.py should name its experiment as a text"),
        (load, "EXPERIMENT = ", "experiment = ", "should define EXPERIMENT = Experiment"),
        (load, "import random", "1 / 0", r"drunkard should not raise when imported\. Found ZeroDivisionError: division by"),
        (load, "import random", "import a_package_that_nobody_has", "a_package_that_nobody_has"),
    ],
)
def test_what_is_no_experiment_is_a_sentence(package, call, old, new, sentence):
    edit(package, "drunkard/__init__.py", old, new)
    with pytest.raises(LabError, match=sentence):
        call(package) if call is listing else call("drunkard", package)


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
    with pytest.raises(ValueError, match=r"a field seed. Found object. Add `seed: int = 0`"):
        Preset(object(), 1)


@pytest.mark.parametrize(("arguments", "found"), [({"seeds": 0}, "Found 0"), ({"seeds": 1, "tolerance": -1.0}, "Found -1")])
def test_a_preset_that_cannot_be(arguments, found):
    with pytest.raises(ValueError, match=found):
        Preset(One(), **arguments)


@pytest.mark.parametrize(("text", "found"), [("x = (\n", r", line 1: '\(' was never closed"), ("x\0", ".*null bytes")])
def test_a_file_that_is_no_python_is_named(package, text, found):
    (folder_of(package) / "walks" / "drunkard" / "__init__.py").write_text(text)
    with pytest.raises(LabError, match=rf"should be Python. Found in .*drunkard/__init__\.py{found}"):
        listing(package)


def test_claims_of_one_id_are_refused(package):
    experiment = load("counter-walk", package)
    claims = (*experiment.claims, experiment.claims[0])
    with pytest.raises(ValueError, match=r"should have its own id. Found 'counter\.high' twice"):
        replace(experiment, claims=claims)
