"""Rules that test for conflict: published critical values, published worked examples, and the literal rules."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chi2

import conflict_oracles as oracle
from mechlearn.agreement import combine
from mechlearn.agreement.rules import AndMask, Heterogeneous, Homogeneous, Mean, Qualitative, Statistics
from mechlearn.agreement.rules.critical import homogeneous_critical, qualitative_critical, qualitative_tail
from mechlearn.agreement.rules.homogeneous import cochran


def known(estimates, errors):
    """Statistics of one component with known standard errors."""
    g, s = (torch.tensor(values, dtype=torch.float64)[:, None] for values in (estimates, errors))
    z2, precision = (g / s) ** 2, s**-2
    return Statistics(
        len(g), g.sum(0), g.sign().sum(0), square=g.square().sum(0), positive=(z2 * (g > 0)).sum(0),
        negative=(z2 * (g < 0)).sum(0), precision=precision.sum(0), weighted=(precision * g).sum(0),
        weighted_square=(precision * g * g).sum(0), variance=s.square().sum(0),
    )  # fmt: skip


@pytest.mark.parametrize(("environments", "value"), [(2, 2.71), (3, 4.23), (4, 5.43), (8, 9.29)])
def test_critical_values_are_the_published_table(environments, value):
    """Gail and Simon 1985, table 1, level .05; they cut after two digits (8: 9.295)."""
    assert abs(qualitative_critical(environments, 0.05) - value) < 0.0055


@given(environments=st.integers(2, 40), alpha=st.floats(1e-6, 0.999))
def test_critical_values_by_scipy(environments, alpha):
    value = qualitative_critical(environments, alpha)
    if value > 0:
        assert oracle.tail(value, environments) == pytest.approx(alpha, rel=1e-9)
    else:
        assert oracle.tail(0.0, environments) <= alpha
    assert homogeneous_critical(environments, alpha) == pytest.approx(chi2.isf(alpha, environments - 1), rel=1e-9)


@pytest.mark.parametrize("environments", [1001, 1002, 1500, 4000])
def test_critical_values_of_very_many_environments(environments):
    value = qualitative_critical(environments, 0.05)
    h = np.arange(1, environments)
    tail = float((binom.pmf(h, environments - 1, 0.5) * chi2.sf(value, h)).sum())
    assert tail == pytest.approx(0.05, rel=1e-8)


def test_ends_of_the_levels():
    assert qualitative_critical(5, 0.0) == homogeneous_critical(5, 0.0) == math.inf
    assert qualitative_critical(5, 1.0) == qualitative_critical(1, 0.2) == 0.0
    assert homogeneous_critical(1, 0.05) == math.inf


def test_the_worked_example_of_gail_and_simon():
    """Disease-free survival at three years, PFT against PF, in four subsets by age and receptor: p is about .088."""
    statistics = known([0.163, -0.114, -0.047, -0.151], [0.0788, 0.0689, 0.0614, 0.0547])
    least = min(float(statistics.positive), float(statistics.negative))
    assert least == pytest.approx(4.28, abs=0.005)
    assert qualitative_tail(least, 4) == pytest.approx(0.088, abs=0.0005)
    assert Qualitative(0.05)(statistics).survives.all()
    assert not Qualitative(0.1)(statistics).survives.any()


def test_cochrans_q_of_the_bcg_trials():
    """Thirteen trials of the vaccine against tuberculosis (Colditz et al. 1994): Q = 152.2330 with 12 degrees of freedom."""
    table = [
        (4, 119, 11, 128), (6, 300, 29, 274), (3, 228, 11, 209), (62, 13536, 248, 12619), (33, 5036, 47, 5761),
        (180, 1361, 372, 1079), (8, 2537, 10, 619), (505, 87886, 499, 87892), (29, 7470, 45, 7232), (17, 1699, 65, 1600),
        (186, 50448, 141, 27197), (5, 2493, 3, 2338), (27, 16886, 29, 17825),
    ]  # fmt: skip
    estimates = [math.log(a / (a + b)) - math.log(c / (c + d)) for a, b, c, d in table]
    errors = [math.sqrt(1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)) for a, b, c, d in table]
    statistics = known(estimates, errors)
    assert float(cochran(statistics)) == pytest.approx(152.2330, abs=5e-5)
    assert not Homogeneous(1e-6)(statistics).survives.any()


@given(
    seed=st.integers(0, 10**6),
    environments=st.integers(2, 9),
    alpha=st.floats(0.01, 0.99),
    significance=st.floats(0, 3),
    ratio=st.floats(0, 2),
)
def test_every_rule_equals_the_literal_test(seed, environments, alpha, significance, ratio):
    generator = torch.Generator().manual_seed(seed)
    g = torch.randn(environments, dtype=torch.float64, generator=generator) + 1
    s = torch.rand(environments, dtype=torch.float64, generator=generator) + 0.1
    statistics = known(g.tolist(), s.tolist())
    least = float(statistics.positive.minimum(statistics.negative))
    assert bool(Qualitative(alpha)(statistics).survives) == (least == 0 or oracle.tail(least, environments) >= alpha)
    found = [(one, error**2, 2) for one, error in zip(g[:, None], s[:, None], strict=True)]
    assert bool(Homogeneous(alpha)(statistics).survives) == (chi2.sf(float(oracle.cochran(found)), environments - 1) >= alpha)
    rule = Heterogeneous(significance=significance, ratio=ratio)
    assert bool(rule(statistics).survives) != bool(oracle.heterogeneous(found, "component", significance, ratio))


def test_ends_are_averaging_and_the_and_mask():
    statistics = known([1.0, 0.5, 2.0], [0.1, 0.2, 0.3])
    for end, rule in ((Qualitative(0.0), Mean()), (Qualitative(1.0), AndMask(1.0))):
        assert end.needs == rule.needs
        for one, other in zip(end(statistics), rule(statistics), strict=True):
            assert torch.equal(one, other)


def test_a_gradient_of_zero_is_no_evidence():
    statistics = known([1.0, 0.0, 2.0], [0.1, 0.2, 0.3])
    assert Qualitative(0.999)(statistics).survives.all()
    assert not Qualitative(1.0)(statistics).survives.any()


def test_pooling_by_unit_and_by_input_of_a_convolution():
    generator = torch.Generator().manual_seed(0)
    g = torch.randn(4, 3, 2, 5, 5, dtype=torch.float64, generator=generator)
    g[:, :, 0] += 5
    variance = torch.full((3, 2, 5, 5), 0.01, dtype=torch.float64)
    statistics = Statistics(4, g.sum(0), square=g.square().sum(0), variance=variance)
    assert Heterogeneous("input")(statistics).survives[:, 0].all()
    assert not Heterogeneous("input")(statistics).survives[:, 1].any()
    assert Heterogeneous("unit")(statistics).survives.all()
    with pytest.raises(ValueError, match="`by` should be"):
        Heterogeneous("layer")


@pytest.mark.parametrize("rule", [Qualitative, Homogeneous])
def test_levels_out_of_range(rule):
    for alpha in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="`alpha` should lie in"):
            rule(alpha)
    with pytest.raises(ValueError, match="reads statistics"):
        rule()(Statistics(2, torch.ones(3)))


@pytest.mark.parametrize("rule", [Qualitative(), Homogeneous(), Heterogeneous()])
def test_gradients_side_by_side_say_nothing_of_examples(rule):
    with pytest.raises(ValueError, match=r"Found .* and environments' gradients alone"):
        combine(rule, torch.ones(4, 3))
    assert combine(Qualitative(1.0), torch.ones(4, 3)).gradient.tolist() == [1.0, 1.0, 1.0]
