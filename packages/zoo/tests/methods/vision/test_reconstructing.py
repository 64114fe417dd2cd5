import pytest
import torch

from mechlearn_zoo.methods.vision.reconstructing import Pixels, Prior, feature_loss, reconstruct


def extractor(seed=0, dtype=None):
    generator = torch.Generator().manual_seed(seed)
    first, second = (torch.randn(*size, generator=generator, dtype=dtype) for size in ((12, 20), (20, 6)))

    def features(x):
        one = x.flatten(1) @ first
        return {"one": one, "two": torch.relu(one) @ second}

    return features


def generator_of_pictures():
    network = torch.nn.Sequential(torch.nn.Linear(5, 12), torch.nn.Unflatten(1, (1, 3, 4))).requires_grad_(False)
    generator = torch.Generator().manual_seed(6)
    for parameter in network.parameters():
        parameter.uniform_(-0.45, 0.45, generator=generator)
    return network


def test_the_loss_is_its_formula():
    generator = torch.Generator().manual_seed(1)
    found, targets = ({name: torch.randn(3, n, generator=generator) for name, n in (("a", 4), ("b", 7))} for _ in range(2))
    loss = feature_loss(found, targets)
    for i in range(3):
        weight = {name: 1 / float(targets[name][i].square().sum()) for name in targets}
        wanted = sum(
            weight[name] / sum(weight.values()) * float((found[name][i] - targets[name][i]).square().sum()) for name in weight
        )
        assert float(loss[i]) == pytest.approx(wanted, rel=1e-5)


def test_pixels_find_a_picture_that_has_the_features():
    truth = torch.rand(4, 1, 3, 4, generator=torch.Generator().manual_seed(2))
    found = reconstruct(extractor(), extractor()(truth), Pixels(torch.full_like(truth, 0.5), steps=400))
    assert float((found.images - truth).abs().max()) < 0.05
    assert found.losses.shape == (400, 4)


def test_pictures_do_not_depend_on_each_other():
    """In float64: twenty steps of Adam divide by gradients that are nearly nothing, and sums of a batch round otherwise."""
    truth = torch.rand(3, 1, 3, 4, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    network = generator_of_pictures().double()
    start = torch.rand(3, 5, generator=torch.Generator().manual_seed(3), dtype=torch.float64)

    def ways(rows):
        return Pixels(torch.full_like(truth[rows], 0.5), steps=20), Prior(
            network, start[rows], torch.full((5,), 3.0, dtype=torch.float64), steps=20, rate=0.1
        )

    features = extractor(dtype=torch.float64)
    for together, alone in zip(ways([0, 1, 2]), ways([1]), strict=True):
        both = reconstruct(features, features(truth), together).images[1:2]
        torch.testing.assert_close(both, reconstruct(features, features(truth[1:2]), alone).images)


def test_a_prior_is_literal():
    network = generator_of_pictures()
    target = extractor()(torch.rand(1, 1, 3, 4, generator=torch.Generator().manual_seed(4)))
    q = torch.rand(1, 5, generator=torch.Generator().manual_seed(5))
    found = reconstruct(extractor(), target, Prior(network, q, torch.full((5,), 0.9), steps=7, rate=0.2))
    delta = torch.zeros_like(q)
    for step in range(7):
        moving = q.clone().requires_grad_()
        loss = feature_loss(extractor()(network(moving)), target).sum()
        assert float(loss.detach()) == pytest.approx(float(found.losses[step, 0]))
        loss.backward()
        rate = 0.2 + (1e-10 - 0.2) * step / 6
        delta = 0.9 * delta - rate * moving.grad / moving.grad.abs().mean()
        q = ((q + delta) * 0.99).clamp(0, 0.9)
    torch.testing.assert_close(found.images, network(q))


def test_what_is_refused():
    truth = torch.rand(2, 1, 3, 4)
    by = Pixels(truth)
    with pytest.raises(ValueError, match=r"Found \['three'\]"):
        reconstruct(extractor(), {"three": torch.zeros(2, 3)}, by)
    with pytest.raises(ValueError, match=r"Found \(2, 5\) for 'one', where it gives \(2, 20\)"):
        reconstruct(extractor(), {"one": torch.zeros(2, 5)}, by)
    with pytest.raises(ValueError, match="Found none"):
        reconstruct(extractor(), {}, by)
    with pytest.raises(ValueError, match="`momentum` should lie in"):
        Prior(torch.nn.Linear(2, 2), torch.zeros(1, 2), torch.ones(2), momentum=1.0)


@pytest.mark.usefixtures("as_installed")
def test_targets_and_starts_that_are_not_finite_are_refused_before_the_first_step():
    seen, see, start = [], extractor(), torch.rand(2, 1, 3, 4)
    targets = {name: found.detach() for name, found in see(start).items()}

    def counted(pictures):
        seen.append(pictures)
        return see(pictures)

    broken = targets | {"one": targets["one"].clone()}
    broken["one"][1, 2] = torch.nan
    with pytest.raises(ValueError, match=r"`targets\['one'\]` should be finite\. Found nan at \(1, 2\)"):
        reconstruct(counted, broken, Pixels(start, 2))
    with pytest.raises(TypeError, match="`extractor` should be a function"):
        reconstruct(None, targets, Pixels(start, 2))
    assert not seen
    for weights in ("equal", "inverse-norm"):
        with pytest.raises(ValueError, match=r"`found\['one'\]` should be finite\. Found nan"):
            feature_loss(broken, targets, weights)
    with pytest.raises(TypeError, match=r"`targets` should be a dictionary of tensors by name"):
        feature_loss(targets, None)
    for name, given in (("found", ("meta", "cpu")), ("targets", ("cpu", "meta"))):
        with pytest.raises(TypeError, match=rf"`{name}\['one'\]` should hold data"):
            feature_loss(*({"one": torch.ones(2, 3, device=device)} for device in given))
    with pytest.raises(TypeError, match=r"`targets\['one'\]` should hold floating numbers"):
        feature_loss(targets, {"one": targets["one"].long()})
    with pytest.raises(ValueError, match="`start` should be finite"):
        Pixels(start / 0)
    with pytest.raises(ValueError, match=r"`highest` should be at least 0, from where inputs are clipped\. Found nan"):
        Prior(torch.nn.Linear(2, 2), torch.zeros(1, 2), torch.full((2,), torch.nan))
    Prior(torch.nn.Linear(2, 2), torch.zeros(1, 2), torch.full((2,), torch.inf))  # nothing is clipped


@pytest.mark.parametrize("unit", [1e-25, 1e-9, 1e-6])
def test_layers_weigh_the_same_in_any_unit(unit):
    generator = torch.Generator().manual_seed(1)
    found, targets = ({name: torch.randn(3, n, generator=generator) for name, n in (("a", 4), ("b", 7))} for _ in range(2))
    targets["a"] = targets["a"] * 0.1
    wanted = feature_loss({name: one.double() for name, one in found.items()}, {n: one.double() for n, one in targets.items()})
    # Errors of 1e-25 have no squares in float32: those of the layers as they are, weighted by layers in another unit.
    small = {name: one.double() * unit for name, one in targets.items()}
    near = {name: small[name] + (found[name] - targets[name]) for name in found}
    for kind, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-6)):
        loss = feature_loss({n: one.to(kind) for n, one in near.items()}, {n: one.to(kind) for n, one in small.items()})
        torch.testing.assert_close(loss.double(), wanted, rtol=tolerance, atol=0)


def test_beside_a_layer_of_zeros_others_weigh_nothing():
    found = {"a": torch.tensor([[3.0, 4.0]]), "b": torch.ones(1, 2)}
    assert feature_loss(found, {"a": torch.zeros(1, 2), "b": torch.zeros(1, 2) + 1e-3}).tolist() == [25.0]
    assert feature_loss(found, {"a": torch.zeros(1, 2), "b": torch.zeros(1, 2)}).tolist() == [13.5]


def test_halves_are_summed_in_float32():
    found, target = {"a": torch.full((1, 9), 300.0).half()}, {"a": torch.zeros(1, 9).half() + 1}
    for weights in ("equal", "inverse-norm"):
        assert feature_loss(found, target, weights).tolist() == [9 * 299.0**2]


@pytest.mark.usefixtures("as_installed")
def test_features_without_a_dimension_are_refused():
    one = {"a": torch.ones(3)}
    with pytest.raises(ValueError, match=r"`targets\['a'\]` should have the shape \(n, ...\).*Found \(3,\)"):
        feature_loss(one, one)
