from html.parser import HTMLParser

from mechlearn.cli.fit.page import answer_page, percents

FACTS = {
    "word": "helps",
    "sentence": "Helps: <b>on sites</b> it had not seen.",
    "target": "ill",
    "kept": "screening",
    "advice": ["Leave out x10."],
    "unit": "balanced accuracy in points",
    "candidates": [
        {
            "name": "screening",
            "mean": 70.0,
            "interval": None,
            "worst": 61.0,
            "scores": [61.0, 79.0],
            "seconds": 1.0,
            "verdict": "helps",
        }
    ],
    "held_out": ["north", "south & west"],
    "differences": {"north": 5.0, "south & west": -1.0},
    "against": "pooled network",
    "method": "screening",
    "p": 0.5,
    "rows": 80,
    "sites": [{"name": "north", "rows": 40, "base": [0.25, 0.75], "judged": False}],
    "classes": ["no", "yes"],
    "features": [{"column": "x10", "score": 2.0, "flagged": True, "screened": False, "signs": ["+", ""]}],
    "site_names": ["north", "south & west"],
    "odd": ["north"],
    "lonely": [],
    "notes": ["Shared."],
    "command": "mechlearn fit",
}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.words = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "rect", "line", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("rect", "line", "circle"):
            assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(page):
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    return " ".join(" ".join(tags.words).split())


def test_the_audit_comes_first_and_words_are_text():
    page = answer_page(FACTS)
    words = read(page)
    assert "<b>on sites" not in page
    assert words.index("What the sites disagree about") < words.index("Candidates") < words.index("Site by site")
    assert "trained on, not judged" in words
    assert "75 %" in words


def test_what_is_absent_is_not_shown():
    bare = {name: FACTS[name] for name in ("word", "sentence", "target", "kept", "advice", "unit", "rows", "notes", "command")}
    vote = {"candidates": [{"name": "vote", "mean": 1.0, "worst": 0.0}], "privileged": ["lab"], "votes": {"C": 1.0}}
    words = read(answer_page({**bare, **vote}))
    assert "Site by site" not in words
    assert "Columns known in training only" in words


def test_shares_of_a_site_make_a_hundred():
    assert percents([0.424, 0.576]) == [42, 58]
    assert sum(percents([0.425, 0.575])) == 100
    assert sorted(percents([1 / 3] * 3)) == [33, 33, 34]
    assert percents([0.25, 0.75]) == [25, 75]
    assert percents([1.0, 0.0]) == [100, 0]
    assert '<td class="n">42 %</td><td class="n">58 %</td>' in answer_page(
        {**FACTS, "sites": [{"name": "north", "rows": 40, "base": [0.424, 0.576], "judged": True}]}
    )


def test_a_unit_keeps_its_capitals():
    assert "Lower RMSE in points, per cent of" in answer_page({**FACTS, "unit": "lower RMSE in points, per cent of ridge's"})


def test_a_slope_is_said_or_why_there_is_none():
    of = {"rows": 40, "said": 0.5, "found": 0.5}
    sites = [{"name": "a", "slope": 1.0, **of}, {"name": "b", "slope": 70.0, **of}, {"name": "c", "slope": None, **of}]
    kept = {"method": "m", "rows_only": False, "numbers": False, "event": "yes", "curve": []}
    page = answer_page({**FACTS, "calibration": {**kept, "sites": sites}})
    assert "&gt; 50</td>" in page
    assert " is no slope: fewer than 20 rows" in page
    assert "is no slope" not in answer_page({**FACTS, "calibration": {**kept, "sites": sites[:2]}})
