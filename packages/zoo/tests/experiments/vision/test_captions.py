from dataclasses import replace

import torch

from claimlab import EarlyStopping, Rows, judge
from mechlearn_zoo.experiments.vision.captions import EXPERIMENT
from mechlearn_zoo.experiments.vision.captions.captioned_digits import RELATIONS, drawn
from mechlearn_zoo.experiments.vision.captions.encoders import Encoders
from mechlearn_zoo.experiments.vision.captions.figures import decode
from mechlearn_zoo.experiments.vision.captions.run import encode
from mechlearn_zoo.learners.stopping import Kept

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


def test_looks_change_nothing_of_encoders_and_generators(monkeypatch):
    looked = [row for row in rows("gan", gan_steps=2) if row["kind"] in ("retrieval", "painted")]
    assert all(row["stopped_at"] in (0.5, 1.0) for row in looked if row.get("method") != "untrained")
    assert all(0 <= row["stopped_right"] <= 1 and row["stopped_spread"] > 0 for row in looked if row["kind"] == "painted")
    monkeypatch.setattr(EarlyStopping, "due", lambda *_: False)
    alone = [row for row in rows("gan", gan_steps=2) if row["kind"] in ("retrieval", "painted")]
    ends = [[{k: v for k, v in row.items() if not k.startswith("stopped_")} for row in some] for some in (looked, alone)]
    assert ends[0] == ends[1]


def test_the_best_of_a_training_is_kept_and_goes_on_where_it_was():
    def trained(values, kept, start=0):
        for step in range(start, len(values)):
            kept.model.weight.data.fill_(values[step])
            kept.look((step + 1) / 4)
        return kept

    def fresh():
        return Kept(torch.nn.Linear(1, 1, bias=False), lambda model: -abs(float(model.weight) - 3))

    whole, first, second = trained([1, 3, 5, 2], fresh()), trained([1, 3], fresh()), fresh()
    assert (float(whole.best.weight), whole.model.weight.item(), whole.share) == (3, 2, 0.5)
    second.load_state_dict(first.state_dict())
    trained([1, 3, 5, 2], second, 2)
    assert (float(second.best.weight), second.share) == (3, 0.5)


def test_early_stopping_is_a_baseline_of_sentences():
    (claim,) = (one for one in EXPERIMENT.claims if one.id == "captions.retrieval")
    found = [
        {"seed": seed, "kind": "retrieval", "method": method, "right": end, "stopped_right": best}
        for seed in range(6)
        for method, end, best in (("words", 0.5, 0.5), ("sentence", 0.4, 0.6))
    ]
    judged = judge(claim, Rows(found), "quick")
    assert abs(judged.measured + 0.1) < 1e-9
    assert judged.verdict == "does not hold"


def test_a_picture_comes_back_in_sixteen_shades():
    picture = torch.rand(3, 16, 16)
    assert abs(decode(encode(picture)) - picture.movedim(0, -1).numpy()).max() < 0.5 / 15 + 1e-6


def test_padding_changes_no_caption():
    encoders = Encoders(8, torch.Generator().manual_seed(0))
    words = torch.tensor([[1, 4, 7, 0, 0], [1, 2, 4, 7, 9]])
    whole, alone = encoders.read(words), encoders.read(words[:1, :3])
    torch.testing.assert_close(whole.words[:1, :, :3], alone.words)
    torch.testing.assert_close(whole.sentences[:1], alone.sentences)


def test_small_pictures_and_their_twins():
    found = rows("small", pictures=12, tested=10, gan_steps=2)
    assert_measured_where_meant(found, "small")
    figure = EXPERIMENT.figures(Rows(found))["painted"]
    assert [axis.images[0].get_array().shape[0] for axis in figure.axes] == 3 * 8 * [16]
    captions = [row["caption"] for row in found if row["kind"] == "attention"]
    for one, other in zip(captions[::2], captions[1::2], strict=True):
        a, b = ([word for word in text.split() if word not in RELATIONS] for text in (one, other))
        assert a == b
        assert one != other


def test_twins_are_drawn_together():
    some = drawn(12, 6, True, torch.Generator().manual_seed(0))
    assert (some[1::2] == some[::2] + 1).all()
    assert not (some[::2] % 2).any()
