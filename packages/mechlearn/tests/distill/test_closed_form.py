import sys
import time

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeCV
from sklearn.metrics import r2_score

from mechlearn.distill import closed_form
from mechlearn.distill.closed_form import STRENGTHS, VotedTeachers, kernel_recipes, linear_recipes, ridge_path


def mediated(rows, seed=0, noise=0.5):
    """20 inputs, 3 mediators that they explain, and a number that the mediators decide; and 2,000 rows to judge on."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows + 2000, 20))
    between = x @ rng.normal(size=(20, 3)) / np.sqrt(20) + 0.3 * rng.normal(size=(len(x), 3))
    y = between @ np.array([1.0, -1.0, 1.0]) + noise * rng.normal(size=len(x))
    return (x[:rows], y[:rows], between[:rows]), (x[rows:], y[rows:])


def r2(model, test):
    x, y = test
    return 1 - float(((model.predict(x).ravel() - y) ** 2).mean() / y.var())


def test_ridge_paths_are_scikit_learns():
    (x, y, _), _ = mediated(30)
    path = ridge_path(x, y[:, None])
    for strength, weights in zip(STRENGTHS, path, strict=True):
        wanted = Ridge(alpha=strength, fit_intercept=False).fit(x, y).coef_
        np.testing.assert_allclose(weights[:, 0], wanted, rtol=1e-8, atol=1e-10)


def test_recipes_are_what_they_say():
    (x, y, z), _ = mediated(40)
    y, z = y[:, None] - y.mean(), (z - z.mean(0)) / z.std(0)
    found = linear_recipes(x, y, [z], x).weights

    def ridge(a, b, strength):
        return np.linalg.solve(a.T @ a + strength * np.eye(a.shape[1]), a.T @ b)

    np.testing.assert_allclose(found["C"][4], ridge(x, z, STRENGTHS[4]) @ ridge(z, y, STRENGTHS[4]), atol=1e-10)
    np.testing.assert_allclose(found["S"][2], ridge(x, z @ ridge(z, y, 10), STRENGTHS[2]), atol=1e-10)
    for name, power, b in (("V1", 1.0, ridge(x, y, 10)), ("U", 0.5, ridge(x, z, 10) @ ridge(z, y, 10))):
        scale = np.diag((np.abs(b[:, 0]) / np.abs(b).max() + 1e-3) ** power)
        np.testing.assert_allclose(found[name][6], scale @ ridge(x @ scale, y, STRENGTHS[6]), atol=1e-10)


def test_kernel_ridge_is_scikit_learns():
    (x, y, _), (new, _) = mediated(40)
    found = kernel_recipes(x, y[:, None], [], new[:5]).predicted["R"]
    gamma = 1 / np.median(((x[:, None] - x) ** 2).sum(2))
    wanted = KernelRidge(kernel="rbf", gamma=gamma, alpha=1e-4).fit(x, y).predict(new[:5])
    np.testing.assert_allclose(found[10][:, 0], wanted, rtol=1e-5)


def test_what_lies_between_helps_where_rows_are_few():
    gains = []
    for seed in range(4):
        train, test = mediated(50, seed, noise=2.5)
        with_them, without = VotedTeachers().fit(*train), VotedTeachers().fit(*train[:2])
        gains.append(r2(with_them, test) - r2(without, test))
    assert np.mean(gains) > 0.02


def test_noise_for_privileged_columns_does_no_harm():
    differences = []
    for seed in range(4):
        (x, y, z), test = mediated(50, seed)
        noise = np.random.default_rng(seed).normal(size=z.shape)
        ridge = RidgeCV(STRENGTHS).fit(x, y)
        differences.append(r2(VotedTeachers().fit(x, y, noise), test) - r2(ridge, test))
    assert np.mean(differences) > -0.005


def test_votes_add_up_and_the_report_has_the_vote_without_beside_it():
    (x, y, z), _ = mediated(100)
    voted = VotedTeachers().fit(x, y, z)
    assert sum(voted.votes_.values()) == pytest.approx(1)
    assert set(voted.report_) == {"R", "V", "V1", "C", "S", "U", "U1", "vote", "without privileged"}
    assert voted.gain_[0] == pytest.approx(voted.report_["vote"] - voted.report_["without privileged"])
    plain = VotedTeachers().fit(x, y)
    assert set(plain.report_) == {"R", "V", "V1", "vote"}
    assert set(plain.votes_) <= {"R", "V", "V1"}


def test_units_do_not_matter():
    (x, y, z), (new, _) = mediated(60)
    first = VotedTeachers().fit(x, y, z).predict(new)
    other = VotedTeachers().fit(1000 * x + 5, 0.01 * y - 3, z / 7).predict(1000 * new + 5)
    np.testing.assert_allclose((other + 3) * 100, first, rtol=1e-6, atol=1e-8)


def test_steps_in_time_make_a_chain():
    (x, y, z), test = mediated(60)
    steps = np.stack([x[:, :3], z], 1)
    assert r2(VotedTeachers(only=("C",)).fit(x, y, steps), test) < r2(VotedTeachers(only=("C",)).fit(x, y, z), test)


def test_a_handicap_takes_votes_from_privileged_teachers():
    (x, y, z), _ = mediated(50)
    votes = VotedTeachers(handicap=1e6).fit(x, y, z).votes_
    assert set(votes) <= {"R", "V", "V1"}


def test_parity_of_two_digits_goes_through_the_digits():
    digits, labels = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(labels), size=(900, 2))
    x, between = digits[pairs].reshape(900, -1), np.eye(10)[labels[pairs]].reshape(900, -1)
    y = (labels[pairs].sum(1) % 2).astype(float)
    voted = VotedTeachers(teachers="kernel").fit(x[:200], y[:200], between[:200])
    right = ((voted.predict(x[200:])[:, 0] > 0.5) == (y[200:] > 0.5)).mean()
    plain = VotedTeachers(teachers="kernel").fit(x[:200], y[:200])
    assert voted.votes_["B"] > 0.9
    assert right > ((plain.predict(x[200:])[:, 0] > 0.5) == (y[200:] > 0.5)).mean() + 0.1


def test_it_takes_a_fraction_of_a_second():
    (x, y, z), _ = mediated(100)
    start = time.process_time()
    VotedTeachers().fit(x, y, z)
    assert time.process_time() - start < 2  # measured .1 s on one core


def test_refusals():
    (x, y, z), _ = mediated(20)
    with pytest.raises(ValueError, match="only"):
        VotedTeachers(only=("R", "wise"))
    with pytest.raises(ValueError, match="handicap"):
        VotedTeachers(handicap=-1.0)
    with pytest.raises(ValueError, match="as many rows"):
        VotedTeachers().fit(x, y[:5], z)
    with pytest.raises(ValueError, match="ten rows"):
        VotedTeachers().fit(x[:5], y[:5])
    with pytest.raises(ValueError, match="finite"):
        VotedTeachers().fit(x, y * np.nan, z)
    with pytest.raises(ValueError, match="privileged columns are missing"):
        VotedTeachers(only=("C",)).fit(x, y)
    with pytest.raises(ValueError, match="not needed to predict"):
        VotedTeachers().fit(x, y, z).predict(np.column_stack([x, z]))


@pytest.mark.parametrize("teachers", ["linear", "kernel"])
def test_nothing_predicts_before_it_is_fitted(teachers):
    with pytest.raises(NotFittedError, match=r"should be fitted before they predict\. Found none fitted\. Call fit\(x, y\)"):
        VotedTeachers(teachers).predict(np.zeros((2, 3)))


def test_without_scikit_learn_that_is_an_attribute_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.exceptions", None)
    with pytest.raises(AttributeError, match="should be fitted before they predict") as caught:
        VotedTeachers().predict(np.zeros((2, 3)))
    assert not isinstance(caught.value, NotFittedError)


@pytest.mark.parametrize("teachers", ["linear", "kernel"])
@pytest.mark.parametrize("number", [0.0, 1.0, 0.1, -3e9 / 7])
def test_targets_that_do_not_vary_are_explained_wholly_as_in_scikit_learn(teachers, number):
    (x, _, z), (new, _) = mediated(30)
    voted = VotedTeachers(teachers).fit(x, np.full(30, number), z)
    assert set(voted.report_.values()) == {1.0}
    assert voted.gain_ == pytest.approx((0, 0), abs=1e-12)
    np.testing.assert_allclose(voted.predict(new), number, rtol=1e-12)
    assert r2_score(np.full(30, number), np.full(30, number)) == 1


def repeated(times, seed=0):
    """A table, and the same with each row so many times, and whose each of these is."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(40, 6))
    z = x @ random.normal(size=(6, 2)) + 0.3 * random.normal(size=(40, 2))
    y = z @ np.ones((2, 1)) + random.normal(size=(40, 1))
    whose = np.repeat(np.arange(40), times)
    return (x, y, z), (x[whose], y[whose], z[whose]), whose


def test_copies_of_rows_are_left_out_together():
    """Where folds are of rows, a copy in training says what the row held out is."""
    single, many, whose = repeated(4)
    noise = np.random.default_rng(1).normal(size=(40, 30))
    x = np.column_stack((many[0], noise[whose]))
    by_rows, by_groups = VotedTeachers().fit(x, many[1]), VotedTeachers().fit(x, many[1], groups=whose)
    alone = VotedTeachers().fit(np.column_stack((single[0], noise)), single[1])
    assert by_rows.report_["vote"] > alone.report_["vote"] + 0.1
    assert by_groups.report_["vote"] == pytest.approx(alone.report_["vote"], abs=0.05)


def test_a_group_a_row_has_the_same_standard_error_and_votes_that_add_up():
    x, y, z = repeated(1)[0]
    gains = np.random.default_rng(0).normal(size=40)
    assert closed_form._standard_error(gains, np.arange(40)) == pytest.approx(closed_form._standard_error(gains, None))
    twice = np.repeat(gains, 2)
    assert closed_form._standard_error(twice, np.repeat(np.arange(40), 2)) == pytest.approx(
        closed_form._standard_error(gains, None)
    )
    voted = VotedTeachers().fit(x, y, z, groups=np.arange(40) % 7)
    assert sum(voted.votes_.values()) == pytest.approx(1)


def test_no_group_is_on_both_sides():
    group = np.random.default_rng(0).integers(0, 9, size=60)
    for split in closed_form._parts(group, 60, 3, np.random.default_rng(0)):
        assert np.array_equal(np.sort(np.concatenate(split)), np.arange(60))
        for part in split:
            assert not set(group[part]) & set(np.delete(group, part))
    assert [len(split) for split in closed_form._parts(np.arange(60) % 3, 60, 2, np.random.default_rng(0))] == [3, 3]


@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        (np.arange(39), ValueError, "one label for each of the 40 rows. Found shape"),
        (np.zeros(40), ValueError, "need two at least. Found one"),
        (np.array([1, "a", None, *range(37)], dtype=object), TypeError, "labels that can be sorted"),
    ],
)
def test_groups_that_cannot_be(groups, error, match):
    x, y, z = repeated(1)[0]
    with pytest.raises(error, match=match):
        VotedTeachers().fit(x, y, z, groups=groups)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"only": ("R", "B")}, ValueError, r"Found 'B'\. B is one of kernel teachers"),
        ({"teachers": "kernel", "only": ("V",)}, ValueError, r"Found 'V'\. V is one of linear teachers"),
        ({"only": []}, ValueError, r"`only` should name a recipe at least\. Found none\. Pass None"),
        (
            {"only": "R"},
            TypeError,
            r"`only` should be a list of names of recipes\. Found 'R' of type str\. linear teachers have R, V",
        ),
    ],
)
def test_recipes_that_the_teachers_have_not_are_refused(settings, error, match):
    with pytest.raises(error, match=match):
        VotedTeachers(**settings)


@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"x": np.zeros((40, 0))}, ValueError, r"`x` should have a column at least\. Found the shape \(40, 0\)"),
        ({"y": np.zeros((40, 0))}, ValueError, "`y` should have a column at least"),
        ({"privileged": np.zeros((40, 0, 2))}, ValueError, "`privileged` should have a column at least"),
        (
            {"y": np.array(["a", "b"] * 20)},
            TypeError,
            "`y` should hold numbers. Found that could not convert.*columns of 0 and 1",
        ),
        ({"x": np.ones((40, 2), dtype=complex)}, TypeError, "`x` should hold real numbers. Found complex128"),
    ],
)
@pytest.mark.parametrize("teachers", ["linear", "kernel"])
def test_tables_that_are_none_are_refused(changed, error, match, teachers):
    x, y, z = repeated(1)[0]
    with pytest.raises(error, match=match):
        VotedTeachers(teachers).fit(**{"x": x, "y": y, "privileged": z, **changed})


@pytest.mark.parametrize("teachers", ["linear", "kernel"])
def test_tensors_are_read_and_tables_may_change_after_a_fit(teachers):
    x, y, z = repeated(1)[0]
    expected = VotedTeachers(teachers).fit(x, y, z).predict(x)
    given = [torch.tensor(table, requires_grad=True) for table in (x, y, z)]
    voted = VotedTeachers(teachers).fit(*given)
    tables = [table.copy() for table in (x, y, z)]
    other = VotedTeachers(teachers).fit(*tables)
    for table in (*tables, *(tensor.detach().numpy() for tensor in given)):
        table[:] = 0
    for one in (voted, other):
        np.testing.assert_array_equal(one.predict(torch.tensor(x, requires_grad=True)), expected)


def test_nothing_of_an_earlier_fit_is_left():
    (x, y, z), _ = mediated(30)
    voted = VotedTeachers().fit(x, y, z)
    voted.fit(x, y)
    assert (voted.gain_, "without privileged" in voted.report_) == ((0.0, 0.0), False)
    voted.teachers = "kernel"
    assert not hasattr(voted.fit(x[:20], y[:20]), "coef_")


def test_the_report_is_the_mean_of_three_splits_errors():
    (x, y, z), _ = mediated(30, noise=2.5)
    voted = VotedTeachers().fit(x, y, z)
    y, kept = y[:, None], []
    for split in closed_form._parts(None, 30, 3, np.random.default_rng(0)):
        kept.append(closed_form._cross_fitted(linear_recipes, x, y, [z], split))
    wanted = (y - y.mean()) / y.std()
    for name in ("R", "C", "U"):
        errors = np.mean([((one[name] - wanted) ** 2).mean((1, 2)) for one in kept], 0)
        of_the_mean = ((np.mean([one[name] for one in kept], 0) - wanted) ** 2).mean((1, 2))
        assert voted.report_[name] == pytest.approx(1 - errors.min())
        assert errors.min() > of_the_mean.min()
    by_vote = [sum(share * one[name][k] for (name, k), share in voted._shares.items()) for one in kept]
    assert voted.report_["vote"] == pytest.approx(1 - np.mean([((one - wanted) ** 2).mean() for one in by_vote]))


@pytest.mark.parametrize("known", [True, False])
def test_a_kernel_vote_predicts_from_what_it_has_fitted(known, monkeypatch):
    (x, y, z), (new, _) = mediated(40)
    voted = VotedTeachers("kernel").fit(x, y, z if known else None)
    mean, spread = y.mean(), y.std()
    with monkeypatch.context() as change:
        change.setattr(closed_form, "_kernel_fits", None)  # nothing is fitted again
        found = voted.predict(new[:7])
    a, b = x.mean(0), x.std(0)
    paths = kernel_recipes((x - a) / b, (y[:, None] - mean) / spread, [z] if known else [], (new[:7] - a) / b).predicted
    expected = sum(share * paths[name][k] for (name, k), share in voted._shares.items()) * spread + mean
    np.testing.assert_array_equal(found, expected)
    del voted.__dict__["_fitted"]  # as a file of an earlier version has it
    np.testing.assert_array_equal(voted.predict(new[:7]), expected)


def test_a_gain_is_over_a_vote_on_the_same_rows():
    (x, y, z), _ = mediated(40)
    one, other = VotedTeachers(only=("C",)).fit(x, y, z), VotedTeachers().fit(x, y)
    gain, error = one.gain_over(other)
    assert gain == pytest.approx(one.report_["vote"] - other.report_["vote"])
    assert error > 0
    with pytest.raises(ValueError, match="two votes fitted on the same rows"):
        one.gain_over(VotedTeachers().fit(x[:30], y[:30]))
