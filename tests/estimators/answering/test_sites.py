import numpy as np
import pytest

from craik.estimators.answering import Question, agreement_answer
from craik.estimators.fitting import Training
from site_tables import shortcut

QUICK = Training(hidden=4, steps=10, rows_per_site=20)
TABLE = shortcut(sites=6, rows=40, strength=5.0, turned=3)
COLUMNS = {**{f"x{j}": TABLE.x[:, j] for j in range(11)}, "ill": np.where(TABLE.y, "yes", "no")}
WARDS = np.array([f"ward {site}" for site in TABLE.site])


def test_an_answer_is_plain_values_and_a_model():
    answer = agreement_answer(COLUMNS, WARDS, Question("ill", training=QUICK))
    assert answer.facts["word"] in ("helps", "as good", "harms", "cannot tell")
    assert answer.facts["features"][0]["column"] == "x10"
    assert answer.facts["held_out"] == [f"ward {e}" for e in range(6)]
    assert {one["name"] for one in answer.facts["candidates"]} >= {"pooled linear", "screening", "AND-mask"}
    assert set(answer.model.predicted(COLUMNS)) <= {"yes", "no"}
    assert any("x10" in sentence for sentence in answer.facts["advice"])


def test_a_site_apart_has_no_part_and_names_can_be_hidden():
    question = Question("ill", training=QUICK, anonymous=True, budget=1e-9)
    answer = agreement_answer(COLUMNS, WARDS, question, apart="ward 2")
    assert len(answer.facts["sites"]) == 5
    assert "balanced accuracy" in answer.facts["apart"]
    assert "ward" not in str(answer.facts)
    assert {one["name"] for one in answer.facts["candidates"]} == {"pooled linear", "pooled network"}
    assert sum("left out" in note for note in answer.facts["notes"]) == 4
    with pytest.raises(ValueError, match="'ward 9'"):
        agreement_answer(COLUMNS, WARDS, Question("ill"), apart="ward 9")
