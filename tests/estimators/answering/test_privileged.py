import numpy as np
import pytest

from craik.estimators.answering import Question, distill_answer
from craik.estimators.distilling.comparing import CANDIDATES, IN_TIME
from craik.estimators.fitting import Training

TAUGHT = Training(hidden=4, steps=8)


def mediated(rows=120):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 20))
    z = x @ rng.normal(size=(20, 3)) / np.sqrt(20) + 0.2 * rng.normal(size=(rows, 3))
    y = z @ np.array([1.0, -1.0, 1.0]) + 2.5 * rng.normal(size=rows)
    return {**{f"x{j}": x[:, j] for j in range(20)}, **{f"lab_{j}": z[:, j] for j in range(3)}, "y": y}


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_privileged_columns_are_not_needed_by_the_model(classes):
    columns = mediated()
    if classes:
        columns["y"] = np.digitize(columns["y"], np.quantile(columns["y"], np.arange(1, classes) / classes))
    answer = distill_answer(columns, [["lab_0", "lab_1", "lab_2"]], Question("y", training=TAUGHT), folds=2)
    assert [one["name"] for one in answer.facts["candidates"]] == [name for name in CANDIDATES if name != IN_TIME]
    inputs = {name: values for name, values in columns.items() if name.startswith("x")}
    assert answer.model.predicted(inputs).shape == (120,)
    assert sum(answer.facts["votes"].values()) == pytest.approx(1, abs=0.01)


def test_steps_in_time_are_a_chain():
    columns = mediated()
    answer = distill_answer(columns, [["lab_0"], ["lab_1"]], Question("y", training=TAUGHT, budget=1e-9), folds=2)
    assert IN_TIME in [one["name"] for one in answer.facts["candidates"]]
    with pytest.raises(ValueError, match="Found 1, 2"):
        distill_answer(columns, [["lab_0"], ["lab_1", "lab_2"]], Question("y"))
    with pytest.raises(ValueError, match="privileged columns only"):
        distill_answer({name: columns[name] for name in ("lab_0", "y")}, [["lab_0"]], Question("y"))


def test_few_rows_are_refused():
    with pytest.raises(ValueError, match="40 rows"):
        distill_answer(mediated(30), [["lab_0"]], Question("y"))
