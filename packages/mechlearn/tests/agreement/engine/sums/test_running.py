"""Running sums against sums of stacked gradients."""

import pytest
import torch

from mechlearn.agreement.engine.sums import MOST_IN_BYTES, RunningSums

ALL = frozenset({"sign", "log_magnitude", "square"})


def draw(environments, *shape, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-3, 4, (environments, *shape), generator=generator).double()  # integers: sums without rounding


def assert_sums(sums, stack):
    found = sums.statistics()
    assert found.environments == len(stack)
    assert torch.equal(found.gradient, stack.sum(0))
    assert torch.equal(found.sign.double(), stack.sign().sum(0))
    if "square" in sums.needs:
        assert torch.equal(found.square, stack.square().sum(0))
    if "log_magnitude" in sums.needs:
        torch.testing.assert_close(found.log_magnitude, stack.abs().log().sum(0))


@pytest.mark.parametrize("chunk", [1, 2, 5])
@pytest.mark.parametrize("shape", [(), (4,), (40_000,), (3, 2)])
def test_sums_of_chunks(chunk, shape):
    stack = draw(5, *shape)
    sums = RunningSums(stack[0], ALL)
    for gradients in stack.split(chunk):
        sums.add(gradients.clone())
    assert_sums(sums, stack)


@pytest.mark.parametrize("needs", [ALL, frozenset({"sign"})])
@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_sums_in_parts(rows, needs):
    stack = draw(6, 5, 3)
    sums = RunningSums(stack[0], needs)
    for _ in range(2):  # the second time they are added to what is there
        seen = []
        for some, part in sums.in_parts(6, rows):
            seen.append(part.shape[0])
            for gradient in stack[:, some]:
                part.add(gradient.clone()[None])
        assert sum(seen) == 5
    assert_sums(sums, torch.cat([stack, stack]))


def test_bytes_hold_what_fits_and_no_more():
    ones = torch.ones(3, dtype=torch.float64)
    sums = RunningSums(ones, frozenset({"sign"}))
    sums.add_sums(100, 100 * ones, torch.full((3,), 100, dtype=torch.int8))
    sums.add(torch.ones(MOST_IN_BYTES - 100, 3, dtype=torch.float64))
    assert sums.sign.dtype == torch.int8
    assert_sums(sums, torch.ones(MOST_IN_BYTES, 3, dtype=torch.float64))
    sums.add(torch.ones(2, 3, dtype=torch.float64))
    assert_sums(sums, torch.ones(MOST_IN_BYTES + 2, 3, dtype=torch.float64))


@pytest.mark.parametrize("counts", [(60, 60), (60, 70), (200, 10), (10, 200)])
def test_joining_bytes_and_floats(counts):
    parts = []
    for count in counts:
        parts.append(RunningSums(torch.ones(2), frozenset({"sign"})))
        held = torch.int8 if count <= MOST_IN_BYTES else torch.float32
        parts[-1].add_sums(count, torch.full((2,), float(count)), torch.full((2,), count, dtype=held))
    first, second = parts
    first.join(second)
    assert_sums(first, torch.ones(sum(counts), 2))


def test_an_empty_stack_is_refused_before_anything_is_held():
    sums = RunningSums(torch.ones(2), frozenset())
    with pytest.raises(ValueError, match="at least one gradient"):
        sums.add(torch.ones(0, 2))
    assert sums.gradient is None
    assert sums.environments == 0


class TestLowPrecision:
    """Sums of two-byte gradients are those of the same numbers in float32."""

    @pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
    @pytest.mark.parametrize("chunk", [1, 64])
    @pytest.mark.parametrize("shape", [(7,), (40_000,)])
    def test_many_gradients_of_one_sign(self, dtype, chunk, shape):
        generator = torch.Generator().manual_seed(0)
        stack = (0.5 + torch.rand(512 if shape == (7,) else 300, *shape, generator=generator)).to(dtype)
        sums = RunningSums(stack[0], frozenset({"sign", "magnitude"}))
        for gradients in stack.split(chunk):
            sums.add(gradients.clone())
        found = sums.statistics()
        exact = stack.double().sum(0)
        assert found.gradient.dtype == found.sign.dtype == torch.float32
        assert ((found.gradient - exact).abs() / exact).max() < 1e-5
        assert torch.equal(found.sign, torch.full_like(found.gradient, len(stack)))
        assert torch.equal(found.magnitude, found.gradient)

    def test_sums_that_were_formed_elsewhere(self):
        sums = RunningSums(torch.ones(2, dtype=torch.bfloat16), frozenset())
        for _ in range(2048):
            sums.add_sums(1, torch.ones(2, dtype=torch.bfloat16))
        assert sums.statistics().gradient.tolist() == [2048, 2048]


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1e25])
def test_squares_neither_vanish_nor_overflow(scale):
    stack = (draw(5, 9) * scale).float()
    sums = RunningSums(stack[0], frozenset({"square"}))
    sums.add(stack.clone())
    torch.testing.assert_close(sums.statistics().square, stack.double().square().sum(0))


@pytest.mark.parametrize("shape", [(4,), (40_000,)])
def test_sums_of_magnitudes(shape):
    stack = draw(5, *shape)
    sums = RunningSums(stack[0], frozenset({"magnitude", "sign"}))
    for gradients in stack.split(2):
        sums.add(gradients.clone())
    sums.add_silent(3)
    assert torch.equal(sums.statistics().magnitude, stack.abs().sum(0))
    assert_sums(sums, torch.cat([stack, torch.zeros(3, *shape)]))


def test_joined_sums_know_what_both_know():
    stack = draw(4, 3)
    first, second = RunningSums(stack[0], frozenset({"sign"})), RunningSums(stack[0], frozenset({"sign", "square"}))
    first.add(stack[:2].clone())
    second.add(stack[2:].clone())
    second.join(first)
    assert second.needs == {"sign"}
    assert second.statistics().square is None
    assert_sums(second, stack)


def test_parts_share_the_memory_of_the_whole():
    stack = draw(4, 6, 3)
    sums = RunningSums(stack[0], ALL)
    assert sums.parts(4, [lambda t: t[:2], lambda t: t[1:3]]) is None  # they have a row in common
    upper, lower = sums.parts(4, [lambda t: t[:2].T, lambda t: t[2:]])
    upper.add(stack[:, :2].transpose(1, 2).clone())
    lower.add(stack[:, 2:].clone())
    assert_sums(sums, stack)
    assert sums.parts(4, [lambda t: t[:1]])[0].environments == 4  # the rest has gradient 0 in four further environments
    assert torch.isinf(sums.statistics().log_magnitude[1:]).all()


def test_sums_that_lack_what_is_read_are_refused():
    sums = RunningSums(torch.ones(2), frozenset({"sign", "square"}))
    with pytest.raises(ValueError, match=r"all of \['sign', 'square'\]\. Found \['sign'\]"):
        sums.add_sums(1, torch.ones(2), torch.ones(2))
    assert sums.gradient is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_mean_is_a_sum_where_somebody_asks_for_it(dtype):
    mean = torch.tensor([1.0, -2.0], dtype=dtype)
    sums = RunningSums(mean, frozenset())
    sums.add_mean(4, mean.clone())
    torch.testing.assert_close(sums.mean(), mean.to(sums.dtype))
    found = sums.statistics()
    assert (found.environments, found.gradient.tolist()) == (4, [4.0, -8.0])
    assert sums.mean() is None
    other = RunningSums(mean, frozenset())
    other.add_mean(2, mean.clone())
    other.add_sums(1, torch.ones(2))
    other.join(sums)
    assert (other.environments, other.statistics().gradient.tolist()) == (7, [7.0, -11.0])
