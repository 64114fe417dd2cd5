import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import methods_oracles as oracles
from mechlearn_zoo.experiments.agreement.label_noise.clipping import clipped_mean


def drawn(seed, *shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(seed)) ** 3


@given(
    seed=st.integers(0, 1000),
    environments=st.integers(1, 9),
    components=st.integers(1, 8),
    multiple=st.floats(0.1, 10),
    zeros=st.booleans(),
)
def test_equals_the_literal_mean(seed, environments, components, multiple, zeros):
    g = drawn(seed, environments, components)
    if zeros:
        g[: environments // 2] = 0
    torch.testing.assert_close(clipped_mean(g, multiple), oracles.clipped_mean(g, multiple), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_shapes_and_types_stay(dtype):
    g = drawn(0, 6, 2, 3, dtype=torch.float32).to(dtype)
    found = clipped_mean(g, 1.0)
    assert found.shape == (2, 3)
    assert found.dtype == dtype
    sizes = g.abs().double().flatten(1)
    bound = sizes.sort(0).values[2].view(2, 3)
    wanted = g.double().clamp(-bound, bound).mean(0)
    torch.testing.assert_close(found.double(), wanted, rtol=2e-2 if dtype == torch.bfloat16 else 1e-6, atol=1e-6)


@given(seed=st.integers(0, 1000), scale=st.floats(1e-3, 1e3))
def test_order_scale_and_counting_twice(seed, scale):
    g = drawn(seed, 6, 5)
    found = clipped_mean(g)
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(clipped_mean(g[order]), found)
    torch.testing.assert_close(clipped_mean(g.repeat(2, 1)), found)
    torch.testing.assert_close(clipped_mean(scale * g), scale * found)
    torch.testing.assert_close(clipped_mean(-g), -found)


def test_its_ends_are_the_mean_and_a_vote():
    g = drawn(1, 7, 4)
    torch.testing.assert_close(clipped_mean(g, 1e9), g.mean(0))
    vote = g.sign().mean(0) * g.abs().median(0).values
    torch.testing.assert_close(clipped_mean(g, 1e-9) / 1e-9, vote)


def test_an_outlier_pulls_no_further_than_a_few_others():
    g = torch.tensor([[1.0], [1.0], [1.0], [1.0], [-1000.0]])
    assert clipped_mean(g, 3.0).item() == pytest.approx(0.2)
    assert g.mean() < -100


def test_what_most_do_not_reach_does_not_move():
    assert clipped_mean(torch.tensor([[0.0], [0.0], [5.0]])).item() == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_single_component_needs_no_axis(dtype):
    g = drawn(0, 5, dtype=torch.float32).to(dtype)
    assert torch.equal(clipped_mean(g), clipped_mean(g[:, None])[0])


def test_nan_does_not_pass_unseen():
    g = torch.ones(4, 3)
    g[1, 2] = torch.nan
    assert clipped_mean(g).isnan().tolist() == [False, False, True]


@pytest.mark.parametrize("multiple", [0.0, -1.0, float("inf"), float("nan")])
def test_multiples_out_of_range(multiple):
    with pytest.raises(ValueError, match=r"`multiple` should be positive and finite\. Found .*3 leaves"):
        clipped_mean(torch.ones(2, 2), multiple)


@pytest.mark.usefixtures("as_installed")
def test_what_is_no_stack_is_refused():
    with pytest.raises(TypeError, match=r"tensor of floats\. Found list"):
        clipped_mean([[1.0]])
    with pytest.raises(TypeError, match=r"tensor of floats\. Found a tensor of torch\.int64"):
        clipped_mean(torch.ones(2, 2, dtype=torch.long))
    for shape in ((), (0, 3)):
        with pytest.raises(ValueError, match="at least one environment's gradient"):
            clipped_mean(torch.ones(shape))
    with pytest.raises(TypeError, match="`multiple`"):
        clipped_mean(torch.ones(2, 2), "3")
