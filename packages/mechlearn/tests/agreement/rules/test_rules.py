import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import oracles
import rules_oracles
from mechlearn.agreement import Agreement, stacked
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.rules import (
    EACH,
    STANDARD_ERRORS,
    AndMask,
    GeometricMean,
    Mean,
    MedianSign,
    Rule,
    SandMask,
    SignalToNoiseMask,
    Statistics,
    XorMask,
    check_needs,
    check_rule,
    required_count,
    survival,
)
from mechlearn.agreement.rules.base import check_rescale
from mechlearn.testing.rules import check_theorems

RULES = {
    "mean": lambda threshold: Mean(),
    "and-mask": AndMask,
    "geometric mean": GeometricMean,
    "xor-mask": XorMask,
    "median sign": MedianSign,
    "signal-to-noise": SignalToNoiseMask,
    "sand-mask": lambda threshold: SandMask(threshold, k=1.0),
}
EXEMPT = {  # the XOR-mask keeps disagreement, the median has no magnitude, the SAND-mask compares it with k
    "xor-mask": ("unanimity",),
    "median sign": ("scale", "unanimity"),
    "sand-mask": ("scale",),
}


def combine(rule: Rule, g: torch.Tensor):
    sums = RunningSums(g[0], rule.needs)
    for gradient in g:
        sums.add(gradient.clone()[None])
    return rule(sums.statistics())


def stack(seed: int, environments: int, zeros: float = 0.2) -> torch.Tensor:
    """Random gradients with a common part, and exact zeros as dead units leave them."""
    generator = torch.Generator().manual_seed(seed)
    g = torch.randn(environments, 4, 3, dtype=torch.float64, generator=generator)
    g += torch.randn(4, 3, dtype=torch.float64, generator=generator) * 2
    return g * (torch.rand(g.shape, generator=generator) >= zeros)


@pytest.mark.parametrize("name", RULES)
@given(
    seed=st.integers(0, 10**6), environments=st.integers(1, 12), tenths=st.integers(0, 10), zeros=st.sampled_from([0.0, 0.2])
)
def test_equals_the_literal_formula(name, seed, environments, tenths, zeros):
    g = stack(seed, environments, zeros)
    found = combine(RULES[name](tenths / 10), g)
    gradient, mask = rules_oracles.combine(name, g, f"{tenths}/10")
    assert torch.equal(found.survives.bool(), mask)
    torch.testing.assert_close(found.gradient, gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["and-mask", "geometric mean", "xor-mask", "signal-to-noise"])
def test_rescaling_divides_by_the_share_of_survivors(name):
    g = stack(seed=3, environments=5)
    rule = RULES[name](0.6)
    plain, mask = rules_oracles.combine(name, g, "0.6")
    assert 0 < int(mask.sum()) < mask.numel()
    found = combine(type(rule)(0.6, rescale=True), g)
    torch.testing.assert_close(found.gradient, oracles.rescale(plain, mask), rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["and-mask", "geometric mean", "xor-mask", "signal-to-noise"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_rescaling_by_the_root(name, dtype):
    g = stack(seed=3, environments=5).to(dtype)
    plain, mask = rules_oracles.combine(name, g, "0.6")
    found = combine(type(RULES[name](0.6))(0.6, rescale="root"), g)
    tolerance = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(found.gradient, oracles.rescale(plain, mask, 0.5), rtol=tolerance, atol=0)


def test_the_root_keeps_the_length_of_equal_components():
    g = torch.ones(2, 100, dtype=torch.float64)
    g[1, 25:] = -1
    found = combine(AndMask(1.0, rescale="root"), g).gradient
    torch.testing.assert_close(found.norm(), torch.ones(100, dtype=torch.float64).norm())


def test_the_root_within_a_step():
    torch.manual_seed(0)
    model, x = torch.nn.Linear(6, 3).double(), torch.randn(12, 6, dtype=torch.float64)
    gradients = {}
    for rescale in (False, "root"):
        model.zero_grad()
        record = Agreement(model, AndMask(1.0, rescale)).backward(model(x).square().sum(1), torch.arange(12) // 4)
        gradients[rescale] = model.weight.grad.clone()
    assert 0 < record.share_by_parameter["weight"] < 1
    torch.testing.assert_close(gradients["root"], gradients[False] / record.share_by_parameter["weight"] ** 0.5)


@pytest.mark.parametrize(("rescale", "error"), [("sqrt", ValueError), (2, TypeError), (None, TypeError)])
def test_other_ways_to_rescale_are_refused(rescale, error):
    with pytest.raises(error, match="`rescale` should be"):
        check_rescale(rescale)


@pytest.mark.parametrize("rescale", [True, "root"])
def test_rescaling_without_survivors_leaves_zero(rescale):
    g = torch.tensor([[1.0, -1.0], [-1.0, 1.0]])
    found = combine(AndMask(1.0, rescale=rescale), g)
    assert torch.equal(found.gradient, torch.zeros(2))
    assert not found.survives.any()


@pytest.mark.parametrize("name", RULES)
@given(seed=st.integers(0, 10**6), environments=st.integers(2, 9))
def test_theorems(name, seed, environments):
    g = stack(seed, environments)
    check_theorems(RULES[name](0.6), g, without=EXEMPT.get(name, ()))
    check_theorems(RULES[name](0.6), g[torch.randperm(environments)], without=EXEMPT.get(name, ()))


@pytest.mark.parametrize("name", RULES)
def test_calling_a_rule_leaves_the_statistics_as_they_are(name):
    g = stack(seed=2, environments=5)
    sums = RunningSums(g[0], frozenset(Statistics._fields[2:]) - STANDARD_ERRORS - EACH)
    sums.add(g.clone())
    statistics = sums.statistics()
    before = statistics.clone()
    rule = RULES[name](0.6)
    first, second = rule(statistics), rule(statistics)
    assert torch.equal(first.gradient, second.gradient)
    for now, then in zip(statistics[1:], before[1:], strict=True):
        assert (now is None and then is None) or torch.equal(now, then)


@pytest.mark.parametrize("threshold", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("rule", [AndMask, XorMask])
def test_sign_sums_in_bytes_give_the_same_mask(rule, threshold):
    sign = torch.arange(-126, 127, dtype=torch.float32)
    g = torch.linspace(-1, 1, len(sign))
    floats = rule(threshold)(Statistics(126, g, sign))
    bytes_ = rule(threshold)(Statistics(126, g, sign.to(torch.int8)))
    assert torch.equal(floats.survives, bytes_.survives.float())
    assert torch.equal(floats.gradient, bytes_.gradient)
    square = sign[:250].reshape(10, 25).to(torch.int8)
    turned = rule(threshold)(Statistics(126, g[:250].reshape(10, 25).T, square.T))
    assert torch.equal(turned.gradient.T.flatten(), floats.gradient[:250])


def test_threshold_zero_is_plain_averaging():
    g = stack(seed=0, environments=7)
    assert torch.equal(combine(AndMask(0.0), g).gradient, combine(Mean(), g).gradient)


def test_and_plus_xor_is_the_mean():
    g = stack(seed=1, environments=6)
    both = combine(AndMask(0.7), g).gradient + combine(XorMask(0.7), g).gradient
    assert torch.equal(both, combine(Mean(), g).gradient)


def test_a_zero_gradient_is_a_disagreement():
    g = torch.tensor([[1.0], [1.0], [0.0], [1.0]])
    assert not combine(AndMask(1.0), g).survives.any()
    assert combine(AndMask(0.75), g).survives.all()


def test_geometric_mean_is_zero_where_any_environment_is():
    g = torch.tensor([[2.0, 2.0], [0.0, 8.0]])
    torch.testing.assert_close(combine(GeometricMean(0.5), g).gradient, torch.tensor([0.0, 4.0]))


@given(environments=st.integers(1, 400), numerator=st.integers(0, 400), digits=st.integers(0, 100))
def test_required_count_is_the_smallest_share_that_reaches_the_threshold(environments, numerator, digits):
    for threshold in (min(numerator, environments) / environments, digits / 100):
        count = required_count(threshold, environments)
        assert count / environments >= threshold
        assert count == 0 or (count - 1) / environments < threshold


def test_integer_counts_do_not_tie_like_float_means():
    # 48 positive and 32 negative signs of 80: the mean is exactly 0.2, and a float32 mean of +-1 may fall to either side.
    g = torch.cat([torch.ones(48, 1), -torch.ones(32, 1)])
    assert combine(AndMask(0.2), g).survives.all()
    assert not combine(AndMask(0.21), g).survives.any()


@pytest.mark.parametrize("rule", [AndMask, GeometricMean, MedianSign, SandMask, XorMask])
@pytest.mark.parametrize("threshold", [-0.1, 1.0001, float("nan")])
def test_threshold_outside_the_unit_interval(rule, threshold):
    with pytest.raises(ValueError, match=r"`threshold` should lie in \[0, 1\].*Found"):
        rule(threshold)


def test_a_missing_statistic_names_itself():
    with pytest.raises(ValueError, match=r"statistics\.sign.*needs"):
        AndMask()(Statistics(environments=2, gradient=torch.ones(3)))


def test_statistics_that_were_collected_for_another_rule():
    check_needs(AndMask(), {"sign", "square"})
    with pytest.raises(ValueError, match=r"Found SandMask\(.*reads sums of sign and square.*Set the rule before"):
        check_needs(SandMask(), {"log_magnitude"})


@pytest.mark.parametrize("rule", [None, AndMask, "and", lambda statistics: statistics])
def test_what_is_no_rule(rule):
    with pytest.raises(TypeError, match=r"`rule` should be a rule such as.*Pass an instance"):
        check_rule(rule)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("name", RULES)
def test_two_byte_gradients_are_combined_in_four(name, dtype):
    g = stack(seed=3, environments=300).to(dtype)
    found, wide = (stacked.combine(RULES[name](0.1), one) for one in (g, g.float()))
    assert found.gradient.dtype == dtype
    assert torch.equal(found.survives, wide.survives)
    assert torch.equal(found.gradient, wide.gradient.to(dtype))


@pytest.mark.parametrize("name", RULES)
def test_a_parameter_without_components(name):
    found = combine(RULES[name](0.5), torch.ones(3, 0, 4))
    assert found.gradient.shape == (0, 4)
    assert survival(found.survives) == 1


def test_the_share_that_survives():
    assert survival(torch.tensor([True, False, True, True])) == 0.75
    assert survival(torch.tensor([[1.0, 0.0]])) == 0.5
