"""A balanced sampler draws as many rows of each source."""

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

from mechlearn.integrations import BalancedSampler

IDS = [["a", "b", "c"][i] for i in torch.randint(0, 3, (60,), generator=torch.Generator().manual_seed(0)).tolist()]


def test_batches_are_balanced_and_no_row_comes_twice():
    fewest = min(IDS.count(name) for name in "abc")
    sampler = BalancedSampler(IDS, torch.Generator().manual_seed(0))
    loader = DataLoader(TensorDataset(torch.arange(60)), batch_size=6, sampler=sampler, drop_last=True)
    for _ in range(2):
        batches = [rows.tolist() for (rows,) in loader]
        assert len(batches) == 3 * fewest // 6
        assert all([IDS[row] for row in rows].count(name) == 2 for rows in batches for name in "abc")
        seen = [row for rows in batches for row in rows]
        assert len(set(seen)) == len(seen)


def test_a_seed_gives_an_order_and_epochs_differ():
    first, second = (BalancedSampler(IDS, torch.Generator().manual_seed(3)) for _ in range(2))
    orders = [list(first), list(first)]
    assert orders == [list(second), list(second)]
    assert orders[0] != orders[1]
    torch.manual_seed(0)
    drawn = list(BalancedSampler(IDS))
    torch.manual_seed(0)
    assert drawn == list(BalancedSampler(torch.tensor([ord(name) for name in IDS])))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("ids", "error"), [([], ValueError), (3, TypeError)])
def test_bad_ids_are_told(ids, error):
    with pytest.raises(error, match="should"):
        BalancedSampler(ids)
