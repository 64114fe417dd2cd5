import dataclasses

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from mechlearn.tables.candidates import CANDIDATES, NETWORKS, PEERS, Fold
from mechlearn.tables.comparing import compare, compare_table
from mechlearn.tables.fitting import Training
from mechlearn.tables.reading_in import prepare
from site_tables import regression, shortcut

QUICK = Training(hidden=8, steps=15, rows_per_site=20)


def test_a_shortcut_is_found_and_its_column_named():
    table = shortcut(sites=6, rows=40, strength=5.0, turned=3)
    found = compare(table.x, table.y, table.site, methods=("screening",), training=QUICK)
    assert found.sites == tuple("012345")
    assert set(found.scores) == {"pooled linear", "pooled network", "screening"}
    assert np.mean(found.scores["screening"]) > np.mean(found.scores["pooled network"]) + 5
    assert (found.verdict.word, found.verdict.method) == ("helps", "screening")
    assert "x10" in found.audit.flagged
    assert found.verdict.sentence in str(found)


def test_without_a_shortcut_screening_is_the_pooled_network():
    table = shortcut(sites=6, rows=40, strength=0)
    found = compare(table.x, table.y, table.site, methods=("screening",), training=QUICK)
    assert found.scores["screening"] == found.scores["pooled network"]
    assert found.verdict.word != "helps"


def test_numbers_are_judged_by_r_squared():
    table = regression(sites=3, rows=30)
    found = compare(table.x, table.y, table.site, methods=("AND-mask", "pooled boosting"), training=QUICK)
    for name, scores in found.scores.items():
        for site, one in enumerate(scores):
            rows = found.table.site == site
            assert one == pytest.approx(100 * r2_score(found.table.labels[rows], found.predictions[name][rows, 0]))


def test_the_verdict_is_drawn_on_auc_so_that_no_threshold_has_a_say():
    """Of two candidates that rank rows alike, one never says the rare class and one says it often: neither helps."""
    rng = np.random.default_rng(0)
    y = (rng.random(480) < 0.3).astype(int)
    table = prepare({"x": rng.normal(size=480) + y}, y, np.arange(480) % 8)

    def ranked(offset):
        def candidate(fold):
            p = 1 / (1 + np.exp(-fold.x[~fold.trained_on, 0] - offset))
            return np.stack([1 - p, p], 1)

        return candidate

    asked = {"pooled linear": ranked(-4.0), "pooled network": ranked(-4.0), "too sure": ranked(0.0)}
    found = compare_table(table, asked, QUICK)
    assert (found.verdict.word, found.verdict.gain) == ("as good", 0.0)
    rows = table.site == 0
    assert found.scores["too sure"][0] == pytest.approx(100 * roc_auc_score(table.labels[rows], table.x[rows, 0]))


def test_many_sites_are_held_out_in_ten_folds_and_each_has_a_score():
    table, seen = prepare(*shortcut(sites=26, rows=20)[:3]), []

    def candidate(fold):
        seen.append(int(fold.held_out.sum()))
        return np.tile([0.5, 0.5], ((~fold.trained_on).sum(), 1))

    found = compare_table(table, {"pooled linear": candidate, "pooled network": candidate}, QUICK)
    assert sorted(seen) == sorted([3] * 12 + [2] * 8)
    assert found.sites == table.sites
    assert found.scores["pooled linear"] == (50.0,) * 26


def test_a_short_budget_leaves_no_candidate_out():
    """Grids shrink first, then folds."""
    table = shortcut(sites=8, rows=30)
    asked = {name: CANDIDATES[name] for name in ("pooled linear", "pooled network", "AND-mask")}
    found = compare_table(prepare(table.x, table.y, table.site), asked, QUICK, budget=1e-9)
    assert set(found.scores) == set(asked)
    assert (len(found.sites), len(found.scores["AND-mask"])) == (3, 3)
    assert found.late == (
        "The budget allowed 1 of 6 settings for each network, and 3 of 8 sites to be held out; --budget gives more.",
    )
    assert not compare_table(prepare(table.x, table.y, table.site), asked, QUICK, budget=1e9).late


def test_the_held_out_site_has_no_part_in_its_prediction():
    table = shortcut(sites=4, rows=40)
    one = prepare(table.x, table.y, table.site)
    spoiled_x, spoiled_y = table.x.copy(), table.y.copy()
    spoiled_y[table.site == 2] = np.random.default_rng(0).permutation(spoiled_y[table.site == 2])
    two = prepare(spoiled_x, spoiled_y, table.site)
    for name, candidate in {**CANDIDATES, **PEERS}.items():
        np.testing.assert_array_equal(candidate(Fold(one, 2, QUICK)), candidate(Fold(two, 2, QUICK)), err_msg=name)


def test_the_same_seed_gives_the_same_answer_and_another_does_not():
    table = shortcut(sites=4, rows=30)
    folds = [Fold(prepare(table.x, table.y, table.site), 1, QUICK, seed) for seed in (0, 0, 1)]
    first, again, other = (CANDIDATES["AND-mask"](fold) for fold in folds)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_every_way_to_train_has_as_many_distinct_configurations():
    for name, recipe in NETWORKS.items():
        assert len(set(recipe.configurations)) == 6, name


def test_new_sites_are_judged_together_by_what_the_others_taught():
    table = prepare(*shortcut(sites=6, rows=30)[:3])
    some = {name: CANDIDATES[name] for name in ("pooled linear", "pooled network", "AND-mask", "Cochran's Q")}
    found = compare_table(table, some, QUICK, new=("2", "5"))
    assert found.sites == ("2", "5")
    spoiled_y = table.y.copy()
    spoiled_y[table.site == 5] = spoiled_y[table.site == 5][::-1, ::-1]
    again = compare_table(dataclasses.replace(table, y=spoiled_y), some, QUICK, new=("2", "5"))
    for name, scores in found.scores.items():
        assert scores[0] == again.scores[name][0], name  # the other new site had no part in it
    for names, message in ((("7",), "new"), (tuple("012345"), "leave others")):
        with pytest.raises(ValueError, match=message):
            compare_table(table, some, QUICK, new=names)


def test_two_sites_can_be_compared_though_nothing_told():
    table = shortcut(sites=2, rows=40)
    found = compare(table.x, table.y, table.site, methods=("AND-mask", "screening"), training=QUICK)
    assert found.verdict.low is None
    assert found.verdict.sentence.startswith("Cannot tell: there is one site to train on, and nothing is left to agree.")


def test_of_three_sites_agreement_is_not_tried_and_nothing_told_of_it():
    table = shortcut(sites=3, rows=40, strength=0)
    found = compare(table.x, table.y, table.site, methods=("screening", "AND-mask"), training=QUICK)
    assert (found.verdict.method, found.verdict.word) == ("AND-mask", "cannot tell")
    assert found.verdict.sentence == (
        "Cannot tell: with two sites to train on, one is held out for choosing, and nothing is left to agree. That takes four "
        "sites at least."
    )
    assert not found.verdicts["screening"].untold  # it compares both
    table = shortcut(sites=4, rows=40, strength=0)
    found = compare(table.x, table.y, table.site, methods=("AND-mask",), training=QUICK)
    assert not found.verdict.untold


def test_a_candidate_of_ones_own():
    table = prepare(*shortcut(sites=6, rows=30)[:3])
    coin = {name: CANDIDATES[name] for name in ("pooled linear", "pooled network")}
    coin["always the first"] = lambda fold: np.eye(2)[np.zeros((fold.table.site == fold.out).sum(), dtype=int)]
    found = compare_table(table, coin, QUICK)
    assert found.scores["always the first"] == (50.0,) * 6
    assert found.verdict.method == "always the first"


def test_progress_and_refusals():
    table = shortcut(sites=3, rows=30)
    told = []
    compare(
        table.x, table.y, table.site, methods=("pooled linear",), training=QUICK, progress=lambda *where: told.append(where)
    )
    assert told[-1] == (6, 6)
    with pytest.raises(ValueError, match='"AND-mask"'):
        compare(table.x, table.y, table.site, methods=("magic",))
