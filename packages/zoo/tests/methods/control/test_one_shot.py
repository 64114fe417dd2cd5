import pytest
import torch

from mechlearn_zoo.methods.control.one_shot import NeighbourhoodAttention, OneShot, temporal_dropout


def inputs(b=3, frames=5, n=4, seed=0):
    generator = torch.Generator().manual_seed(seed)
    demonstration, state = torch.randn(b, frames, n, 3, generator=generator), torch.randn(b, n, 3, generator=generator)
    return demonstration, torch.ones(b, frames, dtype=torch.bool), state, torch.ones(b, n, dtype=torch.bool)


def model(seed=1):
    return OneShot(torch.Generator().manual_seed(seed), units=8)


def test_attention_is_the_literal_sum():
    layer = NeighbourhoodAttention(4, 3, torch.Generator().manual_seed(0))
    h, positions = torch.randn(5, 4), torch.randn(5, 3)
    found = layer(h, positions, torch.ones(5, dtype=torch.bool))
    for i in range(5):
        scores = [float(layer.score(torch.tanh(layer.queries(h[i]) + layer.keys(h[j]))).detach()) for j in range(5)]
        weights = torch.tensor(scores).exp()
        read = sum(w * layer.messages(h[j]) for j, w in enumerate(weights)) / weights.sum()
        wanted = layer.out(torch.cat([h[i], read, positions[i]])).clamp(min=0)
        torch.testing.assert_close(found[i], wanted)


def test_the_order_of_blocks_is_carried_through():
    demonstration, present, state, blocks = inputs()
    order = torch.tensor([2, 0, 3, 1])
    found = model()(demonstration, present, state, blocks)
    moved = model()(demonstration[:, :, order], present, state[:, order], blocks)
    torch.testing.assert_close(moved, found[:, order][:, :, order])


def test_padding_changes_nothing():
    demonstration, present, state, blocks = inputs()
    found = model()(demonstration, present, state, blocks)
    more = torch.full((3, 2, 4, 3), 7.0)
    longer = model()(
        torch.cat([demonstration, more], 1), torch.cat([present, torch.zeros(3, 2, dtype=torch.bool)], 1), state, blocks
    )
    torch.testing.assert_close(longer, found)
    wide = model()(
        torch.cat([demonstration, torch.full((3, 5, 1, 3), -3.0)], 2),
        present,
        torch.cat([state, torch.ones(3, 1, 3)], 1),
        torch.cat([blocks, torch.zeros(3, 1, dtype=torch.bool)], 1),
    )
    torch.testing.assert_close(wide[:, :4, :4], found)
    assert wide[:, 4].eq(-torch.inf).all()


def test_a_demonstration_can_be_moved_on_the_table():
    demonstration, present, state, blocks = inputs()
    shifted = demonstration + torch.tensor([0.5, -2.0, 0.0])
    torch.testing.assert_close(model()(shifted, present, state, blocks), model()(demonstration, present, state, blocks))


def test_gradients_reach_every_parameter():
    net = model()
    found = net(*inputs()).flatten(1).log_softmax(1)
    found[found.isfinite()].sum().backward()
    missing = [name for name, p in net.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
    assert not missing


def test_thinning_keeps_a_frame():
    present = torch.ones(200, 10, dtype=torch.bool)
    present[:, 7:] = False
    found = temporal_dropout(present, 0.3, torch.Generator().manual_seed(0))
    assert found.any(1).all()
    assert not found[:, 7:].any()
    assert float(found[:, :7].double().mean()) == pytest.approx(0.3, abs=0.04)
    assert temporal_dropout(present, 0.0, torch.Generator().manual_seed(0)).sum(1).eq(1).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda d, p, s, b: (d[:, :, :3], p, s, b), "same blocks"),
        (lambda d, p, s, b: (d, torch.zeros_like(p), s, b), "a frame at least"),
        (lambda d, p, s, b: (d, p, s, torch.tensor([[True, False, False, False]] * 3)), "two blocks. Found 1"),
    ],
)
def test_bad_demonstrations_are_refused(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        model()(*change(*inputs()))


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        (lambda d, p, s, b: (d, p.long(), s, b), TypeError, r"`present` should hold booleans\. Found torch\.int64"),
        (lambda d, p, s, b: (d, p[:, 1:], s, b), ValueError, r"`present` should have the shape \(3, \d\)"),
        (lambda d, p, s, b: (d, p, s, b.float()), TypeError, r"`blocks` should hold booleans\. Found torch\.float32"),
        (lambda d, p, s, b: (d, p, s, b[:, 1:]), ValueError, r"`blocks` should have the shape \(3, 4\)"),
        (lambda d, p, s, b: (d[..., :2], p, s[..., :2], b), ValueError, r"`state` should have the shape \(B, n, 3\)"),
    ],
)
def test_masks_of_other_kinds_and_shapes_are_refused(change, kind, sentence):
    with pytest.raises(kind, match=sentence):
        model()(*change(*inputs()))


@pytest.mark.usefixtures("as_installed")
def test_frames_to_thin_are_said_by_booleans():
    with pytest.raises(TypeError, match=r"`present` should hold booleans\. Found torch\.int64"):
        temporal_dropout(torch.ones(2, 3, dtype=torch.int64), 0.5, torch.Generator())
