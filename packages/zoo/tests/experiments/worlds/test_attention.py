import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from mechlearn_zoo.experiments.worlds.particle_language.attention import attend


def draw(*shape):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(sum(shape)))


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
    rows = draw(5, 4)
    with pytest.raises(TypeError, match="booleans"):
        attend(rows, rows, rows, torch.ones(5, 5))
    with pytest.raises(ValueError, match="rows, features"):
        attend(rows[0], rows, rows)
    with pytest.raises(ValueError, match="same number of rows"):
        attend(rows, rows, rows[:2])


@pytest.mark.usefixtures("as_installed")
def test_axes_that_do_not_broadcast_types_and_empty_rows_are_refused():
    q, k = draw(2, 3, 4), draw(2, 5, 4)
    with pytest.raises(ValueError, match="Leading axes should broadcast"):
        attend(q, draw(3, 5, 4), draw(3, 5, 4))
    with pytest.raises(ValueError, match="a mask's to the scores'"):
        attend(q, k, k, torch.ones(2, 4, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"`keys` should have the shape \(\.\.\., rows, features\)\. Found \(2, 0, 4\)"):
        attend(q, k[:, :0], k[:, :0])
    with pytest.raises(TypeError, match="`keys` should be of the type"):
        attend(q, k.float(), k)
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


def test_masks_are_tensors_of_booleans(as_installed):
    rows = draw(5, 4)
    for mask in ([[True] * 5], np.ones(5, dtype=bool), torch.ones(5)):
        with pytest.raises(TypeError, match="`mask`"):
            attend(rows, rows, rows, mask)
