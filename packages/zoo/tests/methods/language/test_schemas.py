import itertools
import math

import pytest
import torch

from mechlearn_zoo.experiments.language.winograd.schema_world import SchemaWorld
from mechlearn_zoo.methods.language.chance import best_of, wilson
from mechlearn_zoo.methods.language.schemas import Cooccurrence, Schema, association, read_wsc, report, substituted, switch

TROPHY = Schema(
    "The trophy does not fit into the case because it is too big.",
    slice(46, 48),
    ("the trophy", "the case"),
    0,
    switchable=True,
    hinge=slice(56, 59),
)


def schemas(part="associative", count=40, seed=0):
    return SchemaWorld(seed=0).schemas(part, count, torch.Generator().manual_seed(seed))


def test_substituting_and_switching():
    assert TROPHY.text[TROPHY.pronoun] == "it"
    assert substituted(TROPHY, 0).text == "The trophy does not fit into the case because the trophy is too big."
    found = substituted(TROPHY, 1)
    assert found.text[found.start : found.end] == "the case"
    other = switch(TROPHY)
    assert other.text == "The case does not fit into the trophy because it is too big."
    assert (other.answer, other.text[other.pronoun], other.text[other.hinge]) == (1, "it", "big")
    assert switch(other) == TROPHY
    longer = Schema("Bartholomew paid Ann since he was rich.", slice(27, 29), ("Bartholomew", "Ann"), 0, switchable=True)
    assert switch(longer).text == "Ann paid Bartholomew since he was rich."
    assert (
        substituted(Schema("It is late. He left.", slice(12, 14), ("the man", "Bob"), 0), 0).text == "It is late. The man left."
    )


def test_association_counts():
    counts = Cooccurrence.of(["the shark bites"] * 3 + ["the cook eats"] * 3 + ["the cook bites"])
    item = Schema("the shark saw the cook and it bites", slice(27, 29), ("the shark", "the cook"), 0)
    assert association(counts, item, "count") == 0  # both go with "the" in words of their own, which are left out
    assert association(counts, item) > 0
    expected = math.log((3 + 0.5) * (7 + 0.5) / ((3 + 0.5) * (4 + 0.5)))
    assert counts.pmi("shark", "bites") == pytest.approx(expected)
    with pytest.raises(ValueError, match="measure"):
        association(counts, item, "sum")


def test_a_model_blind_to_order_is_never_consistent_and_an_oracle_always():
    items = schemas()
    oracle = torch.tensor([one.answer for one in items])
    margins = torch.ones(len(items))
    found = report(oracle, items, margins, 1 - oracle)
    assert found.consistency.value == found.robust.value == found.accuracy.value == 1.0
    blind = torch.tensor([0 if one.candidates[0] < one.candidates[1] else 1 for one in items])
    again = torch.tensor([0 if one.candidates[0] < one.candidates[1] else 1 for one in map(switch, items)])
    found = report(blind, items, margins, again)
    assert found.consistency.value == found.robust.value == 0.0
    assert found.unswitched.value == pytest.approx(1 - found.switched.value)
    assert math.isnan(found.non_associative.value)


def test_a_model_that_counts_is_right_on_associative_items_only():
    world = SchemaWorld(seed=0)
    drawn = world.draw("associative", torch.arange(20_000) % 8, torch.Generator().manual_seed(1))
    pairs = [tuple(pair) for pair in torch.stack([drawn.ids[:, 6], drawn.meant], 1).tolist()]
    texts = {pair: world.vocabulary.text(pair) for pair in set(pairs)}
    counts = Cooccurrence.of(texts[pair] for pair in pairs)
    shares = {}
    for part in ("associative", "neutral", "opposed"):
        items = schemas(part, 200)
        margins = torch.tensor([association(counts, one) for one in items])
        counted = torch.tensor(
            [one.answer if margin > 0 else 1 - one.answer for one, margin in zip(items, margins, strict=True)]
        )
        swapped = torch.tensor(
            [1 - switch(one).answer if margin > 0 else switch(one).answer for one, margin in zip(items, margins, strict=True)]
        )
        found = report(counted, items, margins, swapped, threshold=1.0)
        shares[part] = found.accuracy.value
        assert found.consistency.value == 0.0
        assert found.associative.n == (200 if part == "associative" else 0)
    assert shares["associative"] == 1.0
    assert shares["opposed"] == 0.0
    assert 0.4 < shares["neutral"] < 0.6


def test_intervals():
    stats = pytest.importorskip("scipy.stats")
    for successes, trials in [(0, 5), (137, 273), (273, 273), (1, 40)]:
        exact = stats.binomtest(successes, trials).proportion_ci(method="wilson")
        found = wilson(successes, trials)
        assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_the_best_of_some_guessers_by_enumeration():
    shares = sorted(max(sum(a), sum(b)) for a, b in itertools.product(itertools.product((0, 1), repeat=4), repeat=2))
    low, high = best_of(2, 4, level=0.9)

    def quantile(q):
        return next(k for k in range(5) if sum(s <= k for s in shares) / len(shares) >= q)

    assert (low, high) == (quantile(0.05) / 4, quantile(0.95) / 4)


WSC = """<?xml version="1.0"?>
<collection>
<schema><text><txt1>The city councilmen refused the demonstrators a permit because</txt1><pron>they</pron><txt2>feared
violence.</txt2></text><quote><quote1/><pron>they</pron><quote2>feared violence</quote2></quote>
<answers><answer>The city councilmen</answer><answer>The
demonstrators</answer></answers><correctAnswer>A</correctAnswer></schema> <schema><text><txt1>The trophy does not fit in the
brown suitcase because</txt1><pron>it</pron><txt2>is too small.</txt2></text> <answers><answer>The trophy</answer><answer>the
suitcase</answer></answers><correctAnswer> B. </correctAnswer></schema> </collection>"""


def test_the_public_file(tmp_path):
    path = tmp_path / "WSCollection.xml"
    path.write_text(WSC)
    first, second = read_wsc(str(path))
    assert first.text == "The city councilmen refused the demonstrators a permit because they feared violence."
    assert first.text[first.pronoun] == "they"
    assert (first.answer, second.answer) == (0, 1)
    assert (first.switchable, second.switchable) == (True, False)
    assert switch(first).text == "The demonstrators refused the city councilmen a permit because they feared violence."
    path.write_text(WSC.replace("<answer>The\ndemonstrators</answer>", ""))
    with pytest.raises(ValueError, match="Item 0"):
        read_wsc(str(path))
    path.write_text("no xml")
    with pytest.raises(ValueError, match="WSCollection"):
        read_wsc(str(path))


def test_bad_input():
    with pytest.raises(ValueError, match="mark a word"):
        Schema("a b", slice(1, 1), ("a", "b"), 0)
    with pytest.raises(ValueError, match="two different names"):
        Schema("a b", slice(0, 1), ("The a", "the  A"), 0)
    with pytest.raises(ValueError, match="switchable=False"):
        Schema("a b it", slice(4, 6), ("a", "c"), 0, switchable=True)
    with pytest.raises(ValueError, match="0 or 1"):
        Schema("a b it", slice(4, 6), ("a", "b"), 2)
    with pytest.raises(ValueError, match="switchable"):
        switch(Schema("a b it", slice(4, 6), ("a", "b"), 0))
    items = schemas(count=2)
    with pytest.raises(ValueError, match="prediction and an association"):
        report(torch.zeros(1).long(), items, torch.zeros(2), torch.zeros(2).long())
    one = [items[0], Schema("a b it", slice(4, 6), ("a", "b"), 0)]
    with pytest.raises(ValueError, match="Found one"):
        report(torch.zeros(2).long(), one, torch.zeros(2), torch.zeros(1).long())
    with pytest.raises(ValueError, match="level"):
        best_of(1, 10, level=1.0)


def item(text, candidates, pronoun="it"):
    start = text.rindex(f" {pronoun} ") + 1
    return Schema(text, slice(start, start + len(pronoun)), candidates, 0, switchable=True)


@pytest.mark.parametrize(
    ("text", "candidates", "wanted"),
    [
        (
            "The cup leaks on the tea, so the cup is wet and it is old.",
            ("The cup", "The tea"),
            "The tea leaks on the cup, so the tea is wet and it is old.",
        ),
        (
            "The man met the man's son because it was late.",
            ("the man", "the man's son"),
            "The man's son met the man because it was late.",
        ),
        ("Today Ann dropped the cup and it broke.", ("Ann", "the cup"), "Today the cup dropped Ann and it broke."),
        ("Ann dropped the cup and it broke.", ("Ann", "the cup"), "The cup dropped Ann and it broke."),
        ("the cup held the tea and it broke.", ("the cup", "the tea"), "the tea held the cup and it broke."),
        ('"The cup," said Bob, "and it broke."', ("Bob", "The cup"), '"Bob," said the cup, "and it broke."'),
    ],
)
def test_every_mention_is_switched(text, candidates, wanted):
    one = item(text, candidates)
    other = switch(one)
    assert other.text == wanted
    assert (other.answer, other.text[other.pronoun]) == (1, "it")


def test_candidates_that_share_words_of_the_text_are_refused():
    with pytest.raises(ValueError, match=r"should stand apart\. Found 'old man bites' in 'The old man bites"):
        item("The old man bites since it is old man bites.", ("old man", "man bites"))
    with pytest.raises(ValueError, match="Found no 'the man'"):
        item("Here the man's son is and it is late.", ("the man", "the man's son"))
    with pytest.raises(ValueError, match="Found no 'the Cup'"):
        item("Here the cup and the tea are and it is late.", ("the tea", "the Cup"))


def test_a_file_marks_no_item_whose_candidates_share_words(tmp_path):
    path = tmp_path / "WSCollection.xml"
    text = "<txt1>The old man bites as</txt1><pron>he</pron><txt2>is old.</txt2>"
    answers = "<answer>old man</answer><answer>man bites</answer>"
    path.write_text(
        f"<collection><schema><text>{text}</text><answers>{answers}</answers><correctAnswer>A</correctAnswer></schema></collection>"
    )
    (found,) = read_wsc(str(path))
    assert not found.switchable


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("changes", "error", "sentence"),
    [
        ({"predictions": torch.tensor([0, 2])}, ValueError, "`predictions` should be numbers from 0 to 1. Found 0 to 2"),
        ({"predictions": torch.tensor([0.0, 1.0])}, TypeError, "`predictions` should hold whole numbers"),
        ({"switched": torch.tensor([-1, 0])}, ValueError, "`switched` should be numbers from 0 to 1. Found -1 to 0"),
        ({"associations": torch.tensor([0.0, math.nan])}, ValueError, r"`associations` should be finite. Found nan at \(1,\)"),
    ],
)
def test_reports_are_of_answers_and_numbers(changes, error, sentence):
    fine = {"predictions": torch.tensor([0, 1]), "associations": torch.zeros(2), "switched": torch.tensor([1, 0])}
    with pytest.raises(error, match=sentence):
        report(**{**fine, **changes}, schemas=schemas(count=2))
