from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.agreement.merging import EXPERIMENT
from mechlearn_zoo.experiments.agreement.merging import run as merging
from mechlearn_zoo.experiments.agreement.merging.measures import gain

SHORT = replace(EXPERIMENT.presets["quick"].config, base_steps=5, steps=3, seed=1000)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": 1000, **row} for row in merging.run(SHORT))


def test_every_family_has_every_method_and_every_method_the_same_number_of_candidates(rows):
    cells = {(row["family"], row["network"], row["method"]) for row in rows}
    assert len(cells) == len(rows) == 6 * (2 + len(merging.METHODS))
    assert {len(candidates) for candidates in merging.METHODS.values()} == {12}


def test_sources_are_what_they_are_said_to_be():
    classes, shifts, codes = (merging.family(kind, SHORT) for kind in merging.KINDS)
    assert [sorted(set(one.y.tolist())) for one in classes.sources] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    assert len(shifts.test.y) == 5 * 500
    assert len(codes.test.y) == 500
    plain = replace(SHORT, noise=0.0)
    moved, still = merging.family("shifts", plain), merging.family("codes", plain)
    assert torch.equal(moved.sources[0].x[:, :, :, 1:], still.sources[0].x.roll(1, 3)[:, :, :, 1:]) is False
    corner = still.sources[0].x[still.sources[0].y == 3][:, 0, 0, 0]
    assert len(set(corner.sign().tolist())) == 1  # a class has one code at a source
    assert torch.equal(moved.base.x, still.base.x)


def test_a_choice_is_the_best_on_validation(rows):
    (row,) = rows.where(family="classes", network="wide", method="averaging")
    assert row["scale"] in merging.AVERAGES
    assert 0 <= row["validation"] <= 1


def test_a_gain_is_a_difference_of_means():
    made = Rows(
        {"seed": 0, "kind": "final", "family": kind, "network": network, "method": method, "accuracy": value}
        for kind in merging.KINDS
        for network in merging.NETWORKS
        for method, value in (("averaging", 0.5), ("ties", 0.75 if kind == "codes" else 0.5))
    )
    assert gain("ties", "averaging", "codes")(made).value == pytest.approx(0.25)
    assert gain("ties")(made).value == pytest.approx(0.25 / 3)
    assert gain("dare")(made) is None


def test_rows_repeat_judge_and_draw(rows):
    assert [dict(row) for row in rows] == [{"seed": 1000, **row} for row in merging.run(SHORT)]
    assert all(judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["merging"]
    assert EXPERIMENT.progress(SHORT, rows[-1])[0] == 1
