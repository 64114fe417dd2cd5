from dataclasses import replace

import pytest
import torch

from claimlab import Halves, judge
from mechlearn_zoo.experiments.language.trellis import EXPERIMENT
from mechlearn_zoo.experiments.language.trellis.run import Config, Reader, equal_units, parameters, theorem
from tiny import check_measured_and_drawn, rows_of

TINY = Config(hidden=4, levels=3, dilations=(1, 2), epochs=1, batch=400, code_steps=1, modules=2, words=20, window=5)


@pytest.fixture(scope="module")
def rows():
    return rows_of(EXPERIMENT, 100, TINY)


def test_claims_figures_and_the_same_rows_again(rows):
    check_measured_and_drawn(EXPERIMENT, rows)
    again = [{"seed": 100, **row} for row in EXPERIMENT.run(replace(TINY, models=("trellis",), code_steps=0))]
    assert again == list(rows)[:2]


def test_a_look_changes_nothing_of_a_training(rows, monkeypatch):
    looked = [row for row in rows if row["kind"] != "theorem"]
    assert all(row["stopped_at"] == 1.0 for row in looked if row["kind"] == "code")  # one step has one look
    assert all(0 < row["stopped_at"] <= 1 and 0 <= row["stopped_accuracy"] <= 1 for row in looked if row["kind"] == "digits")
    monkeypatch.setattr(Halves, "due", lambda *_: False)
    ends = [{key: value for key, value in row.items() if not key.startswith("stopped_")} for row in looked]
    alone = rows_of(EXPERIMENT, 100, TINY, models=("lstm",))
    assert list(alone)[1:] == [row for row in ends if row["model"] == "lstm"]


def test_early_stopping_is_a_baseline_of_the_lstm():
    (claim,) = (one for one in EXPERIMENT.claims if one.id == "trellis.over-lstm")
    for stopped, verdict in ((0.5, "holds"), (0.95, "does not hold")):
        rows = [
            {"seed": seed, "kind": "digits", "model": model, "accuracy": accuracy, "stopped_accuracy": best}
            for seed in range(6)
            for model, accuracy, best in (("trellis", 0.9, 0.9), ("lstm", 0.6, stopped))
        ]
        judged = judge(claim, rows, "quick")
        assert [part.measured for part in judged.parts] == pytest.approx([0.3, 0.9 - stopped])
        assert judged.verdict == verdict


def test_the_theorem_and_its_condition():
    found = theorem(3)
    assert max(found["zero"], found["warm"]) <= 1e-12
    assert found["biased"] > 1e-2


@pytest.mark.parametrize("inputs", [1, 32])
def test_the_lstm_has_as_many_parameters(inputs):
    config = Config()
    sizes = [parameters(Reader(config, name, inputs, 3, torch.Generator().manual_seed(0)).body) for name in ("trellis", "lstm")]
    assert abs(sizes[1] / sizes[0] - 1) < 0.06
    assert equal_units(inputs, config) > config.hidden


@pytest.mark.parametrize("name", ["trellis", "untied", "lstm"])
def test_models_are_causal(name):
    model = Reader(TINY, name, 1, 2, torch.Generator().manual_seed(0))
    x = torch.randn(1, 6, 1, generator=torch.Generator().manual_seed(1))
    y = x.clone()
    y[0, 4] += 1
    same = torch.isclose(model(x), model(y)).all(-1)[0]
    assert same[:4].all()
    assert not same[4]
