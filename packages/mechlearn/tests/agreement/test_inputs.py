"""Agreement and cancelled mass by input feature, weight by weight."""

import pytest
import torch

import normalise_oracles
from mechlearn.agreement import Record
from mechlearn.agreement.engine.sums import RunningSums
from mechlearn.agreement.inputs import READS, by_input


def record(**gradients):
    kept = {}
    for name, g in gradients.items():
        sums = RunningSums(g[0], READS)
        sums.add(g.clone())
        kept[name] = sums.statistics()
    return Record(torch.arange(3), torch.zeros(3), 1.0, {}, {}, statistics=kept)


def draw(*shape):
    generator = torch.Generator().manual_seed(0)
    g = torch.randn(3, *shape, dtype=torch.float64, generator=generator)
    g[:, :, 1] = g[:, :, 1].abs()  # a feature that all agree about
    g[:, :, 2] = 0
    return g


def test_equals_the_literal_sums():
    g = draw(4, 5)
    found = by_input(record(weight=g))
    expected = torch.tensor(normalise_oracles.by_input(g), dtype=torch.float64).T
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-13, atol=1e-13)
    assert found.signs[1] == 12
    assert found.cancelled[1] == 0
    assert found.kept[2] == found.signs[2] == 0


def test_channels_of_a_convolution_and_entries_of_an_embedding():
    g = draw(4, 5, 3, 3)
    found = by_input(record(bias=g[:, :, 0, 0, 0], weight=g), "weight")
    expected = normalise_oracles.by_input(g.permute(0, 1, 3, 4, 2).flatten(1, 3))
    torch.testing.assert_close(torch.stack(found).T, torch.tensor(expected, dtype=torch.float64))
    entries = by_input(record(table=draw(6, 4)), dim=0)
    torch.testing.assert_close(entries.kept, by_input(record(table=draw(6, 4).mT)).kept)


def test_what_is_refused():
    with pytest.raises(ValueError, match=r"Found None, and kept are \[\]\. Make the Agreement with keep"):
        by_input(record())
    with pytest.raises(ValueError, match=r"Found 'b', and kept are \['a'\]"):
        by_input(record(a=draw(2, 3)), "b")
    with pytest.raises(ValueError, match=r"Found None, and kept are \['a', 'b'\]"):
        by_input(record(a=draw(2, 3), b=draw(2, 3)))
    with pytest.raises(ValueError, match=r"'a' should have a dimension 1.*Found shape \(4,\)"):
        by_input(record(a=torch.ones(3, 4)))
    lacking = record(a=draw(2, 3))
    lacking.statistics["a"] = lacking.statistics["a"]._replace(magnitude=None)
    with pytest.raises(ValueError, match="should hold signs and magnitudes"):
        by_input(lacking)
