import numpy as np
import pytest
import torch

from mechlearn.agreement import AndMask  # noqa: F401  # the rule whose loss is counted here
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn.tables.disagreement import SHARED, _read, disagreement
from mechlearn.tables.fitting import Sites
from site_tables import interaction, regression, shortcut


@pytest.mark.parametrize(("table", "ways"), [(shortcut(), (True, True)), (regression(), (True, True))])
def test_planted_columns_lead_and_sound_ones_are_not_flagged(table, ways):
    found = disagreement(table.x, table.y, table.site, permutations=50)
    assert (found.features[0].column, found.features[0].flagged, found.features[0].screened) == (f"x{table.planted[0]}", *ways)
    assert found.flagged == (f"x{table.planted[0]}",)
    assert SHARED in found.notes


def test_interactions_show_in_gradients_only():
    table = interaction()
    found = disagreement(table.x, table.y, table.site, permutations=50)
    assert set(found.flagged) == {"x6", "x7"}
    assert not any(feature.screened for feature in found.features)


def test_where_nothing_differs_nothing_is_flagged():
    for seed in range(3):
        table = shortcut(strength=0, seed=seed)
        assert disagreement(table.x, table.y, table.site, permutations=50).flagged == ()


def test_signs_are_the_sites_own():
    table = shortcut(turned=3)
    features = {feature.column: feature for feature in disagreement(table.x, table.y, table.site, permutations=5).features}
    assert features["x10"].signs == ("-",) * 3 + ("+",) * 5


def test_a_site_that_turns_everything_is_odd():
    table = shortcut(rows=200, strength=0)
    y = np.where(table.site == 4, 1 - table.y, table.y)
    found = disagreement(table.x, y, table.site, permutations=5)
    assert found.odd_sites == found.odd_in_most == ("4",)
    assert set(found.odd_columns[0]) >= {f"x{j}" for j in range(6)}  # those that say something
    assert disagreement(table.x, table.y, table.site, permutations=5).odd_sites == ()


def test_where_one_column_alone_makes_a_site_odd_it_is_named():
    table = shortcut(sites=7, rows=200, strength=4.0, turned=1)
    found = disagreement(table.x, table.y, table.site, permutations=5)
    assert found.odd_sites == ("0",)
    assert found.odd_columns == (("x10",),)
    assert found.odd_in_most == ()


def test_a_column_at_one_site_is_a_warning_of_its_own():
    table = shortcut(strength=0)
    x = np.column_stack([table.x, np.where(table.site == 2, table.x[:, 0], 0)])
    found = disagreement(x, table.y, table.site, permutations=20)
    assert found.at_one_site == ("x11",)
    assert "x11" not in found.flagged
    assert next(feature for feature in found.features if feature.column == "x11").signs.count("") == 7


def test_what_all_sites_share_is_not_seen():
    table = shortcut(turned=0, strength=4)
    assert disagreement(table.x, table.y, table.site, permutations=20).flagged == ()


def test_the_mass_is_that_of_the_equation():
    table = shortcut(sites=3, rows=10)
    x, y = torch.tensor(table.x, dtype=torch.float32), torch.eye(2)[table.y]
    sites = Sites(x, y, (10, 10, 10), torch.ones(30), "classification")
    cancelled, kept = _read(sites, torch.arange(30)[None], torch.Generator().manual_seed(3))

    network = relu_mlp((11, 32, 2), torch.Generator().manual_seed(3))
    optimizer = torch.optim.Adam(network.parameters(), 0.01)
    wanted = torch.zeros(2, 11)
    for step in range(20):
        if step % 2 == 0:
            losses = [torch.nn.functional.cross_entropy(network(x[s]), y[s]) for s in sites.slices()]
            gradients = torch.stack([torch.autograd.grad(loss, network[0].weight)[0] for loss in losses])
            wanted += torch.stack([gradients.abs().sum(0) - gradients.sum(0).abs(), gradients.sum(0).abs()]).sum(1)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    torch.testing.assert_close(torch.cat([cancelled, kept]), wanted, rtol=1e-3, atol=1e-4)


def test_the_report_in_words():
    table = shortcut()
    words = str(disagreement(table.x, table.y, table.site, permutations=20))
    assert "gradients, screening  ---+++++" in words
