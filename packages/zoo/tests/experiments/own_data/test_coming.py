import pytest
import torch

from mechlearn_zoo.experiments.own_data.verdict import coming

BOARDS = (coming.plain_cells, coming.plain_digits, coming.signed_cells, coming.coded_digits_to_come, coming.tagged_cells)


@pytest.mark.parametrize("board", BOARDS)
def test_sites_to_come_have_two_thousand_rows_that_no_other_site_has(board):
    table, again, other = board(3), board(3), board(4)
    assert torch.equal(table.x, again.x)
    assert not torch.equal(table.y, other.y)
    fresh = ~table.trained_on
    assert int(fresh.sum()) == coming.COMING * coming.EACH
    assert len(table.new) == coming.COMING
    assert torch.bincount(table.site).min() >= coming.CELLS
    sound = [j for j in range(9) if j not in table.planted]  # digits are noisy, row by row
    if table.x.shape[1] < 64:
        known = {tuple(row) for row in table.x[table.trained_on][:, sound].tolist()}
        assert len(known & {tuple(row) for row in table.x[fresh][:, sound].tolist()}) < 5  # twins in the file


def by_site(table, column):
    sides = 2.0 * table.y - 1
    return torch.stack([(table.x[table.of(e), column] * sides[table.of(e)]).mean() for e in range(len(table.sites))])


def test_each_site_has_signs_of_its_own():
    means = torch.stack([by_site(coming.signed_cells(0), 9 + k) for k in range(coming.SIGNED)])
    assert (means.abs() > 0.1).float().mean() > 0.95
    assert 0.35 < (means > 0).float().mean() < 0.65


def test_the_tag_is_as_before_but_at_the_turned_sites():
    table = coming.tagged_cells(0)
    means = by_site(table, 9)
    turned = torch.tensor([name.startswith("turned") for name in table.sites])
    assert int(turned.sum()) == 2
    assert (means[turned] < -0.4).all()
    assert (means[~turned] > 0.4).all()


def test_codes_are_of_each_sites_own():
    table = coming.coded_digits_to_come(0)
    corner = [float(table.x[table.of(e) & (table.y == 3), 0].mean()) for e in range(len(table.sites))]
    assert min(corner) < -0.4 < 0.4 < max(corner)
