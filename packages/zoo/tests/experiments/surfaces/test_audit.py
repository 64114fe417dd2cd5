from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.surfaces import environments
from mechlearn_zoo.experiments.surfaces.environments import audit, audit_figures
from mechlearn_zoo.learners.spirals import training

EXPERIMENT = environments.EXPERIMENT.at("audit")
QUICK = EXPERIMENT.presets["audit"].config
TINY = replace(QUICK, environments=3, scored=2, examples=16, hidden=8, epochs=1, iterations=4, tolerance=0.5)


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        small = replace(training.TRAININGS["quick"], examples=128, batch=64, shortcut_dims=3)
        patch.setitem(training.TRAININGS, "quick", small)
        return Rows({"seed": 0, **row} for row in audit.run(TINY))


def test_rows(rows):
    kinds = [row["kind"] for row in rows]
    assert (kinds.count("pair"), kinds.count("parameter"), kinds.count("summary")) == (4, 16, 2)
    for method in ("mean", "and-mask"):
        (summary,) = [row for row in rows if row["kind"] == "summary" and row["method"] == method]
        pairs = [row for row in rows if row["kind"] == "pair" and row["method"] == method]
        assert summary["inconsistency"] == max(row["value"] for row in pairs)
        assert summary["walked"] == max(row["walked"] for row in pairs)
        assert 0 <= summary["shortcut_share"] <= 1


def test_the_shares_of_the_parameters_add_up(rows):
    names = {row["name"] for row in rows if row["kind"] == "parameter"}
    assert sum(audit_figures._shares(rows, "mean", name)[0] for name in names) == pytest.approx(1)


def test_the_shortcut_columns_are_the_last():
    displacement = torch.tensor([3.0, 0.0, 4.0, 0.0, 0.0, 0.0, 100.0, 100.0])  # two rows of weights, then two biases
    assert audit.shortcut_share(torch.nn.Linear(3, 2), displacement) == pytest.approx(16 / 25)


def test_figures_and_claim(rows):
    assert list(EXPERIMENT.figures(rows)) == ["pairs", "parameters"]
    verdict = judge(EXPERIMENT.claims[0], rows, "audit")
    assert verdict.measured > 0
