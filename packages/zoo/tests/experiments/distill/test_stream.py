"""Streams of sub-tasks, at a size that trains nothing."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill.stream import EXPERIMENT
from mechlearn_zoo.experiments.distill.stream import run as stream


def config(**changes):
    tiny = {
        "stages": 2, "rounds": 2, "inner_steps": 2, "inputs": 6, "examples": 24, "batch": 4, "units": 4, "width": 6,
        "steps": 2,
    }  # fmt: skip
    return replace(EXPERIMENT.presets["quick"].config, **(tiny | changes))


def test_rows_claims_and_figures():
    rows = [{**row, "seed": 100} for row in stream.run(config())]
    assert [(row["domain"], row["stage"]) for row in rows] == [(d, s) for d in ("fixed", "stream") for s in range(3)]
    for claim in EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None
    assert list(EXPERIMENT.figures(Rows(rows))) == ["stages"]
    assert EXPERIMENT.progress(config(), rows[-1])[0] == 1
    fixed, streamed = rows[:3], rows[3:]
    assert fixed[:2] == [{**row, "domain": "fixed"} for row in streamed[:2]]  # the first stage is the same
    assert fixed[2]["signal"] != streamed[2]["signal"]
    assert [{**row, "seed": 100} for row in stream.run(config(domains=("stream",)))] == streamed


def test_sub_tasks_differ_and_that_of_fresh_students_is_none_of_them():
    found = [stream.sub_task(config(), number).train.x for number in (-1, 1, 2)]
    assert not torch.equal(found[0], found[1])
    assert not torch.equal(found[1], found[2])
    assert not torch.equal(found[1], stream.sub_task(config(seed=101), 1).train.x)


def a_lesson(chosen):
    student = stream.make_student(chosen, torch.Generator().manual_seed(0))
    teacher = stream.UnitsTeacher(stream.relu_mlp((4, 6, 4), torch.Generator().manual_seed(1)), {"0": 4})
    return stream.Lesson(student, teacher, ["0"], stream.binary_loss, 10.0)


def test_a_fresh_student_leaves_the_teacher_as_it_is():
    lesson = a_lesson(config())
    both = (*lesson.teacher.parameters(), *lesson.student.parameters())
    before = [parameter.clone() for parameter in both]
    found = stream.fresh(config(), lesson, stream.sub_task(config(), -1))
    assert all(0 <= found[key] <= 1 for key in ("accuracy", "stopped_accuracy", "stopped_at"))
    assert all(torch.equal(a, b) for a, b in zip(before, both, strict=True))


@pytest.mark.parametrize("taught", [False, True])
def test_looks_change_nothing_of_a_fresh_student(monkeypatch, taught):
    chosen = config(steps=24)
    data, lesson = stream.sub_task(chosen, -1), a_lesson(chosen) if taught else None
    students, make, state = [], stream.make_student, torch.get_rng_state()
    monkeypatch.setattr(stream, "make_student", lambda *given: students.append(make(*given)) or students[-1])
    looked = stream.fresh(chosen, lesson, data)
    monkeypatch.setattr(stream.EarlyStopping, "due", lambda *_: False)
    assert stream.fresh(chosen, lesson, data) == {"accuracy": looked["accuracy"]}
    assert all(torch.equal(a, b) for a, b in zip(students[0].parameters(), students[1].parameters(), strict=True))
    assert torch.equal(state, torch.get_rng_state())


def made_up(gains, signals):
    return [
        {"seed": seed, "domain": domain, "stage": stage, "gain": gains[domain] * stage, "stopped_gain": gains[domain] * stage}
        | ({"signal": 1.0 if stage == 1 else signals[domain]} if stage else {})
        for seed in range(6) for domain in ("fixed", "stream") for stage in range(3)
    ]  # fmt: skip


def test_claims_can_hold_and_fail():
    good = made_up({"fixed": 0.01, "stream": 0.1}, {"fixed": 0.2, "stream": 0.8})
    assert {judge(claim, good, "quick").verdict for claim in EXPERIMENT.claims} == {"holds"}
    bad = made_up({"fixed": 0.0, "stream": -0.1}, {"fixed": 0.9, "stream": 0.8})
    assert {judge(claim, bad, "quick").verdict for claim in EXPERIMENT.claims} == {"does not hold"}


def test_gains_must_be_there_where_validation_stops_students_too():
    rows = made_up({"fixed": 0.01, "stream": 0.1}, {"fixed": 0.2, "stream": 0.8})
    of_gains = [claim for claim in EXPERIMENT.claims if isinstance(claim.measure, Mapping)]
    assert [claim.id.partition(".")[2] for claim in of_gains] == ["useful", "above-fixed", "untrained"]
    stopped = [{**row, "stopped_gain": -row["gain"]} for row in rows]
    ends = [{key: value for key, value in row.items() if key != "stopped_gain"} for row in rows]
    for claim in of_gains:
        found = judge(claim, stopped, "quick")
        assert found.verdict == "does not hold"
        assert found.measured == pytest.approx(-found.parts[0].measured)
        assert judge(claim, ends, "quick").verdict == "not measurable here"


@pytest.mark.parametrize("changes", [{"stages": 1}, {"domains": ()}, {"validation": 1.0}])
def test_bad_settings_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        config(**changes)
