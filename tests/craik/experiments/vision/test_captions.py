from dataclasses import replace

import torch

from craik.experiments.vision.captions import EXPERIMENT
from craik.experiments.vision.captions.encoders import Encoders
from craik.experiments.vision.captions.figures import decode
from craik.experiments.vision.captions.run import encode
from craik.lab import Rows, judge

TINY = {"pictures": 12, "tested": 5, "candidates": 4, "width": 8, "steps": 2, "batch": 4, "channels": 4}


def rows(preset, **changed):
    config = replace(EXPERIMENT.presets[preset].config, **{**TINY, **changed})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def assert_measured_where_meant(found, preset):
    for claim in EXPERIMENT.claims:
        assert (judge(claim, found, preset).measured is not None) == (preset in claim.condition.presets), claim.id


def test_a_tiny_run_can_be_judged_and_drawn():
    found = rows("quick")
    for preset in ("quick", "longer"):
        assert_measured_where_meant(found, preset)
    assert set(EXPERIMENT.figures(Rows(found))) == {"attention", "retrieval"}


def test_two_stages_for_a_few_steps():
    found = rows("gan", gan_steps=2)
    assert_measured_where_meant(found, "gan")
    assert all(row["spread"] > 0 for row in found if row["kind"] == "painted")
    figure = EXPERIMENT.figures(Rows(found))["painted"]
    sides = [axis.get_ylabel() for axis in figure.axes if axis.get_ylabel()]
    assert [side.split(",")[0] for side in sides] == ["true", *2 * ["with attention"], *2 * ["without"]]
    sizes = [axis.images[0].get_array().shape[0] for axis in figure.axes]
    assert sizes == 3 * [32] + 2 * (3 * [16] + 3 * [32])


def test_a_picture_comes_back_in_sixteen_shades():
    picture = torch.rand(3, 16, 16)
    assert abs(decode(encode(picture)) - picture.movedim(0, -1).numpy()).max() < 0.5 / 15 + 1e-6


def test_padding_changes_no_caption():
    encoders = Encoders(8, torch.Generator().manual_seed(0))
    words = torch.tensor([[1, 4, 7, 0, 0], [1, 2, 4, 7, 9]])
    whole, alone = encoders.read(words), encoders.read(words[:1, :3])
    torch.testing.assert_close(whole.words[:1, :, :3], alone.words)
    torch.testing.assert_close(whole.sentences[:1], alone.sentences)
