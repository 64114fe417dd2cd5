from dataclasses import replace

import pytest

from craik.experiments.vision.decoding import EXPERIMENT, pictures, run
from craik.lab import Rows, judge

TINY = {"pictures": 40, "tested": 6, "voxels": 30, "steps": 3, "search": 3, "alpha": 30.0}


def rows(**changed):
    config = replace(EXPERIMENT.presets["quick"].config, **{**TINY, **changed})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_the_simulated_part_can_be_judged_and_drawn():
    found = rows(neurons=())
    for claim in EXPERIMENT.claims:
        if "neuron" not in claim.id:
            judged = judge(claim, found, "quick")
            assert judged.measured is not None or claim.id == "decoding.weakened", claim.id
    assert set(EXPERIMENT.figures(Rows(found))) == {"reconstructions", "scores"}
    assert found == rows(neurons=())


@pytest.mark.extra("worlds", "nitime")
def test_real_neurons_are_read_and_not_by_chance():
    found = Rows({**row, "seed": 100} for neuron in (1, 2) for row in run.real(run.Config(), neuron))
    verdicts = {claim.id: judge(claim, found, "quick").verdict for claim in EXPERIMENT.claims[:2]}
    assert verdicts == {"decoding.real-neuron": "holds so far", "decoding.real-neuron-control": "holds so far"}


def test_pictures_come_back_in_sixteen_shades():
    import torch

    images = torch.rand(3, 1, 4, 6)
    assert abs(pictures.decode(pictures.encode(images)) - images[:, 0].numpy()).max() < 0.5 / 15 + 1e-6
