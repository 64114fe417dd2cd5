from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn.distill import Ragged, UnitsTeacher
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.distill.xor import EXPERIMENT
from mechlearn_zoo.experiments.distill.xor import run as distill_xor
from mechlearn_zoo.experiments.distill.xor.looks import LOOKS, NOISE, Looking, looked_at
from tiny_settings import tiny

_, TINY = tiny("distill-xor")


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_xor.run(replace(TINY, seed=seed)))


def test_a_row_for_each_cell_and_method(rows):
    cells = [(row["inputs"], row["examples"], row["method"]) for row in rows if row["seed"] == 0]
    assert cells == [(d, n, m) for d in (4, 6) for n in (32,) for m in ("no-teacher", "ldt-fixed", "ldt-redrawn")]
    assert all(row["selected_step"] in (6, 9) for row in rows)


def test_the_same_seed_gives_the_same_rows_and_methods_start_alike(rows):
    again = [{"seed": 1, **row} for row in distill_xor.run(replace(TINY, seed=1, methods=("ldt-fixed",)))]
    assert again == [row for row in rows if row["seed"] == 1 and row["method"] == "ldt-fixed"]


def test_the_test_set_steers_nothing(monkeypatch, rows):
    """Turning the test labels round changes what is reported of the test set, and nothing that was selected."""
    draw = distill_xor.xor

    def turned(*args):
        data = draw(*args)
        return data._replace(test=data.test._replace(y=1 - data.test.y))

    monkeypatch.setattr(distill_xor, "xor", turned)
    after = list(distill_xor.run(TINY))
    for a, b in zip(rows, after, strict=False):
        assert (a["selected_step"], a["selection"]) == (b["selected_step"], b["selection"])
        assert a["selected"] == pytest.approx(1 - b["selected"])


def test_a_claim_is_refuted_by_one_bad_cell(rows):
    better = {"ldt-fixed": 0.9, "ldt-redrawn": 0.9, "no-teacher": 0.6}
    good = [{**row, "selected": better[row["method"]], "as_printed": better[row["method"]]} for row in rows]
    verdicts = {claim.id.split(".")[1]: judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims}
    elsewhere = ("strategies", "truncated", "implicit", "ragged", "ragged-placebo")
    assert {verdicts.pop(name) for name in elsewhere} == {"not measurable here"}
    assert verdicts == {
        "ldt-above-no-teacher": "holds so far",
        "ldt-above-no-teacher-as-printed": "holds so far",
        "everywhere": "holds so far",
        "redrawn-split": "does not hold so far",
    }
    bad = [
        {**row, "selected": 0.5} if (row["method"], row["inputs"], row["examples"]) == ("ldt-fixed", 6, 32) else row
        for row in good
    ]
    everywhere = next(claim for claim in EXPERIMENT.claims if claim.id.endswith("everywhere"))
    judged = judge(everywhere, bad, "quick")
    assert judged.verdict == "does not hold so far"
    assert judged.measured == pytest.approx(-0.1)


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"heat-maps", "heat-maps-selected"}
    shares = [EXPERIMENT.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_the_paper_preset_has_the_texts_grid():
    paper = EXPERIMENT.presets["paper"].config
    assert paper.inputs == (64, 128, 256, 512)
    assert len(paper.examples) == 16
    assert (paper.examples[0], paper.examples[-1]) == (128, 1024)


def test_strategies_differ_in_the_meta_gradient_alone():
    preset = EXPERIMENT.presets["strategies"].config
    tiny = {name: getattr(TINY, name) for name in ("rounds", "inner_steps", "student_steps", "batch", "every")}
    config = replace(preset, inputs=(4,), examples=(32,), student_widths=(5, 7), teacher_widths=(8,), **tiny)
    rows = list(distill_xor.run(config))
    assert [row["method"] for row in rows] == ["no-teacher", "ldt-fixed", "ldt-truncated", "ldt-implicit"]
    kinds = {name: type(strategy).__name__ for name, strategy in distill_xor.STRATEGIES.items()}
    assert kinds == {"ldt-truncated": "Truncated", "ldt-implicit": "Implicit"}
    by = {row["method"]: {**row, "method": ""} for row in rows}
    assert by["ldt-truncated"] == by["ldt-fixed"]  # 2 inner steps, of which the last 8 are all

    def judged(**accuracy):
        known = [
            {"seed": seed, "inputs": 4, "examples": 32, "method": name, "selected": accuracy.get(name.replace("-", "_"), 0.9)}
            for seed in range(6)
            for name in config.methods
        ]
        found = {claim.id.split(".")[1]: judge(claim, Rows(known), "strategies") for claim in EXPERIMENT.claims}
        return [found[name].verdict for name in ("strategies", "truncated", "implicit")]

    assert judged(no_teacher=0.6) == ["holds"] * 3
    assert judged(ldt_implicit=0.6) == ["does not hold", "holds", "does not hold"]


def test_looks_of_different_numbers():
    x_star = torch.randn(2000, 4, generator=torch.Generator().manual_seed(3))

    def given(method):
        return looked_at(method, x_star, torch.Generator().manual_seed(7))

    ragged, padded, placebo = (given(method) for method in distill_xor.LOOKING)
    looks, lengths = ragged["looks"], ragged["looks"].lengths
    assert (int(lengths.min()), int(lengths.max())) == (1, LOOKS)
    assert torch.equal(ragged["signs"], x_star[:, :2])
    assert torch.equal(looks.values(), padded["looks"])  # zeros lie behind a trajectory's end
    for b in range(20):
        errors = looks[b] - x_star[b, 2:]
        assert len(looks[b]) == lengths[b]
        assert errors.abs().max() < 5 * NOISE
        assert not padded["looks"][b, lengths[b] :].any()
    noise = (torch.cat(looks.to_list()) - x_star[:, 2:].repeat_interleave(lengths, 0)).std()
    assert float(noise) == pytest.approx(NOISE, rel=0.05)
    # The placebo is the same x* in another order.
    assert sorted(placebo["looks"].lengths.tolist()) == sorted(lengths.tolist())
    assert placebo["signs"].sum() == pytest.approx(float(x_star[:, :2].sum()), abs=1e-3)
    assert not torch.equal(placebo["signs"], x_star[:, :2])


def test_a_teacher_looks_at_what_is_an_examples_own():
    generator = torch.Generator().manual_seed(0)
    inner = UnitsTeacher(relu_mlp((4, 5), generator), {"0": 5})
    signs = torch.randn(3, 2, generator=generator)
    teacher, looks = Looking(inner), [torch.randn(count, 2, generator=generator) for count in (1, 4, 2)]
    ragged = Trajectories.from_list(looks)
    found = teacher({"signs": signs, "looks": Ragged.of(ragged)})["0"].value
    means = torch.stack([sum(own) / len(own) for own in looks])
    torch.testing.assert_close(found, inner(torch.cat([signs, means], 1))["0"].value)
    padded = teacher({"signs": signs, "looks": ragged.values()})["0"].value
    torch.testing.assert_close(padded[1], found[1])  # the longest one has no padding
    assert not torch.allclose(padded[0], found[0])


def test_the_preset_of_different_lengths():
    preset = EXPERIMENT.presets["ragged"].config
    tiny = {name: getattr(TINY, name) for name in ("rounds", "inner_steps", "student_steps", "batch", "every")}
    config = replace(preset, inputs=(4,), examples=(32,), student_widths=(5, 7), teacher_widths=(8,), **tiny)
    rows = list(distill_xor.run(config))
    assert [row["method"] for row in rows] == ["no-teacher", "ldt-ragged", "ldt-padded", "ldt-placebo"]
    assert set(EXPERIMENT.figures(Rows(rows))) == {"heat-maps", "heat-maps-selected"}

    def judged(**accuracy):
        known = [
            {"seed": seed, "inputs": 4, "examples": 32, "method": name, "selected": accuracy.get(name.replace("-", "_"), 0.6)}
            for seed in range(6)
            for name in config.methods
        ]
        found = {claim.id.split(".")[1]: judge(claim, Rows(known), "ragged") for claim in EXPERIMENT.claims}
        return [found[name].verdict for name in ("ragged", "ragged-placebo")]

    assert judged(ldt_ragged=0.9) == ["holds"] * 2
    assert judged() == ["does not hold"] * 2
