from dataclasses import replace

import pytest
import torch

import mujoco_made_up
from claimlab import Rows, judge
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.mujoco import EXPERIMENT, baselines
from mechlearn_zoo.experiments.distill.mujoco import run as distill_mujoco
from mechlearn_zoo.experiments.distill.mujoco.figures import TABLE
from mechlearn_zoo.experiments.distill.mujoco.measures import gap_at_equal_fit
from mechlearn_zoo.tasks.bodies.mujoco import Sizes
from mujoco_made_up import made_up_data

TINY = replace(
    EXPERIMENT.presets["quick"].config, environments=("Swimmer", "Hopper"), rounds=2, grid_batch=(6,), **mujoco_made_up.TINY
)


@pytest.fixture(autouse=True)
def no_simulator(monkeypatch):
    monkeypatch.setattr(bodies, "mujoco", made_up_data)


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "mujoco", made_up_data)
        return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_mujoco.run(replace(TINY, seed=seed)))


def test_rows_are_a_curve_and_a_summary_for_each_point_of_the_grids(rows):
    finals = [row for row in rows if row["kind"] == "final" and row["seed"] == 0]
    runs = [(row["environment"], row["method"], row["place"]) for row in finals]
    one = [("no-teacher", 0), ("auxiliary", 0), ("auxiliary", 1), ("ldt", 0)]
    assert runs == [(environment, *run) for environment in ("Swimmer", "Hopper") for run in one]
    assert sum(row["kind"] == "curve" for row in rows) == 2 * 2 * 4 * 2
    assert {row["weight"] for row in finals if row["method"] == "auxiliary"} == {1.0, 4.0}


def test_unrolls_that_diverge_end_a_training_or_are_counted():
    wild = replace(TINY, environments=("Swimmer",), methods=("ldt",), inner_lr=1e30, inner_steps=4)
    [ended] = distill_mujoco.run(wild)
    assert "Every inner step's training loss should be finite" in str(ended["diverged"])
    assert "lost" not in ended
    for nonfinite in ("skip", "zero"):
        first, second, final = distill_mujoco.run(replace(wild, nonfinite=nonfinite))
        assert [row["lost"] for row in (first, second, final)] == [1, 2, 2]
        assert final["diverged"] == ""
    tame = replace(TINY, environments=("Swimmer",), methods=("ldt",))
    counted = [dict(row) for row in distill_mujoco.run(replace(tame, nonfinite="zero"))]
    assert {row.pop("lost") for row in counted} == {0}
    assert counted == [dict(row) for row in distill_mujoco.run(tame)]


def test_an_auxiliary_head_changes_the_student_and_a_weight_of_zero_does_not():
    data = made_up_data("Swimmer", 0, Sizes(60, 1, 1)).train
    students = []
    for setting in (
        baselines.Setting(1e-2, 0.0, 6, 0.0),
        baselines.Setting(1e-2, 0.0, 6, 0.0),
        baselines.Setting(1e-2, 0.0, 6, 4.0),
    ):
        student = bodies.make_student(TINY, 5)
        list(baselines.train_plainly(TINY, student, data, setting))
        students.append(torch.cat([p.detach().flatten() for p in student.parameters()]))
    assert torch.equal(students[0], students[1])
    assert not torch.allclose(students[0], students[2])


def test_weight_decay_spares_the_directions_of_weight_norm():
    student = relu_mlp((3, 4, 2), torch.Generator().manual_seed(0), weight_norm=True)
    decayed, spared = baselines.without_direction(student, 0.1)
    assert [tuple(p.shape) for p in spared["params"]] == [(4, 3), (2, 4)]
    assert {tuple(p.shape) for p in decayed["params"]} == {(4,), (4, 1), (2,), (2, 1)}
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.1, 0.0)


def test_the_published_grids():
    paper = EXPERIMENT.presets["paper"].config
    assert len(distill_mujoco.grid(paper, "no-teacher")) == 18
    assert len(distill_mujoco.grid(paper, "auxiliary")) == 54
    assert len(distill_mujoco.grid(paper, "ldt")) == 1
    assert len(set(distill_mujoco.LDT_GRID)) == 54
    for printed in bodies.PRINTED.values():
        point = distill_mujoco.Point(printed.meta_beta1, 1e-2, printed.log10_alpha, printed.validation)
        assert point in distill_mujoco.LDT_GRID


def test_ldt_over_its_own_grid(rows, monkeypatch):
    printed = bodies.PRINTED["Swimmer"]
    some = [distill_mujoco.Point(printed.meta_beta1, lr, printed.log10_alpha, printed.validation) for lr in (1e-3, 1e-2)]
    monkeypatch.setattr(distill_mujoco, "LDT_GRID", some)
    config = replace(TINY, seed=1, environments=("Swimmer",), methods=("ldt-grid",))
    found = [{"seed": 1, **row} for row in distill_mujoco.run(config)]
    finals = [row for row in found if row["kind"] == "final"]
    assert [(row["place"], row["inner_lr"]) for row in finals] == [(0, 1e-3), (1, 1e-2)]
    alone = next(row for row in rows.where(seed=1, kind="final", environment="Swimmer", method="ldt"))
    assert finals[1]["selected"] == alone["selected"]
    assert [distill_mujoco.progress(config, row)[0] for row in found][-1] == pytest.approx(1)
    known = [{**row, "selected": 0.02 if row["inner_lr"] == 1e-2 else 0.016} for row in finals]
    known = [{**row, "selection": row["selected"]} for row in known]
    judged = {claim.id.split(".")[1]: judge(claim, known, "quick") for claim in EXPERIMENT.claims}
    assert judged["swimmer-grid"].measured == pytest.approx(1.25)
    assert judged["swimmer-grid"].verdict == "does not hold so far"


def test_table_and_ratios_select_as_they_say(rows):
    def error(row):
        printed = TABLE[row["environment"]][row["method"]] * (1 + 0.1 * row["place"])
        return {"as_printed": printed, "selected": 2 * printed, "selection": -row["place"]}

    finals = [{**row, **error(row)} for row in rows if row["kind"] == "final"]
    judged = {claim.id.split(".")[1]: judge(claim, finals, "quick") for claim in EXPERIMENT.claims}
    assert judged["swimmer-ldt-table"].measured == pytest.approx(0.00964)
    assert judged["swimmer-auxiliary-table"].verdict == "holds so far"
    assert judged["swimmer-below-auxiliary-as-printed"].measured == pytest.approx(0.00964 / 0.0146)
    # The last place has the least selection error here, though its test error is larger.
    assert judged["swimmer-below-auxiliary"].measured == pytest.approx(0.00964 / (0.0146 * 1.1))
    assert judged["walker2d-ldt-table"].verdict == "not measurable here"
    assert len(judged) == len(EXPERIMENT.claims) == 4 * 9 + 5 + 1


def test_gaps_are_compared_at_one_training_error():
    def run(seed, method, *looks):
        same = {"seed": seed, "environment": "Hopper", "method": method, "place": 0}
        curve = [{**same, "kind": "curve", "training": training, "test": test} for training, test in looks]
        training, test = looks[-1] if looks else (1.0, 1.0)
        return [*curve, {**same, "kind": "final", "selection": test, "training": training, "gap": test - training}]

    taught = {seed: run(seed, "ldt", (0.4, 0.5), (0.2, 0.3)) for seed in range(3)}
    plain = [(0.5, 0.5), (0.3, 0.4), (0.1, 0.4)]  # gaps of 0, 0.1 and 0.3: 0.2 where it fits as well as the taught one
    equal = gap_at_equal_fit("Hopper")
    rows = [row for seed in range(3) for row in (*taught[seed], *run(seed, "no-teacher", *plain))]
    found = equal(Rows(rows))
    assert (found.n, [found.value, found.low, found.high]) == (3, pytest.approx([-0.1] * 3))
    # A student that has hardly been trained has the smaller gap, and is no better for it.
    untrained = [row for seed in range(3) for row in (*run(seed, "ldt", plain[0]), *run(seed, "no-teacher", *plain))]
    assert equal(Rows(untrained)).value == 0
    # Runs that were lost before a look have no gap; seeds that one of the two lacks are left out.
    lost = Rows([*taught[0], *taught[1], *run(0, "no-teacher"), *run(1, "no-teacher", *plain), *run(2, "no-teacher", *plain)])
    assert equal(lost).n == 1
    assert equal(Rows(taught[0])) is None


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"test-errors", "generalisation-gaps"}
    shares = [distill_mujoco.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
