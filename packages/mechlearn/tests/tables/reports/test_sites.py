import dataclasses

import numpy as np
import pytest

from mechlearn.tables.comparing import Comparison
from mechlearn.tables.disagreement import Disagreement, Feature
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reports import Question, agreement_answer, sites
from mechlearn.tables.reports.sites import advice, to_keep, without
from mechlearn.tables.verdict import Verdict
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
    assert {one["name"] for one in answer.facts["candidates"]} >= {"pooled linear", "screening", "AND-mask", *sites.BESIDE}
    assert answer.facts["method"] not in sites.BESIDE
    assert any("for comparison only" in note for note in answer.facts["notes"])
    assert set(answer.model.predicted(COLUMNS)) <= {"yes", "no"}
    assert any("x10" in sentence for sentence in answer.facts["advice"])


def test_a_site_apart_has_no_part_and_names_can_be_hidden():
    question = Question("ill", training=QUICK, anonymous=True, budget=1e-9)
    answer = agreement_answer(COLUMNS, WARDS, question, apart="ward 2")
    assert len(answer.facts["sites"]) == 5
    assert "balanced accuracy" in answer.facts["apart"]
    assert "ward" not in str(answer.facts)
    assert "AND-mask" in {one["name"] for one in answer.facts["candidates"]}
    assert any(note.startswith("The budget allowed 1 of 6 settings") for note in answer.facts["notes"])
    with pytest.raises(ValueError, match=r"'ward 9'. Did you mean 'ward"):
        agreement_answer(COLUMNS, WARDS, Question("ill"), apart="ward 9")
    with pytest.raises(ValueError, match=r"'X'. There are: ward 0, ward 1"):
        agreement_answer(COLUMNS, WARDS, Question("ill"), apart="X")
    with pytest.raises(ValueError, match=r"'X'. Take one that its column names"):
        agreement_answer(COLUMNS, WARDS, Question("ill", anonymous=True), apart="X")


def test_hiding_names_hides_no_leak():
    target = np.where(WARDS == "ward 1", "no", COLUMNS["ill"])
    columns = {**COLUMNS, "ill": target, "Site code": np.where(target == "yes", 7.0, 3.0)}
    answer = agreement_answer(columns, WARDS, Question("ill", training=QUICK, anonymous=True, budget=1e-9))
    assert any(note.startswith("Site code says what the target is") for note in answer.facts["notes"])
    assert "ward" not in str(answer.facts)


def test_a_last_look_reads_classes_as_the_model_does():
    said = []
    for target in (TABLE.y, TABLE.y.astype(float), TABLE.y.astype(object), np.where(TABLE.y, "sick, and at home", "no")):
        answer = agreement_answer({**COLUMNS, "ill": target}, WARDS, Question("ill", training=QUICK, budget=1e-9), "ward 2")
        said.append(answer.facts["apart"])
    assert len(set(said)) == 1
    assert " 0.0 points" not in said[0]


def test_rows_are_those_of_the_file_also_where_a_site_is_apart():
    where = int(np.flatnonzero(TABLE.site == 4)[0])
    for name, wrong in (("x3", np.inf), ("x3", 1e200), ("ill", np.nan)):
        columns = {**COLUMNS, "ill": TABLE.y.astype(float)}
        columns[name] = columns[name].copy()
        columns[name][where] = wrong
        for apart in ("ward 2", "ward 4"):
            with pytest.raises(ValueError, match=f"'{name}', first .*data row {where + 1} of 240"):
                agreement_answer(columns, WARDS, Question("ill", training=QUICK), apart)


def test_what_makes_a_site_odd_is_named():
    found = compared({**POOL}, "as good", "AND-mask")
    features = tuple(Feature(f"x{j}", 0.0, False, False, ("+",) * 4) for j in range(3))
    odd, columns = ("A", "B", "C"), (("x1",), ("x1",), ("x2", "x0"))
    found.__dict__["audit"] = Disagreement(features, tuple("ABCD"), odd, (), (), columns)
    assert advice(found, "pooled linear")[1:] == [
        "Look at A, B: the relation of x1 to the target is unlike the other sites'.",
        "Look at C: most relations to the target there (x2, x0) are unlike the other sites'.",
    ]


def test_one_turned_column_is_not_most_relations():
    table = shortcut(sites=6, rows=40, strength=5.0, turned=1)
    columns = {**{f"x{j}": table.x[:, j] for j in range(11)}, "ill": table.y}
    answer = agreement_answer(columns, WARDS, Question("ill", training=QUICK, budget=1e-9))
    said = " ".join(answer.facts["advice"])
    assert "the relation of x10 to the target is unlike" in said
    assert "most" not in said
    assert answer.facts["odd"] == []


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_verdict_and_the_advice_name_one_model_to_use(task):
    target = TABLE.y if task == "classification" else TABLE.x[:, 0] + TABLE.x[:, 10]
    columns = {"x0": TABLE.x[:, 1], "x1": TABLE.x[:, 2], "y": target}
    answer = agreement_answer(columns, WARDS, Question("y", training=QUICK))
    uses = [one for one in (answer.facts["sentence"], *answer.facts["advice"]) if "use the" in one.lower()]
    assert uses == [f"Use the {answer.facts['kept']} model."]


def compared(means, word, method, screened=()):
    """A comparison on eight sites with these means, and an audit that screens out some columns."""
    scores = {name: tuple([mean] * 8) for name, mean in means.items()}
    verdict = Verdict(word, method, "pooled network", 3.0, 1.0, 5.0, 0.01, (3.0,) * 8)
    table = prepare({"x10": TABLE.x[:, 10]}, TABLE.y, TABLE.site)
    found = Comparison(verdict, {method: verdict}, scores, tuple("ABCDEFGH"), table, {}, (), 0, {})
    features = tuple(Feature(name, 1.0, True, True, ()) for name in screened)
    found.__dict__["audit"] = Disagreement(features, (), (), (), ())
    return found


def test_no_verdict_is_drawn_from_what_stands_beside():
    helps = Verdict("helps", "IRM", "pooled network", 9.0, 5.0, 12.0, 0.01, (9.0,) * 8)
    asked = Verdict("cannot tell", "AND-mask", "pooled network", 3.0, -1.0, 7.0, 0.2, (3.0,) * 8)
    found = compared({**POOL, "AND-mask": 74.0, "IRM": 80.0}, "helps", "IRM")
    found = dataclasses.replace(found, verdict=helps, verdicts={"AND-mask": asked, "IRM": helps})
    assert without(found, tuple(sites.BESIDE)).verdict is asked
    assert without(found, tuple(sites.BESIDE)).verdicts["IRM"] is helps
    assert to_keep(without(found, tuple(sites.BESIDE))) == "pooled network"
    alone = dataclasses.replace(found, verdicts={"IRM": helps})
    assert without(alone, tuple(sites.BESIDE)).verdict.method == "pooled network"


def test_a_value_missing_in_a_few_rows_of_one_site_is_no_advice():
    age = np.arange(240.0)
    for few, told in ((1, False), (30, True)):
        age[:few] = np.nan
        found = compared({**POOL}, "as good", "AND-mask")
        found = dataclasses.replace(found, table=prepare({"age": age}, TABLE.y, TABLE.site))
        found.__dict__["audit"] = Disagreement((), (), (), ("age missing",), ())
        assert any("age missing varies at one site only" in said for said in advice(found, "pooled linear")) == told


POOL = {"pooled linear": 70.0, "pooled network": 71.0}


def test_boosting_is_kept_where_it_can_be(monkeypatch):
    found = compared({**POOL, "pooled boosting": 80.0}, "as good", "AND-mask")
    monkeypatch.setattr(sites, "can_keep", lambda name: True)
    assert to_keep(found) == "pooled boosting"
    assert advice(found, "pooled boosting") == ["Use the pooled boosting model."]
    monkeypatch.setattr(sites, "can_keep", lambda name: name != "pooled boosting")
    assert to_keep(found) == "pooled network"
    assert "needs skops" in advice(found, "pooled network")[1]


def test_leaving_columns_out_is_preferred_where_it_does_as_well():
    helped = compared({**POOL, "screening": 75.0, "AND-mask": 75.5}, "helps", "AND-mask", ["x10"])
    assert advice(helped, to_keep(helped))[0] == "Dropping x10 gives the same within a point: prefer that, it is simpler."
    helped = compared({**POOL, "screening": 75.0, "AND-mask": 74.5}, "helps", "screening", ["x10"])
    said = advice(helped, to_keep(helped))
    assert said[0].startswith("Leave out x10")
    assert said[1].startswith("AND-mask came within a point of it: prefer leaving columns out")
    helped = compared({**POOL, "screening": 72.0, "AND-mask": 75.5}, "helps", "AND-mask", ["x10"])
    assert advice(helped, to_keep(helped))[0].endswith("was tried beside it and gave less.")


def test_advice_is_of_what_helped_and_of_what_was_tried():
    helped = compared({**POOL, "screening": 75.0, "AND-mask": 72.0}, "helps", "screening")
    (said,) = advice(helped, to_keep(helped))
    assert said.startswith("Where a site was held out, screening left out columns")
    helped = compared({**POOL, "AND-mask": 75.0}, "helps", "AND-mask", ["x10"])
    said = advice(helped, to_keep(helped))
    assert said[0].startswith("Use agreement. Dropping the columns that disagree was not tried beside it")
    helped = compared(POOL, "helps", "pooled network")
    assert advice(helped, to_keep(helped)) == ["Use the pooled network model."]
