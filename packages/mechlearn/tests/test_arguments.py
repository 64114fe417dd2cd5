import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from mechlearn.arguments import (
    check_all_finite,
    check_data,
    check_decay,
    check_floats,
    check_generator,
    check_ids,
    check_mask,
    check_not_negative,
    check_one_of,
    check_positive,
    check_result,
    check_returned,
    check_shape,
    check_share,
    check_whole,
    ends,
)

NUMBERS = [check_decay, check_not_negative, check_positive, check_share]


@pytest.mark.parametrize(
    ("check", "taken", "refused"),
    [
        (check_decay, [0, 0.9, np.float32(0.5)], [1, 1.0, -0.1]),
        (check_not_negative, [0, 7, 1e9, torch.tensor(0.1)], [-1e-9, float("inf")]),
        (check_positive, [1, 1e-300, np.int64(3)], [0, -1, float("inf")]),
        (check_share, [0, 1, 0.5, np.float64(1)], [-0.1, 1.0001]),
        (check_whole, [0, 3, np.int64(2)], [-1]),
    ],
)
def test_ranges(check, taken, refused):
    for value in taken:
        check("x", value)
    for value in refused:
        with pytest.raises(ValueError, match=r"`x` should .*: because\. Found .* Do this\."):
            check("x", value, why="because", way_out="Do this.")


@pytest.mark.parametrize("check", NUMBERS)
def test_nan_is_out_of_every_range(check):
    with pytest.raises(ValueError, match="Found nan"):
        check("x", float("nan"))


@pytest.mark.parametrize("check", [*NUMBERS, check_whole])
@pytest.mark.parametrize("value", [True, None, "1", [1], 1j, torch.ones(2)])
def test_wrong_types(check, value):
    with pytest.raises(TypeError, match=rf"number.*Found {re.escape(repr(value))} of type {type(value).__name__}"):
        check("x", value)


def test_whole_numbers():
    with pytest.raises(TypeError, match=r"whole number\. Found 2\.0 of type float"):
        check_whole("x", 2.0)
    with pytest.raises(ValueError, match=r"at least 3\. Found 2"):
        check_whole("x", 2, least=3)


@pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
def test_words(value):
    check_one_of("x", "a", ("a", "b"))
    check_one_of("x", None, (None, "b"))
    with pytest.raises(ValueError, match=re.escape(f'"a" or "b". Found {value!r}.')):
        check_one_of("x", value, ("a", "b"))


def test_shapes():
    check_shape("x", torch.ones(4, 2, 4), "B", 2, "B")
    check_shape("x", torch.ones(()))
    for tensor in (torch.ones(4, 2, 5), torch.ones(4, 3, 4), torch.ones(4, 2), torch.ones(0, 2, 0)):
        with pytest.raises(ValueError, match=rf"shape \(B, 2, B\)\. Found {re.escape(str(tuple(tensor.shape)))}"):
            check_shape("x", tensor, "B", 2, "B")
    with pytest.raises(TypeError, match=r"a tensor and have the shape \(B,\)\. Found \[1\] of type list"):
        check_shape("x", [1], "B")


def test_leading_axes():
    for tensor in (torch.ones(3), torch.ones(2, 3), torch.ones(4, 2, 3)):
        check_shape("x", tensor, "...", 3)
    for tensor in (torch.ones(()), torch.ones(2), torch.ones(0, 3)):
        with pytest.raises(ValueError, match=r"shape \(\.\.\., 3\)\. Found"):
            check_shape("x", tensor, "...", 3)
    with pytest.raises(ValueError, match=r"shape \(\.\.\., n, 3\)\. Found \(3,\)"):
        check_shape("x", torch.ones(3), "...", "n", 3)


def test_floats_are_of_the_type_and_the_place_of_what_they_meet():
    weight = torch.ones(2)
    check_floats("x", torch.ones(5, 2), "n", 2, like=weight)
    with pytest.raises(TypeError, match=r"`x` should hold floating numbers\. Found torch\.int64\. Convert it with"):
        check_floats("x", torch.ones(5, 2).long(), "n", 2)
    with pytest.raises(TypeError, match=r"be of the type torch\.float32\. Found torch\.float64"):
        check_floats("x", torch.ones(5, 2).double(), "n", 2, like=weight)
    with pytest.raises(ValueError, match=r"be on the device cpu\. Found meta"):
        check_floats("x", torch.ones(5, 2, device="meta"), "n", 2, like=weight)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        check_floats("x", torch.ones(5, 2, dtype=torch.bfloat16), "n", 2, like=weight)


def test_ids_and_masks():
    check_ids("x", torch.tensor([0, 2]), "n", count=3)
    for wrong in (torch.tensor([0, 3]), torch.tensor([-1, 0])):
        with pytest.raises(ValueError, match=r"be numbers from 0 to 2\. Found"):
            check_ids("x", wrong, "n", count=3)
    for wrong in (torch.ones(2), torch.ones(2, dtype=torch.bool), torch.ones(2, dtype=torch.complex64)):
        with pytest.raises(TypeError, match=r"hold whole numbers\. Found torch"):
            check_ids("x", wrong, "n", count=3)
    check_mask("x", torch.ones(2, dtype=torch.bool), "n")
    with pytest.raises(TypeError, match=r"hold booleans\. Found torch\.float32\. True for what counts"):
        check_mask("x", torch.ones(2), "n")


def test_finite_tensors():
    large = torch.full((3,), 3e38)  # their sum overflows, and they are finite
    check_all_finite("x", large)
    check_all_finite("x", torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"`x` should be finite\. Found inf at \(2,\)\. Leave it out\."):
        check_all_finite("x", torch.tensor([1.0, 2.0, torch.inf]), way_out="Leave it out.")
    with pytest.raises(ValueError, match=r"Found nan\."):
        check_all_finite("x", torch.tensor(torch.nan))


def test_a_result_is_looked_at_and_its_inputs_are_named():
    fine, broken = torch.ones(2), torch.tensor([0.0, torch.nan])
    check_result(fine, {"x": broken}, way_out="")  # what is finite came of what matters
    with pytest.raises(ValueError, match=r"`y` should be finite\. Found nan at \(1,\)"):
        check_result(broken, {"x": fine, "y": broken}, way_out="")
    with pytest.raises(ValueError, match=r"What comes of `x`, `y` should be finite\. Found inf at \(0,\)\. Scale them\."):
        check_result(fine / 0, {"x": fine, "y": fine}, way_out="Scale them.")


def test_where_values_are_hidden_nothing_is_looked_at(as_installed):
    def squared(x):
        check_all_finite("x", x)
        check_ids("i", x.long(), "...", count=1)
        check_floats("x", x, "...", 2, like=torch.ones(1))
        return x.square().sum()

    x = torch.tensor([[0.5, torch.nan], [0.0, 0.5]])
    assert torch.func.vmap(squared)(x).isnan().tolist() == [True, False]
    assert torch.func.vmap(torch.func.grad(squared))(x).shape == (2, 2)
    assert torch.compile(squared, fullgraph=True, backend="eager")(x).isnan()
    check_all_finite("x", torch.ones(2, device="meta"))
    with pytest.raises(ValueError, match="Found nan"):
        torch.func.grad(squared)(x)


def test_generators_are_on_the_tensors_device():
    check_generator("g", torch.Generator())
    check_generator("g", torch.Generator(), beside=torch.ones(1))
    with pytest.raises(ValueError, match=r"on the device meta\. Found cpu\. Use torch\.Generator\('meta'\)"):
        check_generator("g", torch.Generator(), beside=torch.ones(1, device="meta"))
    with pytest.raises(TypeError, match=r"`g` should be a torch\.Generator\. Found None"):
        check_generator("g", None)


@pytest.mark.parametrize(
    ("check", "value", "found"),
    [
        (check_data, torch.ones(3, device="meta"), r"hold data\. Found a tensor on the device meta\. Move the data"),
        (check_data, torch.ones(3).to_sparse(), r"be dense\. Found torch\.sparse_coo\. Call \.to_dense"),
        (check_data, torch.nested.nested_tensor([torch.ones(3)], layout=torch.jagged), r"be dense\. Found a nested one"),
        (check_ids, torch.ones(3, dtype=torch.int64, device="meta"), "hold data. Found a tensor on the device meta"),
        (check_mask, torch.ones(3, dtype=torch.bool, device="meta"), "hold data. Found a tensor on the device meta"),
        (check_floats, torch.ones(3).to_sparse(), r"be dense\. Found torch\.sparse_coo"),
        (check_floats, torch.ones(3).to(torch.float8_e4m3fn), "hold floats of two bytes or more"),
        (
            check_shape,
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged),
            r"be dense\. Found a nested one",
        ),
    ],
)
def test_what_torch_would_misread_is_refused_at_the_door(as_installed, check, value, found):
    with pytest.raises(TypeError, match=rf"`x` should {found}"):
        check("x", value, *(() if check is check_data else (3,)))


def test_a_number_that_no_tensor_counts_to_is_refused(as_installed):
    check_whole("steps", 2**63 - 1)
    check_whole("seed", 2**64 - 1, most=2**64 - 1)
    for wrong in (2**63, 10**30, 10**400):
        with pytest.raises(ValueError, match=rf"`steps` should be at most {2**63 - 1}\. Found one of {len(str(wrong))} digits"):
            check_whole("steps", wrong)


@pytest.mark.parametrize("check", NUMBERS)
def test_an_int_that_torch_cannot_take_as_a_number_is_refused(as_installed, check):
    for wrong in (10**30, -(2**64), 10**400):
        with pytest.raises(
            ValueError, match=r"`scale` should be at most \d+ in size if it is an int\. Found one of \d+ digits"
        ):
            check("scale", wrong)


@pytest.mark.parametrize(
    ("found", "error", "sentence"),
    [
        (None, TypeError, "Found None"),
        (1.5, TypeError, r"Found 1\.5 of type float"),
        ([torch.ones(3)], TypeError, "Found an object of type list"),
        (torch.ones(4), ValueError, r"Found shape \(4,\)\. Do this\."),
        (torch.tensor(1.0), ValueError, r"Found shape \(\)\. Do this\."),
        (torch.ones(3).to_sparse(), TypeError, "Found a tensor that is torch.sparse_coo"),
        (torch.ones(3, device="meta"), TypeError, "Found a tensor that is on the device meta"),
    ],
)
def test_what_a_users_function_returned_is_named(as_installed, found, error, sentence):
    check_returned("loss", torch.ones(3), "one value", 3)
    check_returned("codes", torch.ones(3, dtype=torch.uint8), "one value", 3, floats=False)
    with pytest.raises(error, match=rf"^`loss` should return one value, shape \(3,\)\. {sentence}\.?$"):
        check_returned("loss", found, "one value", 3, way_out="Do this.")
    with pytest.raises(TypeError, match=r"`loss` should return floats\. Found torch\.int64"):
        check_returned("loss", torch.ones(3).long(), "one value", 3)


def test_the_least_and_the_greatest_number_where_they_can_be_looked_at(as_installed):
    assert ends(torch.tensor([3.0, -1.5, 2.0], requires_grad=True)) == (-1.5, 3.0)
    assert ends(torch.tensor(2)) == (2, 2)
    assert str(ends(torch.tensor([1.0, torch.nan]))) == "(nan, nan)"
    assert ends(torch.ones(0)) == ends(torch.ones(2, device="meta")) == ends(torch.ones(2, dtype=torch.complex64)) == ()

    def looked(x):
        assert ends(x) == ()
        return x

    torch.func.vmap(looked)(torch.ones(3))
    make_fx(looked)(torch.ones(3))
    torch.compile(lambda x: x * len(ends(x)), fullgraph=True, backend="eager")(torch.ones(3))


def test_shapes_are_checked_in_every_room_that_has_some(pytestconfig):
    asked = pytestconfig.getoption("jaxtyping_packages").split(",")
    source = Path(__file__).parents[1] / "src" / "mechlearn"
    rooms = {
        path.relative_to(source).parts[0].removesuffix(".py")
        for path in source.rglob("*.py")
        if "jaxtyping" in path.read_text()
    }
    assert {f"mechlearn.{room}" for room in rooms} <= set(asked)
