import pytest
import torch

from mechlearn.solvers import conjugate_gradients, neumann_series

SHAPES = ((2, 3), (4,), ())
SIZE = 11


def problem():
    """A positive definite matrix with eigenvalues in [1, 2], as an operator on parts, and a vector of such parts."""
    generator = torch.Generator().manual_seed(0)
    rotation = torch.linalg.qr(torch.randn(SIZE, SIZE, generator=generator, dtype=torch.float64)).Q
    matrix = rotation @ torch.diag(torch.linspace(1, 2, SIZE, dtype=torch.float64)) @ rotation.T
    vector = torch.randn(SIZE, generator=generator, dtype=torch.float64)
    return matrix, (lambda parts: split(matrix @ flat(parts))), split(vector)


def flat(parts):
    return torch.cat([part.flatten() for part in parts])


def split(vector):
    sizes = [max(1, torch.Size(shape).numel()) for shape in SHAPES]
    return tuple(part.reshape(shape) for part, shape in zip(vector.split(sizes), SHAPES, strict=True))


def test_conjugate_gradients_end_after_as_many_iterations_as_dimensions():
    matrix, operator, vector = problem()
    found = conjugate_gradients(operator, vector, SIZE)
    assert [part.shape for part in found] == [part.shape for part in vector]
    torch.testing.assert_close(flat(found), torch.linalg.solve(matrix, flat(vector)), rtol=1e-10, atol=1e-12)


def test_conjugate_gradients_come_nearer_with_every_iteration():
    matrix, operator, vector = problem()
    wanted = torch.linalg.solve(matrix, flat(vector))
    errors = [float((flat(conjugate_gradients(operator, vector, count)) - wanted).norm()) for count in range(6)]
    assert errors == sorted(errors, reverse=True)


def test_conjugate_gradients_stop_at_the_solution():
    zeros = split(torch.zeros(SIZE, dtype=torch.float64))

    def never(parts):
        raise AssertionError("no product is needed")

    assert not flat(conjugate_gradients(never, zeros, 5)).any()


def test_conjugate_gradients_end_at_a_tolerance():
    matrix, operator, vector = problem()
    calls = []
    found = conjugate_gradients(lambda parts: (calls.append(1), operator(parts))[1], vector, SIZE, tolerance=1e-3)
    left = flat(vector) - matrix @ flat(found)
    assert left.norm() <= 1e-3 * flat(vector).norm()
    assert len(calls) < SIZE


def test_a_neumann_series_tends_to_the_inverse():
    matrix, operator, vector = problem()
    found = neumann_series(operator, vector, terms=60, scale=0.5)
    torch.testing.assert_close(flat(found), torch.linalg.solve(matrix, flat(vector)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("terms", [1, 2, 3])
def test_a_neumann_series_is_its_formula(terms):
    matrix, operator, vector = problem()
    power, total = flat(vector), flat(vector)
    for _ in range(terms - 1):
        power = power - 0.3 * matrix @ power
        total = total + power
    torch.testing.assert_close(flat(neumann_series(operator, vector, terms, 0.3)), 0.3 * total)


@pytest.mark.parametrize(("dtype", "scale"), [(torch.float32, 1e-6), (torch.float32, 1e-3), (torch.float64, 1e-6)])
def test_conjugate_gradients_stay_where_the_residual_is_below_the_smallest_number(dtype, scale):
    diagonal = torch.tensor([1.0, 2.0, 5.0], dtype=dtype) * scale
    (found,) = conjugate_gradients(lambda parts: (diagonal * parts[0],), [torch.ones(3, dtype=dtype)], 50)
    torch.testing.assert_close(found * diagonal, torch.ones(3, dtype=dtype))


def test_a_direction_without_curvature_is_refused():
    with pytest.raises(ValueError, match="Found a direction without curvature"):
        conjugate_gradients(lambda parts: (torch.tensor([1.0, 0.0]) * parts[0],), [torch.ones(2)], 10)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        *((torch.float32, size) for size in (1e-23, 1e-40, 1e20)),
        *((torch.float64, size) for size in (1e-200, 1e200)),
        *((torch.float16, size) for size in (1e-4, 500.0)),
        (torch.bfloat16, 1e-25),
    ],
)
def test_vectors_whose_squares_leave_the_range_of_their_type(dtype, size):
    diagonal = torch.tensor([1.0, 2.0, 4.0], dtype=dtype)
    vector = torch.full((3,), size, dtype=dtype)
    (found,) = conjugate_gradients(lambda parts: (diagonal * parts[0],), [vector], 3)
    wanted = vector.double() / diagonal.double()
    torch.testing.assert_close(found.double(), wanted, rtol=20 * torch.finfo(dtype).eps, atol=1e-45)


def test_a_vector_that_is_no_number_has_no_solution():
    (found,) = conjugate_gradients(lambda parts: parts, [torch.tensor([1.0, float("nan")])], 3)
    assert bool(found.isnan().all())
    with pytest.raises(TypeError, match=r"Found torch\.int64 at 0"):
        conjugate_gradients(lambda parts: parts, [torch.ones(3, dtype=torch.int64)], 3)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    "solve", [lambda *given: conjugate_gradients(*given, 3), lambda *given: neumann_series(*given, 3, 0.1)]
)
@pytest.mark.parametrize(
    ("image", "sentence"),
    [
        (None, r"should return a tuple of 1 tensors, the parts of a vector\. Found NoneType"),
        (torch.ones(2), "Found Tensor"),
        ((torch.ones(2), torch.ones(2)), "Found 2 of them"),
        ((None,), r"should return for each part a tensor like it, shape \(2,\)\. Found None"),
        ((torch.ones(3),), r"Found shape \(3,\)"),
        ((torch.ones(2, dtype=torch.int64),), r"should return floats\. Found torch\.int64"),
        ((torch.ones(2, device="meta"),), "Found a tensor that is on the device meta"),
    ],
)
def test_an_operator_that_returns_no_vector_is_named(solve, image, sentence):
    with pytest.raises((TypeError, ValueError), match=rf"`operator` .*{sentence}"):
        solve(lambda parts: image, [torch.ones(2)])


def test_a_tolerance_is_a_share():
    with pytest.raises(ValueError, match=r"`tolerance` should lie in \[0, 1\]\. Found 1e\+300"):
        conjugate_gradients(lambda parts: parts, [torch.ones(2)], 3, 1e300)
