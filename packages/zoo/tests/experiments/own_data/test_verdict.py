"""Verdicts checked on sites to come, with two steps of training."""

from dataclasses import replace
from functools import partial

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.own_data import verdict
from mechlearn_zoo.experiments.own_data.measures import share
from mechlearn_zoo.experiments.own_data.verdict import coming
from mechlearn_zoo.experiments.own_data.verdict.measures import can_gain
from mechlearn_zoo.experiments.own_data.verdict.run import BOARDS, GAINFUL, METHODS, NULLS, RARE, TAGGED, TAUGHT

CLAIMS = verdict.EXPERIMENT.claims
CONFIG = replace(verdict.EXPERIMENT.presets["quick"].config, boards=("tagged cells",), steps=2, hidden=2, rows=4)


def test_a_tiny_run_can_be_judged_and_drawn(monkeypatch):
    monkeypatch.setattr(verdict.run, "METHODS", ("pooled linear", "screening"))
    rows = Rows({**row, "seed": 100} for row in verdict.EXPERIMENT.run(CONFIG))
    (said,) = rows.where(kind="verdict")
    assert said["word"] in ("helps", "as good", "cannot tell", "harms")
    gains = {row["method"]: row for row in rows.where(kind="gain")}
    assert set(gains) == {"pooled linear", "pooled network", "screening"}
    assert gains["pooled network"]["true"] == 0
    assert said["method"] == "screening"
    simple = max(("pooled linear", "pooled network"), key=lambda name: gains[name]["said"])  # what a verdict is held against
    lead = [gains["screening"][key] - gains[simple][key] for key in ("said", "true")]
    assert (said["said"], said["true"]) == pytest.approx(lead)
    assert said["kept true"] == gains[said["kept"]]["true"]
    for claim in CLAIMS:
        judge(claim, list(rows), "quick")
    assert verdict.EXPERIMENT.figures(rows)


def test_turned_sites_are_trained_on_and_not_judged(monkeypatch):
    asked = []

    def compared(table, *rest, **named):
        asked.append((table, named.get("new", ())))
        raise StopIteration

    monkeypatch.setattr(verdict.run, "compare_table", compared)
    with pytest.raises(RuntimeError):
        list(verdict.EXPERIMENT.run(CONFIG))
    ((table, new),) = asked
    assert new == ()
    judged = dict(zip(table.sites, table.judged.tolist(), strict=True))
    assert judged == {**{f"site {e + 1}": True for e in range(coming.SITES)}, "turned 1": False, "turned 2": False}


def test_noise_known_in_training_is_asked_about_once(monkeypatch):
    monkeypatch.setattr(verdict.run, "compare_taught", partial(verdict.run.compare_taught, folds=3))
    (told,) = verdict.EXPERIMENT.run(replace(CONFIG, boards=(TAUGHT,)))
    assert told["word"] in ("helps", "as good", "cannot tell", "harms")
    assert told["method"] not in verdict.run.UNTAUGHT


def made_up(word, best, true, kept, linear=0.0):
    for seed in range(6):
        for board in (*BOARDS, TAUGHT):
            yield {
                "kind": "verdict", "seed": seed, "board": board, "word": word, "method": "AND-mask", "said": 1.0, "true": true,
                "kept": "pooled network", "kept true": kept,
            }  # fmt: skip
            for method in METHODS:
                gain = {"pooled network": 0.0, "pooled linear": linear}.get(method, best)
                yield {"kind": "gain", "seed": seed, "board": board, "method": method, "said": 0.0, "true": gain}


def test_every_claim_can_fail_and_hold():
    found = {claim.id: set() for claim in CLAIMS}
    for word in ("helps", "harms"):
        for sign in (-3.0, 3.0):
            rows = list(made_up(word, 6.0, sign, sign))
            for claim in CLAIMS:
                found[claim.id].add(judge(claim, rows, claim.condition.presets[0]).verdict)
    for name, verdicts in found.items():
        assert {"holds", "does not hold"} <= verdicts, name


def test_only_tables_with_five_points_to_gain_count_for_power():
    measure = share("helps", GAINFUL, can_gain)
    assert measure(Rows(made_up("helps", 6.0, 1.0, 0.0))).value == 1.0
    assert measure(Rows(made_up("helps", 4.0, 1.0, 0.0))) is None
    assert measure(Rows(made_up("helps", 4.0, 1.0, 0.0, linear=9.0))) is None  # that a pooled model gains nine does not count
    assert measure(Rows(made_up("helps", 6.0, 1.0, 0.0, linear=2.0))) is None  # four points over the best of these
    assert {*NULLS, *RARE, *GAINFUL, *TAGGED} == set(BOARDS)
