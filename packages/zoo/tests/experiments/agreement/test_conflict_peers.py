"""Rules of other papers on boards of digits: each trains, and averaging and the AND-mask are those of the other presets."""

from dataclasses import replace

import pytest

from claimlab import Rows
from mechlearn_zoo.experiments.agreement.conflict_codes import figures, measures, peers, tables
from mechlearn_zoo.learners.shortcuts.methods import METHODS

SMALL = replace(peers.PRESETS["peers"].config, steps=3)


@pytest.fixture(scope="module")
def rows():
    return Rows({**row, "seed": 100} for row in peers.run(SMALL))


def test_a_row_for_each_board_and_method(rows):
    assert [(row["cell"], row["method"]) for row in rows] == [(cell, name) for cell in peers.CELLS for name in peers.METHODS]
    assert figures.of_peers(rows)
    assert measures.gain("and-mask", measures.best_peer, cell="alike")(rows).n == 1


@pytest.mark.parametrize("name", ["mean", "and-mask"])
def test_methods_of_both_are_the_same(rows, name):
    sites = tables.Sites(100, 8, 128, steps=3)
    found = tables.train(sites, tables.table(sites), METHODS[name])
    (own,) = rows.where(cell="many rows", method=name)
    assert {key: own[key] for key in ("accuracy", "stopped_accuracy")} == {
        key: found[key] for key in ("accuracy", "stopped_accuracy")
    }


def test_the_best_peer_has_the_highest_mean():
    made = Rows({"method": name, "accuracy": 0.5 + 0.1 * (name == "gaf"), "seed": 0} for name in peers.METHODS)
    assert measures.best_peer(made) == "gaf"


def test_an_unknown_board_is_refused():
    with pytest.raises(ValueError, match="`cells` should be of"):
        peers.Config(cells=("atlantis",))
