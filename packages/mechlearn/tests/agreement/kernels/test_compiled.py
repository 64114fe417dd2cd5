"""The compiled kernels against literal sums, and how they are done without."""

import copy
import pickle
import shutil
import warnings

import pytest
import torch
from torch import nn

import oracles
from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, AndMask, Qualitative, StandardErrors, XorMask
from mechlearn.agreement.kernels import compiled
from mechlearn.agreement.kernels.compiled import load
from small_models import batch, make, squared

needs_compiler = pytest.mark.skipif(
    not any(shutil.which(name) for name in ("cc", "gcc", "clang")), reason="there is no C compiler on the path"
)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        load.cache_clear()
        yield load()
    load.cache_clear()


@needs_compiler
@cpu_alone("the kernels read memory by its address; `takes` keeps a GPU's tensors from them")
class TestSums:
    @pytest.mark.parametrize("environments", [1, 2, 32, 33, 63, 64, 65, 80, 96, 97, 126])
    @pytest.mark.parametrize("shape", [(1, 1), (3, 17), (13, 130)])
    def test_sign_products(self, kernels, environments, shape):
        generator = torch.Generator().manual_seed(environments)
        deltas, inputs = (torch.randint(-1, 2, (environments, n), generator=generator) for n in shape)
        deltas[:, 0], inputs[:, 0] = 1, -1  # a component on which all agree: the largest sum there can be
        scale = torch.rand(environments, 1, generator=generator) + 0.1
        found = kernels.sign_products(deltas * scale, inputs * scale)
        assert found.dtype == torch.int8
        assert torch.equal(found.long(), deltas.T @ inputs)
        assert int(found[0, 0]) == -environments

    def test_zeros_of_either_sign_count_for_nothing(self, kernels):
        deltas, inputs = torch.tensor([[0.0, -0.0, 1.0, 1e-45]]), torch.tensor([[0.0, -0.0, -1.0, -1e-45]])
        assert kernels.sign_products(deltas, inputs).tolist() == [[0] * 4, [0] * 4, [0, 0, -1, -1], [0, 0, -1, -1]]

    @pytest.mark.parametrize("environments", [1, 5])
    @pytest.mark.parametrize("components", [1, 31, 4096, 10_001])
    @pytest.mark.parametrize("held", [torch.float32, torch.int8])
    def test_add_signs(self, kernels, environments, components, held):
        generator = torch.Generator().manual_seed(components)
        gradients = torch.randint(-2, 3, (environments, components), generator=generator).float() / 4
        total, sign = torch.ones(components), torch.full((components,), 2, dtype=held)
        kernels.add_signs(gradients, total, sign)
        assert torch.equal(total, 1 + gradients.sum(0))
        assert sign.dtype == held
        assert torch.equal(sign.float(), 2 + gradients.sign().sum(0))
        total.fill_(torch.nan)
        kernels.add_signs(-gradients, total, sign, fresh=True)
        assert torch.equal(total, -gradients.sum(0))
        assert not total[total == 0].signbit().any()
        assert torch.equal(sign.float(), -gradients.sign().sum(0))

    @pytest.mark.parametrize("count", [0, 1, 3, 6])
    @pytest.mark.parametrize("components", [1, 9000])
    def test_and_mask(self, kernels, count, components):
        generator = torch.Generator().manual_seed(0)
        sign = torch.randint(-6, 7, (components,), generator=generator, dtype=torch.int8)
        gradient = torch.randn(components, generator=generator)
        mask = sign.abs() >= count
        expected = gradient / 7 * mask
        assert kernels.and_mask(gradient, sign, 7, count) == int(mask.sum())
        assert torch.equal(gradient, expected)
        assert torch.equal(sign, mask.to(torch.int8))

    @pytest.mark.parametrize("clusters", [1, 2, 7, 8, 37])
    @pytest.mark.parametrize("shape", [(1,), (33,), (3, 5)])
    def test_moments(self, kernels, clusters, shape):
        contributions = torch.randn(4, clusters, *shape, generator=torch.Generator().manual_seed(clusters))
        gradients, squares = kernels.moments(contributions)
        torch.testing.assert_close(gradients, contributions.double().sum(1).float(), rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(squares, contributions.double().square().sum(1).float(), rtol=1e-6, atol=0)

    @pytest.mark.parametrize("components", [1, 31, 10_001])
    def test_add_sides(self, kernels, components):
        generator = torch.Generator().manual_seed(components)
        gradient, squares = torch.randn(components, generator=generator), torch.rand(components, generator=generator)
        gradient[::3] = 0
        squares[::6] = 0  # a dead unit's, and one that has more evidence than there can be
        squares[1::7] = 1e-30
        total, up, down = torch.ones(components), torch.full((components,), 0.5), torch.full((components,), 0.25)
        kernels.add_sides(gradient, squares, (1e-38, 0.875), (total, up, down))
        share = (gradient.double().square() / squares.double().clamp(min=1e-38)).clamp(max=0.875)
        torch.testing.assert_close(total, 1 + gradient)
        torch.testing.assert_close(up.double(), 0.5 * (1 - share * (gradient > 0)), rtol=1e-6, atol=0)
        torch.testing.assert_close(down.double(), 0.25 * (1 - share * (gradient < 0)), rtol=1e-6, atol=0)

    def test_sides_of_what_is_no_number(self, kernels):
        gradient, parts = torch.tensor([float("nan"), 1.0]), [torch.zeros(2), torch.ones(2), torch.ones(2)]
        kernels.add_sides(gradient, torch.ones(2), (1e-38, 0.875), tuple(parts))
        assert [t[0].isnan().item() for t in parts] == [True, True, True]
        assert [t[1].item() for t in parts] == [1, 0.125, 1]

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
    def test_and_mask_of_what_is_not_finite(self, kernels, value):
        gradient = torch.ones(5000)
        gradient[4999] = value
        assert kernels.and_mask(gradient, torch.zeros(5000, dtype=torch.int8), 3, 3) is None
        assert not torch.isfinite(gradient[4999])

    def test_what_they_do_not_take(self, kernels):
        fine = torch.ones(4, 4)
        assert kernels.takes(fine, fine)
        assert not kernels.takes(fine.double())
        assert not kernels.takes(fine, fine[:, :2])


@needs_compiler
@pytest.mark.parametrize("rule", [AndMask(0.6), XorMask(0.6)])
@pytest.mark.parametrize("name", ["mlp", "sequence", "recurrent", "tied", "unusual"])
@pytest.mark.parametrize("ids", [[0, 0, 0, 1, 1, 2], [0, 1, 2, 3, 4, 5]])
@pytest.mark.usefixtures("kernels")
def test_masks_equal_those_of_torch_bit_for_bit(rule, name, ids):
    model, twin = make(name, 3, torch.float32), make(name, 3, torch.float32)
    x, y, ids = batch(3, ids, torch.float32)
    records = []
    for one, kernel in ((model, "compiled"), (twin, "torch")):
        with Agreement(one, rule, kernel=kernel) as agreement:
            for k in range(2):  # the second adds to the first's bytes, which must not overflow
                agreement.accumulate(squared(one(x), y), ids + 10 * k)
            records.append(agreement.backward(squared(one(x), y), ids + 20))
    assert records[0].share_by_parameter == records[1].share_by_parameter
    assert records[0].paths == records[1].paths
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        assert (a.grad is None) == (b.grad is None)
        if a.grad is not None:
            assert torch.equal(a.grad != 0, b.grad != 0)
            torch.testing.assert_close(a.grad, b.grad, rtol=1e-6, atol=1e-7)


@needs_compiler
@pytest.mark.parametrize("name", ["mlp", "sequence", "unusual"])
@pytest.mark.usefixtures("kernels")
def test_conflict_has_the_same_masks(name):
    model, twin = make(name, 3, torch.float32), make(name, 3, torch.float32)
    x, y, ids = batch(3, [e for e in range(9) for _ in range(5)], torch.float32)
    records = []
    for one, kernel in ((model, "compiled"), (twin, "torch")):
        agreement = Agreement(one, Qualitative(0.6, errors=StandardErrors("examples")), kernel=kernel, keep="masks")
        records.append(agreement.backward(squared(one(x), y), ids))
    assert records[0].masks.keys() == records[1].masks.keys()
    assert all(torch.equal(mask, records[1].masks[found]) for found, mask in records[0].masks.items())
    assert 0 < sum(records[0].share_by_parameter.values()) < len(records[0].share_by_parameter)


@needs_compiler
@pytest.mark.usefixtures("kernels")
def test_conflict_of_a_large_weight_has_the_same_masks():
    """More environments than a product of shares has room for, and more than one tile."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 300), nn.Tanh(), nn.Linear(300, 300))
    twin = copy.deepcopy(model)
    x, ids = torch.randn(20 * 6, 40), torch.arange(20).repeat_interleave(6)
    x[:, 0] = 5 * (ids % 2 * 2 - 1)
    kept = []
    for one, kernel in ((model, "compiled"), (twin, "torch")):
        agreement = Agreement(one, Qualitative(0.2), kernel=kernel, keep="masks")
        kept.append(agreement.backward((one(x) * (1 + x[:, :1])).square().sum(1), ids).masks)
    assert all(torch.equal(mask, kept[1][found]) for found, mask in kept[0].items())
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-6, atol=1e-7)


@needs_compiler
@pytest.mark.parametrize("environments", [126, 127, 200])
@pytest.mark.usefixtures("kernels")
def test_bytes_that_would_overflow_become_floats(environments):
    model = nn.Linear(3, 200)  # narrow: its gradient is formed transposed
    nn.init.zeros_(model.weight)
    x, ids = torch.ones(2 * environments, 3), torch.arange(environments).repeat_interleave(2)
    with Agreement(model, AndMask(1.0), kernel="compiled") as agreement:
        for part in (slice(0, 20), slice(20, None)):
            end = agreement.accumulate if part.start == 0 else agreement.backward
            record = end(model(x[part]).sum(1), ids[part])
    assert record.share_by_parameter == {"weight": 1.0, "bias": 1.0}
    assert torch.equal(model.weight.grad, torch.ones(200, 3))


@needs_compiler
@pytest.mark.usefixtures("kernels")
def test_a_large_weight_against_the_oracle():
    model = nn.Sequential(nn.Linear(200, 190), nn.ReLU(), nn.Linear(190, 3))
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():  # small integers: float32 forms every gradient without rounding
        nn.init.zeros_(parameter)
        parameter.data += torch.randint(-1, 2, parameter.shape, generator=generator)
    x = torch.randint(-1, 2, (12, 200), generator=generator).float()
    y = torch.randint(-9, 10, (12, 3), generator=generator).float()

    def loss(output, y):
        return ((output - y) ** 2).sum(1)

    for ids in (torch.arange(12), torch.arange(12) // 4):
        stacks = oracles.stacked_gradients(model.double(), loss, x.double(), y.double(), ids)
        model.float().zero_grad()
        with Agreement(model, AndMask(0.5), kernel="compiled") as agreement:
            agreement.backward(loss(model(x), y), ids)
        for name, parameter in model.named_parameters():
            gradient, _ = oracles.combine("and-mask", stacks[name], "0.5")
            torch.testing.assert_close(parameter.grad.double(), gradient, rtol=1e-5, atol=1e-5)
            assert torch.equal(parameter.grad != 0, gradient != 0)


@needs_compiler
@pytest.mark.usefixtures("kernels")
def test_a_gradient_that_is_not_finite_is_refused():
    model = nn.Linear(5, 3)
    x = torch.ones(4, 5)
    with Agreement(model, AndMask(1.0), kernel="compiled") as agreement:
        for factor in (1.0, float("inf")):
            losses = model(x).sum(1)
            model_gradient = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
            losses.register_hook(lambda gradient, factor=factor: gradient * factor)
            if factor == 1.0:
                agreement.backward(losses, range(4))
                continue
            with pytest.raises(FloatingPointError, match="Found NaN or infinity in the gradient of"):
                agreement.backward(losses, range(4))
    for parameter, before in zip(model.parameters(), model_gradient, strict=True):
        assert torch.equal(parameter.grad, before)


@needs_compiler
def test_what_holds_kernels_can_be_copied_and_pickled(kernels):
    assert copy.deepcopy(kernels) is pickle.loads(pickle.dumps(kernels)) is load()
    model = make("mlp", 0, torch.float32)
    x, y, ids = batch(0, [0, 0, 1, 1], torch.float32)
    agreement = Agreement(model, AndMask(0.6), kernel="compiled")
    agreement.accumulate(squared(model(x), y), ids)
    other = copy.deepcopy(agreement)
    other.backward(squared(other.model(x), y), ids + 2)
    agreement.backward(squared(model(x), y), ids + 2)
    for a, b in zip(model.parameters(), other.model.parameters(), strict=True):
        assert torch.equal(a.grad, b.grad)


class TestWithoutACompiler:
    @pytest.fixture(autouse=True)
    def cache(self, tmp_path, monkeypatch):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        self.folder = tmp_path / "cache" / "mechlearn" / "kernels"

    def test_without_a_compiler_a_warning_and_the_same_masks(self, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda name: None)
        load.cache_clear()
        model = make("mlp", 0)
        with pytest.warns(UserWarning, match=r"Found no C compiler \(.*\) on the path.*torch's operators"):
            agreement = Agreement(model, AndMask(0.6), kernel="compiled")
        x, y, ids = batch(0, [0, 0, 1, 1])
        agreement.backward(squared(model(x), y), ids)
        stacks = oracles.stacked_gradients(model, squared, x, y, ids)
        gradient, _ = oracles.combine("and-mask", stacks["head.weight"], "0.6")
        torch.testing.assert_close(model.head.weight.grad, gradient)

    def test_a_copy_without_a_compiler_warns(self, monkeypatch):
        monkeypatch.setattr(shutil, "which", lambda name: None)
        load.cache_clear()
        with pytest.warns(UserWarning, match="A copy should find a C compiler"):
            assert compiled.again() is None

    def test_nothing_is_built_unasked(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Agreement(make("mlp", 0), AndMask())
        assert not self.folder.exists()


def test_an_unknown_kernel():
    with pytest.raises(ValueError, match=r'`kernel` should be "torch" or "compiled"\. Found \'fast\''):
        Agreement(make("mlp", 0), AndMask(), kernel="fast")
