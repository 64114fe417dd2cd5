"""The experiments on own data, with two steps of training."""

from dataclasses import replace

import numpy as np
import pytest

from claimlab import Rows, judge
from mechlearn.tables.distilling import students
from mechlearn_zoo.experiments.own_data import codes, columns, privileged
from mechlearn_zoo.experiments.own_data.comparing import METHODS, candidates, table_of
from mechlearn_zoo.experiments.own_data.measures import POOLED, differences, least, share_of_gain
from mechlearn_zoo.tasks.tables.cells import wards as ward_table
from mechlearn_zoo.tasks.tables.writers import writers

BOARDS = {
    "quick": {"grid": ("8x53",)}, "writers": {"boards": ("with codes",)}, "weak": {"grid": ("16x26",)},
    "wards": {"grid": ("8x53",)}, "tag": {"boards": ("cells",)}, "calibration": {},
}  # fmt: skip


@pytest.mark.parametrize("preset", BOARDS)
def test_a_tiny_run_can_be_judged_and_drawn(preset, monkeypatch):
    few = lambda board: candidates(board, ("pooled linear", "AND-mask", "conflict rule"))  # noqa: E731
    monkeypatch.setattr(codes.run, "candidates", few)
    experiment = codes.EXPERIMENT.at(preset)
    config = replace(experiment.presets[preset].config, steps=2, **BOARDS[preset])
    rows = [{**row, "seed": 100} for row in experiment.run(config)]
    assert {row["method"] for row in rows} >= {"pooled linear", "pooled network", "AND-mask", "conflict rule", "Q filter"}
    assert all(0 <= row["score"] <= 100 for row in rows)
    for claim in experiment.claims:
        judge(claim, rows, preset)
    assert experiment.figures(Rows(rows))


def test_boosting_joins_where_there_are_two_classes():
    assert [name in candidates(board) for board in (ward_table(100), writers(100)) for name in ("pooled boosting", "IRM")] == [
        True, True, False, True,
    ]  # fmt: skip


def test_networks_join_where_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(privileged.run, "TAUGHT", ("cells 50",))
    monkeypatch.setattr(students, "TRAINING", replace(students.TRAINING, steps=8))
    config = replace(privileged.EXPERIMENT.presets["quick"].config, grid=("cells 50",))
    rows = Rows({**row, "seed": 100} for row in privileged.EXPERIMENT.run(config))
    assert {row["method"] for row in rows} >= {"vote", "network", "auxiliary head", "LDT"}
    assert privileged.EXPERIMENT.claims[-1].measure(rows) is None


RULES = ("AND-mask", "conflict rule", "Cochran's Q", "screening")
MADE_UP = (RULES, RULES[:1], RULES[1:], ("pooled network", *RULES[1:]), ("pooled network", "pooled linear"), ("oracle",))


@pytest.mark.parametrize("preset", BOARDS)
def test_every_claim_can_fail_and_hold(preset):
    """Scores made up so that some methods are nine points above the others."""
    methods, claims = (*METHODS, "Q filter", "oracle", "pooled boosting"), codes.EXPERIMENT.at(preset).claims
    found: dict[str, set[str]] = {claim.id: set() for claim in claims}
    for better in MADE_UP:
        rows = [
            {"kind": "score", "seed": seed, "new": "new", **cell, "method": method, "score": 50.0 + 9 * (method in better)}
            for seed in range(6)
            for cell in codes.run.CELLS["codes" if preset == "quick" else preset].values()
            for method in methods
        ]
        for claim in claims:
            found[claim.id].add(judge(claim, rows, preset).verdict)
    for name, verdicts in found.items():
        assert {"holds", "does not hold"} <= verdicts, name


@pytest.mark.parametrize(
    ("module", "settings"), [(columns, {"boards": ("tag", "shared")}), (privileged, {"grid": ("cells 50", "pairs 150")})]
)
def test_what_trains_nothing_runs_is_judged_and_drawn(module, settings, monkeypatch):
    monkeypatch.setattr(privileged.run, "TAUGHT", ())
    experiment = module.EXPERIMENT
    config = replace(experiment.presets["quick"].config, **settings)
    rows = [{**row, "seed": 100} for row in experiment.run(config)]
    assert len(rows) == len(list(experiment.run(config)))
    for claim in experiment.claims:
        judge(claim, rows, "quick")
    assert experiment.figures(Rows(rows))


def test_the_area_counts_pairs():
    planted = np.array([True, False, False, True])
    assert columns.run.auroc(np.array([3.0, 1.0, 2.0, 4.0]), planted) == 1.0
    assert columns.run.auroc(np.array([1.0, 1.0, 1.0, 1.0]), planted) == 0.5
    assert columns.run.auroc(np.array([2.0, 1.0, 3.0, 4.0]), planted) == 0.75


def test_measures_are_paired_by_seed():
    scores = {("a", "one"): (3.0, 5.0), ("a", POOLED): (1.0, 2.0), ("b", "one"): (0.0, 0.0), ("b", POOLED): (1.0, 3.0)}
    rows = Rows(
        {"kind": "score", "seed": seed, "cell": cell, "method": method, "score": score}
        for (cell, method), values in scores.items()
        for seed, score in enumerate(values)
    )
    assert differences(rows, "one", "pooled network", {"cell": "a"}) == [2.0, 3.0]
    assert least(("one",), ("pooled network",), ({"cell": "a"}, {"cell": "b"}))(rows).value == -2.0
    # Of a itself it has all of the gain; b does not count, where there is none.
    assert share_of_gain("one", "one", 0.8, ({"cell": "a"}, {"cell": "b"}))(rows).value == pytest.approx(0.5)


def test_the_oracle_alone_knows_what_was_planted():
    board = ward_table(100)
    assert "oracle" in candidates(board)
    assert "oracle" not in candidates(board._replace(planted=()))
    assert table_of(board).x.shape == (569, 17)
    assert np.isfinite(table_of(board).x).all()
