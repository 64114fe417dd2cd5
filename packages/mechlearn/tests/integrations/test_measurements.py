"""Numbers of a measurement against the definition: one backward pass for each source, by autograd."""

import math

import pytest
import torch
from torch import nn

from mechlearn.agreement.statistics import gradient_statistics
from mechlearn.integrations.measurements import cosines_with_others, layer_of, measured

IDS = ["b", "a", "b", "c", "a", "b", "d", "c"]


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.h = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4)) for _ in range(2)])
        self.inner, self.head = nn.Linear(3, 4), nn.Linear(4, 2)

    def forward(self, x):
        x = self.inner(x * self.scale)
        for block in self.h:
            x = x + block(x).tanh()
        return self.head(x)


def made():
    torch.manual_seed(0)
    model = Blocks().double()
    return model, model(torch.randn(8, 3).double()).square().sum(1)


def by_source(model, losses):
    """Each source's gradient by layer, flat."""
    found = {}
    for source in sorted(set(IDS)):
        own = losses[[i for i, one in enumerate(IDS) if one == source]].mean()
        layers = {}
        named = dict(model.named_parameters())
        for name, gradient in zip(named, torch.autograd.grad(own, list(named.values()), retain_graph=True), strict=True):
            layers.setdefault(layer_of(name), []).append(gradient.flatten())
        found[source] = {name: torch.cat(parts) for name, parts in layers.items()}
    return found


def cosine_with_others(vectors, source):
    others = torch.stack([vector for name, vector in vectors.items() if name != source]).mean(0)
    return torch.cosine_similarity(vectors[source], others, dim=0).item()


def test_cosines_and_conflict_are_those_of_the_definition():
    model, losses = made()
    found = measured(7, gradient_statistics(model, losses, IDS, examples=True))
    gradients = by_source(model, losses)
    whole = {source: torch.cat(list(layers.values())) for source, layers in gradients.items()}
    assert found.step == 7
    assert list(found.layers) == ["model", "h.0", "h.1", "inner", "head"]
    for source, own in found.sources.items():
        assert own.rows == IDS.count(source)
        assert own.norm == pytest.approx(whole[source].norm().item())
        assert own.cosine == pytest.approx(cosine_with_others(whole, source))
    for (one, other), cosine in found.pairs.items():
        assert one < other
        assert cosine == pytest.approx(torch.cosine_similarity(whole[one], whole[other], dim=0).item())
    assert len(found.pairs) == 6
    for name, layer in found.layers.items():
        own = {source: layers[name] for source, layers in gradients.items()}
        stack = torch.stack(list(own.values()))
        assert layer.conflict == pytest.approx(((stack > 0).any(0) & (stack < 0).any(0)).double().mean().item())
        assert layer.cosines == pytest.approx({source: cosine_with_others(own, source) for source in own})


def test_noise_is_that_of_the_statistics_and_unknown_with_one_row():
    model, losses = made()
    found = measured(0, gradient_statistics(model, losses, IDS, examples=True)).sources
    kept = [i for i, one in enumerate(IDS) if one != "d"]
    expected = gradient_statistics(model, losses[kept], [IDS[i] for i in kept], examples=True).noise_by_environment
    for e, source in enumerate("abc"):
        assert found[source].signal == pytest.approx(expected.signal[e].item())
        assert found[source].variance == pytest.approx(expected.variance[e].item())
    assert math.isnan(found["d"].signal)
    assert math.isnan(found["d"].variance)


def test_one_source_has_no_cosine():
    model, losses = made()
    found = measured(0, gradient_statistics(model, losses, ["a"] * 8, examples=True))
    assert math.isnan(found.sources["a"].cosine)
    assert found.pairs == {}
    assert all(math.isnan(layer.cosines["a"]) for layer in found.layers.values())


def test_a_gradient_of_zero_has_no_cosine_and_a_large_one_leaves_the_others_theirs():
    model = nn.Linear(2, 1, bias=False).double()
    x = torch.tensor([[1e9, 0.0], [1.0, 1.0], [1.0, -0.5], [0.0, 0.0]]).double()
    statistics = gradient_statistics(model, model(x)[:, 0], range(4), examples=True)
    cosines = cosines_with_others(list(statistics.parameters.values())).tolist()
    assert cosines[0] == pytest.approx(2 / (4 + 0.25) ** 0.5)  # of (1, 0) and (2, 0.5)
    assert math.isnan(cosines[3])


@pytest.mark.parametrize(
    ("parameter", "layer"),
    [
        ("transformer.h.3.attn.c_attn.weight", "transformer.h.3"),
        ("transformer.wte.weight", "transformer.wte"),
        ("stages.1.blocks.0.weight", "stages.1"),
        ("0.weight", "0"),
        ("weight", "model"),
        ("scales.0", "scales"),
    ],
)
def test_a_layer_is_a_numbered_block_or_a_module(parameter, layer):
    assert layer_of(parameter) == layer
