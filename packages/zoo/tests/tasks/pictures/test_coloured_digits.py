import pytest
import torch

from mechlearn_zoo.tasks.pictures.coloured_digits import coloured_digits


def colours(split):
    return (split.x[:, 1].flatten(1).sum(1) > 0).float()


def test_colour_agrees_with_the_label_as_often_as_asked():
    data = coloured_digits(0)
    for part, environment, share in ((data.train, 0, 0.9), (data.train, 1, 0.8), (data.test, 2, 0.1)):
        rows = part.environments == environment
        found = float((colours(part)[rows] == part.y[rows]).float().mean())
        assert found == pytest.approx(share, abs=0.06)


def test_sizes_and_environments():
    data = coloured_digits(0)
    assert torch.bincount(data.train.environments).tolist() == [479, 479]
    assert torch.bincount(data.held_out.environments).tolist() == [120, 120]
    assert (len(data.test.y), len(data.oracle.y)) == (479, 120)
    assert data.train.x.shape[1:] == (2, 8, 8)


def test_each_image_has_one_colour():
    x = coloured_digits(1).train.x.flatten(2).sum(2)
    assert ((x > 0).sum(1) == 1).all()


def test_without_noise_the_label_is_the_digits():
    clean, noisy = coloured_digits(0, label_noise=0.0), coloured_digits(0)
    flipped = float((clean.train.y != noisy.train.y).float().mean())
    assert flipped == pytest.approx(0.25, abs=0.05)
    assert torch.equal(clean.train.x.sum(1), noisy.train.x.sum(1))


@pytest.mark.parametrize(
    "changes", [{"agreement": (0.9,)}, {"agreement": (0.9, 1.2)}, {"label_noise": -0.1}, {"held_out_share": 1.0}]
)
def test_bad_shares_are_refused(changes):
    with pytest.raises(ValueError, match="should"):
        coloured_digits(0, **changes)
