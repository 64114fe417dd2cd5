import numpy as np
import pytest

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reading_in.warnings import placeholders, units
from site_tables import beside, small

PLACEHOLDER, UNITS = "looks like a code for missing", "Look whether units are the same"
SPELLINGS = "differ in case or spaces only"

TABLE = small()
N = len(TABLE.y)
AGES = np.random.default_rng(0).integers(18, 99, N).astype(float)


def coded(value, rows, numbers=AGES):
    return np.where(np.arange(len(numbers)) % (len(numbers) // rows) == 0, value, numbers)


@pytest.mark.parametrize("value", [-999.0, -99.0, 9999.0, 999.0])
def test_a_code_for_missing_is_said(value):
    notes = [note for note in prepare(beside(age=coded(value, 6)), TABLE.y, TABLE.site).notes if PLACEHOLDER in note]
    assert notes == [
        f"{value:g} in age (6 rows) looks like a code for missing, far from all other values. If it is, empty these cells, or "
        "--drop 'age'."
    ]
    (note,) = placeholders({}, coded(value, 6))
    assert note.startswith(f"{value:g} in the target (6 rows) {PLACEHOLDER}")


def test_two_codes_do_not_hide_each_other():
    assert [note.split()[0] for note in placeholders({"age": coded(9999.0, 5, np.roll(coded(-999.0, 5), 1))}, TABLE.y)] == [
        "-999",
        "9999",
    ]


@pytest.mark.parametrize(
    "values",
    [
        coded(-999.0, 4),  # too few rows
        coded(10000.0, 6),  # a company's
        coded(99.0, 6),  # beside the others
        coded(0.0, 6, AGES + 1000),
        TABLE.y,
        np.arange(N) % 4,
        TABLE.x[:, 0] ** 3,
        np.minimum(AGES, 60.0),
        np.where(AGES > 40, 1.0, AGES + 1000),  # most rows
    ],
)
def test_what_is_no_code_is_not_said(values):
    assert placeholders({"a": values}, TABLE.y) == []


def test_sites_whose_ranges_are_apart_are_said_and_not_named():
    sites = np.array([f"ward {site}" for site in TABLE.site])
    degrees = 37 + np.random.default_rng(0).normal(size=N)
    mixed = np.where(TABLE.site == 2, 1.8 * degrees + 32, degrees)
    (note,) = [note for note in prepare(beside(temperature=mixed, same=degrees), TABLE.y, sites).notes if UNITS in note]
    assert note.startswith("temperature has values at 1 of 4 sites (9")
    assert "apart from 3 others' (3" in note
    assert "ward" not in note
    rows = np.arange(N)
    number = {"id": rows, "level": TABLE.site, "shifted": degrees + TABLE.site, "code": TABLE.site * 10.0 + rows % 3}
    assert units(number, sites) == []
    assert not any(UNITS in note for note in prepare(beside(temperature=mixed), TABLE.y, sites, compared=False).notes)


def test_spellings_of_one_category_are_said():
    sex = np.array(["M", "m", "f", "f "], dtype=object)[np.arange(N) % 4]
    sites = np.array(["Leeds", "leeds", "York", "Hull"])[TABLE.site]
    table = prepare(
        beside(sex=sex, kind=np.array(["a", "b"])[TABLE.y]), np.array(["no", "Yes", "yes"])[np.arange(N) % 3], sites
    )
    way_out = "Each is one of its own: write them alike if they mean the same."
    assert [note for note in table.notes if SPELLINGS in note] == [
        f"Categories of sex that {SPELLINGS}: 'M' and 'm', 'f' and 'f '. {way_out}",
        f"Classes of the target that {SPELLINGS}: 'Yes' and 'yes'. {way_out}",
        f"Sites that {SPELLINGS}: 'Leeds' and 'leeds'. {way_out}",
    ]
    assert [note for note in table.naming if SPELLINGS in note] == [table.notes[-1]]
