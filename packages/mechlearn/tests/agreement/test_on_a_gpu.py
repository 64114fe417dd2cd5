"""What exists on a GPU alone, against the definition there; `make device DEVICE=cuda` runs the other tests on one as well."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from definition_oracles import assert_definition
from mechlearn.agreement import Agreement, AndMask, TemporalAndMaskAdam
from one_layer import PAIRED, SPREAD, B, noise

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")

T, D = 4, 8


class Biased(nn.Module):
    """Attention with a learned bias for each pair of positions, as vision transformers have it."""

    def __init__(self):
        super().__init__()
        self.projection, self.bias = nn.Linear(D, 3 * D), nn.Parameter(torch.zeros(2, T, T))

    def forward(self, x):
        query, key, value = (t.unflatten(2, (2, -1)).transpose(1, 2) for t in self.projection(x).chunk(3, 2))
        return functional.scaled_dot_product_attention(query, key, value, self.bias[None]).transpose(1, 2).flatten(2)


class Channels(nn.Module):
    """A layer for which positions are channels of pictures."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x.unflatten(2, (2, -1))).flatten(2)


NETWORKS = {
    "linear": lambda: nn.Linear(D, D),
    "rms norm": lambda: nn.RMSNorm(D),
    "rms norm over two dimensions": lambda: nn.RMSNorm((T, D)),
    "layer norm": lambda: nn.LayerNorm(D),
    "layer norm over two dimensions": lambda: nn.LayerNorm((T, D)),
    "group norm": lambda: nn.GroupNorm(2, T),
    "batch norm": lambda: nn.BatchNorm1d(T).eval(),
    "batch norm of pictures": lambda: Channels(nn.BatchNorm2d(T)).eval(),
    "convolution": lambda: Channels(nn.Conv2d(T, T, (1, 3), padding="same")),
    "attention": lambda: nn.MultiheadAttention(D, 2, batch_first=True),
    "encoder": lambda: nn.TransformerEncoderLayer(D, 2, 2 * D, 0.0, batch_first=True),
}


def losses_of(model, x):
    found = model(x, x, x)[0] if isinstance(model, nn.MultiheadAttention) else model(x)
    return (found.tanh() - x.roll(1, 2)).square().flatten(1).sum(1)


def on_gpu(model, dtype=torch.float64):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.5)
    return model.to("cuda", dtype)


@pytest.mark.parametrize("ids", [PAIRED, SPREAD], ids=["adjacent", "spread"])
@pytest.mark.parametrize("name", NETWORKS)
def test_the_result_is_the_definitions(name, ids):
    model = on_gpu(NETWORKS[name]())
    record = assert_definition(Agreement(model, AndMask(0.6)), losses_of(model, noise(B, T, D).cuda()), ids)
    assert set(record.paths.values()) == {"layer"}


@pytest.mark.parametrize("pictures", [False, True])
def test_batch_norm_in_train_mode_with_pooled_statistics(pictures):
    model = on_gpu(nn.Sequential(Channels(nn.BatchNorm2d(T)) if pictures else nn.BatchNorm1d(T), nn.Linear(D, D)))
    agreement = Agreement(model, AndMask(0.6), statistics="pooled")
    record = assert_definition(agreement, losses_of(model, noise(B, T, D).cuda()), SPREAD)
    assert record.paths["1.weight"] == "layer"


def test_a_learned_bias_of_attention():
    model = on_gpu(Biased(), torch.float32)
    losses = losses_of(model, noise(B, T, D).cuda().float())
    stacks = [
        torch.stack([torch.autograd.grad(losses[i : i + 2].mean(), p, retain_graph=True)[0] for i in range(0, B, 2)])
        for p in model.parameters()
    ]
    record = Agreement(model, AndMask(0.6)).backward(losses, PAIRED)
    assert set(record.paths.values()) == {"layer"}
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        mask = stack.sign().sum(0).abs() >= 3  # of four: 0.6 of all
        clear = (stack.abs() > 1e-5 * stack.abs().max()).all(0)
        torch.testing.assert_close(parameter.grad[clear], (stack.mean(0) * mask)[clear], rtol=1e-4, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
@pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU])
def test_recurrent_layers_of_cudnn_take_the_definition(layer):
    model = on_gpu(layer(D, D, batch_first=True))
    losses = (model(noise(B, T, D).cuda())[0].tanh() - 0.1).square().flatten(1).sum(1)
    assert set(assert_definition(Agreement(model, AndMask(0.6)), losses, PAIRED).paths.values()) == {"per-environment"}


@pytest.mark.filterwarnings("ignore:.*averages of signs:UserWarning")
@pytest.mark.parametrize("counting", ["fused", "capturable"])
def test_the_state_of_an_adam_that_counts_on_the_gpu_is_loaded(counting):
    parameters = [nn.Parameter(torch.ones(3, device="cuda"))]
    adam = torch.optim.Adam(parameters, **{counting: True})
    parameters[0].grad = torch.ones(3, device="cuda")
    adam.step()
    ours = TemporalAndMaskAdam(parameters)
    ours.load_state_dict(adam.state_dict())
    ours.step()
    assert ours.state[parameters[0]]["step"] == 2


def test_a_gradient_that_is_not_finite_is_named_and_nothing_is_changed():
    model = on_gpu(nn.Sequential(nn.Linear(D, 40), nn.Linear(40, 500)))
    h = model(noise(B, D).cuda())
    losses = h.square().sum(1) + (0 * h[:, 0]).sqrt()  # finite, with the gradient 0 times infinity
    with pytest.raises(FloatingPointError, match=r"Found NaN or infinity in the gradient of '[01]\.(weight|bias)'"):
        Agreement(model, AndMask(0.6)).backward(losses, PAIRED)
    assert all(parameter.grad is None for parameter in model.parameters())
