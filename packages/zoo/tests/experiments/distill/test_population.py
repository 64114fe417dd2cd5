from dataclasses import replace

import pytest
import torch

from claimlab import Rows, judge
from mechlearn_zoo.experiments.distill.population import EXPERIMENT
from mechlearn_zoo.experiments.distill.population import run as population
from tiny_settings import tiny

_, TINY = tiny("distill-population")


@pytest.fixture(scope="module")
def rows():
    return Rows({"seed": seed, **row} for seed in (0, 1) for row in population.run(replace(TINY, seed=seed)))


def test_a_row_for_each_teacher_and_fresh_student(rows):
    found = [(row["method"], row["unseen"], row["width"]) for row in rows if row["seed"] == 0]
    assert found == [(m, *kind) for m in TINY.methods for kind in (("initialisation", 7), ("width", 6))]
    assert all(row["selected_step"] in (2, 4) for row in rows)


def test_the_same_seed_gives_the_same_rows_whatever_else_is_run(rows):
    before = torch.random.get_rng_state()
    again = [{"seed": 1, **row} for row in population.run(replace(TINY, seed=1, methods=("and-mask",)))]
    assert again == [row for row in rows if row["seed"] == 1 and row["method"] == "and-mask"]
    assert torch.equal(torch.random.get_rng_state(), before)


def test_claims_and_figures_are_made_from_rows(rows):
    level = {"no-teacher": 0.6, "lone": 0.7, "lone-renewed": 0.75, "population": 0.8, "and-mask": 0.8}
    known = [{**row, "selected": level[row["method"]], "young": level[row["method"]]} for row in rows]
    judged = {claim.id.split(".")[1]: judge(claim, known, "quick") for claim in EXPERIMENT.claims}
    assert judged["universal"].measured == pytest.approx(0.1)
    assert {name: one.verdict.startswith("holds") for name, one in judged.items()} == {
        "universal": True,
        "universal-width": True,
        "age": True,
        "not-renewal-alone": True,
        "reuse": True,
    }
    figure = EXPERIMENT.figures(rows)["fresh-students"]
    assert len(figure.axes) == 3
    fractions = [EXPERIMENT.progress(TINY, row)[0] for row in rows if row["seed"] == 0]
    assert fractions[-1] == 1.0


def test_a_teacher_is_trained_and_stays():
    data = population.xor(0, TINY.inputs, TINY.examples)
    lesson = population.train_teacher(TINY, "population", data.train)
    before = {name: tensor.clone() for name, tensor in lesson.teacher.state_dict().items()}
    student = population.make_student(TINY, 6, torch.Generator().manual_seed(3))
    list(population.learn(TINY, lesson, student, data, torch.Generator().manual_seed(4)))
    assert all(torch.equal(tensor, before[name]) for name, tensor in lesson.teacher.state_dict().items())


def test_a_young_student_is_one_of_the_steps():
    with pytest.raises(ValueError, match="young should be at most the 4 steps"):
        replace(TINY, young=5)


def test_fresh_students_are_none_that_the_teacher_has_taught(monkeypatch):
    """The first was: an offset of 2**35 leaves a stream of torch's the same."""
    made = []

    def kept(config, width, generator):
        made.append(generator.initial_seed())
        return population_made(config, width, generator)

    population_made = population.make_student
    monkeypatch.setattr(population, "make_student", kept)
    list(population.run(replace(TINY, methods=("lone",))))
    assert len(set(made[1:])) == len(made) - 1
    assert made[0] not in made[1:]
