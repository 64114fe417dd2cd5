import pytest
import torch
from torch import nn

from mechlearn.agreement import Agreement, AndMask, decay_masked


def trained(optimizer, rows):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 1)).double()
    steps = optimizer(model.parameters())
    agreement = Agreement(model, AndMask(1.0), keep="masks")
    generator = torch.Generator().manual_seed(1)
    for _ in range(4):
        x = torch.randn(12, 4, dtype=torch.float64, generator=generator)
        ids = torch.arange(12) // 3
        steps.zero_grad()
        for start in range(0, 12, rows):
            some = slice(start, start + rows)
            losses = model(x[some])[:, 0].square()
            if start + rows < 12:
                agreement.accumulate(losses, ids[some])
            else:
                record = agreement.backward(losses, ids[some])
        before = [p.detach().clone() for p in model.parameters()]
        steps.step()
        stepped = [p.detach().clone() for p in model.parameters()]
        decay_masked(model, record, lr=0.1, factor=5.0)
        for (name, after), old, plain in zip(model.named_parameters(), before, stepped, strict=True):
            mask = record.masks[name]
            assert torch.equal(after[mask], plain[mask])
            assert torch.equal(after[~mask], plain[~mask] * 0.5)
            assert old.shape == mask.shape
    return [p.detach() for p in model.parameters()]


@pytest.mark.parametrize(
    "optimizer",
    [lambda ps: torch.optim.Adam(ps, lr=0.1, weight_decay=0.1), lambda ps: torch.optim.SGD(ps, lr=0.1, momentum=0.9)],
)
def test_what_is_masked_shrinks_and_nothing_else_whatever_the_optimiser_or_the_batches(optimizer):
    for one, other in zip(trained(optimizer, 12), trained(optimizer, 3), strict=True):
        torch.testing.assert_close(one, other)


def test_no_decay_at_factor_zero():
    model = nn.Linear(3, 2)
    before = model.weight.detach().clone()
    record = Agreement(model, AndMask(1.0), keep="masks").backward(
        model(torch.randn(4, 3)).sum(1) * torch.randn(4), [0, 1, 2, 3]
    )
    decay_masked(model, record, lr=0.1, factor=0.0)
    assert torch.equal(model.weight, before)


def test_masks_cost_nothing_unless_asked_for():
    model = nn.Linear(3, 2)
    assert Agreement(model, AndMask(1.0)).backward(model(torch.randn(4, 3)).sum(1), [0, 1, 2, 3]).masks is None


def test_bad_input():
    model = nn.Linear(3, 2)
    losses = model(torch.randn(4, 3)).sum(1)
    record = Agreement(model, AndMask(1.0)).backward(losses, [0, 1, 2, 3])
    with pytest.raises(ValueError, match="Build the agreement with keep='masks'"):
        decay_masked(model, record, lr=0.1)
    with pytest.raises(ValueError, match=r"at most 1, else weights change their sign\. Found 0\.5 times 5"):
        decay_masked(model, record, lr=0.5, factor=5.0)
    with pytest.raises(ValueError, match="`factor` should"):
        decay_masked(model, record, lr=0.5, factor=-1.0)
    strange = record._replace(masks={"weight": torch.ones(2, 2, dtype=torch.bool)})
    with pytest.raises(ValueError, match=r"Found a mask of shape \(2, 2\) for 'weight' and shape \(2, 3\)"):
        decay_masked(model, strange, lr=0.1)


def test_masks_are_kept_beside_statistics_of_parameters():
    torch.manual_seed(0)
    model, x = nn.Linear(3, 2).double(), torch.randn(6, 3, dtype=torch.float64)
    model.register_parameter("scale", nn.Parameter(torch.ones(2, dtype=torch.float64)))

    def kept(keep):
        losses = (model(x) * model.get_parameter(names[-1])).square().sum(1)
        return Agreement(model, AndMask(1.0), keep=keep).backward(losses, [0, 0, 1, 1, 2, 2])

    names = ["weight", "bias", "scale"]
    masks, statistics, both = kept("masks"), kept(["weight"]), kept(["weight", "masks"])
    assert both.masks.keys() == masks.masks.keys() == set(names)
    assert all(torch.equal(both.masks[name], masks.masks[name]) for name in names)
    assert both.statistics.keys() == statistics.statistics.keys() == {"weight"}
    assert statistics.masks is None
    with pytest.raises(ValueError, match="`keep` should be a list"):
        Agreement(model, AndMask(1.0), keep=["masks", "nonsense"])
    names = ["weight", "bias", "masks"]  # a parameter of that name in a list is the parameter
    model.register_parameter("masks", model.scale)
    del model.scale
    found = kept(["masks"])
    assert (found.masks, found.statistics.keys()) == (None, {"masks"})
