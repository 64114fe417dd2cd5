"""Transferred attacks, at sizes of seconds."""

from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.robustness import transfer
from mechlearn_zoo.experiments.robustness.classifiers import parts
from mechlearn_zoo.experiments.robustness.transfer.ensembles import CORNERS, WAYS, Looks, coded, defended
from mechlearn_zoo.experiments.robustness.transfer.run import Config

CONFIG = Config(train=40, steps=2, draws=2, training_steps=2, forests=True)


def rows_of(config):
    return [{**row, "seed": config.seed} for row in transfer.run.run(config)]


@pytest.fixture(scope="module")
def rows():
    return rows_of(CONFIG)


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    made = [{**row, "accurate": 1.0} if row["kind"] == "pair" else row for row in rows]
    made = [{**row, "accuracy": 1.0, "surrogate_accuracy": 1.0} if row["kind"] == "model" else row for row in made]
    for claim in transfer.EXPERIMENT.claims:
        assert judge(claim, made, "quick").measured is not None, claim.id
    assert set(transfer.EXPERIMENT.figures(Rows(rows))) == {"pairs", "agreement", "defences"}
    assert all(row["stopped_at"] in (0.5, 0.75, 1.0) for row in Rows(rows).where(kind="defence"))
    before = [{key: value for key, value in row.items() if not key.startswith("stopped_")} for row in made]
    for claim in transfer.EXPERIMENT.claims:  # of a record before there were looks
        assert judge(claim, before, "quick").measured is not None


def test_each_half_stops_for_the_other():
    found = iter(([1.0, 0.0, 1.0, 1.0], [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]))
    looks = Looks(lambda model: {"one": torch.tensor(next(found))})
    for step in range(3):
        looks(torch.nn.Identity(), (step + 1) / 3)
    # The first half is 0 at the second look alone, where the second half is 1; the second is 0 at the last, the first 1 there.
    assert looks.stopped("one") == {"stopped_at": pytest.approx((2 / 3 + 1) / 2), "stopped_error": 1.0}
    assert looks.stopped("other") == {}


def test_looks_change_nothing_of_a_defence(monkeypatch):
    data = parts(100, "8-9", 40)
    seen = []

    def trained():
        looks = Looks(lambda model: seen.append(0) or {"one": model(data.test.x).argmax(1).double()})
        return defended("none", 0.0, [], data.target, CONFIG.ball("2"), 3, 100, looks).state_dict()

    looked = trained()
    assert len(seen) == 3
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone = trained()
    assert len(seen) == 3
    assert all(torch.equal(values, alone[name]) for name, values in looked.items())


def test_models_that_are_wrong_already_are_left_out(rows):
    made = [{**row, "accuracy": 0.5, "surrogate_accuracy": 0.5} if row["kind"] == "model" else row for row in rows]
    claims = {claim.id: claim for claim in transfer.EXPERIMENT.claims}
    assert judge(claims["transfer.regularised-svm-target"], made, "quick").measured is None
    assert judge(claims["transfer.regularised-svm-surrogate"], made, "quick").measured is None


def test_every_pair_every_rule_and_every_defence_is_there(rows):
    found = Rows(rows)
    assert len(found.where(kind="pair")) == 64
    assert len(found.where(kind="ensemble")) == 2 * 5
    assert len(found.where(kind="defence")) == 5 * len(WAYS)
    assert len(found.where(kind="labelling")) == 8
    assert max(found.where(kind="pair")["excess"]) <= 1e-12


def test_the_same_seed_gives_the_same_rows(rows):
    config = replace(CONFIG, ensembles=False, forests=False, norms=("2",))
    again = rows_of(config)
    kept = [row for row in rows if row["kind"] in ("model", "pair")]
    assert again == kept


def test_parts_are_disjoint_and_sites_have_codes():
    data = parts(100, "8-9", 118)
    every = torch.cat([part.x for part in data])
    assert len(every.unique(dim=0)) == len(every)
    found = coded(data.target, torch.Generator().manual_seed(0))
    for label in (0, 1):
        corners = found.x[found.y == label][:, list(CORNERS)]
        assert (corners == corners[0]).all()


def test_too_many_examples_are_refused():
    with pytest.raises(ValueError, match="train should be below"):
        Config(train=400)
