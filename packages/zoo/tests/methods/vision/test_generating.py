import math

import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from mechlearn_zoo.methods.vision.generating import (
    Augmented,
    Judged,
    StageDiscriminator,
    TwoStages,
    augmentation_divergence,
    stage_discriminator_loss,
    stage_generator_loss,
    word_context,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_attention_is_literal():
    hidden, words = (torch.randn(2, 3, n, dtype=torch.float64, generator=generator(n)) for n in (4, 5))
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    context, beta = word_context(hidden, words, mask)
    for b in range(2):
        own = [t for t in range(5) if mask[b, t]]
        for r in range(4):
            s = [float(hidden[b, :, r] @ words[b, :, t]) for t in own]
            share = [math.exp(x) / sum(map(math.exp, s)) for x in s]
            assert beta[b, r, own].tolist() == pytest.approx(share)
            wanted = sum(x * words[b, :, t] for x, t in zip(share, own, strict=True))
            torch.testing.assert_close(context[b, :, r], wanted)


def test_losses_are_literal():
    logits = torch.randn(5, 7, generator=generator()).double()
    real, made, wrong = Judged(logits[0], logits[1]), Judged(logits[2], logits[3]), logits[4]
    p = torch.sigmoid(logits)
    equation = -0.5 * sum(x.mean() for x in (p[0].log(), (1 - p[2]).log(), p[1].log(), (1 - p[3]).log()))
    torch.testing.assert_close(stage_discriminator_loss(real, made), equation)
    torch.testing.assert_close(stage_discriminator_loss(real, made, wrong), equation - 0.5 * (1 - p[4]).log().mean())
    torch.testing.assert_close(stage_generator_loss(made), -0.5 * (p[2].log().mean() + p[3].log().mean()))


def test_divergence_is_that_of_normals():
    mean, log_var = torch.randn(2, 6, 3, generator=generator())
    wanted = kl_divergence(Normal(mean, (0.5 * log_var).exp()), Normal(0.0, 1.0)).sum(1).mean()
    torch.testing.assert_close(augmentation_divergence(Augmented(mean, mean, log_var)), wanted)


@pytest.mark.parametrize("attention", [True, False])
def test_two_stages_and_their_judges(attention):
    made_by = TwoStages(4, 6, 8, generator(), condition=5, attention=attention)
    sentences, words = torch.randn(3, 6, generator=generator(1)), torch.randn(3, 6, 7, generator=generator(2))
    mask = torch.arange(7) < torch.tensor([7, 2, 4]).unsqueeze(1)
    found = made_by(sentences, words, mask, generator(3))
    assert found.small.shape == (3, 3, 16, 16)
    assert found.large.shape == (3, 3, 32, 32)
    assert found.attention.shape == (3, 256, 7)
    torch.testing.assert_close(found.attention.sum(2), torch.ones(3, 256))
    assert not found.attention[1, :, 2:].any()
    loss = augmentation_divergence(found.augmented)
    for picture in (found.small, found.large):
        judge = StageDiscriminator(picture.shape[-1], 6, 8, generator(4))
        judged = judge(picture, sentences)
        assert judged.alone.shape == judged.captioned.shape == (3,)
        loss = loss + stage_generator_loss(judged)
    loss.backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in made_by.parameters())
    again = made_by(sentences, words, mask, generator(3))
    assert torch.equal(again.large, found.large)


def test_what_is_refused():
    with pytest.raises(ValueError, match="`size` should be 4 times a power of 2"):
        StageDiscriminator(24, 6, 8, generator())
    with pytest.raises(ValueError, match=r"`pictures` should have the shape \(2, 3, 16, 16\)"):
        StageDiscriminator(16, 6, 8, generator())(torch.zeros(2, 3, 32, 32), torch.zeros(2, 6))
    with pytest.raises(ValueError, match="`noise` should be at least 1"):
        TwoStages(0, 6, 8, generator())


@pytest.mark.usefixtures("as_installed")
def test_nothing_is_drawn_where_captions_are_refused():
    painter, drawn = TwoStages(2, 4, 3, generator()), generator()
    sentences, words, mask = torch.zeros(2, 4), torch.zeros(2, 4, 3), torch.ones(2, 3, dtype=torch.bool)
    before = drawn.get_state()
    for given, error, match in (
        ((sentences * math.nan, words, mask), ValueError, r"`sentences` should be finite\. Found nan"),
        ((sentences, words * math.nan, mask), ValueError, r"`words` should be finite\. Found nan"),
        ((sentences[:, :3], words, mask), ValueError, r"`sentences` should have the shape \(b, 4\)"),
        ((sentences, words[:, :3], mask), ValueError, r"`words` should have the shape \(2, 4, t\)"),
        ((sentences[:0], words[:0], mask[:0]), ValueError, r"`sentences` should have the shape"),
        ((sentences, words, mask.float()), TypeError, "`mask` should hold booleans"),
        ((sentences, words, mask & False), ValueError, "Found none in caption 0"),
        ((sentences.double(), words, mask), TypeError, r"of the type torch\.float32"),
    ):
        with pytest.raises(error, match=match):
            painter(*given, drawn)
    nn.init.constant_(painter.augment.bias, 1e3)
    with pytest.raises(ValueError, match="The layer `augment` overflows"):
        painter(sentences, words, mask, drawn)
    assert torch.equal(drawn.get_state(), before)
    everywhere = torch.get_rng_state()
    for call in (lambda: painter(sentences, words, mask, None), lambda: TwoStages(2, 4, 3, None)):
        with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
            call()
    assert torch.equal(torch.get_rng_state(), everywhere)


@pytest.mark.usefixtures("as_installed")
def test_losses_name_what_is_not_finite():
    good, z = Judged(torch.zeros(2), torch.zeros(2)), torch.zeros(2, 3)
    broken = good._replace(captioned=torch.tensor([0.0, math.nan]))
    with pytest.raises(ValueError, match=r"`made\.captioned` should be finite\. Found nan at \(1,\)"):
        stage_discriminator_loss(good, broken)
    with pytest.raises(ValueError, match=r"`made\.captioned` should be finite"):
        stage_generator_loss(broken)
    with pytest.raises(ValueError, match=r"`wrong` should be finite\. Found nan"):
        stage_discriminator_loss(good, good, torch.tensor([math.nan]))
    with pytest.raises(ValueError, match=r"`made\.alone` should have the shape \(2,\)\. Found \(3,\)"):
        stage_discriminator_loss(good, Judged(torch.zeros(3), torch.zeros(3)))
    with pytest.raises(ValueError, match=r"`real\.captioned` should have the shape \(2,\)\. Found \(2, 1\)"):
        stage_discriminator_loss(Judged(torch.zeros(2), torch.zeros(2, 1)), good)
    with pytest.raises(ValueError, match="What comes of `mean`, `log_var` should be finite"):
        augmentation_divergence(Augmented(z, z, z + 100))
    with pytest.raises(TypeError, match=r"`words` should be of the type torch\.float32"):
        word_context(torch.zeros(2, 4, 5), torch.zeros(2, 4, 3).double(), torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"`sentences` should have the shape \(b, 4\)"):
        StageDiscriminator(8, 4, 3, generator())(torch.zeros(2, 3, 8, 8), torch.zeros(2, 5))


@pytest.mark.parametrize("attention", [True, False])
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_two_stages_take_any_type(attention, dtype):
    made_by = TwoStages(4, 6, 8, generator(), condition=5, attention=attention).to(dtype)
    sentences, words = (torch.randn(3, 6, *t, generator=generator(1)).to(dtype) for t in ((), (7,)))
    mask = torch.arange(7) < torch.tensor([7, 2, 3]).unsqueeze(1)
    found = made_by(sentences, words, mask, generator(3))
    assert found.large.dtype == found.attention.dtype == dtype
    if not attention:
        torch.testing.assert_close(found.attention[:, 0], (mask.double() / mask.sum(1, keepdim=True)).to(dtype))
