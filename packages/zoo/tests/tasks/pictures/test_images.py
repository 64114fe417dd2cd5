import pytest
import torch

from mechlearn_zoo.tasks.pictures.digits import digits
from mechlearn_zoo.tasks.pictures.images import pixels, with_random_labels


def test_digits_are_the_real_ones_split_without_overlap():
    data = digits(0)
    assert [len(part.y) for part in data[:3]] == [1000, 297, 500]
    assert data.train.x.shape[1:] == (1, 8, 8)
    assert float(data.train.x.min()) == 0
    assert float(data.train.x.max()) == 1
    whole = torch.cat([part.x for part in data[:3]]).flatten(1)
    assert len(whole) == 1797
    # All but one of the 1797 images are distinct; a split that repeated examples would have far fewer.
    assert len(whole.unique(dim=0)) >= 1790
    assert torch.bincount(torch.cat([part.y for part in data[:3]])).tolist() == [
        178, 182, 177, 183, 181, 182, 181, 179, 174, 180,
    ]  # fmt: skip


def test_the_seed_decides_the_split():
    assert torch.equal(digits(1).test.x, digits(1).test.x)
    assert not torch.equal(digits(1).test.x, digits(2).test.x)


@pytest.mark.parametrize("sizes", [{"train": 0}, {"train": 1500, "test": 500}])
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ValueError, match="1797 digits"):
        digits(0, **sizes)


def test_a_share_of_the_labels_is_redrawn():
    labels, generator = torch.arange(1000) % 10, torch.Generator().manual_seed(0)
    same, changed = with_random_labels(labels, 0.0, 10, generator)
    assert torch.equal(same, labels)
    assert not changed.any()
    some, changed = with_random_labels(labels, 0.25, 10, generator)
    assert torch.equal(changed, some != labels)
    assert 200 <= int(changed.sum()) <= 245  # nine in ten of 250
    every, changed = with_random_labels(labels, 1.0, 10, generator)
    assert 870 <= int(changed.sum()) <= 930
    assert torch.bincount(every, minlength=10).min() > 70


@pytest.mark.parametrize(("share", "classes", "match"), [(1.5, 10, "share"), (0.5, 5, "between 0 and 4")])
def test_bad_shares_and_labels_are_refused(share, classes, match):
    with pytest.raises(ValueError, match=match):
        with_random_labels(torch.arange(10), share, classes, torch.Generator())


def test_pixels_converts_bytes_alone():
    assert pixels(torch.full((1, 1, 1, 1), 51, dtype=torch.uint8)).item() == pytest.approx(0.2)
    assert pixels(torch.full((1, 1, 1, 1), 0.7)).item() == pytest.approx(0.7)
