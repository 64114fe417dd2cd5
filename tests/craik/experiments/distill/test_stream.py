"""Streams of sub-tasks, at a size that trains nothing."""

from dataclasses import replace

import pytest
import torch

from craik.experiments.distill.stream import EXPERIMENT
from craik.experiments.distill.stream import run as stream
from craik.lab import Rows, judge


def config(**changes):
    tiny = {
        "stages": 2,
        "rounds": 2,
        "inner_steps": 2,
        "inputs": 6,
        "examples": 24,
        "batch": 4,
        "units": 4,
        "width": 6,
        "steps": 2,
    }
    return replace(EXPERIMENT.presets["quick"].config, **(tiny | changes))


def test_rows_claims_and_figures():
    rows = [{**row, "seed": 100} for row in stream.run(config())]
    assert [(row["domain"], row["stage"]) for row in rows] == [(d, s) for d in ("fixed", "stream") for s in range(3)]
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["stages"]
    assert stream.progress(config(), rows[-1])[0] == 1
    fixed, streamed = rows[:3], rows[3:]
    assert fixed[:2] == [{**row, "domain": "fixed"} for row in streamed[:2]]  # the first stage is the same
    assert fixed[2]["signal"] != streamed[2]["signal"]
    assert [{**row, "seed": 100} for row in stream.run(config(domains=("stream",)))] == streamed


def test_sub_tasks_differ_and_that_of_fresh_students_is_none_of_them():
    found = [stream.sub_task(config(), number).train.x for number in (-1, 1, 2)]
    assert not torch.equal(found[0], found[1])
    assert not torch.equal(found[1], found[2])
    assert not torch.equal(found[1], stream.sub_task(config(seed=101), 1).train.x)


def test_a_fresh_student_leaves_the_teacher_as_it_is():
    chosen = config()
    data = stream.sub_task(chosen, -1)
    student = stream.make_student(chosen, torch.Generator().manual_seed(0))
    teacher = stream.UnitsTeacher(stream.relu_mlp((4, 6, 4), torch.Generator().manual_seed(1)), {"0": 4})
    lesson = stream.Lesson(student, teacher, ["0"], stream.label_loss, 10.0)
    before = [parameter.clone() for parameter in (*teacher.parameters(), *student.parameters())]
    assert 0 <= stream.fresh(chosen, lesson, data) <= 1
    assert all(torch.equal(a, b) for a, b in zip(before, (*teacher.parameters(), *student.parameters()), strict=True))


def made_up(gains, signals):
    return [
        {"seed": seed, "domain": domain, "stage": stage, "gain": gains[domain] * stage}
        | ({"signal": 1.0 if stage == 1 else signals[domain]} if stage else {})
        for seed in range(6) for domain in ("fixed", "stream") for stage in range(3)
    ]  # fmt: skip


def test_claims_can_hold_and_fail():
    good = made_up({"fixed": 0.01, "stream": 0.1}, {"fixed": 0.2, "stream": 0.8})
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up({"fixed": 0.0, "stream": -0.1}, {"fixed": 0.9, "stream": 0.8})
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}


@pytest.mark.parametrize("changes", [{"stages": 1}, {"domains": ()}, {"validation": 1.0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        config(**changes)
