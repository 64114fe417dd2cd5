import numpy as np
import pytest
import torch

import exploration_oracles as oracles
from mechlearn.nn.perceptrons import relu_mlp
from mechlearn_zoo.methods.control import reachability
from mechlearn_zoo.methods.control.reachability import (
    Reachability,
    bonuses,
    forget,
    memory,
    reachability_pairs,
    remember,
    similarity,
)


def test_pairs_are_what_they_say():
    lengths = torch.tensor([40, 3, 12])
    pairs = reachability_pairs(lengths, 3, 3, 4000, torch.Generator().manual_seed(0))
    apart = (pairs.first - pairs.second).abs()
    close = pairs.close == 1
    assert set(apart[close].tolist()) == {1, 2, 3}
    assert apart[~close].min() == 10
    assert apart[~close].max() == 39
    assert (torch.maximum(pairs.first, pairs.second) < lengths[pairs.trajectory]).all()
    assert (torch.minimum(pairs.first, pairs.second) >= 0).all()
    assert set(pairs.trajectory[~close].tolist()) == {0, 2}
    assert 0.45 < float(close.float().mean()) < 0.55
    assert 0.4 < float((pairs.first < pairs.second).float().mean()) < 0.6
    # Trajectory 0 has 39 + 38 + 37 close pairs of 114 + 3 + 30 in all.
    share = float((pairs.trajectory[close] == 0).float().mean())
    assert share == pytest.approx(114 / 147, abs=0.03)


def compare(one, other):
    return torch.exp(-(one - other).square().sum(-1))


@pytest.mark.parametrize("replacement", ["random", "fifo"])
@pytest.mark.parametrize("aggregate", ["percentile", "max"])
def test_the_memory_is_a_list_for_each_environment(aggregate, replacement):
    generator, twin = torch.Generator().manual_seed(0), torch.Generator().manual_seed(0)
    draw = torch.Generator().manual_seed(1)
    kept = memory(3, 5, 2)
    kept = kept._replace(entries=kept.entries.double())
    lists = [oracles.ListMemory(5) for _ in range(3)]
    for step in range(40):
        e = torch.randn(3, 2, generator=draw, dtype=torch.float64)
        found = similarity(kept, e, compare, aggregate)
        wanted = [one.similarity(e[b], lambda x, y: float(compare(x, y)), aggregate) for b, one in enumerate(lists)]
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-15)
        new = found < 0.5
        kept = remember(kept, e, new, generator, replacement)
        drawn = torch.randint(5, (3,), generator=twin) if replacement == "random" else torch.zeros(3)
        for b in new.nonzero()[:, 0].tolist():
            lists[b].remember(e[b], int(drawn[b]), replacement)
        ended = torch.tensor([step == 20, False, step % 9 == 0])
        kept = forget(kept, ended)
        for b in ended.nonzero()[:, 0].tolist():
            lists[b].forget()


def test_the_order_of_environments_does_not_matter():
    kept = memory(4, 3, 2)
    for seed in range(5):
        e = torch.randn(4, 2, generator=torch.Generator().manual_seed(seed))
        kept = remember(kept, e, torch.ones(4, dtype=torch.bool), torch.Generator(), "fifo")
    turned = reachability.Memory(kept.entries.flip(0), kept.stored.flip(0))
    assert torch.equal(similarity(kept, e, compare).flip(0), similarity(turned, e.flip(0), compare))


def test_bonuses():
    f = torch.tensor([0.0, 0.4, 0.5, 1.0])
    assert bonuses(f).tolist() == pytest.approx([0.5, 0.1, 0.0, -0.5])
    assert bonuses(f, kind="step").tolist() == [1, 1, 0, 0]


def test_the_network_learns_what_is_close():
    """On a line, from random walks: after a little training places 1 apart are closer than places 12 apart."""
    generator = torch.Generator().manual_seed(0)
    walks = (2 * torch.randint(2, (8, 60), generator=generator) - 1).cumsum(1).float()
    network = Reachability(relu_mlp((1, 16, 8), generator), relu_mlp((16, 16, 1), generator))
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(80):
        pairs = reachability_pairs(torch.full((8,), 60), 2, 5, 64, generator)
        first, second = (walks[pairs.trajectory, time][:, None] / 10 for time in (pairs.first, pairs.second))
        optimizer.zero_grad()
        network.losses(first, second, pairs.close).mean().backward()
        optimizer.step()
    with torch.no_grad():
        here, near, far = network.embed(torch.tensor([[0.0], [0.1], [1.2]]))[:, None]
        assert network.similarity(here, near) > network.similarity(here, far)


def test_bad_input():
    lengths = torch.tensor([11, 7])
    with pytest.raises(ValueError, match=r"needs 17 frames.*gap \* k = 15 steps apart. The longest has 11"):
        reachability_pairs(lengths, 3, 5, 10, torch.Generator())
    with pytest.raises(ValueError, match="`k` should be at least 1"):
        reachability_pairs(lengths, 0, 5, 10, torch.Generator())
    with pytest.raises(ValueError, match="`capacity` should be at least 1"):
        memory(2, 0, 3)
    with pytest.raises(ValueError, match=r"`embeddings` should have the shape \(2, 3\). Found \(2, 4\)"):
        similarity(memory(2, 5, 3), torch.zeros(2, 4), compare)
    with pytest.raises(ValueError, match=r"`percentile` should lie in \[0, 100\]"):
        similarity(memory(2, 5, 3), torch.zeros(2, 3), compare, percentile=101.0)
    with pytest.raises(ValueError, match='`kind` should be "continuous" or "step"'):
        __import__("inspect").unwrap(bonuses)(torch.zeros(1), kind="both")


@pytest.mark.usefixtures("as_installed")
def test_lengths_are_numbers_of_frames():
    generator = torch.Generator()
    with pytest.raises(TypeError, match=r"`lengths` should hold whole numbers. Found torch.float32"):
        reachability_pairs(torch.tensor([40.5, 20.0]), 3, 3, 10, generator)
    with pytest.raises(ValueError, match=r"`lengths` should be numbers of frames, at least 0\. Found -3"):
        reachability_pairs(torch.tensor([40, -3]), 3, 3, 10, generator)
    with pytest.raises(ValueError, match=r"`lengths` should have the shape \(E,\). Found \(0,\)"):
        reachability_pairs(torch.zeros(0, dtype=torch.long), 3, 3, 10, generator)
    wanted, found = (
        reachability_pairs(torch.tensor([40, 0, 12], dtype=dtype), 3, 3, 50, torch.Generator().manual_seed(0))
        for dtype in (torch.int64, torch.uint8)
    )
    assert all(torch.equal(one, other) for one, other in zip(wanted, found, strict=True))


@pytest.mark.usefixtures("as_installed")
def test_what_is_forgotten_is_not_left_to_torch():
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        remember(memory(3, 4, 1), torch.ones(3, 1), torch.ones(3, dtype=torch.bool), None)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32])
def test_numbers_do_not_say_what_is_new(dtype):
    """As indices 0, 1, 1 would name the memories to write to."""
    with pytest.raises(TypeError, match=rf"`new` should hold booleans. Found {dtype}. Compare, as in similar < 0.5"):
        remember(memory(3, 4, 1), torch.ones(3, 1), torch.tensor([0, 1, 1], dtype=dtype), torch.Generator())


def test_numbers_do_not_say_what_has_ended():
    """As numbers of the right shape they would be read as truth values, or not at all."""
    with pytest.raises(TypeError, match=r"`ended` should hold booleans. Found torch.int64. .*terminated \| truncated"):
        forget(memory(3, 4, 1), torch.tensor([0, 1, 1]))
    with pytest.raises(ValueError, match=r"`ended`.*\(3,\).*\(1,\)"):
        forget(memory(3, 4, 1), torch.tensor([True]))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_memory_takes_embeddings_of_any_type(dtype):
    """Nothing is rounded, and what compares meets its own type."""
    seen, e, every = [], torch.tensor([[0.1, 0.7]], dtype=dtype), torch.ones(1, dtype=torch.bool)

    def noting(one, other):
        seen.append((one.dtype, other.dtype))
        return compare(one, other)

    kept = remember(memory(1, 2, 2), e, every, torch.Generator())
    assert torch.equal(kept.entries[:, 0].to(dtype), e)
    assert similarity(kept, e, noting).item() == 1
    assert seen == [(dtype, dtype)]


@pytest.mark.parametrize("lengths", [[2**24 + 2], [2**23 + 2, 20]])
def test_more_places_than_torch_draws_from_are_refused(lengths):
    with pytest.raises(ValueError, match=r"`lengths` should be of at most 16777216 places.*Found \d x \d+ = 1677721"):
        reachability_pairs(torch.tensor(lengths), 1, 2, 3, torch.Generator())
