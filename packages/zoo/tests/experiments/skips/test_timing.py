from dataclasses import replace

import pytest
import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.skips import states
from mechlearn_zoo.experiments.skips.states import folds, measures, timing

EXPERIMENT = states.EXPERIMENT.at("timing")
TINY = replace(EXPERIMENT.presets["timing"].config, steps=2, evaluations=16, train=12, test=5, hidden=4, horizon=4)


def test_folds_are_crossed_in_their_time_and_end_at_rest():
    for kind in ("random", "regular"):
        found = folds.generate(50, kind, torch.Generator().manual_seed(0))
        y, c, z = found.frames.unbind(2)
        assert (z.diff(dim=1) >= 0).all()
        assert (z[:, -1] == 1).all()
        assert torch.equal(y[:, -1], c[:, -1])
        start = y[:, 0]
        torch.testing.assert_close(y[:, -1], folds.fold(folds.fold(folds.fold(start))))
        values = [start, folds.fold(start), folds.fold(folds.fold(start))]
        for b in range(50):
            for k in range(3):
                mine = ((z[b] >= k / 3 - 1e-6) & (z[b] < (k + 1) / 3 - 1e-6)).nonzero()[:, 0]
                assert (len(mine) == 8) if kind == "regular" else (2 <= len(mine) <= 10)
                share = torch.arange(len(mine)) / len(mine)
                torch.testing.assert_close(c[b, mine], values[k][b].expand(len(mine)))
                torch.testing.assert_close(y[b, mine], values[k][b] + share * (folds.fold(values[k][b]) - values[k][b]))


def test_the_label_is_the_quarter():
    assert [folds.quarter(torch.tensor([[0.0, 0, 0], [x, 0, 0]])) for x in (0.0, 0.3, 0.9, 1.0, 1.2, -1.0)] == [
        0, 1, 3, 3, 3, 0,
    ]  # fmt: skip


def test_a_tiny_run_has_a_row_for_each_method_and_timing():
    rows = list(timing.run(TINY))
    assert [(row["timing"], row["method"]) for row in rows] == [(t, m) for t in ("random", "regular") for m in timing.METHODS]
    assert all(row["spent"] >= 32 for row in rows)
    by_method = {row["method"]: row for row in rows}
    assert by_method["fixed-4"]["evaluations"] == 8
    assert by_method["direct"]["evaluations"] == 1
    assert [EXPERIMENT.progress(TINY, row)[0] for row in rows][-1] == 1.0
    scores = ("skip", "evaluations", "label", "final", "off_path", "coverage")
    assert all({f"stopped_{name}" for name in ("at", *scores)} <= row.keys() for row in rows)
    assert all(row["stopped_label"] == row["label"] for row in rows if row["stopped_at"] == 1)


def test_looks_change_nothing_of_the_training(monkeypatch):
    monkeypatch.setattr(timing, "METHODS", ("fixed-16", "relative"))
    state = torch.get_rng_state()
    looked = list(timing.run(TINY))
    assert torch.equal(torch.get_rng_state(), state)
    monkeypatch.setattr(EarlyStopping, "due", lambda stopping, share: False)
    alone = list(timing.run(TINY))
    assert [{name: row[name] for name in other} for row, other in zip(looked, alone, strict=True)] == alone
    assert not any(name.startswith("stopped_") for row in alone for name in row)


def made_up(off_path, label, coverage=None, regular=None):
    methods = (*measures.TIMED, "asi", "asi-exploration", "relative", "direct")
    return [
        {
            "seed": seed,
            "timing": kind,
            "method": method,
            "off_path": (off_path if kind == "random" or regular is None else regular).get(method, 0.1),
            "coverage": (coverage or {}).get(method, 0.3),
            "label": label.get(method, 0.5),
            "stopped_off_path": (off_path if kind == "random" or regular is None else regular).get(method, 0.1),
            "stopped_coverage": (coverage or {}).get(method, 0.3),
            "stopped_label": label.get(method, 0.5),
        }
        for seed in range(6)
        for kind in ("random", "regular")
        for method in methods
    ]


@pytest.mark.parametrize(
    ("off_path", "label", "verdicts"),
    [
        ({"relative": 0.02}, {"relative": 0.8, "fixed-8": 0.6}, ["holds", "does not hold"]),
        ({"relative": 0.2}, {"relative": 0.4, "asi": 0.9}, ["does not hold", "does not hold"]),
        ({"fixed-4": 0.01, "relative": 0.02}, {}, ["does not hold", "does not hold"]),
    ],
)
def test_claims_can_hold_and_fail(off_path, label, verdicts):
    rows = Rows(made_up(off_path, label))
    assert [judge(claim, rows, "timing").verdict for claim in EXPERIMENT.claims] == verdicts
    assert list(EXPERIMENT.figures(rows)) == ["timing"]


def test_the_control_holds_where_the_lead_is_larger_where_timing_is_random():
    rows = Rows(made_up({"relative": 0.02}, {}, regular={"relative": 0.1}))
    assert [judge(claim, rows, "timing").verdict for claim in EXPERIMENT.claims] == ["holds", "holds"]


def test_standing_still_is_no_path():
    """It is off the path by nothing, and leaves it out."""
    still = judge(EXPERIMENT.claims[0], Rows(made_up({"relative": 0.0}, {"relative": 0.25}, {"relative": 2.9})), "timing")
    assert still.verdict == "does not hold"


def test_leads_are_not_asked_of_records_without_looks():
    rows = made_up({"relative": 0.02}, {"relative": 0.8, "fixed-8": 0.6})
    former = Rows({name: value for name, value in row.items() if not name.startswith("stopped_")} for row in rows)
    for claim in EXPERIMENT.claims:
        assert judge(claim, former, "timing").verdict == "not measurable here"
