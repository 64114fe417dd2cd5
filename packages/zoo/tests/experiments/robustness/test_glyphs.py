import pytest
import torch

from mechlearn_zoo.experiments.robustness.reprogramming.glyphs import FONTS, LETTERS, glyphs


def test_letters_are_pictures_of_their_class():
    found = glyphs(0, 200, 16)
    assert found.x.shape == (200, 1, 16, 16)
    assert 0 <= found.x.min() <= found.x.max() <= 1
    assert set(found.y.tolist()) <= set(range(len(LETTERS)))
    assert torch.equal(found.x, glyphs(0, 200, 16).x)
    assert not torch.equal(found.x, glyphs(1, 200, 16).x)


def test_without_noise_and_shift_there_are_as_many_pictures_as_fonts_and_heights():
    found = glyphs(0, 600, 24, "IO", shift=0, noise=0)
    for letter in (0, 1):
        assert len(found.x[found.y == letter].unique(dim=0)) == 3 * len(FONTS)


def test_an_i_is_narrower_than_an_o():
    found = glyphs(0, 200, 24, "IO", shift=0, noise=0)
    width = (found.x.amax(2)[:, 0] > 0.5).sum(1).float()
    assert width[found.y == 0].mean() < width[found.y == 1].mean()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: glyphs(0, 0), "`count`"),
        (lambda: glyphs(0, 2, 4), "`size`"),
        (lambda: glyphs(0, 2, characters="AA"), "all different"),
        (lambda: glyphs(0, 2, characters="A日本"), "in all fonts.* Found '日本'"),
        (lambda: glyphs(0, 2, characters="A "), "show something. Found ' '"),
    ],
)
def test_bad_input(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
