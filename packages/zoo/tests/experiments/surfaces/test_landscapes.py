from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.surfaces.landscapes import EXPERIMENT
from mechlearn_zoo.experiments.surfaces.landscapes import run as landscapes

TINY = replace(EXPERIMENT.presets["quick"].config, starts=50, steps=300, learning_rate=0.2, shown=2)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in landscapes.run(replace(TINY, seed=seed)))


def test_minima_are_where_the_texts_put_them():
    minima = torch.tensor([landscapes.CONSISTENT, landscapes.PATCHWORK], dtype=torch.float64)
    a, b = landscapes.losses(minima)
    assert a.tolist() == b.tolist() == [0, 0]
    off_valley = minima + torch.tensor([0.2, 0.0])
    a, b = landscapes.losses(off_valley)
    assert float(a[0]) > 0.01
    assert float(b[0]) > 0.01  # both environments have the consistent minimum
    assert float(a[1]) > 0.01
    assert float(b[1]) == 0  # B does not see the way from the patchwork minimum along its valley


def test_gradients_match_finite_differences():
    points, step = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), 1e-6
    found = landscapes.gradients(points)
    for axis in (0, 1):
        shift = step * torch.eye(2, dtype=torch.float64)[axis]
        higher, lower = (torch.stack(landscapes.losses(points + sign * shift)) for sign in (1, -1))
        torch.testing.assert_close(found[:, :, axis], (higher - lower) / (2 * step), atol=1e-8, rtol=1e-5)


def test_at_half_a_half_the_environments_point_apart():
    """Section 3.2: near (0.5, 0.5) the gradients of A and B are orthogonal, and the sum keeps both."""
    a, b = landscapes.gradients(torch.tensor([[0.5, 0.5]], dtype=torch.float64))[:, 0]
    assert abs(float(torch.nn.functional.cosine_similarity(a, b, dim=0))) < 0.2


def test_the_gradients_fade_as_in_closed_form(rows):
    fading = [row for row in rows if row["kind"] == "fading"]
    assert all(row["ratio"] == pytest.approx(row["closed_form"], rel=1e-12) for row in fading)


def test_claims_on_a_small_run(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    del verdicts["landscapes.alone"]  # with 50 starts, one that lies near the minimum by chance is too many
    assert verdicts.pop("landscapes.attraction-consistent") == "does not hold so far"
    assert set(verdicts.values()) == {"holds so far"}
    alone = [row["patchwork"] for row in rows if row.get("method") in ("A alone", "B alone") and row["kind"] == "outcome"]
    assert max(alone) <= 0.06


def test_either_environment_alone_reaches_the_consistent_minimum():
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "landscapes.shared"]
    rows = [
        {"seed": 0, "kind": "outcome", "method": name, "consistent": share}
        for name, share in (("A alone", 0.4), ("B alone", 0.05))
    ]
    found = judge(claim, rows, "quick")
    assert (found.measured, found.verdict) == (0.05, "does not hold so far")


@pytest.mark.parametrize(("consistent", "verdict"), [(0.6, "holds"), (0.4, "does not hold"), (0.0, "does not hold")])
def test_a_rule_that_never_moves_gains_nothing(consistent, verdict):
    (claim,) = [claim for claim in EXPERIMENT.claims if claim.id == "landscapes.attraction-consistent"]
    shares = {"mean": 0.4, "geometric mean": 0.6, "AND-mask": consistent}
    rows = [
        {"seed": seed, "kind": "outcome", "method": name, "patchwork": 0.0, "consistent": share}
        for seed in range(6)
        for name, share in shares.items()
    ]
    assert judge(claim, rows, "quick").verdict == verdict


def test_rows_repeat_and_draw(rows):
    assert [{"seed": 1, **row} for row in landscapes.run(replace(TINY, seed=1))] == [row for row in rows if row["seed"] == 1]
    assert list(EXPERIMENT.figures(rows)) == ["descent", "fading"]
    assert EXPERIMENT.progress(TINY, rows[-1])[0] == 1
