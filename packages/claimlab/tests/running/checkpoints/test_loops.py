import random
import struct
from collections import Counter

import numpy as np
import pytest
import torch

from claimlab import checkpoint
from claimlab.errors import LabError
from claimlab.experiment import load
from claimlab.running.checkpoints import files, loops
from claimlab.running.checkpoints.files import previous, read
from fake_commands import full


def rows_of(experiment, config, until=None):
    """The rows of a seed, at most so many: a process that is killed yields no more."""
    found = []
    for row in experiment.run(config):
        if until is not None and len(found) == until:
            break
        found.append(row)
        for one in loops._keepers:
            one.rows.append(row)
    return found


@pytest.mark.parametrize("name", ["walker", "learner"])
def test_a_seed_that_goes_on_gives_the_same_rows_wherever_it_was_killed(trainings, keeper, name, tmp_path):
    experiment = load(name, trainings)
    config = experiment.presets["quick"].config
    whole = rows_of(experiment, config)
    for until in range(1, len(whole)):
        for path in tmp_path.glob("*.safetensors"):
            path.unlink()
        keeper()
        assert rows_of(experiment, config, until) == whole[:until]
        found = keeper()
        assert len(found.rows) in (until, until - 1, until - 2)
        assert rows_of(experiment, config) == whole


def test_without_a_worker_nothing_is_kept(trainings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    experiment = load("walker", trainings)
    assert rows_of(experiment, experiment.config()) == rows_of(experiment, experiment.config())
    assert not list(tmp_path.glob("*.safetensors"))


class Holder:
    """Its state is whatever it is given."""

    def __init__(self, state=None):
        self.state = state

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.state = state


def test_what_a_loop_holds_comes_back_bit_for_bit(keeper):
    state = {
        1: (1, 2.5, float("inf"), None, True),
        "nested": [{"deep": torch.arange(6).reshape(2, 3).t()}],
        "scalar": torch.tensor(0.1, dtype=torch.float64),
        "half": torch.randn(3).to(torch.bfloat16),
        "array": np.arange(3.0),
        "drops": Counter([3, 6, 6]),
        "numpy": np.float32(0.1),
    }
    draws = (random.Random(1), np.random.default_rng(1), torch.Generator().manual_seed(1))
    tensor = torch.zeros(2)
    keeper()
    saved = checkpoint("loop", Holder(state), *draws, tensor)
    tensor += 3
    saved.keep(4, {"x": 0.1})
    expected = (draws[0].random(), draws[1].random(), torch.rand(1, generator=draws[2]))

    keeper()
    again = (random.Random(2), np.random.default_rng(2), torch.Generator().manual_seed(2))
    held, other = Holder(), torch.zeros(2)
    saved = checkpoint("loop", held, *again, other)
    assert (saved.done, saved.values, saved.finished) == (4, [{"x": 0.1}], False)
    assert held.state[1] == state[1]
    assert torch.equal(held.state["nested"][0]["deep"], state["nested"][0]["deep"])
    for name in ("scalar", "half"):
        assert held.state[name].dtype == state[name].dtype
        assert torch.equal(held.state[name], state[name])
    assert (held.state["array"] == state["array"]).all()
    assert held.state["drops"] == state["drops"]
    assert isinstance(held.state["drops"], Counter)
    assert held.state["numpy"] == float(np.float32(0.1))
    assert (again[0].random(), again[1].random(), torch.rand(1, generator=again[2])) == expected
    assert other.tolist() == [3, 3]
    saved.finish({"y": 1})
    keeper()
    saved = checkpoint("loop", held)
    assert (saved.finished, saved.values) == (True, [{"x": 0.1}, {"y": 1}])


def test_keys_of_a_state_that_look_alike_are_two(keeper):
    one, other = torch.ones(2), torch.zeros(2)
    state = {"net": {"weight": one}, "net.weight": other, 1: one.double(), "1": other.double()}
    keeper()
    checkpoint("loop", Holder(state)).keep(1)
    keeper()
    checkpoint("loop", again := Holder())
    assert torch.equal(again.state["net"]["weight"], one)
    assert torch.equal(again.state["net.weight"], other)
    assert (again.state[1].tolist(), again.state["1"].tolist()) == ([1, 1], [0, 0])


def test_complex_numbers_come_back(keeper):
    tensors = [torch.tensor([1 + 2j, complex("inf-infj")], dtype=kind) for kind in (torch.complex64, torch.complex128)]
    tensors += [tensors[0].conj(), torch.tensor(3j)]
    arrays = [one.numpy() for one in tensors[:2]] + [np.array(2j), np.arange(3, dtype=">f8")]
    keeper()
    checkpoint("loop", Holder([*tensors, *arrays])).keep(1)
    keeper()
    checkpoint("loop", again := Holder())
    for was, found in zip(tensors, again.state[:4], strict=True):
        assert found.dtype == was.dtype
        assert torch.equal(torch.view_as_real(found), torch.view_as_real(was.resolve_conj()))
    for was, found in zip(arrays, again.state[4:], strict=True):
        assert found.dtype == was.dtype.newbyteorder("=")
        np.testing.assert_array_equal(found, was)


@pytest.mark.parametrize(
    ("value", "what"), [(np.array(["a"]), "an array of <U1"), (torch.eye(2).to_sparse(), "a sparse tensor")]
)
def test_what_no_file_of_tensors_holds_is_said(keeper, value, what):
    keeper()
    with pytest.raises(LabError, match=f"Found {what} at loop, part 0.v"):
        checkpoint("loop", Holder({"v": value})).keep(1)


def test_checkpoints_are_some_seconds_apart_and_rare_where_they_take_long(keeper, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(loops.time, "perf_counter", lambda: now[0])
    written = []

    def write(path, content):
        written.append(now[0])
        now[0] += 2.0

    monkeypatch.setattr(loops, "write", write)
    keeper(every=20.0)
    saved = checkpoint("loop")
    for done in range(1, 300):
        now[0] += 1.0
        saved.keep(done)
    assert written == [20.0, 122.0, 224.0]  # each took 2 s: 2 % of the time at most


def test_two_loops_of_one_name_are_refused(keeper):
    checkpoint("loop")
    checkpoint("loop")  # nothing is kept, so nothing is mixed
    keeper()
    checkpoint("loop")
    with pytest.raises(LabError, match="Found 'loop' twice"):
        checkpoint("loop")


def test_a_loop_within_one_that_holds_parts_is_refused(keeper):
    """What the inner one writes would hold the outer one's parts as they are by then, beside its `done` as it was before."""
    keeper()
    weight = [0.0]
    outer = checkpoint("outer", weight)
    weight[0] += 1
    with pytest.raises(LabError, match=r"Found 'inner' within 'outer'\. Call finish\(\) or stay\(\) that first"):
        checkpoint("inner")
    outer.finish()
    later, other = checkpoint("inner"), checkpoint("other", weight)
    with pytest.raises(LabError, match="Found 'inner' within 'other'"):
        later.restore(weight)
    other.stay()
    later.restore(weight)


@pytest.mark.parametrize(
    ("part", "sentence"), [(object(), "Found a object"), ({"a": 1}, "Found a dict"), (None, "Found a NoneType")]
)
def test_what_cannot_be_kept_is_said_at_once(part, sentence):
    with pytest.raises(LabError, match=sentence):
        checkpoint("loop", part)


def test_what_is_no_json_is_said(keeper):
    keeper()
    with pytest.raises(LabError, match="should be JSON"):
        checkpoint("loop").keep(1, {1, 2})


def kept(keeper, *values):
    keeper()
    saved = checkpoint("loop", torch.ones(3))
    for done, value in enumerate(values, 1):
        saved.keep(done, value)
    return loops._keepers[0]._path


def test_the_one_before_is_kept_and_used_where_the_last_is_damaged(keeper):
    path = kept(keeper, "a", "b")
    assert previous(path).exists()
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    keeper()
    assert checkpoint("loop").values == ["a"]
    assert str(path) in keeper.said[0]
    assert "its digest is another" in keeper.said[0]
    assert "goes on from its checkpoint" in keeper.said[1]


def damages(data: bytes) -> dict[str, bytes]:
    half = len(data) // 2
    return {
        "empty": b"",
        "cut": data[:half],
        "cut at the last byte": data[:-1],
        "longer": data + b"\0",
        "a bit": data[:half] + bytes([data[half] ^ 1]) + data[half + 1 :],
        "zeros": bytes(len(data)),
        "text": b"checkpoint",
        "a header of no end": struct.pack("<Q", 2**60) + data[8:],
        "another digest": data.replace(b'"digest":"', b'"digest":"0', 1),
        "no digest": data.replace(b'"digest"', b'"digost"', 1),
    }


@pytest.mark.parametrize("damage", list(damages(b"x" * 40)))
def test_a_damaged_checkpoint_is_named_and_not_used(keeper, damage):
    path = kept(keeper, "a")
    path.write_bytes(damages(path.read_bytes())[damage])
    keeper()
    assert checkpoint("loop").done == 0
    (said,) = keeper.said
    assert said.startswith(f"A checkpoint should be as it was written. Found {path} changed")


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        ({"threads": 2}, "has threads 1 instead of 2"),
        ({"source": "b" * 64}, "has source aaaaaaaaaaaa... instead of bbbbbbbbbbbb...".replace("aaaaaaaaaaaa...", "a" * 64)),
        ({"torch": "9.9"}, "has torch None instead of 9.9"),
    ],
)
def test_a_foreign_checkpoint_is_named_and_not_used(keeper, other, sentence):
    path = kept(keeper, "a")
    with pytest.raises(LabError, match=r"own kind, .*It is not used\."):
        read(path, {**keeper.identity, **other})
    keeper(**other)
    assert checkpoint("loop").done == 0
    assert next(iter(other)) in keeper.said[0]
    assert str(path) in keeper.said[0]


def test_a_full_disk_keeps_the_last_good_state(keeper, monkeypatch):
    path = kept(keeper, "a")
    with monkeypatch.context() as patched:
        patched.setattr(files, "write_atomically", full)
        keeper()
        saved = checkpoint("loop", torch.ones(3))
        with pytest.raises(LabError, match="No space left on device"):
            saved.keep(2, "b")
    keeper()
    assert checkpoint("loop").values == ["a"]
    assert path.parent.exists()


def drawn(keeper, until=None, late=False, asks=True, epochs=4):
    """Losses of a network with dropout, whose data order, noise and labels come from the three global generators."""
    keeper()
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002  # the global one is what is tested
    random.seed(0)
    found = []
    for arm in ("one", "two"):
        saved = None if late else checkpoint(arm)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
        optimizer = torch.optim.SGD(model.parameters(), 0.1)
        saved = checkpoint(arm) if saved is None else saved
        saved.restore(model, optimizer)
        x = torch.randn(16, 4)
        found += saved.values
        if asks and saved.finished:
            continue
        while saved.done < epochs:
            if until is not None and len(found) == until:
                return found
            noise, label = np.random.normal(), random.random()  # noqa: NPY002
            loss = (model(x) + noise - label).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(saved.keep(saved.done + 1, loss.item()))
        found += saved.finish(random.random())
    return found


@pytest.mark.parametrize(("late", "asks"), [(False, True), (True, True), (False, False)])
def test_what_draws_from_global_generators_goes_on_bit_for_bit_wherever_it_was_killed(keeper, tmp_path, late, asks):
    whole = drawn(keeper, None, late, asks)
    assert len(set(whole)) == len(whole) == 10
    for until in range(1, 10):
        for path in tmp_path.glob("*.safetensors"):
            path.unlink()
        drawn(keeper, until, late, asks)
        assert drawn(keeper, None, late, asks) == whole, until
