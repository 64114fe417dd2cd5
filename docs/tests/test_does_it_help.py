"""The numbers of "Does it help me?" that no claim holds are those of the records."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from craik.experiments.own_data import calibration, cities, codes, privileged, wards, weak, writers
from craik.experiments.own_data.measures import POOLED, differences
from craik.lab import bootstrap
from recorded import records

ROOT = Path(__file__).parents[2]
PAGE = next((ROOT / "docs").rglob("does-it-help.md")).read_text(encoding="utf-8")
RUNS = {run.recipe.name: run for run in records() if run.recipe.label == "quick"}
TABLES = {"codes": codes, "weak": weak, "wards": wards, "calibration": calibration}
LINES = re.findall(r"^\| (codes|weak|wards|calibration) \| (\d+) x (\d+) \| (.*) \|$", PAGE, re.MULTILINE)


def draws(spread: float, points: float = 2.0) -> int:
    """Return how many draws find a difference four times in five at 5 %, two sides."""
    return math.ceil(((1.96 + 0.84) * spread / points) ** 2)


@pytest.mark.parametrize(("table", "sites", "rows", "numbers"), LINES)
def test_spreads_and_draws_are_the_rows(table, sites, rows, numbers):
    cell = TABLES[table].run.CELLS[f"{sites}x{rows}"]
    recorded = RUNS[f"own-data-{table}"].rows()
    for method, said in zip(("AND-mask", "conflict rule", "screening"), numbers.split(" | "), strict=True):
        found = differences(recorded, method, POOLED, cell)
        assert len(found) == 20
        spread = float(np.std(found, ddof=1))
        assert said == f"{spread:.1f}: {draws(spread)}", method


def test_every_cell_of_the_tables_is_there():
    expected = {(name, key) for name, module in TABLES.items() for key in module.run.CELLS if re.fullmatch(r"\d+x\d+", key)}
    assert {(name, f"{sites}x{rows}") for name, sites, rows, _ in LINES} == expected


@pytest.mark.parametrize("method", ["AND-mask", "conflict rule"])
def test_the_worst_writer_stands_beside_the_mean(method):
    cell = writers.run.CELLS["as they are"]
    rows = RUNS["own-data-writers"].rows().where(kind="score", **cell)
    means = {
        new: float(np.mean(group.where(method=method)["score"]) - np.mean(group.where(method=POOLED)["score"]))
        for new, group in rows.by("new").items()
    }
    words = {"AND-mask": "the AND-mask is at {:+.1f} in the mean and at {:+.1f} at the worst of the thirteen writers",
             "conflict rule": "Gail-Simon's rule at {:+.1f} and {:+.1f}"}[method]  # fmt: skip
    mean = float(np.mean(differences(rows, method, POOLED, cell)))
    assert len(means) == 13
    assert words.format(mean, min(means.values())) in " ".join(PAGE.split())


UNITS = re.findall(r"^\| ([123])(s?) \| ([38]) \| (.*) \|$", PAGE, re.MULTILINE)
COLUMNS = ("ERM", "AND-mask, published", "IRM", "IGA", "Gail-Simon", "Cochran", "oracle")


@pytest.mark.parametrize(("example", "scrambled", "environments", "numbers"), UNITS)
def test_errors_on_the_unit_tests_are_the_rows(example, scrambled, environments, numbers):
    rows = (
        RUNS["own-data-linear-units"]
        .rows()
        .where(
            kind="final",
            example=("regression", "cows", "margin")[int(example) - 1],
            scrambled=bool(scrambled),
            environments=int(environments),
        )
    )
    digits = 1 if example == "1" else 2
    for method, said in zip(COLUMNS, numbers.split(" | "), strict=True):
        assert said.split(" (")[0] == f"{np.mean(rows.where(method=method)['within']):.{digits}f}", method


@pytest.mark.parametrize(
    ("cell", "table"), [("pairs 300", "pairs of digits"), ("digits 200", "noisy digits"), ("cells 100", "cells")]
)
def test_what_a_warm_start_gives_ldt_over_an_auxiliary_head(cell, table):
    run = next(run for run in records() if run.folder.parts[-3] == "own_data" and run.recipe.label == "forms")
    found = bootstrap(differences(run.rows(), "LDT, warm", "auxiliary head", privileged.run.FORM_CELLS[cell]), np.mean)
    assert f"{found.value:+.1f} [{found.low:.1f}, {found.high:.1f}] on {table}" in PAGE


def test_every_unit_test_is_there():
    assert len(UNITS) == 12


def test_what_the_mask_gains_without_codes():
    gains = [
        float(np.mean(differences(RUNS["own-data-codes"].rows(), "AND-mask", POOLED, codes.run.CELLS[cell])))
        for cell in ("8x53 without codes", "8x53")
    ]
    assert "gains {:.1f} of its {:.1f} points without any codes".format(*gains) in PAGE


HEADER = [("6", "50"), ("6", "200"), ("6", "1000"), ("12", "50"), ("12", "200"), ("24", "50"), ("24", "200")]
HOURS = re.findall(r"^\| (LUPTS|vote) over (OLS|ridge|vote without) \| (.*) \|$", PAGE, re.MULTILINE)


def said(method: str, over: str, cell) -> str:
    found = bootstrap(differences(RUNS["own-data-cities"].rows(), method, over, cell), np.mean)
    return f"{found.value:+.1f} [{found.low:.1f}, {found.high:.1f}]"


@pytest.mark.parametrize(("method", "over", "numbers"), HOURS)
def test_what_the_hours_in_between_are_worth(method, over, numbers):
    found = [said(method, over, cities.run.cell(int(hours), int(rows))) for hours, rows in HEADER]
    assert numbers.split(" | ") == found


def test_what_cities_left_out_say():
    assert len(HOURS) == 3
    for method in ("AND-mask", "conflict rule", "screening", "pooled linear"):
        assert said(method, POOLED, cities.run.AGREEMENT) in PAGE
