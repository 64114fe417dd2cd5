import pytest
import torch
from scipy import stats

from mechlearn_zoo.nn.categorical import (
    chosen,
    gumbel_noise,
    gumbel_softmax,
    sample_categorical,
    straight_through,
    used_symbols,
)


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_hard_samples_are_one_hot_with_the_soft_sample_s_gradient():
    logits = torch.randn(50, 7, generator=generator(3), requires_grad=True)
    weights = torch.randn(50, 7, generator=generator(4))
    hard, soft = (gumbel_softmax(logits, 0.7, generator(), hard=hard) for hard in (True, False))
    assert set(hard.unique().tolist()) == {0.0, 1.0}
    assert torch.equal(hard.sum(-1), torch.ones(50))
    assert torch.equal(hard.argmax(-1), soft.argmax(-1))
    found, wanted = (torch.autograd.grad((one * weights).sum(), logits)[0] for one in (hard, soft))
    assert torch.equal(found, wanted)


def test_the_soft_sample_is_the_formula_and_its_gradient():
    logits = torch.randn(4, 3, dtype=torch.float64, generator=generator(1), requires_grad=True)
    u = torch.empty(4, 3, dtype=torch.float64).exponential_(generator=generator())
    y = torch.exp((logits.detach() - u.log()) / 0.5)
    y = y / y.sum(-1, keepdim=True)
    soft = gumbel_softmax(logits, 0.5, generator())
    torch.testing.assert_close(soft, y, rtol=0, atol=1e-14)
    (gradient,) = torch.autograd.grad(soft[0, 1], logits)
    torch.testing.assert_close(gradient[0], y[0, 1] * (torch.eye(3)[1] - y[0]) / 0.5, rtol=0, atol=1e-14)


@pytest.mark.parametrize("tau", [0.1, 3.0])
def test_frequencies_are_softmax_whatever_the_temperature(tau):
    logits = torch.tensor([0.0, 1.0, -1.5, 0.3])
    many = logits.expand(1_000_000 if tau == 3.0 else 100_000, 4)
    counts = gumbel_softmax(many, tau, generator(), hard=True).sum(0)
    expected = logits.softmax(0) * len(many)
    assert stats.chisquare(counts.numpy(), (expected * counts.sum() / expected.sum()).numpy()).pvalue > 1e-3
    again = torch.bincount(sample_categorical(many[:100_000], generator(5)), minlength=4)
    expected = logits.softmax(0).double()
    assert stats.chisquare(again.numpy(), (expected / expected.sum() * 100_000).numpy()).pvalue > 1e-3


@pytest.mark.parametrize(
    ("dtype", "offset"),
    [
        *((torch.float32, offset) for offset in (0.0, 1e4, 1e7, -1e7)),
        *((torch.bfloat16, offset) for offset in (0.0, 10.0, 200.0)),
        (torch.float16, 200.0),
        (torch.float64, 1e16),
    ],
)
@pytest.mark.parametrize("tau", [1.0, 1e8])
def test_no_rounding_favours_the_first(dtype, offset, tau):
    logits = torch.full((40_000, 2), offset, dtype=dtype)
    draws = sample_categorical(logits, generator())
    assert abs(float(draws.double().mean()) - 0.5) < 0.01  # four standard deviations
    hard = gumbel_softmax(logits, tau, generator(), hard=True)
    assert hard.dtype == dtype
    assert torch.equal(hard.argmax(-1), draws)
    assert gumbel_softmax(logits, tau, generator()).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ordinary_logits_are_added_to_the_noise_as_they_are(dtype):
    logits = 20 * torch.randn(10_000, 5, generator=generator(1), dtype=dtype)
    perturbed = logits + gumbel_noise(logits, generator())
    assert torch.equal(sample_categorical(logits, generator()), perturbed.argmax(-1))
    assert torch.equal(gumbel_softmax(logits, 0.7, generator()), (perturbed / 0.7).softmax(-1))


def test_what_is_not_allowed_is_never_drawn_and_the_global_generator_stays():
    state = torch.get_rng_state()
    logits = torch.tensor([[0.0, -torch.inf]]).expand(1000, 2)
    assert int(sample_categorical(logits, generator()).sum()) == 0
    assert bool(torch.isfinite(gumbel_softmax(logits, 1.0, generator())).all())
    assert torch.equal(state, torch.get_rng_state())


def test_straight_through_and_functional_transforms():
    soft = torch.tensor([[0.3, 0.7], [0.6, 0.4]])
    mapped = torch.func.vmap(torch.func.grad(lambda row: (straight_through(row) * torch.tensor([2.0, 3.0])).sum()))(soft)
    assert mapped.tolist() == [[2.0, 3.0], [2.0, 3.0]]


def test_chosen_is_the_entry_of_each_draw():
    logs = torch.arange(12.0).view(2, 2, 3)
    assert chosen(logs, torch.tensor([[0, 2], [1, 1]])).tolist() == [[0, 5], [7, 10]]


def test_used_symbols():
    assert used_symbols(torch.tensor([0, 0, 2]), 4) == 2
    assert used_symbols(torch.tensor([0] * 999 + [1]), 2, least=0.01) == 1


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    good = torch.zeros(2, 3)
    with pytest.raises(ValueError, match="`temperature` should be positive"):
        gumbel_softmax(good, 0.0, generator())
    with pytest.raises(ValueError, match="Found NaN"):
        gumbel_softmax(torch.full((2, 3), torch.nan), 1.0, generator())
    with pytest.raises(ValueError, match="no choice"):
        sample_categorical(torch.full((1, 2), -torch.inf), generator())
    with pytest.raises(TypeError, match="Generator"):
        gumbel_softmax(good, 1.0, 3)
    with pytest.raises(TypeError, match="`logits` should hold floating numbers"):
        sample_categorical(torch.zeros(2, 3, dtype=torch.long), generator())
    with pytest.raises(TypeError, match="whole numbers"):
        used_symbols(good, 3)
    with pytest.raises(ValueError, match=r"`symbols` should be numbers from 0 to 2\. Found 3 to 3"):
        used_symbols(torch.tensor([3]), 3)


@pytest.mark.usefixtures("as_installed")
def test_empty_batches_types_and_ids_are_refused_before_anything_is_drawn():
    drawn = generator()
    before = drawn.get_state()
    with pytest.raises(ValueError, match=r"`logits` should have the shape \(\.\.\., K\)\. Found \(0, 3\)\. Put the"):
        gumbel_softmax(torch.zeros(0, 3), 1.0, drawn)
    with pytest.raises(TypeError, match="`logits` should be a tensor"):
        sample_categorical([0.0, 1.0], drawn)
    assert torch.equal(drawn.get_state(), before)
    with pytest.raises(ValueError, match=r"`taken` should be numbers from 0 to 2\. Found 0 to 3"):
        chosen(torch.zeros(2, 3), torch.tensor([0, 3]))
    with pytest.raises(ValueError, match=r"`taken` should have the shape \(\)\. Found \(2,\)"):
        chosen(torch.zeros(3), torch.tensor([0, 2]))
    short = torch.tensor([2, 0], dtype=torch.int8)
    assert chosen(torch.arange(6.0).reshape(2, 3), short).tolist() == [2, 3]
    for refused in (torch.zeros(2, 3).to_sparse(), torch.zeros(2, 3).to(torch.float8_e4m3fn)):
        with pytest.raises(TypeError, match=r"`logits` should (be dense|hold floats of two bytes or more)"):
            sample_categorical(refused, drawn)
    with pytest.raises(TypeError, match="`symbols` should hold data"):
        used_symbols(torch.zeros(3, dtype=torch.int64, device="meta"), 3)
    with pytest.raises(TypeError, match="`soft` should hold floating numbers"):
        straight_through(torch.tensor([0, 1]))


def test_a_temperature_below_all_quotients_gives_a_one_hot():
    logits = torch.tensor([0.0, 1.0, -torch.inf])
    found = [gumbel_softmax(logits, 1e-39, generator(seed)) for seed in range(20)]
    assert torch.equal(
        torch.stack(found), torch.stack([gumbel_softmax(logits, 1.0, generator(s), hard=True) for s in range(20)])
    )
