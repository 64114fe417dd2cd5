from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.surfaces.hessians import EXPERIMENT
from mechlearn_zoo.experiments.surfaces.hessians import run as hessians

TINY = replace(EXPERIMENT.presets["quick"].config, pairs=60, dimensions=(1, 3))


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in hessians.run(replace(TINY, seed=seed)))


def test_errata_1_and_3_as_numbers(rows):
    captions = {row["curvature"]: row for row in rows if row["kind"] == "caption"}
    assert captions[0.01]["volume_ratio"] == pytest.approx(5.05)
    assert captions[0.01]["determinant_ratio"] == pytest.approx(25.5025)
    assert captions[0.05]["volume_ratio"] == pytest.approx(2.348, abs=1e-3)
    assert captions[0.05]["determinant_ratio"] == pytest.approx(5.5125)
    ten = next(row for row in rows if row["kind"] == "one-dimension" and row["ratio"] == pytest.approx(10))
    expected = {"inconsistency": 10, "subtracted": 9, "printed": 6.05, "corrected": 12.1}
    assert {key: ten[key] for key in expected} == pytest.approx(expected)


def test_the_proof_counts_what_a_grid_search_finds():
    """The largest L_B on the ellipse L_A = epsilon, and the other way round, over a fine grid of directions."""
    a, b = hessians.random_pair(2, commute=False, decades=2.0, generator=torch.Generator().manual_seed(3))
    angle = torch.linspace(0, torch.pi, 20_001, dtype=torch.float64)
    direction = torch.stack([angle.cos(), angle.sin()])
    forms = [(direction * (matrix @ direction)).sum(0) for matrix in (a, b)]
    worst = max(float((forms[1] / forms[0]).max()), float((forms[0] / forms[1]).max()))
    assert hessians.bounds(a, b)["inconsistency"] == pytest.approx(worst, rel=1e-4)


def test_verdicts(rows):
    verdicts = {claim.id.split(".")[1]: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    errata = {"volume-5", "volume-25", "printed-bound", "equal"}
    assert {name for name, verdict in verdicts.items() if verdict == "does not hold so far"} == errata
    assert {verdict for name, verdict in verdicts.items() if name not in errata} == {"holds so far"}


def test_a_wrong_mean_has_a_residual():
    a, b = hessians.caption(0.1)
    assert hessians.karcher_residual(a, b, (a + b) / 2) > 0.1


def test_rows_repeat_and_draw(rows):
    assert [{"seed": 1, **row} for row in hessians.run(replace(TINY, seed=1))] == [row for row in rows if row["seed"] == 1]
    assert list(EXPERIMENT.figures(rows)) == ["hessians"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1
