import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import nn_oracles as oracles
from mechlearn_zoo.experiments.worlds.particle_language.attention import attend, region_attention, word_attention


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


WORDS, REGIONS = draw(5, 4), draw(6, 4)


@pytest.mark.parametrize("length", [5, 3])
def test_both_directions_are_the_literal_loops_and_padding_changes_nothing(length):
    mask = torch.arange(5) < length
    found = word_attention(WORDS, REGIONS, 5.0, mask)
    for one, other in zip(found, oracles.word_attention(WORDS, REGIONS, 5.0, length), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    back = region_attention(REGIONS, WORDS, mask)
    for one, other in zip(back, oracles.region_attention(REGIONS, WORDS, length), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)
    short = word_attention(WORDS[:length], REGIONS, 5.0)
    torch.testing.assert_close(found.context[:length], short.context, rtol=0, atol=1e-14)
    other = torch.where(mask[:, None], WORDS, 1e3)
    torch.testing.assert_close(word_attention(other, REGIONS, 5.0, mask).context, found.context, rtol=0, atol=1e-12)


def test_every_pair_by_broadcasting_and_orders_of_a_batch():
    words, regions = draw(2, 5, 4), draw(3, 6, 4)
    every = word_attention(words[:, None], regions[None]).context
    assert every.shape == (2, 3, 5, 4)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(every[i, j], word_attention(words[i], regions[j]).context, rtol=0, atol=1e-14)


def test_dot_products_are_torch_s():
    q, k, v = draw(2, 3, 4), draw(2, 5, 4), draw(2, 5, 7)
    mask = draw(2, 3, 5) > -0.5
    torch.testing.assert_close(attend(q, k, v).context, scaled_dot_product_attention(q, k, v))
    torch.testing.assert_close(attend(q, k, v, mask).context, scaled_dot_product_attention(q, k, v, mask))
    torch.testing.assert_close(attend(q, k, v).weights.sum(-1), torch.ones(2, 3, dtype=torch.float64))


def test_nothing_to_attend_to_gives_zeros_and_finite_gradients():
    q = draw(1, 2, 4).requires_grad_()
    found = attend(q, q, q, torch.zeros(1, 2, 2, dtype=torch.bool))
    assert torch.equal(found.context, torch.zeros(1, 2, 4, dtype=torch.float64))
    (gradient,) = torch.autograd.grad(found.context.sum(), q)
    assert bool(torch.isfinite(gradient).all())


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    with pytest.raises(ValueError, match="one width"):
        word_attention(WORDS, REGIONS[:, :3])
    with pytest.raises(ValueError, match="`sharpness` should be positive"):
        word_attention(WORDS, REGIONS, 0.0)
    with pytest.raises(TypeError, match="booleans"):
        region_attention(REGIONS, WORDS, torch.ones(5))
    with pytest.raises(ValueError, match="rows, features"):
        attend(WORDS[0], WORDS, WORDS)
    with pytest.raises(ValueError, match="same number of rows"):
        attend(WORDS, WORDS, WORDS[:2])


@pytest.mark.usefixtures("as_installed")
def test_axes_that_do_not_broadcast_types_and_empty_rows_are_refused():
    q, k = draw(2, 3, 4), draw(2, 5, 4)
    with pytest.raises(ValueError, match="Leading axes should broadcast"):
        attend(q, draw(3, 5, 4), draw(3, 5, 4))
    with pytest.raises(ValueError, match="a mask's to the scores'"):
        attend(q, k, k, torch.ones(2, 4, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"`keys` should have the shape \(\.\.\., rows, features\)\. Found \(2, 0, 4\)"):
        attend(q, k[:, :0], k[:, :0])
    with pytest.raises(TypeError, match="`regions` should be of the type"):
        word_attention(q, k.float())
    with pytest.raises(TypeError, match="`scale` should be a number"):
        attend(q, k, k, scale="small")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_masks_work_in_half_types(dtype):
    x = draw(3, 4)
    mask = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
    half = x.to(dtype).requires_grad_()
    found, wanted = attend(half, half, half, mask), attend(x, x, x, mask)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=0.03)
    found.context.double().sum().backward()
    assert bool(half.grad.isfinite().all())
    words = word_attention(half.detach(), half.detach(), mask=torch.tensor([True, True, False]))
    wanted = word_attention(x, x, mask=torch.tensor([True, True, False]))
    torch.testing.assert_close(words.context.double(), wanted.context, rtol=0, atol=0.05)


def test_masks_are_tensors_of_booleans(as_installed):
    for mask, error in (([[True] * 5], TypeError), (np.ones(5, dtype=bool), TypeError), (torch.ones(5), TypeError)):
        for call in (word_attention, region_attention):
            with pytest.raises(error, match="`mask`"):
                call(WORDS if call is word_attention else REGIONS, REGIONS if call is word_attention else WORDS, mask=mask)
