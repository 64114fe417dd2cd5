"""Networks on a small table learn from inputs alone; how they are trained is tested where the estimators are."""

from dataclasses import replace

import numpy as np
import pytest

from claimlab import Rows
from mechlearn.tables.distilling import students
from mechlearn_zoo.experiments.own_data import comparing
from mechlearn_zoo.experiments.own_data.measures import on_average
from mechlearn_zoo.experiments.own_data.privileged import EXPERIMENT
from mechlearn_zoo.experiments.own_data.privileged.run import FORM_CELLS


@pytest.fixture
def known():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    privileged = x[:, :2] + 0.1 * rng.normal(size=(60, 2))
    return comparing.Known(x, privileged, 5 + 10 * privileged.sum(1, keepdims=True))


def test_all_three_learn_from_inputs_alone(known, monkeypatch):
    monkeypatch.setattr(students, "TRAINING", replace(students.TRAINING, steps=64))
    found = comparing.fitted(known, seed=0)
    assert set(found) == {"network", "auxiliary head", "LDT"}
    error = {name: ((predict(known.x) - known.y) ** 2).mean() for name, predict in found.items()}
    assert all(value < known.y.var() for value in error.values())
    assert error["auxiliary head"] < 0.2 * known.y.var()


def test_every_form_of_ldt_is_beside_them(monkeypatch):
    monkeypatch.setattr(students, "TRAINING", replace(students.TRAINING, steps=16))
    config = replace(EXPERIMENT.presets["forms"].config, grid=("cells 100 taught",))
    rows = Rows({**row, "seed": seed} for seed in (100, 101) for row in EXPERIMENT.run(replace(config, seed=seed)))
    assert [row["method"] for row in rows.where(seed=100)] == list(comparing.FORMS)
    assert all(0 <= row["score"] <= 100 for row in rows)
    assert list(EXPERIMENT.figures(rows)) == ["forms"]
    assert on_average("LDT, warm", (FORM_CELLS["cells 100"],), "LDT")(rows) is not None
    assert on_average("LDT, warm", tuple(FORM_CELLS.values()), "LDT")(rows) is None  # of one cell of three


def test_the_mean_over_cells_is_a_seed_s():
    scores = {(0, "a"): 1.0, (0, "b"): 3.0, (1, "a"): 5.0, (1, "b"): 7.0}
    rows = Rows(
        {"kind": "score", "seed": seed, "cell": cell, "method": method, "score": score * (method == "ours")}
        for (seed, cell), score in scores.items()
        for method in ("ours", "theirs")
    )
    found = on_average("ours", ({"cell": "a"}, {"cell": "b"}), "theirs")(rows)
    assert (found.value, found.low, found.high) == (4.0, 2.0, 6.0)
