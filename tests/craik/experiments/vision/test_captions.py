from dataclasses import replace

import torch

from craik.experiments.vision.captions import EXPERIMENT
from craik.experiments.vision.captions.encoders import Encoders
from craik.lab import Rows, judge

TINY = {"pictures": 12, "tested": 5, "candidates": 4, "width": 8, "steps": 2, "batch": 4, "channels": 4}


def rows(preset, **changed):
    config = replace(EXPERIMENT.presets[preset].config, **{**TINY, **changed})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_a_tiny_run_can_be_judged_and_drawn():
    found = rows("quick")
    for claim in EXPERIMENT.claims[:-1]:
        assert judge(claim, found, "quick").measured is not None
    assert set(EXPERIMENT.figures(Rows(found))) == {"attention", "retrieval"}


def test_two_stages_for_a_few_steps():
    found = rows("paper", gan_steps=2)
    assert judge(EXPERIMENT.claims[-1], found, "paper").measured is not None
    assert all(row["spread"] > 0 for row in found if row["kind"] == "painted")


def test_padding_changes_no_caption():
    encoders = Encoders(8, torch.Generator().manual_seed(0))
    words = torch.tensor([[1, 4, 7, 0, 0], [1, 2, 4, 7, 9]])
    whole, alone = encoders.read(words), encoders.read(words[:1, :3])
    torch.testing.assert_close(whole.words[:1, :, :3], alone.words)
    torch.testing.assert_close(whole.sentences[:1], alone.sentences)
