import importlib.util

import pytest

from claimlab.claims import EARLY_STOPPED, FINAL, Needs, OverSeeds, judge
from claimlab.errors import LabError
from claimlab.table import claims_of

MEASURES = """
from claimlab import EachSeed

def lead(rows):
    return max(rows["value"]) - min(rows["value"])

def of(key, scale=1):
    return EachSeed(lambda rows: scale * rows[key][0])
"""

FIRST = """
["toy.first"]
text = "It is high."
source = "figure 1"
printed = "1"
measure = "of('value', scale=2)"
condition = "twice the value, mean over seeds, above 0.5"
"""

ROWS = [{"seed": seed, "value": value, "stopped_value": 1.0} for seed, value in enumerate((0.2, 0.4))]


@pytest.fixture
def read(tmp_path):
    def reading(text):
        (tmp_path / "measures.py").write_text(MEASURES)
        (tmp_path / "claims.toml").write_text(text)
        spec = importlib.util.spec_from_file_location("toy_measures", tmp_path / "measures.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return claims_of(module)

    return reading


def test_a_claim_is_what_its_table_says(read):
    (found,) = read(FIRST + 'tried = "Less."\nearlier = ["Above 0."]\nneeds = {premises = ["toy.second"], why = "it learns"}\n')
    assert (found.id, found.text, found.source, found.printed, found.kind) == (
        "toy.first", "It is high.", "figure 1", "1", "claim",
    )  # fmt: skip
    assert (found.tried, found.earlier, found.needs) == ("Less.", ("Above 0.",), Needs(("toy.second",), why="it learns"))
    judged = judge(found, ROWS, "quick")
    assert (judged.measured, judged.verdict) == (pytest.approx(0.6), "holds so far")


def test_a_cell_takes_the_rest_from_its_claim(read):
    measure = "measure = \"of('value')\"\n"
    between = FIRST.replace("first", "second")
    first, inside, _, other = read(
        FIRST
        + 'tried = "Less."\n["toy.first"."toy.inside"]\n'
        + measure
        + between
        + '["toy.other"]\ncell_of = "toy.first"\n'
        + measure
    )
    assert (inside.cell_of, inside.text, inside.tried) == (other.cell_of, other.text, other.tried)
    assert (other.cell_of, other.text, other.printed, other.condition.words) == (
        "toy.first", first.text, "1", first.condition.words,
    )  # fmt: skip
    assert other.tried == "Less."
    assert judge(other, ROWS, "quick").measured == pytest.approx(0.3)


def test_claims_take_what_every_one_has_and_an_empty_one_takes_nothing(read):
    every = '[every]\nsource = "ours: a control"\ntried = "Less."\nneeds = {premises = ["toy.second"]}\n'
    bare = 'measure = "of(\'value\')"\ncondition = "value above 0"\n'
    rows = ["", 'tried = ""\nneeds = {}\n', 'source = "figure 1"\n', 'kind = "control"\n']
    found = read(every + "".join(f'["toy.{place}"]\ntext = "It is."\n{bare}{row}' for place, row in enumerate(rows)))
    assert [one.kind for one in found] == ["ours", "ours", "claim", "control"]
    assert [one.tried for one in found] == ["Less.", "", "Less.", "Less."]
    assert [one.needs for one in found] == [Needs(("toy.second",)), Needs(), *[Needs(("toy.second",))] * 2]
    cell = f'["toy.0"."toy.cell"]\nsource = "figure 2"\n{bare}'
    assert read(every + f'["toy.0"]\ntext = "It is."\ntried = ""\n{bare}' + cell)[1].tried == ""


def test_several_measures_and_stopped_trainings(read):
    (found,) = read(FIRST + "stopped = true\n")
    judged = judge(found, ROWS, "quick")
    assert [(one.words, one.measured) for one in judged.parts] == [(FINAL, pytest.approx(0.6)), (EARLY_STOPPED, 2.0)]
    own = FIRST.replace("measure = \"of('value', scale=2)\"", "measures = {here = \"of('value')\", there = \"of('seed')\"}")
    assert [one.words for one in judge(read(own)[0], ROWS, "quick").parts] == ["here", "there"]


def test_presets_and_measures_of_the_lab(read):
    text = FIRST.replace("of('value', scale=2)", "OverSeeds('value', {'seed': 1}, mean)") + 'presets = ["long"]\n'
    (found,) = read(text)
    assert isinstance(found.measure, OverSeeds)
    assert judge(found, ROWS, "quick").verdict == "not measurable here"
    assert judge(found, ROWS, "long").measured == 0.4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (FIRST + "colour = 1\n", "Found a column 'colour'"),
        (FIRST.replace('source = "figure 1"', ""), "Found source None"),
        (FIRST + 'kind = "rumour"\n', "Found kind 'rumour'"),
        (FIRST + 'presets = "quick"\n', "Found presets 'quick'"),
        (FIRST + 'why = "it learns"\n', "Found a column 'why'"),
        (FIRST + "needs = {place = []}\n", "Found a column 'place'"),
        (FIRST + 'needs = {placebos = "toy.second"}\n', "Found placebos 'toy.second'"),
        (FIRST + 'needs = ["toy.second"]\n', r"should have a table of `needs`. Found \['toy.second'\]"),
        ("[every]\ncolour = 1\n" + FIRST, "toy.first in .* Found a column 'colour'"),
        (FIRST.replace("above 0.5", "high"), "should end with a rule"),
        (FIRST.replace("of(", "nobody("), "no measure is called 'nobody'"),
        (FIRST.replace("of('value', scale=2)", "1 + 1"), "malformed node"),
        (FIRST.replace("of('value', scale=2)", "[3]"), "a measure is a function of rows"),
        (FIRST.replace("measure =", "tried ="), "no 'measure'"),
        ('["toy.other"]\ncell_of = "toy.first"\n', "should be a cell of a claim of the file.* Found 'toy.first'"),
        (FIRST + '["toy.other"]\ncell_of = "toy.first"\n["toy.other"."toy.third"]\n', "toy.other in .* and have none"),
        ('["toy.first"."toy.other"]\n', "toy.first in .* Found text None"),
        (FIRST + '["toy.first"."toy.other"."toy.third"]\n', "toy.other in .* Found a column 'toy.third'"),
        (FIRST + '"toy.other" = 1\n', "toy.first in .* Found a column 'toy.other'"),
        ("[toy", "should be in a TOML file"),
        ("every = 3\n" + FIRST, "should hold tables.* Found every = 3"),
        ('kind = "ours"\n' + FIRST, "should hold tables.* Found kind = 'ours'"),
    ],
)
def test_a_table_that_says_too_little_or_too_much_is_refused(read, text, found):
    with pytest.raises(LabError, match=found):
        read(text)
