from types import SimpleNamespace

import pytest

from claimlab import Choice, Experiment, LabError, LogUniform, Objective, Options, Preset, Ranges, Uniform, UsageError, Whole
from claimlab.sweeping.plan import sweep
from fake_sweeps.hills.climb.run import PRESETS, Config, run


@pytest.mark.parametrize("column", ["test_accuracy", "accuracy-test", "Test", "oracle", "tests.loss"])
def test_an_objective_cannot_name_what_test_data_say(column):
    with pytest.raises(ValueError, match="validation columns alone"):
        Objective((column,))


def test_an_objective_sees_its_own_columns_of_rows_that_are_no_test_split_s():
    seen = []
    objective = Objective(("loss", "step"), seen.extend)
    rows = [
        {"seed": 0, "seconds": 1.0, "loss": 0.5, "step": 1, "test_loss": 9.0, "hidden": 1},
        {"seed": 0, "split": "test", "loss": 9.0, "step": 1},
        {"seed": 0, "test_loss": 9.0},
    ]
    assert objective.of(rows) is None
    assert seen == [{"seed": 0, "loss": 0.5, "step": 1}, {"seed": 0}]


def test_the_last_number_counts():
    objective = Objective(("contest",))  # a word that only ends like one of test data's
    assert objective.of([{"contest": 1}, {"contest": 2.5}, {"contest": None}, {"other": 3}]) == 2.5
    assert objective.of([]) is None
    assert objective.of([{"contest": float("nan")}]) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Objective(()),
        lambda: Objective(("a", "b")),
        lambda: Ranges({}, Objective(("a",))),
        lambda: Ranges({"x": Choice(1, 2)}, Objective(("a",)), {}),
    ],
)
def test_what_cannot_be_declared(make):
    with pytest.raises(ValueError, match="should"):
        make()


def test_ranges_are_of_presets_that_there_are():
    ranges = {"big": Ranges({"x": Choice(1, 2)}, Objective(("a",)))}
    with pytest.raises(ValueError, match=r"Ranges of e should be of its presets\. Found 'big'"):
        Experiment("e", "", "", {"quick": Preset(Config(), 1)}, run, ranges=ranges)


def test_what_a_method_fixes_is_not_drawn_for_it():
    ranges = Ranges({"x": Choice(1, 2), "y": Choice(3, 4)}, Objective(("a",)), {"plain": {"y": 0}, "full": {}})
    assert list(ranges.drawn("plain")) == ["x"]
    assert ranges.fields("plain", {"x": 2}, Config()) == {"x": 2, "y": 0}
    assert ranges.fields("full", {"x": 2, "y": 3}, Config()) == {"x": 2, "y": 3}
    assert ranges.set_fields() == {"x", "y"}


def test_a_field_that_lists_values_gets_a_list_of_one():
    ranges = Ranges({"methods": Choice("up", "down")}, Objective(("a",)))
    assert ranges.fields("all", {"methods": "up"}, Config()) == {"methods": ("up",)}


def test_ranges_of_what_is_no_field():
    ranges = {"quick": Ranges({"height": Choice(1, 2)}, Objective(("a",)))}
    with pytest.raises(UsageError, match="Ranges should be of fields"):
        sweep(Experiment("e", "", "", PRESETS, run, ranges=ranges), "quick", 1, {}, ("tpe", "median"), "nobody")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"trials": 0}, "at least one trial per method. Found --trials 0"),
        ({"preset": "huge"}, "A preset of climb should be one that it defines"),
        ({"preset": "bare"}, "Found none of climb for 'bare'. Choose one of quick, slow."),
        ({"x": 1.0}, "should be left to it. Found --x"),
        ({"methods": ("up",)}, "should be left to it. Found --methods"),
        ({"l1": 1.0}, "should be left to it. Found --l1"),
        ({"seed": 100}, "--seed should be below 100"),
        ({"trials": 451, "draws": ("grid", "none")}, "has 225. Found --trials 451"),
    ],
)
def test_sweeps_that_cannot_be(hill, words, sentence):
    with pytest.raises(LabError) as found:
        hill(**words)
    assert sentence in str(found.value)
    assert found.value.status == 2


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Uniform(1, 1), "should begin below its end. Found 1 and 1"),
        (lambda: Uniform(0, float("inf")), "two finite ends"),
        (lambda: Uniform(False, 1), "two finite ends"),
        (lambda: LogUniform(0, 1), "begin above 0. Found 0"),
        (lambda: Whole(0.5, 3), "whole ends. Found 0.5 and 3"),
        (lambda: Choice(1), "two or more"),
        (lambda: Choice(1, 1), "each once"),
        (lambda: Options({"a": {"x": 1}}), "two or more groups"),
        (lambda: Options({"a": {"x": 1}, "b": {"y": 1}}), "of the same fields"),
    ],
)
def test_what_is_no_range_is_refused_in_a_sentence(make, sentence):
    with pytest.raises(ValueError, match="should") as found:
        make()
    assert sentence in str(found.value)


def test_one_and_true_are_two_values():
    assert Choice(1, True).values == (1, True)


def test_grids():
    assert Uniform(0, 1).grid() == [0, 0.25, 0.5, 0.75, 1]
    assert LogUniform(1e-4, 1).grid() == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert LogUniform(1e-4, 0.3).grid()[-1] == 0.3  # the end itself, or Optuna would refuse it
    assert Whole(0, 2).grid() == [0, 1, 2]
    assert Whole(0, 100).grid() == [0, 25, 50, 75, 100]
    assert list(Choice("a", None).grid()) == ["a", None]


def test_a_config_s_own_value():
    config = SimpleNamespace(x=0.5, listed=(0.5,), l1=0.0, l2=0.1)
    assert Uniform(0, 1).value_in("x", config) == Uniform(0, 1).value_in("listed", config) == 0.5
    groups = Options({"l1": {"l1": 0.1, "l2": 0.0}, "l2": {"l1": 0.0, "l2": 0.1}})
    assert groups.value_in("penalty", config) == "l2"
    assert groups.fields("penalty", "l1") == {"l1": 0.1, "l2": 0.0}
    with pytest.raises(ValueError, match=r"x 0\.5 lies outside 1 to 2"):
        Uniform(1, 2).value_in("x", config)
    with pytest.raises(ValueError, match=r"x 0\.5 is not one of 1, 2"):
        Choice(1, 2).value_in("x", config)
