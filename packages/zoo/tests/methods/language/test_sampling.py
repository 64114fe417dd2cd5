import pytest
import torch

from mechlearn_zoo.methods.language.sampling import choose, draw, gumbel, sample
from mechlearn_zoo.methods.language.step_model import RecurrentModel, check_rows, log_probabilities, pick
from mechlearn_zoo.methods.language.temperature import Tempered


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def model(words=5, seed=0):
    return RecurrentModel(words, 4, 6, seeded(seed), layers=2, spread=1.0)


class StepsOnly:
    """The same generator without `read`."""

    def __init__(self, inner):
        self.start, self.step = inner.start, inner.step


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_follow_the_softmax(temperature):
    logits = torch.tensor([0.3, -1.0, 1.2, 0.0])
    drawn = draw(logits.expand(100_000, 4), seeded(), temperature)
    shares = drawn.bincount(minlength=4) / 1e5
    expected = (logits / temperature).softmax(0)
    assert ((shares - expected).abs() < 4 * (expected * (1 - expected) / 1e5).sqrt()).all()


def test_greedy_top_and_temperature_one():
    logits = torch.randn(50, 7, generator=seeded())
    assert torch.equal(choose(logits, gumbel((50, 7), seeded()), 0.0), logits.argmax(1))
    assert torch.equal(draw(logits, seeded(1), 1e-4), logits.argmax(1))
    assert torch.equal(draw(logits, seeded(1), top=1), logits.argmax(1))
    kept = draw(logits.repeat(100, 1), seeded(1), 5.0, top=2)
    assert (logits.repeat(100, 1).argsort(1, descending=True).argsort(1).gather(1, kept[:, None]) < 2).all()
    generator = model()
    plain = sample(generator, 6, 5, seeded(2))
    assert torch.equal(plain, sample(Tempered(generator, 1.0), 6, 5, seeded(2)))
    assert torch.equal(sample(Tempered(generator, 0.5), 6, 5, seeded(2)), sample(generator, 6, 5, seeded(2), temperature=0.5))


def test_probabilities_are_the_same_step_by_step_and_in_one_call():
    generator = model().double()
    tokens = sample(generator, 4, 6, seeded(3))
    found = log_probabilities(generator, tokens)
    torch.testing.assert_close(found, log_probabilities(StepsOnly(generator), tokens))
    torch.testing.assert_close(log_probabilities(Tempered(generator, 1.0), tokens), found)
    hot = log_probabilities(Tempered(generator, 3.0), tokens)
    torch.testing.assert_close(hot, log_probabilities(Tempered(StepsOnly(generator), 3.0), tokens))
    words = torch.cartesian_prod(*[torch.arange(5)] * 3)
    assert float(log_probabilities(generator, words).sum(1).exp().sum().detach()) == pytest.approx(1.0)


def test_states_are_picked_by_row():
    generator = model()
    _, state = generator.step(torch.tensor([1, 2]), generator.start(2))
    twice = pick(state, torch.tensor([1, 1, 0]))
    check_rows(twice, 3)
    logits, _ = generator.step(torch.tensor([3, 3, 3]), twice)
    assert torch.equal(logits[0], logits[1])
    assert type(twice) is type(state)
    with pytest.raises(ValueError, match=r"each of the 2 sequences"):
        check_rows(torch.zeros(1, 2), 2)
    with pytest.raises(TypeError, match="state"):
        check_rows([torch.zeros(2)], 2)


def test_bad_input():
    with pytest.raises(ValueError, match="0 means greedy"):
        draw(torch.zeros(1, 2), seeded(), -1.0)
    with pytest.raises(ValueError, match="NaN"):
        draw(torch.full((1, 2), float("nan")), seeded())
    with pytest.raises(ValueError, match="count"):
        sample(model(), 0, 3, seeded())
    with pytest.raises(ValueError, match=r"temperature=0"):
        Tempered(model(), 0.0)
    with pytest.raises(ValueError, match="units"):
        RecurrentModel(3, 4, 0, seeded())


@pytest.mark.parametrize("temperature", [0, 0.5, 1])
@pytest.mark.parametrize("top", [None, 2])
def test_one_nan_anywhere_is_refused_and_infinities_are_not(temperature, top):
    logits = torch.zeros(3, 4)
    logits[0, 1], logits[1, 2] = float("inf"), -float("inf")
    noise = torch.zeros(3, 4)
    assert choose(logits, noise, temperature, top)[0] == 1
    logits[2, 3] = float("nan")
    with pytest.raises(ValueError, match="NaN"):
        choose(logits, noise, temperature, top)


def test_noise_that_cancels_an_infinity_is_no_diverged_model():
    assert choose(torch.tensor([[float("inf"), 0.0]]), torch.tensor([[-float("inf"), 0.0]])).shape == (1,)


@pytest.mark.filterwarnings("ignore:RNN module weights are not part")  # torch packs no bfloat16 for cuDNN, and warns of it
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_draw_by_the_same_law(dtype):
    """Noise of bfloat16 has 256 different numbers: of a thousand equal words the first were drawn, 233 on average."""
    zeros = torch.zeros(4000, 1000)
    assert torch.equal(draw(zeros.to(dtype), seeded()), draw(zeros, seeded()))
    logits = torch.randn(4000, 20, generator=seeded(1)).to(dtype)
    assert torch.equal(draw(logits, seeded(2), 3.0), draw(logits.float(), seeded(2), 3.0))
    assert gumbel((2,), seeded(), dtype).dtype == torch.float32
    low = model(1000).to(dtype)
    torch.nn.init.zeros_(low.out.weight)
    torch.nn.init.zeros_(low.out.bias)
    assert sample(low, 2000, 1, seeded()).double().mean() == pytest.approx(499.5, abs=4 * 1000 / 12**0.5 / 2000**0.5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_wider_types_draw_as_they_did(dtype):
    logits = torch.randn(300, 9, generator=seeded(1), dtype=dtype)
    noise = -(-torch.rand(300, 9, generator=seeded(2), dtype=dtype, device="cpu").log()).log()  # where the generator is
    assert torch.equal(gumbel((300, 9), seeded(2), dtype), noise)
    noise = noise.to(logits.device)
    assert torch.equal(draw(logits, seeded(2), 0.7), (logits / 0.7 + noise).argmax(1))
    cut = logits.masked_fill(logits < logits.sort(1).values[:, -3:-2], -torch.inf)
    assert torch.equal(draw(logits, seeded(2), top=3), (cut + noise).argmax(1))


def test_of_equal_words_the_first_are_the_likeliest():
    logits = torch.tensor([0.0, 1.0, 0.0, 1.0, 0.0, 0.0]).expand(400, 6)
    drawn = [set(draw(logits, seeded(), top=top).tolist()) for top in range(1, 8)]
    assert drawn == [{1}, {1, 3}, {0, 1, 3}, {0, 1, 2, 3}, {0, 1, 2, 3, 4}, set(range(6)), set(range(6))]
    assert set(draw(torch.zeros(400, 6), seeded(), top=2).tolist()) == {0, 1}


def test_noise_of_minus_infinity_does_not_bring_back_what_is_banned():
    inf = torch.inf
    assert choose(torch.tensor([-inf, 0.0]), torch.tensor([0.0, -inf])).tolist() == 1
    least = torch.tensor([[-inf, torch.finfo(torch.float32).min], [3.0, 1.0]])
    assert choose(least, torch.tensor([[0.0, -inf], [-inf, 0.0]])).tolist() == [1, 1]


def test_a_uniform_of_0_is_a_number_as_any_other(monkeypatch):
    monkeypatch.setattr(torch, "rand", lambda *shape, **_: torch.tensor([0.0, 0.5]))
    found = gumbel((2,), seeded())
    assert found.isfinite().all()
    assert found[0] < -4


@pytest.mark.parametrize("temperature", [0, 0.5, 1])
@pytest.mark.parametrize("top", [None, 2])
def test_where_all_is_banned_nothing_is_drawn(temperature, top):
    logits = torch.zeros(3, 4)
    logits[1] = -torch.inf
    with pytest.raises(ValueError, match="`logits` should have one above minus infinity in each row"):
        choose(logits, gumbel((3, 4), seeded()), temperature, top)


def test_noise_that_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"`noise` should be numbers\. Found NaN"):
        choose(torch.zeros(2), torch.tensor([0.0, torch.nan]))


@pytest.mark.parametrize("temperature", [1e-39, 1e-300])
def test_the_least_temperatures_choose_the_greatest(temperature):
    logits = torch.tensor([[1.0, 2.0, -torch.inf], [-3.0, -2.0, -4.0]])
    assert choose(logits, torch.zeros(2, 3), temperature).tolist() == [1, 1]
    generator = model()
    cold, greedy = sample(Tempered(generator, temperature), 6, 5, seeded(2)), sample(generator, 6, 5, seeded(2), temperature=0)
    assert torch.equal(cold, greedy)
    assert log_probabilities(Tempered(generator, temperature), greedy).tolist() == [[0.0] * 5] * 6


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_noise_of_another_shape_and_whole_numbers_are_refused(temperature):
    logits = torch.zeros(3, 4)
    for shape in ((4,), (3, 1), (2, 3, 4)):
        with pytest.raises(ValueError, match=r"`noise` should have the shape \(3, 4\)"):
            choose(logits, torch.zeros(shape), temperature)
    with pytest.raises(TypeError, match="`logits` should hold floating numbers"):
        draw(logits.long(), seeded(), temperature)
