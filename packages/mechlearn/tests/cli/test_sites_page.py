import math
import re
from dataclasses import replace

import pytest

from mechlearn.cli.fit.sites.page import curve_picture, forest, means_picture, sites_page
from mechlearn.tables.transport import Curve, Drop, Failure, Interval, Room, Scored, Transport
from mechlearn.tables.transport.answer import SiteMean
from mechlearn.tables.transport.labelled import Point


def scored(scores):
    known = [one for one in scores.values() if one is not None]
    mean, errors = sum(known) / len(known), dict.fromkeys(scores, 0.5)
    return Scored(scores, errors, mean, 0.5, Interval(0.5, 0.9, "conformal"), None, 0.8, 0.8 - mean, None, 0.8)


def answer(count=64, **changed):
    """An answer of many sites, none of which was computed."""
    sites = tuple(f"ward <{place}>" for place in range(count))
    scores = {name: 0.6 + 0.3 * place / count for place, name in enumerate(sites)} | {sites[1]: None}
    candidates = {name: scored(scores) for name in ("best simple", "constant", "linear", "boosting", "mine")}
    points = {name: tuple(Point(size, size / 10, None, 0.0, count) for size in (5, 10)) for name in ("chosen", "level")}
    parts = {"base rate": 0.01, "inputs": -0.0001, "relation": 0.2}
    found = Transport(
        task="classification",
        sites=sites,
        candidates=candidates,
        own=("mine",),
        kept="linear",
        chosen={"linear": count},
        room=Room({}, {}, 2.0, Interval(1.0, 3.0, "Student t")),
        curve=Curve(points, {}),
        drop=Drop({}, parts, dict.fromkeys(parts), ()),
        means=tuple(SiteMean(name, 20, 0.4, 0.5) for name in sites),
        event="Share of yes",
        failures=(Failure("mine", "without site A", "ValueError: no"),),
        notes=("A note.",),
    )
    return replace(found, **changed)


FACTS = {"target": "ill", "command": "mechlearn fit sites wards.csv", "features": []}


def test_the_page_starts_with_the_verdict_and_has_sites_as_rows():
    feature = {"column": "crp", "score": 0.8, "flagged": True, "screened": False, "signs": ("+", "-", "+", "")}
    page = sites_page(answer(), {**FACTS, "features": [feature]})
    headings = re.findall("<h2>(.*)</h2>", page)
    assert headings == [
        "Score at each left-out site", "What there is to win", "Predicted and observed", "What the drop is made of",
        "What the sites disagree about", "Candidates", "The sites", "Notes",
    ]  # fmt: skip
    assert page.index("Expect an AUC of") < page.index("<svg")
    assert page.count("<td>ward &lt;") == 64
    assert "ward <" not in page
    assert "mine failed without site A: ValueError: no" in page
    assert "http://" not in page
    assert "https://" not in page


def test_worst_sites_come_first_and_sites_without_a_score_are_counted():
    found = forest(answer(), ["best simple", "boosting", "mine"])
    assert [row["name"] for row in found["rows"]][:2] == ["ward <0>", "ward <2>"]
    assert len(found["rows"]) == 63
    assert found["missing"] == "1 sites have no AUC."
    places = [row["dots"][0]["x"] for row in found["rows"]]
    assert places == sorted(places)
    assert found["band"][0] < found["random"] < found["band"][1]


def test_the_curve_starts_at_nothing_and_the_room_is_a_band():
    found = curve_picture(answer())
    (zero, *rest) = found["lines"][0]["points"]
    assert zero[0] == 50
    assert [y for _, y in rest] == sorted((y for _, y in rest), reverse=True)  # up is a smaller number
    assert found["band"][1] < found["room"] < found["band"][0]


@pytest.mark.parametrize("missing", ["room", "curve", "drop"])
def test_what_is_unknown_is_not_shown(missing):
    assert "Will it survive" in sites_page(answer(**{missing: None}), FACTS)


def test_sites_that_were_not_predicted_are_left_out_of_the_picture_of_means():
    assert len(means_picture(answer(count=3))["dots"]) == 3
    assert means_picture(answer(means=(SiteMean("A", 20, math.nan, 0.5),))) is None
