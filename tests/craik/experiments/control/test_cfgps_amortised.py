from dataclasses import replace

import torch

from craik.experiments.control.cfgps_amortised import EXPERIMENT
from craik.experiments.control.cfgps_amortised.run import history, run
from craik.experiments.control.library import make_library, wander
from craik.lab import Rows, judge
from craik.methods.control.counterfactual import rollouts

SMALL = replace(
    EXPERIMENT.presets["quick"].config, levels=30, logged=10, steps=5, evidence=(1, 5), updates=3, batch=8, hidden=8
)  # fmt: skip


def test_the_rows_can_be_judged_and_drawn_and_repeat():
    rows = Rows({"seed": seed, **row} for seed in (1000, 1001) for row in run(replace(SMALL, seed=seed)))
    assert all(judge(claim, rows, "quick").measured is not None for claim in EXPERIMENT.claims)
    assert list(EXPERIMENT.figures(rows)) == ["posteriors"]
    assert [{"seed": 1000, **row} for row in run(replace(SMALL, seed=1000))] == list(rows.by("seed")[1000])


def test_a_history_is_what_was_glimpsed_and_visited():
    generator = torch.Generator().manual_seed(0)
    library = make_library(20, 0.3, generator)
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
