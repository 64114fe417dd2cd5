from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.vision.decoding import EXPERIMENT, looks, pictures, run
from mechlearn_zoo.methods.vision.reconstructing import Pixels, reconstruct

TINY = {"pictures": 40, "tested": 6, "validated": 4, "voxels": 30, "steps": 3, "search": 3, "alpha": 30.0}


def rows(preset="quick", **changed):
    config = replace(EXPERIMENT.presets[preset].config, **{**TINY, **changed})
    return [{**row, "seed": 100} for row in EXPERIMENT.run(config)]


def test_the_simulated_part_can_be_judged_and_drawn():
    found = rows(neurons=())
    for claim in EXPERIMENT.claims:
        if claim.id != "decoding.search":
            judged = judge(claim, found, "quick")
            assert judged.measured is not None, claim.id
    assert set(EXPERIMENT.figures(Rows(found))) == {"reconstructions", "scores"}
    assert found == rows(neurons=())


def test_voxels_of_contrast_with_every_way():
    found = rows("contrast")
    methods = [row["method"] for row in found if row["kind"] == "reconstruction" and row["gain"] == 1.0]
    assert methods == ["all layers", "top layer", "with prior", "top layer with prior", "generator alone", "plain ridge"]
    measured = {claim.id for claim in EXPERIMENT.claims if judge(claim, found, "contrast").measured is not None}
    assert measured >= {"decoding.prior", "decoding.search", "decoding.beyond-ridge"}
    assert set(EXPERIMENT.figures(Rows(found))) == {"reconstructions", "scores"}


def test_looks_keep_what_a_search_shows_and_change_nothing():
    extractor = run.Extractor(1, torch.Generator().manual_seed(0))
    extractor.requires_grad_(False)
    wanted = {"hidden": torch.randn(2, 64, generator=torch.Generator().manual_seed(1))}
    for steps in (3, 20):
        way = Pixels(torch.full((2, 1, 8, 8), 0.5), steps)
        found = looks.searched(extractor, wanted, way)
        assert torch.equal(found[steps], reconstruct(extractor, wanted, way).images)
        assert list(found) == list(range(steps // 10 or 1, steps + 1, steps // 10 or 1))
    for some in (2, 10):
        torch.testing.assert_close(found[some], reconstruct(extractor, wanted, replace(way, steps=some)).images)


def test_searches_and_the_generator_have_stopped_columns():
    found = Rows(rows(neurons=()))
    for row in found.where(kind="reconstruction"):
        assert ("stopped_r" in row) == (row["method"] != "plain ridge")
        for key in looks.SCORES:
            if row.get(f"stopped_at_{key}") == 1.0:
                assert row[f"stopped_{key}"] == row[key]
    (generator,) = found.where(kind="generator")
    assert generator["stopped_error"] == generator["error"] or generator["stopped_at"] < 1


def test_comparisons_ask_both_and_closed_forms_have_one_score():
    row = {"kind": "reconstruction", "gain": 1.0, "seed": 200}
    search = {**row, "method": "all layers", "recognised": 0.5}
    old = Rows([search, {**row, "method": "plain ridge", "recognised": 0.2}])
    new = Rows([{**search, "stopped_recognised": 0.25}, {**row, "method": "plain ridge", "recognised": 0.2}])
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "decoding.beyond-ridge")
    assert judge(claim, old, "quick").measured is None
    assert [part.measured for part in judge(claim, new, "quick").parts] == pytest.approx([0.3, 0.05])


def test_half_of_the_pictures_are_negatives():
    config = replace(EXPERIMENT.presets["contrast"].config, pictures=500, tested=100)
    plain = replace(config, negatives=0.0)
    found, before = (run.splits(one, torch.Generator().manual_seed(0)) for one in (config, plain))
    assert torch.equal(found[0].y, before[0].y)
    same = (found[0].x == before[0].x).flatten(1).all(1)
    turned = (found[0].x == 1 - before[0].x).flatten(1).all(1)
    assert bool((same | turned).all())
    assert float(turned.float().mean()) == pytest.approx(0.5, abs=0.05)


@pytest.mark.extra("worlds", "nitime")
def test_real_neurons_are_read_and_not_by_chance():
    found = Rows({**row, "seed": 100} for neuron in (1, 2) for row in run.real(run.Config(), neuron)).where(kind="neuron")
    read, control = (found.where(control=control)["r"] for control in (False, True))
    assert sum(read) / 2 > 0.3
    assert sum(control) / 2 < 0.1


def test_pictures_come_back_in_sixteen_shades():
    images = torch.rand(3, 1, 4, 6)
    assert abs(pictures.decode(pictures.encode(images)) - images[:, 0].numpy()).max() < 0.5 / 15 + 1e-6
