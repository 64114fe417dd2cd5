import copy
import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import consistency_oracles as oracles
from mechlearn.surfaces import (
    Ascent,
    Consistency,
    Exact,
    Subspace,
    ilc,
    inconsistency,
    landscape_of_functions,
    landscape_of_model,
    proposition_3_bound,
    proposition_3_inconsistency,
)


def bowls(*curvatures, centres=None, levels=None):
    """Quadratic losses: curvatures are matrices or the diagonals of some."""
    matrices = [torch.as_tensor(c, dtype=torch.float64) for c in curvatures]
    matrices = [m if m.dim() == 2 else m.diag() for m in matrices]
    n = len(matrices[0])
    centres = [torch.zeros(n).double()] * len(matrices) if centres is None else [torch.tensor(c).double() for c in centres]
    levels = [0.0] * len(matrices) if levels is None else levels
    functions = [
        lambda x, m=m, c=c, level=level: (x - c) @ m @ (x - c) / 2 + level
        for m, c, level in zip(matrices, centres, levels, strict=True)
    ]
    return landscape_of_functions(functions, torch.zeros(n, dtype=torch.float64))


def positive(seed, n):
    r = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return r @ r.T + 0.1 * torch.eye(n)


def score(landscape, **definition):
    definition = {"epsilon": 0.1, "not_minimum": "ignore", "walk": False, **definition}
    return inconsistency(landscape, Consistency(**definition), GENERATOR())


def GENERATOR():  # noqa: N802 # a fresh one for every call
    return torch.Generator().manual_seed(0)


def diagonals(exponents):
    a = torch.tensor([math.exp(x) for x in exponents], dtype=torch.float64)
    return a, a.flip(0) + 0.1


@given(exponents=st.lists(st.floats(-2, 2), min_size=2, max_size=4))
def test_the_closed_form_for_diagonal_hessians(exponents):
    """epsilon max_i max(l_B / l_A, l_A / l_B), and minus 1 with the subtraction (thesis appendix B.1, erratum 1)."""
    a, b = diagonals(exponents)
    ratio = float(torch.maximum(a / b, b / a).max())
    landscape = bowls(a, b)
    assert score(landscape, subtract=False).inconsistency == pytest.approx(0.1 * ratio, rel=1e-9)
    assert score(landscape).consistency == pytest.approx(-0.1 * (ratio - 1), rel=1e-8)
    assert 0.1 * ratio == pytest.approx(proposition_3_inconsistency(a.diag(), b.diag(), 0.1))
    assert 0.1 * ratio <= proposition_3_bound(a.diag(), b.diag(), 0.1)


@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("exponents", [[-1.0, 0.0, 0.0], [0.3, 2.0], [-2.0, 0.1, 1.0, 2.0, -1.5, 0.7]])
def test_the_closed_form_by_products_alone(exponents, subtract):
    a, b = diagonals(exponents)
    ratio = float(torch.maximum(a / b, b / a).max())
    found = score(bowls(a, b), search=Subspace(tolerance=1e-5), subtract=subtract)
    assert found.inconsistency == pytest.approx(0.1 * (ratio - subtract), rel=1e-6)


@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("subtract", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.5])
def test_quadratic_losses_against_the_definition_on_a_grid(within, subtract, shift):
    """Where losses are quadratic, the expansion is exact and the whole definition can be evaluated point by point."""
    a, b = [[2.0, 0.6], [0.6, 1.0]], [[0.8, -0.3], [-0.3, 1.5]]
    landscape = bowls(a, b, centres=[[shift, 0.2 * shift], [-shift, shift]], levels=[0.05, 0.2])
    losses = [
        lambda x, m=m, c=c, level=level: (
            np.einsum("...i,ij,...j->...", x - np.array(c), np.array(m), x - np.array(c)) / 2 + level
        )
        for m, c, level in zip((a, b), ([shift, 0.2 * shift], [-shift, shift]), (0.05, 0.2), strict=True)
    ]
    expected = oracles.inconsistency_by_grid(losses, landscape.point, 0.3, within, subtract, half=2.5, size=1001)
    neighbourhood = "within" if within else "at-most"
    found = score(landscape, epsilon=0.3, neighbourhood=neighbourhood, subtract=subtract, walk=True)
    assert found.inconsistency >= expected - 1e-9
    assert found.inconsistency == pytest.approx(expected, rel=0.01)
    worst = found.pairs[0]
    # The walk is straight and stops where N_e ends: at the point itself, unless the way there leaves a shell.
    assert worst.walk.largest <= expected * 1.01
    if not within:
        assert worst.walk.scale == pytest.approx(1.0, abs=1e-6) or worst.multiplier == 0
        assert worst.walk.largest >= found.inconsistency - 1e-6


@pytest.mark.parametrize("neighbourhood", ["at-most", "within"])
def test_three_dimensions_against_constrained_optimisation(neighbourhood):
    matrices = [positive(seed, 3) for seed in range(3)]
    centres = [[0.3, 0.0, -0.2], [-0.3, 0.1, 0.1], [0.0, -0.1, 0.1]]
    landscape = bowls(*matrices, centres=centres)
    found = score(landscape, neighbourhood=neighbourhood)
    lower = -0.1 if neighbourhood == "within" else None
    for pair in found.pairs:
        parts = []
        for e in (pair.stays, pair.other):
            c = torch.tensor(centres[e]).double()
            parts.append((float(c @ matrices[e] @ c / 2), -matrices[e] @ c, matrices[e]))
        (k, g, h), (k2, g2, h2) = parts
        best = max(
            oracles.greatest_by_search((s * (k2 - k), s * (g2 - g), s * (h2 - h)), (0.0, g, h), 0.1, lower, 15, 0)
            for s in (1, -1)
        )
        assert pair.value == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("neighbourhood", ["at-most", "within"])
@pytest.mark.parametrize(("shift", "basis"), [(0.0, 4), (0.05, 8), (1.0, 4)])
def test_the_subspace_method_finds_what_the_dense_one_does(neighbourhood, shift, basis):
    n = 20
    centres = (shift * torch.randn(2, n, generator=GENERATOR())).tolist()
    landscape = bowls(*(positive(e, n) for e in range(2)), centres=centres)
    exact = score(landscape, neighbourhood=neighbourhood, ridge=0.5)
    settings = {"search": Subspace(400, 1e-3, basis)}
    found = score(landscape, neighbourhood=neighbourhood, ridge=0.5, **settings)
    by_pair = {(pair.stays, pair.other): pair for pair in exact.pairs}
    for pair in found.pairs:
        expected = by_pair[pair.stays, pair.other].value
        assert pair.converged
        assert 0 < pair.residual <= 1e-3
        assert pair.value <= expected * (1 + 1e-9)
        assert pair.value == pytest.approx(expected, rel=1e-3)


def test_what_has_not_converged_says_how_far_it_came():
    landscape = bowls(*(positive(e, 20) for e in range(2)))
    short, longer = (score(landscape, search=Subspace(count)).pairs[0] for count in (2, 12))
    assert not short.converged
    assert short.residual > max(1e-2, longer.residual)
    assert score(landscape).pairs[0].residual == 0


def test_products_are_counted_and_bounded_by_pairs_and_iterations():
    landscape = bowls(*(positive(e, 20) for e in range(3)))
    counted = []
    product = type(landscape).product

    class Counting(type(landscape)):
        def product(self, e, vector, curvature="hessian"):
            counted.append(e)
            return product(self, e, vector, curvature)

    landscape = Counting(landscape.point, landscape.environments, landscape.parts, landscape.parameters)
    found = score(landscape, search=Subspace(10))
    assert found.products == len(counted)
    assert len(counted) <= 6 * 2 * 2 * (10 + 3)  # pairs, signs, Hessians of a pair, iterations and start
    assert score(landscape).products == 3 * 20


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_permuting_and_duplicating_environments_changes_nothing(seed):
    generator = torch.Generator().manual_seed(seed)
    matrices = [positive(seed + e, 3) for e in range(2)]
    centres = (0.3 * torch.randn(2, 3, generator=generator)).tolist()
    plain = score(bowls(*matrices, centres=centres))
    order = [1, 0]
    turned = score(bowls(*(matrices[e] for e in order), centres=[centres[e] for e in order]))
    twice = score(bowls(*matrices, *matrices, centres=centres * 2))
    assert turned.inconsistency == pytest.approx(plain.inconsistency, rel=1e-12)
    assert twice.inconsistency == pytest.approx(plain.inconsistency, rel=1e-12)
    assert [(order[p.stays], order[p.other]) for p in turned.pairs] == [(p.stays, p.other) for p in plain.pairs]


def test_contributions_add_up_to_the_growth_and_name_the_parameters():
    landscape = bowls([1.0, 1.0, 1.0], [1.0, 1.0, 6.0], centres=[[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]])
    landscape = copy.copy(landscape)
    object.__setattr__(landscape, "parameters", {"shared": slice(0, 2), "disputed": slice(2, 3)})
    found = score(landscape, epsilon=0.2)
    worst = found.pairs[0]
    assert (worst.stays, worst.other) == (0, 1)
    start = abs(found.losses[1] - found.losses[0])
    assert sum(worst.contributions.values()) == pytest.approx(worst.value - start)
    assert worst.contributions["disputed"] > 10 * abs(worst.contributions["shared"])


class TestTrueLosses:
    """Losses that are not quadratic: a bowl, and one with a second valley beyond a ridge."""

    @staticmethod
    def losses():
        a = lambda x: x[..., 0] ** 2 + 2 * x[..., 1] ** 2 + 0.5 * x[..., 0] ** 3  # noqa: E731
        b = lambda x: (x[..., 0] ** 2 * (x[..., 0] - 1.5) ** 2) + 3 * x[..., 1] ** 2  # noqa: E731
        return a, b

    def landscape(self):
        return landscape_of_functions(self.losses(), torch.zeros(2, dtype=torch.float64))

    @pytest.mark.parametrize("neighbourhood", ["at-most", "within"])
    @pytest.mark.parametrize("method", [Exact(), Subspace()])
    def test_walks_are_lower_bounds_of_the_definition_and_close_for_a_small_epsilon(self, neighbourhood, method):
        truth = {
            epsilon: oracles.inconsistency_by_grid(
                self.losses(), torch.zeros(2), epsilon, neighbourhood == "within", half=2.0 * epsilon**0.5, size=801
            )
            for epsilon in (0.2, 0.01)
        }
        for epsilon, slack in ((0.2, 0.5), (0.01, 0.1)):
            found = score(self.landscape(), epsilon=epsilon, neighbourhood=neighbourhood, search=method, walk=True)
            best = max(pair.walk.largest for pair in found.pairs)
            assert truth[epsilon] * (1 - slack) <= best <= truth[epsilon] * 1.01

    def test_the_walk_stays_in_the_connected_part(self):
        """Beyond the hill environment B's loss is small again, but no path of small loss leads there."""
        landscape = self.landscape()
        choices = Consistency(epsilon=0.1)
        from mechlearn.surfaces import walk

        found = walk(landscape, (1, 0), torch.tensor([1.5, 0.0], dtype=torch.float64), choices)
        assert found.bounded
        assert found.scale < 0.3
        assert found.stays == pytest.approx(0.1, abs=1e-6)
        open_ended = walk(landscape, (1, 0), torch.tensor([1e-3, 0.0], dtype=torch.float64), choices, furthest=2.0)
        assert not open_ended.bounded
        assert open_ended.scale == 2.0

    def test_expansion_in_the_constraint_alone(self):
        """The maximum of the true difference over the ellipsoid, by a grid."""
        for neighbourhood in ("at-most", "within"):
            settings = {"search": Ascent(starts=3), "neighbourhood": neighbourhood}
            found = score(self.landscape(), epsilon=0.2, **settings)
            line = np.linspace(-1, 1, 801)
            grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
            a, b = (loss(grid) for loss in self.losses())
            in_a = grid[..., 0] ** 2 + 2 * grid[..., 1] ** 2 <= 0.2
            in_b = 2.25 * grid[..., 0] ** 2 + 3 * grid[..., 1] ** 2 <= 0.2
            expected = max(np.abs(a - b)[in_a].max(), np.abs(a - b)[in_b].max())
            assert found.inconsistency == pytest.approx(expected, rel=0.02)


class Patch(torch.nn.Module):
    """f = th5 s(th1 x + th2) + th6 s(th3 x + th4), with the weights that sew two environments together (appendix B.1)."""

    def __init__(self):
        super().__init__()
        theta = [100.0, -50.0, 100.0, -75.0, 1.0, 1.0]
        self.th = torch.nn.ParameterList(torch.nn.Parameter(torch.tensor(value).double()) for value in theta)

    def forward(self, x):
        return self.th[4] * torch.sigmoid(self.th[0] * x + self.th[1]) + self.th[5] * torch.sigmoid(self.th[2] * x + self.th[3])


def test_the_patchwork_solution_has_a_low_score():
    """theta_6 from 1 to -0.5 leaves A's loss as it is and raises B's; the walk finds a way that is no better."""
    x = torch.linspace(0, 1, 203).double()
    target = ((x - 0.4) * 10).clamp(0, 1) + ((x - 0.7) * 10).clamp(0, 1)
    landscape = landscape_of_model(Patch(), lambda output, y: (output - y).square(), [(x, target, (x > 0.5).long())])
    theta = landscape.point.clone()
    theta[5] = -0.5
    assert abs(landscape.loss(0, theta) - landscape.loss(0)) < 1e-3
    printed = landscape.loss(1, theta)
    assert printed > 0.5
    found = score(landscape, epsilon=1e-3, curvature="gauss-newton", ridge=1e-8, walk=True)
    assert (found.pairs[0].stays, found.pairs[0].other) == (0, 1)
    assert max(found.pairs[0].contributions, key=found.pairs[0].contributions.get) == "th.5"
    assert found.pairs[0].walk.largest > printed


class TestBadInput:
    def test_one_environment(self):
        with pytest.raises(ValueError, match=r"at least two.*Found 1.*id of its own"):
            score(bowls([1.0, 2.0]))

    def test_a_hessian_that_is_not_positive_names_its_environment_and_ways_out(self):
        landscape = bowls([1.0, 2.0], [1.0, -0.5])
        for method in (Exact(), Subspace()):
            with pytest.raises(ValueError, match=r"curvature of -0.5 in environment 1.*ridge above 0.5.*gauss-newton"):
                score(landscape, search=method)
            score(landscape, ridge=0.6, search=method)
        with pytest.raises(ValueError, match=r"Gauss-Newton.*functions of the parameters.*ridge"):
            score(landscape, curvature="gauss-newton")

    def test_a_point_that_is_no_minimum(self):
        landscape = bowls([1.0, 1.0], [2.0, 2.0], centres=[[3.0, 0.0], [3.0, 0.0]])
        message = r"minimum of the pooled loss.*gradient of norm 4.5.*lowers that loss by about 6.8.*epsilon is 0.1.*longer"
        with pytest.raises(ValueError, match=message):
            score(landscape, not_minimum="error")
        with pytest.warns(UserWarning, match=message):
            score(landscape, not_minimum="warn")
        hill = bowls([1.0, 1.0], [-2.0, -2.0], centres=[[1.0, 0.0], [3.0, 0.0]])
        with pytest.raises(ValueError, match="bends downwards"):
            score(hill, not_minimum="error")
        score(bowls([1.0, 1.0], [1.0, 3.0], centres=[[0.5, 0.0], [-0.5, 0.0]]), not_minimum="error")  # gradients cancel

    @pytest.mark.parametrize(
        ("choices", "message"),
        [
            ({"epsilon": 0.0}, "epsilon"),
            ({"epsilon": math.nan}, "epsilon"),
            ({"epsilon": -1.0}, "epsilon"),
            ({"ridge": -1.0}, "ridge"),
        ],
    )
    def test_choices_out_of_range(self, choices, message):
        with pytest.raises(ValueError, match=message):
            Consistency(**{"epsilon": 0.1, **choices})

    @pytest.mark.parametrize(
        ("search", "settings"),
        [(Subspace, {"basis": 3}), (Subspace, {"tolerance": 1.0}), (Subspace, {"iterations": 0}), (Ascent, {"starts": -1})],
    )
    def test_searches_out_of_range(self, search, settings):
        with pytest.raises(ValueError, match=next(iter(settings))):
            search(**settings)

    def test_a_search_of_another_type(self):
        found = Consistency(epsilon=0.1)
        object.__setattr__(found, "search", "subspace")
        with pytest.raises(TypeError, match=r"`search` should be an Exact.*Found 'subspace'"):
            found.__post_init__()

    @pytest.mark.parametrize(
        ("name", "message"),
        [("neighbourhood", '"at-most" or "within"'), ("curvature", '"hessian" or'), ("not_minimum", '"warn"')],
    )
    def test_unknown_names(self, name, message):
        choices = Consistency(epsilon=0.1)
        object.__setattr__(choices, name, "near")  # past the type checker that runs with the tests
        with pytest.raises(ValueError, match=rf"{message}.*Found 'near'"):
            choices.__post_init__()

    def test_a_loss_that_is_not_finite(self):
        landscape = landscape_of_functions([lambda x: x.sum() ** 2, lambda x: x.sum().log()], torch.zeros(2))
        with pytest.raises(ValueError, match=r"finite.*-inf in environment 1"):
            score(landscape)

    def test_missing_generator_too_many_parameters_and_wrong_pairs(self):
        landscape = bowls([1.0, 2.0], [2.0, 1.0])
        with pytest.raises(ValueError, match=r"generator.*manual_seed"):
            inconsistency(landscape, Consistency(epsilon=0.1, search=Subspace()))
        with pytest.raises(ValueError, match=r"at most 1 parameters.*Found 2.*Subspace"):
            score(landscape, search=Exact(largest=1))
        for pairs in ([(0, 2)], [(1, 1)], []):
            with pytest.raises(ValueError, match="pair"):
                inconsistency(landscape, Consistency(epsilon=0.1), pairs=pairs)
        some = inconsistency(landscape, Consistency(epsilon=0.1), pairs=[(1, 0)])
        assert [(pair.stays, pair.other) for pair in some.pairs] == [(1, 0)]


def test_ilc_is_the_mean_over_initialisations():
    """Descent from the right of a double well finds a consistent minimum, from the left an inconsistent one."""

    def score_of(point):
        sharp = 1.0 if float(point) > 0 else 5.0
        return score(
            landscape_of_functions([lambda x: ((x - point) ** 2).sum(), lambda x: sharp * ((x - point) ** 2).sum()], point)
        )

    def algorithm(start):
        return torch.tensor([1.0 if start > 0 else -1.0], dtype=torch.float64)

    found = ilc(algorithm, [0.3, -0.2, 0.9, 2.0], score_of)
    assert [round(each.consistency, 9) for each in found.scores] == [0.0, -0.4, 0.0, 0.0]
    assert found.value == pytest.approx(-0.1)
    with pytest.raises(ValueError, match="at least one"):
        ilc(algorithm, [], score_of)


def test_the_same_seed_gives_the_same_score_and_the_global_stream_is_left_alone():
    landscape = bowls(*(positive(e, 12) for e in range(2)))
    before = torch.random.get_rng_state()
    first, second = (score(landscape, search=Subspace()).inconsistency for _ in range(2))
    assert first == second
    assert torch.equal(torch.random.get_rng_state(), before)


def test_of_one_parameter_no_search_leaves_the_interval_around_the_point():
    landscape = landscape_of_functions(
        [lambda x: ((x - 1) ** 2).sum() / 2, lambda x: (5 * x**2).sum()], torch.zeros(1, dtype=torch.float64)
    )
    exact, ascent = (
        inconsistency(
            landscape,
            Consistency(epsilon=0.1, neighbourhood="within", search=search, not_minimum="ignore", walk=False),
            GENERATOR(),
            [(0, 1)],
        ).pairs[0]
        for search in (Exact(), Ascent(starts=2, iterations=60))
    )
    assert ascent.value == pytest.approx(exact.value, rel=1e-6)
