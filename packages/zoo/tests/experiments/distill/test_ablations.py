from dataclasses import fields, replace

import pytest
import torch

import mujoco_made_up
from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill import bodies
from mechlearn_zoo.experiments.distill.ablations import EXPERIMENT, fixed_teachers, parts
from mechlearn_zoo.experiments.distill.ablations import run as distill_ablations
from mechlearn_zoo.experiments.distill.ablations.variants import PARTS, Trial
from mechlearn_zoo.experiments.distill.bodies import with_other_trajectories
from mechlearn_zoo.experiments.distill.mujoco import run as distill_mujoco
from mechlearn_zoo.tasks.bodies.mujoco import Sizes
from mujoco_made_up import made_up_data

SMALL = replace(bodies.TRAININGS["quick"], **mujoco_made_up.TINY | {"train": 80})
TINY = replace(EXPERIMENT.presets["quick"].config, rounds=1, temperatures=(2.0,), imitations=(0.5,))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(bodies, "mujoco", made_up_data)
    monkeypatch.setitem(bodies.TRAININGS, "quick", SMALL)


@pytest.fixture(scope="module")
def rows():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "mujoco", made_up_data)
        patch.setitem(bodies.TRAININGS, "quick", SMALL)
        return Rows({"seed": seed, **row} for seed in (0, 1) for row in distill_ablations.run(replace(TINY, seed=seed)))


def test_every_variant_is_trained(rows):
    finals = [row["variant"] for row in rows if row["kind"] == "final" and row["seed"] == 0]
    assert finals == [
        *("ldt", "untrained", "permuted", "noise-16", "redrawn"),
        *("no-teacher",) * 4,
        *("random-teacher", "random-teacher", "generalised"),
    ]


GRID = replace(TINY, variants=("ldt", "no-teacher"), grid_lr=(1e-3, 1e-2), grid_decay=(0.0, 1e-4), grid_batch=(4, 8))


def test_no_teacher_has_the_grid_of_distill_mujoco():
    finals = [row for row in distill_ablations.run(GRID) if row["kind"] == "final"]
    mujoco = replace(
        distill_mujoco.PRESETS["faithful"].config,
        **{field.name: getattr(distill_ablations.training_of(GRID), field.name) for field in fields(SMALL)},
        environments=("Walker2d",),
        methods=("no-teacher",),
        grid_lr=GRID.grid_lr,
        grid_decay=GRID.grid_decay,
        grid_batch=GRID.grid_batch,
        stacked=False,
    )
    others = [row for row in distill_mujoco.run(mujoco) if row["kind"] == "final"]
    names = ("lr", "decay", "batch", "selection", "selected", "as_printed", "training")
    assert [[row[name] for name in names] for row in finals[1:]] == [[row[name] for name in names] for row in others]
    assert len(others) == 8
    assert "lr" not in finals[0]
    shares = [distill_ablations.progress(GRID, row)[0] for row in finals]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_a_grid_without_learning_rates_is_refused():
    with pytest.raises(ValueError, match=r"need a grid_lr: .* Found \(0\.0,\) and \(8,\)\."):
        replace(TINY, grid_lr=(), grid_batch=(8,))


def test_a_batch_of_the_grid_that_is_larger_than_the_examples_is_refused():
    with pytest.raises(ValueError, match=r"grid_batch should be at most 80: .* Found 81\."):
        replace(GRID, grid_batch=(8, 81))


def test_permuted_trajectories_have_the_same_frames_in_orders_of_their_own():
    examples = made_up_data("Walker2d", 0, Sizes(5, 1, 1)).train
    examples = examples._replace(privileged=torch.arange(5 * 16 * 2.0).reshape(5, 16, 2))
    permuted = with_other_trajectories(examples, "permuted", torch.Generator().manual_seed(0)).privileged
    assert torch.equal(permuted.sort(dim=1).values, examples.privileged)
    orders = {tuple((row[:, 0] - row[:, 0].min()).tolist()) for row in permuted}
    assert len(orders) == 5
    assert torch.equal(permuted[..., 1], permuted[..., 0] + 1)  # frames move whole


def test_noise_replaces_the_last_frames_only():
    examples = made_up_data("Walker2d", 0, Sizes(50, 1, 1)).train
    noisy = with_other_trajectories(examples, "noise-4", torch.Generator().manual_seed(0)).privileged
    assert torch.equal(noisy[:, :12], examples.privileged[:, :12])
    assert abs(float(noisy[:, 12:].std()) - 1) < 0.1
    assert torch.equal(with_other_trajectories(examples, "ldt", torch.Generator()).privileged, examples.privileged)


def test_a_random_teacher_of_coefficient_zero_and_imitation_zero_are_no_teacher():
    data = made_up_data("Walker2d", 0, Sizes(80, 1, 1)).train
    training = distill_ablations.training_of(TINY)
    students = []
    for trial in (
        Trial("no-teacher"),
        Trial("random-teacher"),
        Trial("generalised", temperature=1.0),
        Trial("random-teacher", 5.0),
    ):
        student = bodies.make_student(training, 5)
        list(distill_ablations.train_other(training, student, data, trial))
        students.append(torch.cat([p.detach().flatten() for p in student.parameters()]))
    torch.testing.assert_close(students[0], students[1])
    torch.testing.assert_close(students[0], students[2])
    assert not torch.allclose(students[0], students[3])


def test_soft_labels_know_the_label():
    data = made_up_data("Walker2d", 0, Sizes(400, 1, 1)).train
    training = replace(SMALL, teacher_channels=(8,), teacher_hidden=16)
    soft = fixed_teachers.soft_labels(training, data, temperature=1.0)
    torch.testing.assert_close(soft.sum(1), torch.ones(400))
    assert float((soft.argmax(1) - data.y).abs().float().mean()) < 4  # of 32 bins


def test_verdicts_are_computed(rows):
    errors = {
        "ldt": 0.016, "untrained": 0.08, "permuted": 0.017, "noise-16": 0.026, "redrawn": 0.023, "no-teacher": 0.024,
        "random-teacher": 0.024, "generalised": 0.02,
    }  # fmt: skip
    finals = [{**row, "selected": errors[row["variant"]]} for row in rows if row["kind"] == "final"]
    judged = {claim.id.split(".")[1]: judge(claim, finals, "quick").verdict for claim in EXPERIMENT.claims}
    others = ("swimmer", "hopper", "halfcheetah", "gate", "weight-norm", "batch-norm")
    others = ("noise-4", "noise-8", "actions", *others)
    bodies_claims = [name for name in judged if name.startswith(("swimmer-", "hopper-", "halfcheetah-"))]
    assert len(bodies_claims) == 12
    assert {judged.pop(name) for name in (*others, *bodies_claims)} == {"not measurable here"}
    assert judged == {**dict.fromkeys(judged, "holds so far"), "redrawn": "does not hold so far"}


@pytest.mark.parametrize(("redrawn", "verdict"), [(0.023, "holds so far"), (0.02, "does not hold so far")])
def test_another_body_is_asked_for_every_order(rows, redrawn, verdict):
    errors = {"ldt": 0.016, "untrained": 0.08, "permuted": 0.017, "noise-16": 0.026, "redrawn": redrawn}
    finals = [
        {**row, "selected": errors.get(row["variant"], 0.024), "environment": "Hopper"}
        for row in rows
        if row["kind"] == "final"
    ]
    judged = {claim.id.split(".")[1]: judge(claim, finals, "quick") for claim in EXPERIMENT.claims}
    assert judged["hopper"].verdict == verdict
    assert judged["hopper"].measured == (5 if redrawn == 0.023 else 4)  # pairs in order
    assert judged["swimmer"].verdict == "not measurable here"
    assert judged["hopper-redrawn"].measured == pytest.approx(redrawn / 0.024)
    assert judged["hopper-untrained"].measured == pytest.approx((0.08 - 0.024) / (1 / 12 - 0.024))
    assert judged["hopper-untrained"].verdict == "holds so far"
    assert judged["untrained"].verdict == "not measurable here"  # of Walker2d


def test_figures_and_progress(rows):
    assert set(EXPERIMENT.figures(rows)) == {"test-errors", "outcomes"}
    shares = [distill_ablations.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_parts_are_done_otherwise_one_at_a_time():
    data, training = made_up_data("Walker2d", 0, Sizes(80, 1, 1)).train, distill_ablations.training_of(TINY)
    printed = bodies.PRINTED["Walker2d"]
    made = {}
    for variant in ("ldt", *PARTS):
        student = parts.make_student(training, 5, variant)
        made[variant] = parts.make_distillation(training, student, data, printed, variant)
    plain = bodies.make_distillation(training, parts.make_student(training, 5, "ldt"), data, printed)
    for variant, distillation in made.items():
        assert torch.equal(distillation.split.training, plain.split.training)
        assert (distillation.unrolling.clip is None) == (variant == "no-clip")
        norms = [isinstance(module, torch.nn.BatchNorm1d) for module in distillation.lesson.teacher.modules()]
        assert any(norms) == (variant != "no-batch-norm")
        weights = any("original1" in name for name, _ in distillation.lesson.student.named_parameters())
        assert weights == (variant != "no-weight-norm")
        distillation.step(1)
    losses = {variant: distillation.lesson.teaching_loss for variant, distillation in made.items()}
    assert (losses["ldt"].scale, losses["ldt"].shift) == (0.5, -1.0)
    assert (losses["plain-gate"].scale, losses["plain-gate"].shift) == (1.0, 0.0)
    assert type(losses["no-gate"]).__name__ == "HiddenSquaredError"
    plain.step(1)
    for a, b in zip(plain.lesson.teacher.parameters(), made["ldt"].lesson.teacher.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_teacher_that_sees_the_actions_has_each_beside_the_state_it_led_to():
    generator = torch.Generator().manual_seed(0)
    states, rewards, actions = (torch.randn(80, *shape, generator=generator) for shape in ((17, 3), (16, 1), (16, 2)))
    data = made_up_data("Walker2d", 0, Sizes(80, 1, 1)).train._replace(
        x=torch.cat([states[:, 0], actions.flatten(1)], 1), privileged=torch.cat([states[:, 1:], rewards], 2)
    )
    seen = parts.with_actions(data)
    assert torch.equal(seen.privileged[5, 7], torch.cat([states[5, 8], rewards[5, 7], actions[5, 7]]))
    assert seen.x is data.x
    training, printed = distill_ablations.training_of(TINY), bodies.PRINTED["Walker2d"]
    student = bodies.make_student(training, data.x.shape[1])
    list(distill_ablations.train_ablated(training, student, data, printed, "actions"))
    told = bodies.make_student(training, data.x.shape[1])
    list(distill_ablations.train_ablated(training, told, seen, printed, "ldt"))
    assert all(torch.equal(a, b) for a, b in zip(student.parameters(), told.parameters(), strict=True))


def test_claims_of_parts_are_judged():
    finals = [
        {
            "kind": "final",
            "seed": seed,
            "variant": variant,
            "selection": 0.1,
            "selected": 0.02 if variant in ("ldt", "no-clip") else 0.03,
        }
        for seed in range(6)
        for variant in ("ldt", *PARTS)
    ]
    judged = {claim.id.split(".")[1]: judge(claim, finals, "quick") for claim in EXPERIMENT.claims}
    assert {judged[name].verdict for name in ("gate", "weight-norm", "batch-norm")} == {"holds"}


def test_how_many_pairs_are_in_order_has_an_interval_over_seeds():
    order = {"ldt": 1.0, "permuted": 1.0, "untrained": 3.0, "noise-16": 3.0, "redrawn": 2.0, "no-teacher": 2.0}
    finals = [
        {"kind": "final", "environment": "Hopper", "seed": seed, "variant": variant, "selection": 0.1, "selected": error}
        for seed in range(6)
        for variant, error in (order | ({"redrawn": 1.0} if seed < 2 else {})).items()
    ]
    (claim,) = (claim for claim in EXPERIMENT.claims if claim.id == "distill-ablations.hopper")
    found = judge(claim, finals, "bodies")
    assert (found.measured, found.low, found.high, found.n, found.verdict) == (5, 4, 5, 6, "holds")
    lacking = {("ldt", 0), ("no-teacher", 5)}  # these seeds are left out, and none is set beside another
    some = [row for row in finals if (row["variant"], row["seed"]) not in lacking]
    assert judge(claim, some, "bodies").n == 4
    assert judge(claim, [row for row in some if row["seed"] in (0, 5)], "bodies").verdict == "not measurable here"


def test_several_bodies_are_run_one_after_the_other():
    config = replace(TINY, environments=("Swimmer", "Hopper"), variants=("untrained", "no-teacher"), grid_lr=())
    rows = list(distill_ablations.run(config))
    finals = [(row["environment"], row["variant"], row["place"]) for row in rows if row["kind"] == "final"]
    assert finals == [
        ("Swimmer", "untrained", 0),
        ("Swimmer", "no-teacher", 1),
        ("Hopper", "untrained", 2),
        ("Hopper", "no-teacher", 3),
    ]
    shares = [distill_ablations.progress(config, row)[0] for row in rows]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    with pytest.raises(ValueError, match="different ones"):
        replace(config, environments=("Hopper", "Hopper"))
