from dataclasses import dataclass, field, make_dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen
from hypothesis import given
from hypothesis import strategies as st

from claimlab import Positive, Share, check_limits, limits, values
from claimlab.errors import LabError, UsageError
from claimlab.fields import build, parse_overrides, parse_value, settings_of
from claimlab.values import written


@dataclass(frozen=True)
class Base:
    epochs: int = 10
    """How often the data is
    seen."""


@dataclass(frozen=True)
class Config(Base):
    scale: float = 0.1
    """How large shortcuts are."""
    name: str = "x"
    drop: bool = False
    rule: Literal["mean", "and-mask"] = "mean"
    limit: int | None = None
    widths: tuple[int, ...] = (256, 256)
    """Units of each layer."""
    either: Literal["auto"] | float = "auto"
    odd: dict[str, int] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if self.epochs < 1:
            raise ValueError(f"epochs should be positive. Found {self.epochs}. Use 10.")


SETTINGS = {setting.name: setting for setting in settings_of(Config)}


def read(*words: str):
    return parse_overrides(tuple(SETTINGS.values()), words, "toy")


def test_fields_carry_their_sentences_defaults_and_flags():
    assert SETTINGS["epochs"].help == "How often the data is seen."
    assert SETTINGS["scale"].help == "How large shortcuts are."
    assert SETTINGS["name"].help == ""
    assert (SETTINGS["widths"].default, SETTINGS["odd"].default) == ((256, 256), {})
    assert SETTINGS["widths"].flag == "--widths"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("epochs", "3", 3),
        ("scale", "1e-3", 1e-3),
        ("scale", "-2", -2.0),
        ("name", "", ""),
        ("drop", "True", True),
        ("drop", "false", False),
        ("rule", "and-mask", "and-mask"),
        ("limit", "none", None),
        ("limit", "5", 5),
        ("widths", "3,4", (3, 4)),
        ("widths", "", ()),
        ("either", "auto", "auto"),
        ("either", "0.5", 0.5),
    ],
)
def test_values_are_read_as_their_fields_type(name, text, value):
    found = parse_value(SETTINGS[name], text)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("name", "text", "rule"),
    [
        ("epochs", "1.5", "a whole number"),
        ("scale", "nan", "a finite number"),
        ("scale", "inf", "a finite number"),
        ("drop", "yes", "true or false"),
        ("rule", "median", "one of mean, and-mask"),
        ("limit", "many", "a whole number or none"),
        ("widths", "3;4", "separated by commas"),
    ],
)
def test_bad_values_are_answered_with_rule_value_and_example(name, text, rule):
    with pytest.raises(UsageError) as caught:
        parse_value(SETTINGS[name], text)
    sentence = str(caught.value)
    assert rule in sentence
    assert repr(text) in sentence
    assert f"for example --{name} {written(SETTINGS[name].default)}" in sentence


def test_a_type_the_command_line_cannot_read_is_the_experiments_fault():
    with pytest.raises(LabError, match="odd is dict") as caught:
        parse_value(SETTINGS["odd"], "{}")
    assert not isinstance(caught.value, UsageError)


@given(
    st.fixed_dictionaries(
        {
            "epochs": st.integers(),
            "scale": st.floats(allow_nan=False, allow_infinity=False),
            "drop": st.booleans(),
            "limit": st.none() | st.integers(),
            "widths": st.lists(st.integers()).map(tuple),
        }
    )
)
def test_what_is_written_is_read_back(values):
    words = [word for name, value in values.items() for word in (f"--{name}", written(value))]
    assert read(*words) == values


@given(st.lists(st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), min_size=1).filter(lambda t: t.strip() == t)))
def test_lists_of_texts_are_read_back(texts):
    """A comma within a text is not one between two."""
    assert values.parse(tuple[str, ...], written(tuple(texts))) == tuple(texts)


@pytest.mark.parametrize("text", ['a,"b', '"a"b'])
def test_a_quote_that_does_not_end_is_a_slip(text):
    with pytest.raises(ValueError, match="a"):
        values.parse(tuple[str, ...], text)


def test_flags_take_hyphens_underscores_and_equals_signs():
    assert read("--scale=0.5", "--epochs", "3") == {"scale": 0.5, "epochs": 3}

    @dataclass(frozen=True)
    class Two:
        learning_rate: float = 0.1

    for words in (["--learning-rate", "1"], ["--learning_rate", "1"], ["--learning-rate=1"]):
        assert parse_overrides(settings_of(Two), words, "toy") == {"learning_rate": 1.0}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--epoch", "3"], "Found '--epoch'. Did you mean --epochs"),
        (["--preste", "quick"], "Did you mean --preset"),
        (["--zzzzz", "1"], "Choose one of --"),
        (["--epochs"], "--epochs should have a value"),
        (["--epochs", "--scale", "1"], "--epochs should have a value"),
        (["stray"], "stray word 'stray'"),
    ],
)
def test_words_that_are_no_settings(words, sentence):
    with pytest.raises(UsageError, match=sentence):
        read(*words)


def test_a_configs_own_sentence_is_kept():
    with pytest.raises(UsageError, match=r"^epochs should be positive\. Found 0\. Use 10\.$"):
        build(Config(), {"epochs": 0})


def test_a_sentence_without_the_value_found_is_completed():
    @dataclass(frozen=True)
    class Two:
        low: int = 1
        high: int = 2

        def __post_init__(self):
            if self.low > self.high:
                raise ValueError("low should not exceed high. Swap the 2 of them.")

    with pytest.raises(UsageError, match=r"Swap the 2 of them\. Given: --low 7\.$"):
        build(Two(), {"low": 7})
    with pytest.raises(UsageError, match=r"Swap the 2 of them\.$"):
        build(Two(), {"low": 3, "high": 2})


@dataclass(frozen=True)
class Limited:
    widths: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (4,)
    rate: Annotated[float, Gt(0)] | None = None
    batch_size: Annotated[int, Ge(1), "none is few"] = 8
    best: int = 2

    def __post_init__(self) -> None:
        check_limits(self)
        if self.best > self.batch_size:
            raise ValueError(f"best should be at most {self.batch_size}. Found {self.best}.")


def test_types_with_limits_are_read_and_their_limits_are_bad_usage():
    settings = settings_of(Limited)
    values = parse_overrides(settings, ["--widths", "3,2", "--rate", "0.5"], "toy")
    assert build(Limited(), values) == Limited((3, 2), 0.5)
    for words, sentence in (
        (["--widths", "0"], "--widths must be at least 1, but found 0; for example --widths 4"),
        (["--widths", ""], "--widths must have at least one value, but found none; for example --widths 4"),
        (["--rate", "0"], "--rate must be positive, but found 0.0; for example --rate none"),
        (["--batch-size", "0"], "--batch-size must be at least 1, but found 0: none is few; for example --batch-size 8"),
    ):
        with pytest.raises(UsageError) as caught:
            build(Limited(), parse_overrides(settings, words, "toy"))
        assert str(caught.value) == sentence
    with pytest.raises(UsageError, match="--rate must be a finite number or none, but found 'fast'; for example --rate none"):
        build(Limited(), {"rate": "fast"})


def test_a_value_that_the_others_rule_out_is_no_example():
    with pytest.raises(UsageError, match=r"^--best must be at most 8, but found 9; for example --best 2$"):
        build(Limited(), {"best": 9})
    for overrides in ({"batch_size": 1}, {"batch_size": 1, "best": 3}):  # 2, where it starts from, is too many as well
        with pytest.raises(UsageError, match=r"^best should be at most 1\. Found \d\."):
            build(Limited(), overrides)


@pytest.mark.parametrize("name", ["seeds", "package", "record", "keep_older"])
def test_a_field_must_not_hide_an_option(name):
    bad = make_dataclass("Bad", [(name, int, 1)])
    with pytest.raises(LabError, match=f"'{name}'"):
        settings_of(bad)


INFINITE, NAN = float("inf"), float("nan")


@dataclass(frozen=True)
class Bounded(limits.Limited):
    least: Annotated[int, Ge(1), "one is few"] = 1
    rate: Positive = 0.5
    share: Share = 0.5
    open: Annotated[float, Gt(0), Lt(1)] = 0.5
    half: Annotated[float, Interval(gt=0, le=1)] = 0.5
    most: Annotated[int, Le(9)] | None = None
    widths: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (4,)
    rule: Literal["mean", "and-mask"] = "mean"
    either: Literal["auto"] | Annotated[float, Gt(0)] = "auto"


@pytest.mark.parametrize(
    "values",
    [{}, {"least": 5}, {"rate": 1}, {"share": 0}, {"share": 1}, {"half": 1}, {"most": 9}, {"widths": (1, 2)}, {"either": 0.5}],
)
def test_what_lies_within_the_limits_is_taken(values):
    Bounded(**values)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"least": 0}, "least should be at least 1: one is few. Found 0."),
        ({"rate": 0.0}, "rate should be positive. Found 0.0."),
        ({"rate": INFINITE}, "rate should be a finite number. Found inf."),
        ({"share": NAN}, "share should be a finite number. Found nan."),
        ({"share": 1.5}, "share should be between 0 and 1. Found 1.5."),
        ({"open": 1.0}, "open should be below 1. Found 1.0."),
        ({"half": 0.0}, "half should be positive. Found 0.0."),
        ({"half": 2.0}, "half should be at most 1. Found 2.0."),
        ({"most": 10}, "most should be at most 9. Found 10."),
        ({"widths": ()}, "widths should have at least one value. Found none."),
        ({"widths": (3, 0)}, "widths should be at least 1. Found 0."),
        ({"either": -1.0}, "either should be positive. Found -1.0."),
    ],
)
def test_what_lies_outside_is_refused_with_what_was_found(values, sentence):
    with pytest.raises(ValueError, match="Found") as caught:
        Bounded(**values)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"least": 1.0}, "least should be a whole number. Found 1.0."),
        ({"least": True}, "least should be a whole number. Found True."),
        ({"rate": "fast"}, "rate should be a finite number. Found 'fast'."),
        ({"widths": 4}, "widths should be a list separated by commas, each a whole number. Found 4."),
        ({"rule": "median"}, "rule should be one of mean, and-mask. Found 'median'."),
        ({"either": "manual"}, "either should be one of auto or a finite number. Found 'manual'."),
        ({"most": "many"}, "most should be a whole number or none. Found 'many'."),
    ],
)
def test_another_type_is_refused(values, sentence):
    with pytest.raises(TypeError, match="Found") as caught:
        Bounded(**values)
    assert str(caught.value) == sentence
