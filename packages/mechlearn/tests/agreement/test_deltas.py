"""`merge`, `ties` and `dare`, against the papers' equations component by component."""

import pytest
import torch

from mechlearn.agreement import (
    Anchored,
    AndMask,
    GeometricMean,
    Homogeneous,
    Mean,
    MedianSign,
    SandMask,
    SignalToNoiseMask,
    XorMask,
    dare,
    merge,
    ties,
)
from mechlearn.agreement.stacked import combine
from mechlearn.penalties import cagrad, gaf, pcgrad

SHAPES = {"in.weight": (3, 4), "in.bias": (3,), "scale": (), "none": (0, 2)}


def drawn(seed, sources=3, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    return {
        f"s{k}": {n: torch.randn(s, generator=generator, dtype=torch.float64).to(dtype) for n, s in SHAPES.items()}
        for k in range(sources)
    }


def literal_ties(deltas, keep):
    """Algorithm 1 of TIES, one component at a time: trim, elect, disjoint merge."""
    flat = {source: [x for name in SHAPES for x in tensors[name].flatten().tolist()] for source, tensors in deltas.items()}
    trimmed = []
    for values in flat.values():
        largest = sorted(map(abs, values), reverse=True)
        limit = largest[max(1, round(keep * len(values))) - 1]
        trimmed.append([x if abs(x) >= limit else 0.0 for x in values])
    merged = []
    for column in zip(*trimmed, strict=True):
        total = sum(column)
        agree = [x for x in column if x * total > 0]
        merged.append(sum(agree) / len(agree) if agree else 0.0)
    found, start = {}, 0
    for name, shape in SHAPES.items():
        size = torch.Size(shape).numel()
        found[name] = torch.tensor(merged[start : start + size], dtype=torch.float64).view(shape)
        start += size
    return found


@pytest.mark.parametrize("sources", [2, 3, 5])
@pytest.mark.parametrize("keep", [0.05, 0.2, 0.5, 1.0])
def test_ties_is_its_algorithm(sources, keep):
    for seed in range(5):
        deltas = drawn(seed, sources)
        torch.testing.assert_close(ties(deltas, keep), literal_ties(deltas, keep), rtol=1e-14, atol=0)


def test_ties_trims_each_source_over_all_of_its_tensors():
    deltas = {
        "a": {"x": torch.tensor([9.0, 1.0]), "y": torch.tensor([1.0, 8.0])},
        "b": {"x": -torch.ones(2), "y": torch.tensor([5.0, 7.0])},
    }
    assert ties(deltas, 0.5)["x"].tolist() == [9.0, 0.0]  # b keeps its two largest, and both are in y
    assert ties(deltas, 0.5)["y"].tolist() == [5.0, 7.5]


def test_ties_elects_nothing_of_opposites_and_keeps_equal_magnitudes():
    deltas = {"a": {"x": torch.tensor([1.0, 1.0, 1.0])}, "b": {"x": torch.tensor([-1.0, 1.0, 1.0])}}
    assert ties(deltas, 0.4)["x"].tolist() == [0.0, 1.0, 1.0]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_ties_of_narrow_types_is_that_of_wide_ones_rounded(dtype):
    deltas = drawn(1, 4, dtype)
    wide = literal_ties({source: {n: t.double() for n, t in tensors.items()} for source, tensors in deltas.items()}, 0.5)
    found = ties(deltas, 0.5)
    for name, tensor in wide.items():
        torch.testing.assert_close(found[name], tensor.to(dtype), rtol=2 * torch.finfo(dtype).eps, atol=0)


def test_a_limit_of_a_wide_tensor_decides_exactly_about_a_narrow_one():
    step = torch.finfo(torch.float64).eps
    own = {"wide": torch.tensor([1 + step], dtype=torch.float64), "narrow": torch.tensor([1.0, 2.0])}
    deltas = {"a": own, "b": own}
    assert ties(deltas, 0.6)["narrow"].tolist() == [0.0, 2.0]  # two are kept, and 1 is just below the wide one


RULES = [
    Mean(), AndMask(), AndMask(0.3, rescale=True), GeometricMean(), MedianSign(), SandMask(), SignalToNoiseMask(), XorMask(),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_merge_is_the_rule_of_each_tensor(rule):
    deltas = drawn(2)
    before = {source: {n: t.clone() for n, t in tensors.items()} for source, tensors in deltas.items()}
    merged = merge(rule, deltas)
    assert list(merged) == list(SHAPES)
    for name, tensor in merged.items():
        assert torch.equal(tensor, combine(rule, torch.stack([deltas[source][name] for source in deltas])).gradient)
    assert all(torch.equal(deltas[source][name], before[source][name]) for source in deltas for name in SHAPES)


def test_an_and_mask_by_the_definition_and_whatever_the_order_of_names():
    deltas = {
        "a": {"x": torch.tensor([1.0, 2.0]), "y": torch.tensor(3.0)},
        "b": {"y": torch.tensor(-1.0), "x": torch.tensor([3.0, -2.0])},
    }
    assert {name: tensor.tolist() for name, tensor in merge(AndMask(), deltas).items()} == {"x": [2.0, 0.0], "y": 0.0}


def test_an_anchor_is_named_as_its_source():
    deltas = {"client": {"x": torch.tensor([1.0, 1.0])}, "server": {"x": torch.tensor([2.0, -2.0])}}
    assert merge(Anchored("server", 0.5), deltas)["x"].tolist() == [2.5, -2.0]
    with pytest.raises(
        ValueError, match=r"`anchor` should be an environment of the step\. Found no example of 'boss' among the ids"
    ):
        merge(Anchored("boss"), deltas)


@pytest.mark.parametrize(
    "function", [cagrad, gaf, lambda g: pcgrad(g, torch.Generator().manual_seed(0))], ids=["cagrad", "gaf", "pcgrad"]
)
def test_a_function_of_whole_deltas_sees_one_source_a_row(function):
    deltas = drawn(4)
    rows = torch.stack([torch.cat([deltas[source][name].flatten() for name in SHAPES]) for source in deltas])
    merged = merge(function, deltas)
    assert {name: tuple(tensor.shape) for name, tensor in merged.items()} == SHAPES
    assert torch.equal(torch.cat([tensor.flatten() for tensor in merged.values()]), function(rows))


def test_what_a_merge_returns_needs_no_gradient():
    deltas = {k: {"x": torch.nn.Parameter(torch.ones(2))} for k in range(2)}
    results = [merge(Mean(), deltas), ties(deltas), *dare(deltas, 0.5, torch.Generator().manual_seed(0)).values()]
    assert not any(tensor.requires_grad for found in results for tensor in found.values())


@pytest.mark.parametrize("drop", [0.0, 0.3, 0.9])
def test_dare_is_its_equation(drop):
    deltas = drawn(3)
    found = dare(deltas, drop, torch.Generator().manual_seed(7))
    again = torch.Generator().manual_seed(7)
    for source, tensors in deltas.items():
        for name, delta in tensors.items():
            uniform = torch.rand(delta.shape, generator=again).flatten().tolist()
            literal = [(0.0 if u < drop else x) / (1 - drop) for u, x in zip(uniform, delta.flatten().tolist(), strict=True)]
            assert found[source][name].flatten().tolist() == literal


def test_dare_leaves_the_mean_of_many_draws():
    deltas = {k: {"x": torch.full((200_000,), 1.0 + k)} for k in range(2)}
    found = dare(deltas, 0.9, torch.Generator().manual_seed(0))
    for k in range(2):
        assert float((found[k]["x"] != 0).double().mean()) == pytest.approx(0.1, abs=0.003)
        assert float(found[k]["x"].double().mean()) == pytest.approx(1.0 + k, rel=0.03)
    assert not torch.equal(found[0]["x"] != 0, found[1]["x"] != 0)


GOOD = {"a": {"x": torch.ones(2)}, "b": {"x": torch.ones(2)}}


def broken(**tensors):
    return {"a": {"x": torch.ones(2)}, "b": tensors}


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("deltas", "kind", "sentence"),
    [
        ([torch.ones(2)], TypeError, "`deltas` should be a dictionary of sources. Found an object of type list"),
        ({}, ValueError, "`deltas` should hold two sources or more. Found 0. Pass {source: {name: tensor}}"),
        ({"a": {"x": torch.ones(2)}}, ValueError, "`deltas` should hold two sources or more. Found 1"),
        ({"a": torch.ones(2), "b": torch.ones(2)}, TypeError, r"`deltas\['a'\]` should be a dictionary of tensors by name"),
        ({"a": {}, "b": {}}, ValueError, r"`deltas\['a'\]` should be a dictionary of tensors by name, of one at least"),
        (broken(y=torch.ones(2)), ValueError, r"tensors of the same names. Found \['x', 'y'\] of 'a' or of 'b' alone"),
        (broken(x=[1.0, 1.0]), TypeError, r"`deltas\['b'\]\['x'\]` should be a tensor"),
        (broken(x=torch.ones(3)), ValueError, r"have the shape, type and device of the first source's. Found \(\(3,\), t"),
        (broken(x=torch.ones(2).double()), ValueError, "have the shape, type and device of the first source's"),
        (
            broken(x=torch.tensor([1.0, torch.nan])),
            ValueError,
            r"`deltas\['b'\]\['x'\]` should be finite. Found nan at \(1,\). L",
        ),
        (
            broken(x=torch.ones(2, dtype=torch.int64)),
            TypeError,
            "dense tensor of floats of two bytes or more. Found .* of torch.int64",
        ),
        (broken(x=torch.ones(2).to_sparse()), TypeError, "dense tensor of floats of two bytes or more. Found torch.sparse_coo"),
        (broken(x=torch.ones(2, device="meta")), TypeError, "should be a dense tensor of floats .* on meta"),
    ],
)
def test_wrong_deltas_end_in_a_sentence(deltas, kind, sentence):
    for call in (lambda d: merge(AndMask(), d), ties, lambda d: dare(d, 0.5, torch.Generator())):
        with pytest.raises(kind, match=sentence):
            call(deltas)


@pytest.mark.usefixtures("as_installed")
def test_wrong_settings_end_in_a_sentence():
    with pytest.raises(ValueError, match=r"A rule for deltas should read deltas alone\. Found Homogeneous\(.*Use AndMask or"):
        merge(Homogeneous(), GOOD)
    with pytest.raises(TypeError, match="`rule` should be a rule such as AndMask"):
        merge(AndMask, GOOD)
    with pytest.raises(TypeError, match="`rule` should be a rule such as AndMask"):
        merge(None, GOOD)
    with pytest.raises(TypeError, match=r"`rule` should return one number for each component, shape \(2,\)\. Found None"):
        merge(lambda rows: None, GOOD)
    with pytest.raises(
        ValueError, match=r"`rule` should return one number for each component, shape \(2,\)\. Found shape \(2, 2\)"
    ):
        merge(lambda rows: rows, GOOD)
    for keep in (0.0, 1.1, -0.1):
        with pytest.raises(ValueError, match=r"`keep` should .*0\.2 is the paper's default"):
            ties(GOOD, keep)
    with pytest.raises(TypeError, match="`keep` should"):
        ties(GOOD, "0.2")
    for drop in (1.0, -0.1):
        with pytest.raises(ValueError, match=r"`drop` should lie in \[0, 1\): the probability that a component is dropped"):
            dare(GOOD, drop, torch.Generator())
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
        dare(GOOD, 0.5, None)
