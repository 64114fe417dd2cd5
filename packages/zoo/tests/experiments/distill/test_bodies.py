import pytest
import torch

from claimlab import Rows, Saved
from mechlearn_zoo.experiments.distill.bodies import Look, Training, looks_of, make_student, rows_of, watch
from mechlearn_zoo.experiments.distill.measured import Measured
from mechlearn_zoo.tasks.bodies.mujoco import Sizes
from mujoco_made_up import made_up_data


def test_a_run_that_diverges_ends_at_its_last_look():
    def looks(count):
        yield from [Look(Measured(5, 0.2, 0.3), 0.1), Look(Measured(10, 0.1, 0.2), 0.05)][:count]
        raise FloatingPointError("Found nan.")

    *curve, final = rows_of(looks(2), {"method": "ldt"})
    assert [row["step"] for row in curve] == [5, 10]
    assert (final["selected"], final["selected_step"], final["diverged"]) == (0.2, 10, "Found nan.")
    assert final["gap"] == pytest.approx(0.15)
    [lost] = rows_of(looks(0), {"method": "ldt"})
    assert (lost["kind"], lost["selected"], lost["as_printed"], lost["method"]) == ("final", 1.0, 1.0, "ldt")


def test_an_error_that_is_no_number_is_a_divergence():
    student = make_student(Training(student_widths=(7, 7)), 5)
    with torch.no_grad():
        student[0].bias.fill_(float("nan"))
    data = made_up_data("Swimmer", 0, Sizes(10, 5, 5))
    with pytest.raises(FloatingPointError, match="after 3 steps"):
        list(watch(student, data, iter([3]), every=1, rounds=1))


def test_a_training_that_was_lost_is_lost_again_where_its_seed_goes_on():
    data, saved = made_up_data("Swimmer", 0, Sizes(10, 5, 5)), Saved()

    def steps():
        yield 1
        raise FloatingPointError("Found nan.")

    def again():
        raise AssertionError("A training that has ended was trained.")
        yield 0

    found = []
    for taken in (steps(), again()):
        looks = watch(make_student(Training(student_widths=(7, 7)), 5), data, taken, every=1, rounds=3, saved=saved)
        *curve, final = rows_of(looks, {"method": "ldt"})
        assert ([row["step"] for row in curve], final["diverged"]) == ([1], "Found nan.")
        found.append([*curve, final])
    assert found[0] == found[1]


def test_looks_are_those_of_the_runs_that_were_chosen():
    rows = Rows(
        {"seed": seed, "place": place, "kind": kind, "step": step}
        for seed in (0, 1)
        for place in (0, 1)
        for kind, step in (("curve", 1), ("curve", 2), ("final", 2))
    )
    chosen = rows.where(lambda row: row["kind"] == "final" and row["place"] == row["seed"])
    assert looks_of(rows, chosen) == rows.where(lambda row: row["kind"] == "curve" and row["place"] == row["seed"])
