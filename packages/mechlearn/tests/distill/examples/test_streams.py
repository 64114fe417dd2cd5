import torch

import distill_models as models
from mechlearn.distill.examples.streams import Stream, Streams


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


def test_every_student_has_passes_of_its_own():
    rows = torch.arange(10, 21)
    streams = Streams(rows, 3, 4, models.generator())
    taken = torch.cat([streams.take(2), streams.take(4), streams.take(3)])
    assert taken.shape == (9, 4, 3)
    for p in range(4):
        for first in (0, 3, 6):  # three batches of three in a pass of eleven rows; two are dropped
            drawn = taken[first : first + 3, p].flatten().tolist()
            assert len(set(drawn)) == 9
            assert set(drawn) <= set(rows.tolist())
    assert len({tuple(taken[:, p].flatten().tolist()) for p in range(4)}) == 4


def test_students_streams_go_on_to_the_bit():
    one, other = (Streams(torch.arange(11), 3, 2, models.generator(k)) for k in (0, 5))
    one.take(2)
    other.load_state_dict(one.state_dict())
    other.generator.set_state(one.generator.get_state())
    assert torch.equal(one.take(5), other.take(5))
