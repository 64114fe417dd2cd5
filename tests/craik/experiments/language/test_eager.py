"""Eager translation, at sizes of seconds."""

import pytest

from craik.experiments.language import eager
from craik.experiments.language.eager.run import Config, learned
from craik.lab import Rows, judge

CONFIG = Config(trained=(1,), tested=(1, 2, 3, 6, 8), pads=(0, 2), steps=2, batch=4, width=8, units=8, tests=3)


@pytest.fixture(scope="module")
def rows():
    return [{**row, "seed": 100} for row in eager.run.run(CONFIG)]


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    for claim in eager.EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None, claim.id
    assert eager.EXPERIMENT.figures(Rows(rows))


def test_every_model_and_length_is_there(rows):
    found = Rows(rows).where(kind="final")
    assert set(found.by("model")) == {"eager 0", "eager 2", "attention"}
    assert len(found) == 3 * 5


def test_models_have_about_as_many_parameters():
    config = Config()
    made = [eager.run.count(eager.run.EagerTranslator(84, config.width, eager.run.Generator())),
            eager.run.count(eager.run.Attention(84, config.units, eager.run.Generator()))]  # fmt: skip
    assert 0.8 < made[0] / made[1] < 1.25, made


def test_alignments_are_learned():
    assert sorted(learned(Config(trained=(1,)))[5]) == [(0, 0), (1, 3), (2, 2), (3, 1), (4, 4)]
