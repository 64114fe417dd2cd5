"""Eager translation, at sizes of seconds."""

from dataclasses import replace

import pytest

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.language import eager
from mechlearn_zoo.experiments.language.eager.run import Config, learned

CONFIG = Config(trained=(1,), tested=(1, 2, 3, 6, 8), pads=(0, 2), steps=2, batch=4, width=8, units=8, tests=3,
                validated=2, every=1, enough=0.0)  # fmt: skip


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
    looks = Rows(rows).where(kind="look")
    assert {tuple(some["step"]) for some in looks.by("model").values()} == {(1.0, 2.0)}
    assert set(Rows(rows).where(kind="reached")["step"]) == {1.0}


def test_looks_give_columns_and_change_nothing(rows, monkeypatch):
    found = Rows(rows).where(kind="final")
    assert set(found["stopped_at"]) <= {0.5, 1.0}
    for row in found:
        if row["stopped_at"] == 1.0:
            assert (row["stopped_exact"], row["stopped_words"]) == (row["exact"], row["words"])
    ends = [{key: value for key, value in row.items() if not key.startswith("stopped")} for row in rows]

    def due(self, share):
        return share == 1.0  # an end has always been looked at

    monkeypatch.setattr(EarlyStopping, "due", due)
    without = [{**row, "seed": 100} for row in eager.run.run(CONFIG)]
    assert [{key: value for key, value in row.items() if not key.startswith("stopped")} for row in without] == ends


def test_comparisons_ask_ends_and_where_validation_stops():
    def final(model, clauses, words, stopped):
        both = {"exact": words, "words": words, "stopped_at": 0.5, "stopped_exact": stopped, "stopped_words": stopped}
        return {"kind": "final", "seed": 100, "model": model, "clauses": clauses, **both}

    opponents = [final("attention", c, 0.9, 0.99 if c < 4 else 0.95) for c in (1, 2, 3, 6, 8)]
    ours = [final("eager 2", c, 0.92, 0.98) for c in (1, 2, 3, 6, 8)]
    rows = [*ours, *opponents, final("eager 0", 8, 0.8, 0.95)]
    found = {claim.id: judge(claim, rows, "quick").measured for claim in eager.EXPERIMENT.claims if "er.slow" not in claim.id
             and "memory" not in claim.id}  # fmt: skip
    assert found["eager.better-long"] == pytest.approx(0.02)
    assert found["eager.on-par-short"] == pytest.approx(-2.0)  # further from 1.5 than 1.0 is
    assert found["eager.pads-help"] == pytest.approx(0.03)


def test_models_have_about_as_many_parameters():
    config = Config()
    made = [eager.run.parameters(eager.run.EagerTranslator(84, config.width, eager.run.Generator())),
            eager.run.parameters(eager.run.Attention(84, config.units, eager.run.Generator()))]  # fmt: skip
    assert min(made) / max(made) > 0.8, made


def test_who_never_learns_enough_has_no_steps():
    config = replace(CONFIG, enough=1.0, pads=(2,))
    rows = Rows({**row, "seed": 100} for row in eager.run.run(config))
    assert {row["step"] for row in rows.where(kind="reached")} == {None}
    (slower,) = (claim for claim in eager.EXPERIMENT.claims if claim.id == "eager.slower")
    assert judge(slower, Rows(row for row in rows), "quick").measured is None


def test_alignments_are_learned():
    assert sorted(learned(Config(trained=(1,)))[5]) == [(0, 0), (1, 3), (2, 2), (3, 1), (4, 4)]
