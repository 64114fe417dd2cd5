import torch

import distill_models as models
from craik.distill.examples.streams import Stream


def test_a_pass_repeats_nothing_and_drops_the_rest():
    stream = Stream(torch.arange(10, 21), 4, models.generator())
    found = stream.take(6)
    assert found.shape == (6, 4)
    for start in (0, 2, 4):
        rows = found[start : start + 2].flatten().tolist()
        assert len(set(rows)) == 8
        assert set(rows) <= set(range(10, 21))
    assert set(found.flatten().tolist()) == set(range(10, 21))  # over passes every row comes up


def test_a_resumed_stream_goes_on():
    generator = models.generator()
    stream = Stream(torch.arange(9), 4, generator)
    stream.take(1)
    state, position = stream.state_dict(), generator.get_state()
    expected = stream.take(5)
    again = Stream(torch.arange(9), 4, models.generator(7))
    again.load_state_dict(state)
    again.generator.set_state(position)
    assert torch.equal(again.take(5), expected)
