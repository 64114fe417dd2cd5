"""Transferred attacks, at sizes of seconds."""

from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.robustness import transfer
from mechlearn_zoo.experiments.robustness.classifiers import parts
from mechlearn_zoo.experiments.robustness.transfer.run import Config

CONFIG = Config(train=40, steps=2, draws=2, forests=True)


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
    assert set(transfer.EXPERIMENT.figures(Rows(rows))) == {"pairs"}


def test_models_that_are_wrong_already_are_left_out(rows):
    made = [{**row, "accuracy": 0.5, "surrogate_accuracy": 0.5} if row["kind"] == "model" else row for row in rows]
    claims = {claim.id: claim for claim in transfer.EXPERIMENT.claims}
    assert judge(claims["transfer.regularised-svm-target"], made, "quick").measured is None
    assert judge(claims["transfer.regularised-svm-surrogate"], made, "quick").measured is None


def test_every_pair_is_there(rows):
    found = Rows(rows)
    assert len(found.where(kind="pair")) == 64
    assert len(found.where(kind="labelling")) == 8
    assert max(found.where(kind="pair")["excess"]) <= 1e-12


def test_the_same_seed_gives_the_same_rows(rows):
    config = replace(CONFIG, forests=False, norms=("2",))
    again = rows_of(config)
    kept = [row for row in rows if row["kind"] in ("model", "pair")]
    assert again == kept


def test_parts_are_disjoint():
    data = parts(100, "8-9", 118)
    every = torch.cat([part.x for part in data])
    assert len(every.unique(dim=0)) == len(every)


def test_too_many_examples_are_refused():
    with pytest.raises(ValueError, match="train should be below"):
        Config(train=400)
