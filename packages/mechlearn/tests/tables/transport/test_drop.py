import json

import numpy as np
import pytest

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.transport.drop import Drop, drop, losses, parts
from transport_oracles import drop_by_cells


def test_the_parts_are_the_literal_ones_where_densities_are_known():
    rng = np.random.default_rng(0)
    pairs = [(cell, label) for cell in range(3) for label in range(2)]
    p = [(*pairs[one], float(rng.random())) for one in [*range(6), *rng.choice(6, 50, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.1])]]
    q = [(*pairs[one], float(rng.random())) for one in [*range(6), *rng.choice(6, 40, p=[0.1, 0.1, 0.1, 0.2, 0.2, 0.3])]]
    rate = [np.mean([one[1] == label for one in q]) / np.mean([one[1] == label for one in p]) for label in range(2)]
    weights = np.array([rate[one[1]] for one in p])
    of_p = [weights[[one[0] == cell for one in p]].sum() / len(p) for cell in range(3)]
    of_q = [np.mean([one[0] == cell for one in q]) for cell in range(3)]
    pi = [of_q[cell] / (of_p[cell] + of_q[cell]) for cell in range(3)]
    at = tuple(np.array([pi[one[0]] for one in rows]) for rows in (p, q))
    found = parts(np.array([one[2] for one in p]), np.array([one[2] for one in q]), weights, at)
    assert found == pytest.approx(drop_by_cells(p, q))
    assert sum(found) == pytest.approx(np.mean([one[2] for one in q]) - np.mean([one[2] for one in p]))


def shifted(what, seed=0, count=8, rows=150):
    """Classes of which sites differ in one of base rate, inputs and relation; predictions are those of the pool's truth."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, rows, 3))
    slope = np.full((count, 1), 1.5)
    if what == "relation":
        slope[::2] = -1.5
    level = 3.0 * rng.choice([-1, 1], size=(count, 1)) if what == "base rate" else 0.0
    said = 1 / (1 + np.exp(-(slope * x[..., 0] + level)))
    y = (rng.random((count, rows)) < said).astype(int)
    table = prepare(x.reshape(-1, 3), y.ravel(), np.repeat(np.arange(count), rows))
    pooled = 1 / (1 + np.exp(-1.5 * table.x[:, 0]))
    truth = said.ravel()
    return table, np.stack([1 - pooled, pooled], 1), np.stack([1 - truth, truth], 1)


def test_a_relation_of_another_sign_is_the_relation_and_its_column_is_named():
    table, said, mixed = shifted("relation")
    found = drop(table, range(8), said, mixed, np.random.default_rng(0))
    assert found.mean["relation"] > 0.8 * sum(found.mean.values()) > 0.1
    assert found.columns[0].name == table.names[0]
    assert found.columns[0].relation > 0.1
    assert f"mostly relation, above all of {table.names[0]}." in found.sentence
    for site in range(8):
        rows = table.site == site
        total = losses(table, said)[rows].mean() - losses(table, mixed)[~rows].mean()
        assert sum(found.sites[str(site)].values()) == pytest.approx(total)
    json.dumps(found.as_dict(), allow_nan=False)


def test_inputs_where_the_model_is_worse_are_inputs():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8, 150, 2))
    x[0, :, 1] += 1.5
    y = (rng.random((8, 150)) < 1 / (1 + np.exp(-x[..., 0]))).astype(int)
    table = prepare(x.reshape(-1, 2), y.ravel(), np.repeat(np.arange(8), 150))
    wrong = np.where(table.x[:, 1] > 1.5, 0.5, np.where(table.y[:, 1] == 1, 0.9, 0.1))  # it knows nothing up there
    said = np.stack([1 - wrong, wrong], 1)
    one = drop(table, range(8), said, said, np.random.default_rng(0)).sites["0"]
    assert one["inputs"] > 0.15
    assert one["inputs"] > 3 * abs(one["relation"])


def test_another_share_of_classes_is_the_base_rate():
    rng = np.random.default_rng(2)
    y = (rng.random((6, 300)) < np.array([0.2, 0.2, 0.2, 0.2, 0.2, 0.8])[:, None]).astype(int)
    x = rng.normal(size=(6, 300, 2)) + y[..., None]
    table = prepare(x.reshape(-1, 2), y.ravel(), np.repeat(np.arange(6), 300))
    said = np.tile([0.75, 0.25], (1800, 1))
    one = drop(table, range(6), said, said, np.random.default_rng(0)).sites["5"]
    assert one["base rate"] > 0.4
    assert abs(one["relation"]) + abs(one["inputs"]) < 0.1


def test_numbers_have_no_base_rate_and_what_was_not_predicted_no_drop():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 2))
    table = prepare(x, x[:, 0] + rng.normal(size=200), np.repeat(np.arange(4), 50))
    found = drop(table, range(4), table.x[:, 0], table.x[:, 0], np.random.default_rng(0))
    assert found.mean["base rate"] == 0
    assert found.sentence.startswith("Left-out sites are predicted about as well")
    assert drop(table, range(4), np.full(200, np.nan), table.x[:, 0], np.random.default_rng(0)) is None


def test_a_loss_that_does_not_rise_is_not_said_to_rise():
    def said(inputs, relation):
        parts = {"base rate": 0.0, "inputs": inputs, "relation": relation}
        return Drop({}, parts, dict.fromkeys(parts), ()).sentence

    assert said(0.015, -0.025).startswith("The loss does not rise from random folds to left-out sites: its parts")
    assert said(0.2, -0.05).startswith("The loss rises by 0.150 from random folds")
    assert "no drop to split" in said(0.0, 0.001)
