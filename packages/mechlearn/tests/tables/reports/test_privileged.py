import numpy as np
import pytest

from mechlearn.tables.distilling import comparing
from mechlearn.tables.distilling.comparing import CANDIDATES, IN_TIME
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reports import Question, distill_answer
from mechlearn.tables.reports.privileged import calibration_of

TAUGHT = Training(hidden=4, steps=8)
QUICKEST = Question("y", training=TAUGHT, budget=1e-9)
CLOSED = ("ridge", "vote without privileged columns", "vote", IN_TIME)


@pytest.fixture
def closed(monkeypatch):
    """Compare closed forms only, where no assertion is on networks: they take all of the time."""
    monkeypatch.setattr(comparing, "CANDIDATES", {name: CANDIDATES[name] for name in CLOSED})


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
    site = np.array(["Leeds", "York", None], dtype=object)[np.arange(120) % 3]
    answer = distill_answer(columns, [["lab_0", "lab_1", "lab_2"]], QUICKEST, 2, site)
    left = {IN_TIME} if classes else {IN_TIME, "logistic"}
    assert [one["name"] for one in answer.facts["candidates"]] == [name for name in CANDIDATES if name not in left]
    inputs = {name: values for name, values in columns.items() if name.startswith("x")}
    assert answer.model.predicted(inputs).shape == (120,)
    assert sum(answer.facts["votes"].values()) == pytest.approx(1, abs=0.01)
    found = answer.facts["calibration"]
    assert [(one["name"], one["rows"]) for one in found["sites"]] == [("(missing)", 40), ("Leeds", 40), ("York", 40)]
    assert found["numbers"] == (answer.model.scores == "numbers")
    if classes != 3:  # of three it is whether the class chosen was right
        means = [columns["y"][place::3].mean() for place in (2, 0, 1)]
        assert [one["found"] for one in found["sites"]] == pytest.approx(means)


def test_calibration_is_by_site_where_there_are_any():
    columns = mediated()
    y = (columns["y"] > 0).astype(int)
    order = np.argsort(np.random.default_rng(0).permutation(120) % 2, kind="stable")  # as tables of made-up halves lie
    table = prepare({"x0": columns["x0"]}, y, np.random.default_rng(0).permutation(120) % 2)
    says = np.column_stack([1 - y, y])[order] * 0.6 + 0.2
    (whole,) = calibration_of(table, says, None, anonymous=False)["sites"]
    assert (whole["name"], whole["rows"], whole["found"]) == ("all rows", 120, pytest.approx(y.mean()))
    site = np.array(["b", "a"])[y]
    found = calibration_of(table, says, site, anonymous=True)["sites"]
    assert [(one["name"], one["said"], one["found"]) for one in found] == [
        ("site 1", pytest.approx(0.8), 1.0),
        ("site 2", pytest.approx(0.2), 0.0),
    ]


def test_steps_in_time_are_a_chain(closed):
    columns = mediated()
    answer = distill_answer(columns, [["lab_0"], ["lab_1"]], Question("y"), folds=2)
    assert IN_TIME in [one["name"] for one in answer.facts["candidates"]]
    with pytest.raises(ValueError, match="Found 1, 2"):
        distill_answer(columns, [["lab_0"], ["lab_1", "lab_2"]], Question("y"))
    with pytest.raises(ValueError, match="privileged columns only"):
        distill_answer({name: columns[name] for name in ("lab_0", "y")}, [["lab_0"]], Question("y"))


def test_a_gap_in_one_step_leaves_the_steps_as_wide(closed):
    columns = mediated()
    columns["lab_1"] = np.where(np.arange(120) == 7, np.nan, columns["lab_1"])
    answer = distill_answer(columns, [["lab_0"], ["lab_1"]], Question("y"), folds=2)
    assert IN_TIME in [one["name"] for one in answer.facts["candidates"]]


def test_small_classes_are_asked_with_fewer_folds(closed):
    columns = {**mediated(54), "y": np.arange(54) % 6}
    answer = distill_answer(columns, [["lab_0"]], Question("y"))
    assert answer.facts["notes"][0].endswith("There are 9 folds, as no class has more rows.")


def of_patients(patients=8, rows=12, numbers=False):
    """Inputs tell patients apart, and nothing else; the outcome is each patient's own."""
    rng = np.random.default_rng(0)
    whose = np.repeat(np.arange(patients), rows)
    x = rng.normal(size=(patients, 20))[whose] + 0.1 * rng.normal(size=(len(whose), 20))
    y = rng.normal(size=patients)[whose] if numbers else whose % 2
    return {**{f"x{j}": x[:, j] for j in range(20)}, "lab": rng.normal(size=len(whose)), "y": y}, np.char.add(
        "p", whose.astype(str)
    )


def ridge_of(answer):
    return next(one["mean"] for one in answer.facts["candidates"] if one["name"] == "ridge")


def test_rows_of_one_patient_are_not_on_both_sides_of_a_fold(closed):
    columns, whose = of_patients()
    pairs = np.array([f"ward {int(one[1:]) // 2}" for one in whose])
    apart = distill_answer(columns, [["lab"]], Question("y"), sites=pairs)
    assert ridge_of(apart) < 80
    assert apart.facts["notes"][0].startswith("4 folds; each is all rows of 1 of the 4 environments")
    with pytest.raises(ValueError, match="Found one in each: environment and target say the same"):
        distill_answer(columns, [["lab"]], Question("y"), sites=whose)
    mixed = distill_answer(columns, [["lab"]], Question("y"))
    assert ridge_of(mixed) > 95
    assert mixed.facts["notes"][0].startswith("Rows are taken to be independent.")


def test_folds_of_numbers_keep_patients_together(closed):
    columns, whose = of_patients(12, 6, numbers=True)
    answer = distill_answer(columns, [["lab"]], Question("y"), sites=whose)
    assert answer.facts["notes"][0].startswith("10 folds; each is all rows of 1 to 2 of the 12 environments")
    assert "class" not in answer.facts["notes"][0]


def test_one_environment_cannot_be_kept_apart():
    columns, _ = of_patients()
    with pytest.raises(ValueError, match=r"Found one\. Name another column"):
        distill_answer(columns, [["lab"]], QUICKEST, sites=np.full(96, "here"))


def test_a_leak_is_said_whatever_its_column_is_called(closed):
    columns = mediated()
    y = (columns["y"] > 0).astype(int)
    answer = distill_answer({**columns, "y": y, "composite_score": 3 - y}, [["lab_0"]], Question("y"), folds=2)
    assert any(note.startswith("composite_score says what the target is") for note in answer.facts["notes"])
    assert not any("Site 0" in note for note in answer.facts["notes"])


def test_few_rows_are_refused():
    with pytest.raises(ValueError, match="40 rows"):
        distill_answer(mediated(30), [["lab_0"]], Question("y"))
