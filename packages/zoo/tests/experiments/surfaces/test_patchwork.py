from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.surfaces.patchwork import EXPERIMENT
from mechlearn_zoo.experiments.surfaces.patchwork import run as patchwork

TINY = replace(EXPERIMENT.presets["quick"].config, examples=400)


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in patchwork.run(replace(TINY, seed=seed)))


def test_the_staircase_is_the_printed_function():
    x = torch.tensor([0.0, 0.4, 0.45, 0.5, 0.6, 0.7, 0.77, 0.8, 1.0], dtype=torch.float64)
    torch.testing.assert_close(patchwork.staircase(x), torch.tensor([0, 0, 0.5, 1, 1, 1, 1.7, 2, 2], dtype=torch.float64))


def test_the_network_is_equation_b1():
    theta, x = (3.0, -1.0, 2.0, 0.5, -1.5, 0.25), 0.3
    sigma = [1 / (1 + 2.718281828459045 ** -(a * x + b)) for a, b in ((3.0, -1.0), (2.0, 0.5))]
    found = patchwork.network(theta, torch.tensor([x], dtype=torch.float64))
    assert float(found) == pytest.approx(-1.5 * sigma[0] + 0.25 * sigma[1])


def test_verdicts(rows):
    verdicts = {claim.id: judge(claim, rows, "quick").verdict for claim in EXPERIMENT.claims}
    assert verdicts.pop("patchwork.fits-a") == "does not hold so far"  # the printed step lies at the edge of A
    assert set(verdicts.values()) == {"holds so far"}


def test_a_does_not_see_the_second_unit(rows):
    losses = {row["loss_a"] for row in rows if row["kind"] == "loss" and row["seed"] == 0 and row["version"] == "printed"}
    assert max(losses) - min(losses) < 1e-9


def test_rows_repeat_and_draw(rows):
    assert [{"seed": 1, **row} for row in patchwork.run(replace(TINY, seed=1))] == [row for row in rows if row["seed"] == 1]
    assert list(EXPERIMENT.figures(rows)) == ["patchwork"]
