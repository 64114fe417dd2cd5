"""The cities' experiment on files made up in the published layout: the files themselves do not ship."""

import datetime
from itertools import pairwise

import numpy as np
import pytest

from claimlab import LabError, Rows, judge
from mechlearn_zoo.experiments.own_data import cities
from mechlearn_zoo.experiments.own_data.cities import run
from mechlearn_zoo.experiments.own_data.cities.five_cities import CITIES

EXPERIMENT = cities.EXPERIMENT
HEADER = "No,year,month,day,hour,season,PM_Local,PM_US Post,DEWP,HUMI,PRES,TEMP,cbwd,Iws,precipitation,Iprec\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("five-cities"), np.random.default_rng(0)
    for name in CITIES:
        lines, pm = [], 50.0
        for hour in range(700):
            time = datetime.datetime(2010, 1, 1) + datetime.timedelta(hours=hour)
            pm = abs(0.9 * pm + 5 + 10 * rng.normal())
            weather = ",".join(f"{value:.1f}" for value in rng.normal(size=4))
            wind, season = ("NE", "NW", "SE", "SW", "cv")[hour % 5], 1 + hour % 4
            date = f"{time.year},{time.month},{time.day},{time.hour}"
            lines.append(f"{hour + 1},{date},{season},NA,{pm:.1f},{weather},{wind},1.5,0,0\n")
        (path / f"{name.lower()}.csv").write_text(HEADER + "".join(lines))
    return path


@pytest.fixture(scope="module")
def config(folder):
    return run.Config(folder=str(folder), sizes=(20, 30), horizons=(6,), rows=20, steps=2, taught=())


def test_a_tiny_run_can_be_judged_and_drawn(config, monkeypatch):
    monkeypatch.setattr(run, "METHODS", ("pooled linear", "conflict rule"))
    monkeypatch.setattr(run, "NULLS", 20)
    rows = [{**row, "seed": 100} for row in EXPERIMENT.run(config)]
    agreement = Rows(rows).where(part="agreement")
    assert {row["new"] for row in agreement} == set(CITIES)
    assert {row["method"] for row in agreement} == {"pooled linear", "pooled network", "conflict rule", "Q filter"}
    within = Rows(rows).where(part="privileged")
    assert {(row["horizon"], row["rows"]) for row in within} == {(6, 20), (6, 30)}
    assert len(within.where(rows=20, method="noise")) == len(CITIES)
    assert all(row["score"] <= 100 for row in within)
    for claim in EXPERIMENT.claims:
        judge(claim, rows, "quick")
    assert EXPERIMENT.figures(Rows(rows))


def test_a_city_with_too_few_rows_is_left_out(config):
    read = run.five_cities(config.folder, config.cities)
    part = run._rows(run.forecasts(read["Chengdu"], 6, run.BETWEEN[6], 12))
    assert not list(run.within(config, "Chengdu", 6, len(part.y), part))


def test_the_chain_is_least_squares_step_by_step():
    rng = np.random.default_rng(0)
    x, hours, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2, 3)), rng.normal(size=40)
    new = rng.normal(size=(5, 3))
    found = new
    stages = [x, hours[:, 0], hours[:, 1], y[:, None]]
    for one, two in pairwise(stages):
        weights = np.linalg.lstsq(np.c_[one, np.ones(40)], two, rcond=None)[0]
        found = np.c_[found, np.ones(len(found))] @ weights
    np.testing.assert_allclose(run.Chain(x, hours, y).predict(new), found[:, 0], rtol=1e-9)


def test_mixed_losses_are_mixed_targets():
    """The student's weights minimise (1 - share) times its error plus share times its distance from the teacher."""
    rng = np.random.default_rng(0)
    x, hours, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2, 3)), rng.normal(size=40)
    student = run.distilled(x, hours, y, seed=0)
    flat = np.c_[hours.reshape(40, -1), np.ones(40)]
    teacher = flat @ np.linalg.lstsq(flat, y, rcond=None)[0]
    predicted, inputs = student.predict(x), np.c_[x, np.ones(40)]
    slopes = [inputs.T @ ((1 - share) * (predicted - y) + share * (predicted - teacher)) for share in run.SHARES]
    assert min(np.abs(slope).max() for slope in slopes) < 1e-9


def test_every_claim_can_fail_and_hold():
    found = {claim.id: set() for claim in EXPERIMENT.claims}
    methods = (
        *run.METHODS, "OLS", "ridge", "LUPTS", "vote", "vote without", "noise", "permuted", "LDT", "auxiliary head", "network",
    )  # fmt: skip
    cells = [run.AGREEMENT, *(run.cell(horizon, rows) for horizon in run.BETWEEN for rows in (50, 100, 200, 400, 1000))]
    solved = [set(), {"AND-mask"}, {"pooled network"}, {"LUPTS", "ridge"}, {"vote", "LDT", "network"}, {"vote without"}]
    for better in solved:
        rows = [
            {"kind": "score", "seed": seed, "new": "new", **cell, "method": method, "score": 50.0 + 9 * (method in better)}
            for seed in range(6)
            for cell in cells
            for method in methods
        ]
        for claim in EXPERIMENT.claims:
            found[claim.id].add(judge(claim, rows, "paper").verdict)
    for name, verdicts in found.items():
        assert {"holds", "does not hold"} <= verdicts, name


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match=r"horizons should be among 6, 12, 24\. Found 7"):
        run.Config(horizons=(7,))
    with pytest.raises(LabError, match=r"none of the files .*dataset/394"):
        next(EXPERIMENT.run(run.Config(folder=str(tmp_path))))
