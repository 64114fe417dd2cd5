import math

import pytest
import torch

from mechlearn_zoo.methods.vision.matching import Captions, Pictures, attend, matching_losses


def batch(b=4, d=3, t=5, r=6, seed=0):
    g = torch.Generator().manual_seed(seed)
    words = torch.randn(b, d, t, dtype=torch.float64, generator=g)
    lengths = torch.randint(1, t + 1, (b,), generator=g)
    mask = torch.arange(t) < lengths.unsqueeze(1)
    sentences, whole = (torch.randn(b, d, dtype=torch.float64, generator=g) for _ in range(2))
    return Captions(words, mask, sentences), Pictures(torch.randn(b, d, r, dtype=torch.float64, generator=g), whole)


def cosine(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def literal(words, regions, gamma1, gamma2, outer=True):
    """R(Q, D) of one caption's own words (lists over words of lists) and one picture's regions; and alpha."""
    s = [[sum(x * y for x, y in zip(e, v, strict=True)) for v in regions] for e in words]
    bar = [
        [math.exp(s[i][j]) / sum(math.exp(s[k][j]) for k in range(len(words))) for j in range(len(regions))]
        for i in range(len(words))
    ]
    alpha = [[math.exp(gamma1 * x) / sum(math.exp(gamma1 * y) for y in row) for x in row] for row in bar]
    contexts = [[sum(a * v[k] for a, v in zip(row, regions, strict=True)) for k in range(len(regions[0]))] for row in alpha]
    total = sum(math.exp(gamma2 * cosine(c, e)) for c, e in zip(contexts, words, strict=True))
    return math.log(total ** (1 / gamma2 if outer else 1)), alpha


@pytest.mark.parametrize("outer", [True, False])
def test_scores_and_losses_are_literal(outer):
    captions, pictures = batch()
    found = attend(captions, pictures, 4.0, 3.0, outer)
    table = [[0.0] * 4 for _ in range(4)]
    for i in range(4):
        for j in range(4):
            own = [captions.words[j, :, t].tolist() for t in range(5) if captions.mask[j, t]]
            table[i][j], alpha = literal(own, pictures.regions[i].T.tolist(), 4.0, 3.0, outer)
            assert float(found.scores[i, j]) == pytest.approx(table[i][j], abs=1e-12)
            assert found.attention[i, j, : len(own)].flatten().tolist() == pytest.approx([one for row in alpha for one in row])
            assert not found.attention[i, j, len(own) :].any()
    losses = matching_losses(captions, pictures, None, (4.0, 3.0, 2.0), outer)
    by_sentence = [[cosine(whole, one) for one in captions.sentences.tolist()] for whole in pictures.whole.tolist()]
    for scores, one, back in ((table, losses.words, losses.words_back), (by_sentence, losses.sentences, losses.sentences_back)):
        forth = -sum(2 * scores[i][i] - math.log(sum(math.exp(2 * scores[i][j]) for j in range(4))) for i in range(4)) / 4
        round_ = -sum(2 * scores[i][i] - math.log(sum(math.exp(2 * scores[j][i]) for j in range(4))) for i in range(4)) / 4
        assert float(one) == pytest.approx(forth, abs=1e-12)
        assert float(back) == pytest.approx(round_, abs=1e-12)
    assert float(losses.total()) == pytest.approx(sum(map(float, losses)))


def test_padding_words_change_nothing():
    captions, pictures = batch()
    words = captions.words.masked_fill(~captions.mask.unsqueeze(1), 9.0)
    longer = Captions(
        torch.cat((words, torch.full((4, 3, 2), -7.0, dtype=torch.float64)), 2),
        torch.cat((captions.mask, torch.zeros(4, 2, dtype=torch.bool)), 1), captions.sentences,
    )  # fmt: skip
    torch.testing.assert_close(attend(longer, pictures).scores, attend(captions, pictures).scores, rtol=0, atol=1e-13)


def test_a_permuted_batch_has_permuted_scores():
    captions, pictures = batch()
    order = torch.tensor([2, 0, 3, 1])
    permuted = attend(Captions(*(x[order] for x in captions)), Pictures(*(x[order] for x in pictures)))
    torch.testing.assert_close(permuted.scores, attend(captions, pictures).scores[order][:, order], rtol=0, atol=1e-13)


def test_captions_of_the_same_class_are_left_out():
    captions, pictures = batch()
    found = matching_losses(captions, pictures, torch.tensor([0, 1, 0, 2]))
    scores = 10 * attend(captions, pictures).scores
    rows = [[0, 1, 3], [0, 1, 2, 3], [1, 2, 3], [0, 1, 2, 3]]
    wanted = [float(scores[i, row].logsumexp(0) - scores[i, i]) for i, row in enumerate(rows)]
    assert float(found.words) == pytest.approx(sum(wanted) / 4)


def test_gradients_reach_words_and_regions_and_are_right():
    captions, pictures = batch(2, 2, 3, 4)

    def loss(words, regions):
        return matching_losses(Captions(words, captions.mask, captions.sentences), Pictures(regions, pictures.whole)).words

    assert torch.autograd.gradcheck(loss, [captions.words.requires_grad_(), pictures.regions.requires_grad_()])


def test_what_is_refused():
    captions, pictures = batch()
    with pytest.raises(ValueError, match="Found none in caption 1"):
        attend(captions._replace(mask=captions.mask & (torch.arange(4) != 1).unsqueeze(1)), pictures)
    with pytest.raises(ValueError, match="one caption a picture"):
        matching_losses(captions, Pictures(*(x[:2] for x in pictures)))
    with pytest.raises(ValueError, match="`gamma3` should be positive"):
        matching_losses(captions, pictures, gammas=(1.0, 1.0, 0.0))
    with pytest.raises(ValueError, match=r"`regions` should have the shape \(i, 3, r\)"):
        attend(captions, pictures._replace(regions=pictures.regions[:, :2]))


@pytest.mark.usefixtures("as_installed")
def test_what_is_not_finite_of_another_type_or_number_is_refused():
    captions, pictures = batch()
    for part, where in (("words", captions), ("sentences", captions), ("regions", pictures), ("whole", pictures)):
        broken = where._replace(**{part: getattr(where, part) * math.nan})
        both = (broken, pictures) if where is captions else (captions, broken)
        with pytest.raises(ValueError, match=rf"`{part}` should be finite\. Found nan"):
            matching_losses(*both)
    with pytest.raises(ValueError, match="`words` should be finite"):
        attend(captions._replace(words=captions.words * math.nan), pictures)
    with pytest.raises(TypeError, match=r"`mask` should hold booleans\. Found torch\.float.*True for a caption's own words"):
        attend(captions._replace(mask=captions.mask.float()), pictures)
    with pytest.raises(TypeError, match="`regions` should be of the type"):
        attend(captions, pictures._replace(regions=pictures.regions.half()))
    with pytest.raises(TypeError, match="`classes` should hold whole numbers"):
        matching_losses(captions, pictures, torch.zeros(4))
    with pytest.raises(ValueError, match="`gammas` should be three"):
        matching_losses(captions, pictures, gammas=(1.0, 1.0))
    with pytest.raises(TypeError, match=r"`captions` should be Captions\(words, mask, sentences\)"):
        attend(tuple(captions), pictures)
