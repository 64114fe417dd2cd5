from dataclasses import replace

import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.control.cfgps_levels import EXPERIMENT as HOST
from mechlearn_zoo.experiments.control.cfgps_levels.amortised import history, run
from mechlearn_zoo.experiments.control.cfgps_levels.library import Settings, make_library, wander
from mechlearn_zoo.methods.control.counterfactual import rollouts

EXPERIMENT = HOST.at("amortised")
SMALL = replace(
    EXPERIMENT.presets["amortised"].config, levels=30, logged=10, steps=5, evidence=(1, 5), updates=3, batch=8, hidden=8
)  # fmt: skip


def test_the_rows_can_be_judged_and_drawn_and_repeat():
    rows = Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))
    assert all(judge(claim, rows, "amortised").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["posteriors"]
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_looks_give_columns_and_change_nothing(monkeypatch):
    found = list(run(SMALL))
    learned = [row for row in found if row["posterior"] == "amortised"]
    assert all(row["stopped_at"] in (1 / 3, 2 / 3, 1.0) for row in learned)
    assert not any(key.startswith("stopped") for row in found if row["posterior"] == "exact" for key in row)

    def due(self, share):
        return share == 1.0  # an end has always been looked at

    monkeypatch.setattr(EarlyStopping, "due", due)
    alone = list(run(SMALL))
    for row in (row for row in alone if row["posterior"] == "amortised"):
        assert (row["stopped_error"], row["stopped_level"]) == (row["error"], row["level"])
    old = [[{key: row[key] for key in row if not key.startswith("stopped")} for row in rows] for rows in (found, alone)]
    assert old[0] == old[1]


def test_the_look_with_the_least_error_on_validation_is_kept(monkeypatch):
    looks, look = [], EarlyStopping.look

    def watched(self, share, validation, found):
        looks.append((validation, share))
        look(self, share, validation, found)

    monkeypatch.setattr(EarlyStopping, "look", watched)
    learned = [row for row in run(replace(SMALL, updates=20)) if row["posterior"] == "amortised"]
    assert {row["stopped_at"] for row in learned} == {min(looks)[1]}
    assert len({error for error, _ in looks}) == 20


def test_claims_ask_the_end_and_where_validation_stops():
    row = {"seed": 0, "kind": "evaluation", "evidence": 25, "model_error": 0.1}
    rows = Rows([{**row, "posterior": "exact", "error": 0.02}, {**row, "posterior": "amortised", "error": 0.05}])
    assert [judge(claim, rows, "amortised").measured for claim in EXPERIMENT.claims] == [None]
    rows = Rows({**row, "stopped_error": 0.03} if row["posterior"] == "amortised" else row for row in rows)
    assert [round(judge(claim, rows, "amortised").measured, 6) for claim in EXPERIMENT.claims] == [0.5]


def test_a_history_is_what_was_glimpsed_and_visited():
    generator = torch.Generator().manual_seed(0)
    library = make_library(Settings(levels=20, glimpse=0.3), generator)
    episodes = rollouts(library.model, torch.arange(20), wander, 6, generator)
    found = history(episodes, torch.full((20,), 3))
    for b in range(20):
        living = int(episodes.alive[:3, b].sum())
        seen = episodes.glimpsed[:living, b].any(0)
        pictures = found[b, : 4 * 36].view(36, 4)
        assert torch.equal(pictures.sum(1).bool(), seen)
        assert torch.equal(pictures[seen].argmax(1), library.model.picture[b, seen])
        assert set(torch.nonzero(found[b, 5 * 36 : 6 * 36]).flatten().tolist()) == set(episodes.cells[:living, b].tolist())
        assert found[b, 6 * 36 :].argmax() == episodes.cells[living, b]
