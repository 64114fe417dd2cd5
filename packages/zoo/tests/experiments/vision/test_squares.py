import pytest
import torch

from mechlearn_zoo.experiments.vision.coordinates.squares import draw_squares, squares


def test_the_paper_s_places():
    found = squares(0)
    assert len(found.places) == 3136
    assert int(found.held_out.sum()) == 627
    assert squares(0, division="quadrant").held_out.float().mean() == 0.25
    assert float(found.images.sum((1, 2, 3)).unique()) == 81


def test_pictures_are_the_literal_ones():
    found = squares(1, side=7, square=3)
    for place, scaled, image in zip(found.places.tolist(), found.scaled.tolist(), found.images[:, 0], strict=True):
        wanted = torch.zeros(7, 7)
        for i in range(7):
            for j in range(7):
                wanted[i, j] = float(abs(i - place[0]) <= 1 and abs(j - place[1]) <= 1)
        assert torch.equal(image, wanted)
        assert scaled == pytest.approx([2 * x / 6 - 1 for x in place])
    assert draw_squares(torch.tensor([[0, 0]]), 4, 3).sum() == 4


def test_splits():
    quadrant = squares(0, side=8, square=3, division="quadrant")
    assert quadrant.places[quadrant.held_out].min() == 4
    one, same, other = (squares(seed, 12, 3).held_out for seed in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    with pytest.raises(ValueError, match="odd"):
        squares(0, 8, 4)
    with pytest.raises(ValueError, match="`side` should be at least 10"):
        squares(0, 9, 9)
    with pytest.raises(ValueError, match='"uniform" or "quadrant"'):
        squares(0, division="left")
