import numpy as np
import pytest

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.transport.columns import Ratio, notes_on_second_level, notes_on_units, second_level, unit_ratios


def made(seed, count=10, rows=50, factor=1.0, at=(), **columns):
    """Inflammation by site, skewed, in another unit at some."""
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(count), rows)
    crp = np.exp(rng.normal(size=count * rows) + 0.15 * rng.normal(size=count)[site]).round(2) + 0.01
    crp[np.isin(site, at)] *= factor
    table = {"crp": crp, "age": rng.normal(60, 8, size=count * rows), **{name: make(site) for name, make in columns.items()}}
    return prepare(table, rng.integers(2, size=count * rows), [f"ward {one}" for one in site])


@pytest.mark.parametrize(("factor", "at"), [(10.0, (2, 7)), (100.0, (0,)), (88.42, (1, 3, 5))])
@pytest.mark.parametrize("turned", [False, True])
def test_another_unit_at_some_sites_is_found(factor, at, turned):
    (found,) = unit_ratios(made(0, factor=1 / factor if turned else factor, at=at))
    assert found.column == "crp"
    assert found.sites == tuple(f"ward {one}" for one in at)
    assert (1 / found.measured if turned else found.measured) == pytest.approx(factor, rel=0.5)
    assert factor in found.factors


def test_it_is_said_with_its_sites():
    (said,) = notes_on_units(unit_ratios(made(1, factor=10.0, at=(2, 7))))
    assert said.startswith("crp is about ")
    assert " times what it is elsewhere at ward 2, ward 7: perhaps another unit (1" in said
    (less,) = notes_on_units([Ratio("age", ("A",), 1 / 12, (12.0, 10.0))])
    assert less == (
        "age is about 1/12 of what it is elsewhere at A: perhaps another unit (12 for years and months, or "
        "feet and inches or 10)."
    )


def test_tables_of_one_unit_have_no_note():
    assert sum(len(unit_ratios(made(seed))) for seed in range(100, 140)) == 0


def test_sites_that_differ_by_any_factor_among_themselves_are_in_no_other_unit():
    rng = np.random.default_rng(5)
    site = np.repeat(np.arange(10), 30)
    level = np.array([-3.8, *np.linspace(0, 1.9, 9)])
    table = prepare({"size": np.exp(level[site] + 0.1 * rng.normal(size=300))}, rng.integers(2, size=300), site)
    assert not unit_ratios(table)
    near = np.where(site < 2, np.log(1.8), 0.0)  # no known factor, though 2.2046 is near
    table = prepare({"days": np.exp(near + 0.1 * rng.normal(size=300))}, rng.integers(2, size=300), site)
    assert not unit_ratios(table)


def test_half_of_the_sites_or_three_of_them_settle_nothing():
    assert not unit_ratios(made(2, factor=10.0, at=range(5)))
    assert not unit_ratios(made(3, count=3, factor=10.0, at=(0,)))


def test_a_column_that_is_constant_within_sites_is_second_level():
    table = made(4, beds=lambda site: 100.0 + site, same=lambda site: np.ones(len(site)))
    assert second_level(table) == ("beds",)
    (said,) = notes_on_second_level(("beds",), 10)
    assert said == (
        "beds is constant within every site: it is a site's name in disguise, and what 10 sites say of it is 10 values."
    )
    assert notes_on_second_level(("beds", "floor"), 10)[0].startswith("beds, floor are constant within every site: they are")
    assert not notes_on_second_level((), 10)
