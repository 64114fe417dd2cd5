from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.reading import EXPERIMENT
from mechlearn_zoo.experiments.distill.reading import run as reading
from mujoco_made_up import made_up_data

TINY = replace(
    EXPERIMENT.presets["quick"].config, boards=32, life_rounds=1, body_rounds=1, examples=60, read=6, probes=2, noise=4
)

SMALL = replace(bodies.TRAININGS["quick"], inner_steps=2, teacher_channels=(4, 4), teacher_hidden=6, student_widths=(7,) * 5)


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "mujoco", made_up_data)
        patch.setattr(bodies, "TRAININGS", {"quick": SMALL})
        return Rows({"seed": seed, **row} for seed in (0, 1) for row in reading.run(replace(TINY, seed=seed)))


def test_a_row_for_each_teacher_layer_and_frame(rows):
    assert len(rows.where(seed=0, world="life")) == 3 * 3 * 3
    assert len(rows.where(seed=0, world="body")) == 2 * 2 * 5 * 16
    for group in rows.where(seed=0, world="body", data="noise-4").by("teacher").values():
        assert sum(row["of_all"] for row in group) == pytest.approx(1)
        assert all(sum(row["share"] for row in layer) == pytest.approx(1) for layer in group.by("layer").values())
    before = [row["share"] for row in rows.where(world="life", teacher="untrained")]
    assert before == pytest.approx([1 / 3] * len(before), abs=0.05)


def test_the_same_seed_gives_the_same_rows(rows):
    before = torch.random.get_rng_state()
    again = [{"seed": 1, **row} for row in reading.run(replace(TINY, seed=1, worlds=("life",)))]
    assert again == [row for row in rows if row["seed"] == 1 and row["world"] == "life"]
    assert torch.equal(torch.random.get_rng_state(), before)


def made(rows, diagonal, late):
    """Shares as wished for: on the diagonal of the trained teachers, and in late frames by data and teacher."""
    found = []
    for row in rows:
        changed = dict(row)
        if row["world"] == "life":
            if row["teacher"] == "trained":
                changed["share"] = diagonal if row["layer"] == row["frame"] else (1 - diagonal) / 2
                changed |= {"accuracy": 0.9, "majority": 0.7}
        else:
            part = late[row["data"], row["teacher"]]
            changed["of_all"] = (part / 4 if row["frame"] >= 12 else (1 - part) / 12) / 5
        found.append(changed)
    return Rows(found)


def judged(rows):
    return {claim.id.split(".")[1]: judge(claim, rows, "quick") for claim in EXPERIMENT.claims}


def test_claims_can_hold_and_fail(rows):
    good = {("noise-4", "trained"): 0.1, ("noise-4", "untrained"): 0.2, ("plain", "trained"): 0.3, ("plain", "untrained"): 0.2}
    found = judged(made(rows, 0.8, good))
    assert all(one.verdict.startswith("holds") for one in found.values())
    assert found["noise"].measured == pytest.approx(0.5)
    assert found["noise-placebo"].measured == pytest.approx(-0.2)
    assert found["life"].measured == pytest.approx(0.8)
    bad = {("noise-4", "trained"): 0.3, ("noise-4", "untrained"): 0.2, ("plain", "trained"): 0.3, ("plain", "untrained"): 0.2}
    found = judged(made(rows, 0.2, bad))
    assert [name for name, one in found.items() if one.verdict.startswith("holds")] == ["oracle"]
    partly = judged(rows.where(world="life"))
    assert partly["noise"].verdict == partly["noise-placebo"].verdict == "not measurable here"


def test_figures(rows):
    assert set(EXPERIMENT.figures(rows)) == {"life", "body"}
    assert set(EXPERIMENT.figures(rows.where(world="life"))) == {"life"}
