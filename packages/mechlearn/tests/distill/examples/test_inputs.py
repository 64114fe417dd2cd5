from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import distill_models as models
import distill_oracles as oracles
from mechlearn.distill import (
    SGD,
    Adjoint,
    Batches,
    Checkpoint,
    Distillation,
    Examples,
    HiddenSquaredError,
    Hoisting,
    Labelled,
    Population,
    PopulationDistillation,
    Ragged,
    Truncated,
    Unroll,
    Unrolling,
    forecast_memory,
    meta_gradient,
    split_rows,
    teach,
)
from mechlearn.trajectories import Trajectories

UNITS = {"inner.0": (5,)}


class Joined(nn.Module):
    """A module of a flat input that gets its columns in a mapping."""

    def __init__(self, inner, *names):
        super().__init__()
        self.inner, self.names = inner, names

    def forward(self, parts):
        assert type(parts) in (dict, torch.Tensor)
        flat = parts if isinstance(parts, torch.Tensor) else torch.cat([parts["a"], parts["more"]["b"]], -1)
        return self.inner(flat)


def parted(x):
    return {"a": x[..., :1], "more": {"b": x[..., 1:]}}


def lesson(seed=0):
    return models.lesson(
        Joined(models.student("mlp", seed)), Joined(models.teacher(UNITS)), list(UNITS), teaching_loss=HiddenSquaredError("sum")
    )


def both(take):
    """Take something with tensors, and with the same numbers in mappings."""
    return take(lambda x: x), take(parted)


STRATEGIES = [Unroll(), Checkpoint(), Truncated(2), Adjoint(), Adjoint(compile=True, backend="eager")]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # torch.compile imports what torch itself deprecates
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_mappings_are_their_tensors_to_the_bit(strategy):
    (x, privileged, y), validation = models.data()
    hoisting = Hoisting(chunk=3) if isinstance(strategy, Checkpoint) else Hoisting()

    def take(made):
        given = replace(lesson(), hoisting=hoisting)
        data = Batches(made(x), made(privileged), y), Labelled(made(validation.x), validation.y)
        return meta_gradient(given, *data, SGD(0.1), strategy), forecast_memory(given, *data, SGD(0.1), strategy)

    (plain, memory), (mapped, memory_mapped) = both(take)
    assert all(torch.equal(plain.gradients[name], mapped.gradients[name]) for name in plain.gradients)
    assert memory_mapped.signals == memory.signals


def rounds(data, stacked=None):
    given, generator = lesson(), models.generator(3)
    settings = data, split_rows(40, 0.4, generator), Unrolling(SGD(0.05), 3, 5)
    meta = torch.optim.SGD(given.teacher.parameters(), 0.1)
    if stacked is None:
        loop = Distillation(given, *settings, torch.optim.Adam(given.student.parameters(), 1e-2), meta, generator)
    else:
        population = Population([given.student, lesson(7).student], stacked=stacked)
        loop = PopulationDistillation(given, population, *settings, lambda p: torch.optim.Adam(p, 1e-2), meta, generator)
    loop.step(2)
    optimizer = torch.optim.Adam(given.student.parameters(), 1e-2)
    teach(given, data, optimizer, steps=2, batch_size=5, generator=generator)
    return torch.cat([p.detach().flatten() for p in [*given.student.parameters(), *given.teacher.parameters()]])


@pytest.mark.parametrize("stacked", [None, True, False])
def test_rounds_on_mappings(stacked):
    batches, _ = models.data(n=4, b=10)
    x, privileged, y = (part.flatten(0, 1) for part in batches)
    plain, mapped = both(lambda made: rounds(Examples(made(x), made(privileged), y), stacked))
    assert torch.equal(plain, mapped)


@pytest.mark.extra("paper", "tensordict")
def test_a_tensordict_is_a_mapping():
    from tensordict import TensorDict  # an extra

    batches, _ = models.data(n=4, b=10)
    x, privileged, y = (part.flatten(0, 1) for part in batches)
    plain, mapped = both(
        lambda made: rounds(
            Examples(*(t if isinstance(t := made(part), torch.Tensor) else TensorDict(t, [40]) for part in (x, privileged)), y)
        )
    )
    assert torch.equal(plain, mapped)


class Mean(nn.Module):
    """The mean over a trajectory's own frames of a nonlinear function, and its length."""

    def __init__(self):
        super().__init__()
        self.frame, self.out = nn.Linear(4, 6), nn.Linear(7, 5)

    def forward(self, privileged):
        frames, mask = privileged
        own = mask[..., None].to(frames.dtype)
        total, count = (torch.tanh(self.frame(frames)) * own).sum(-2), own.sum(-2)
        return self.out(torch.cat([total / count, count], -1))


class OneByOne(nn.Module):
    """The same for a list of trajectories without padding."""

    def __init__(self, mean):
        super().__init__()
        self.mean = mean

    def forward(self, trajectories):
        rows = []
        for frames in trajectories:
            middle = torch.tanh(frames @ self.mean.frame.weight.T + self.mean.frame.bias).mean(0)
            row = torch.cat([middle, torch.tensor([float(len(frames))], dtype=frames.dtype)])
            rows.append(self.mean.out.weight @ row + self.mean.out.bias)
        return {"0": torch.stack(rows)}


def ragged(count, filling=0.0, seed=4):
    lengths = torch.randint(1, 7, (count,), generator=models.generator(seed))
    frames = models.randn(seed, count, 6, 4)
    frames[torch.arange(6) >= lengths[:, None]] = filling
    return Trajectories(frames, lengths)


@pytest.mark.parametrize("filling", [0.0, 1e30, float("nan")])
@pytest.mark.parametrize("hoisting", [Hoisting(), Hoisting(chunk=3), Hoisting("pooled")])
def test_ragged_trajectories_are_each_read_to_their_end(filling, hoisting):
    rows = torch.arange(20).reshape(4, 5)
    x, y, trajectories = models.randn(0, 20, 6), models.labels(1, 20), ragged(20, filling)
    _, validation = models.data()
    teacher = models.filled(Mean(), 5)
    given = models.lesson(models.student("mlp"), teacher, ["0"], teaching_loss=HiddenSquaredError("sum"), hoisting=hoisting)
    batches = Batches(*Examples(x, trajectories, y).rows(rows))
    expected, loss, _ = oracles.meta_gradient(
        models.student("mlp"),
        ["0"],
        OneByOne(teacher),
        [(x[row], [trajectories[int(b)] for b in row], y[row]) for row in rows],
        validation,
        lambda *a: oracles.sgd(*a, lr=0.1),
        0.7,
        oracles.squared,
        models.label_loss,
    )
    for strategy in (Unroll(), Adjoint()):
        found = meta_gradient(given, batches, validation, SGD(0.1), strategy)
        assert models.largest_error({f"mean.{name}": g for name, g in found.gradients.items()}, expected) < 1e-10
        torch.testing.assert_close(found.validation_loss, loss, rtol=1e-12, atol=0)


def test_ragged_trajectories_in_rounds_and_beside_others():
    x, y = models.randn(0, 40, 6), models.labels(1, 40)

    class Beside(Mean):
        def forward(self, privileged):
            return super().forward(privileged["course"]) + privileged["age"]

    def loop(teacher, privileged):
        given, generator = models.lesson(models.student("mlp"), models.filled(teacher, 5), ["0"]), models.generator(3)
        optimizers = (torch.optim.SGD(part.parameters(), 0.1) for part in (given.student, given.teacher))
        split = split_rows(40, 0.4, generator)
        made = Distillation(given, Examples(x, privileged, y), split, Unrolling(SGD(0.1), 3, 5), *optimizers, generator)
        return made.step(2), made.step(2)

    alone = loop(Mean(), ragged(40))
    beside = loop(Beside(), {"course": ragged(40), "age": models.randn(6, 40, 1) * 0})
    assert [round_.student for round_ in alone] == [round_.student for round_ in beside]
    # A student may read trajectories, too.
    given = models.lesson(models.filled(Mean(), 1), models.teacher({"frame": (6, 6)}), ["frame"])
    record = teach(
        given,
        Examples(ragged(40), models.randn(1, 40, 4), models.labels(2, 40) + 1),
        torch.optim.SGD(given.student.parameters(), 0.1),
        steps=2,
        batch_size=5,
        generator=models.generator(),
    )
    assert record.teaching_loss > 0


X, STAR, Y = models.randn(0, 40, 6), models.randn(1, 40, 4), models.labels(2, 40)


@pytest.mark.parametrize(
    ("examples", "kind", "sentence"),
    [
        (Examples(X, [STAR[:3], STAR[:5]], Y), TypeError, r"`examples.privileged` should be .*Found a list, which does"),
        (
            Examples(X, torch.nested.nested_tensor([STAR[:3], STAR[:5]], layout=torch.jagged), Y),
            TypeError,
            "Found a nested tensor",
        ),
        (Examples(X, None, Y), TypeError, "`examples.privileged` should be.*Found None"),
        (Examples({}, STAR, Y), ValueError, "`examples.x` should have entries. Found an empty dict"),
        (Examples({"a": torch.tensor(1.0)}, STAR, Y), ValueError, r"`examples.x\['a'\]` should have the shape.*a scalar"),
        (Examples({"a": X, "b": np.ones(40)}, STAR, Y), TypeError, r"`examples.x\['b'\]` should be.*ndarray.*as_tensor"),
        (Examples({"a": X, "b": X[:39]}, STAR, Y), ValueError, "one row for each.*'x': '39 and 40', 'privileged': '40'"),
        (Examples(X, ragged(39), Y), ValueError, "one row for each example.*'privileged': '39'"),
        (Examples(X, STAR, {"y": Y}), TypeError, "`examples.y` should be a tensor"),
        (Examples(X, Ragged(STAR, STAR > 9), Y), ValueError, "should have a frame in every trajectory"),
        (Examples(X, Ragged(STAR, STAR[:, :3] > 0), Y), ValueError, r"a mask \(B, T\) beside frames .* Found \(40, 3\)"),
        (Examples(X, Ragged(STAR, STAR), Y), TypeError, "frames and a mask of bools. Found Tensor and torch.float64"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_what_cannot_be_read_is_said(examples, kind, sentence):
    with pytest.raises(kind, match=sentence):
        rounds(examples)


@pytest.mark.parametrize(
    ("changed", "kind", "sentence"),
    [
        ({"privileged": ragged(4)}, TypeError, r"Found Trajectories for the batches of an unroll\. Take Examples"),
        ({"x": {"a": torch.ones(4)}}, ValueError, r"`batches.x\['a'\]` should have the shape.*Found shape \(4,\)"),
        ({"privileged": {"a": torch.ones(4, 3)}}, ValueError, r"privileged data with \(n, B\) = \(4, 3\)"),
    ],
)
def test_batches_that_cannot_be_read(changed, kind, sentence):
    batches, validation = models.data()
    with pytest.raises(kind, match=sentence):
        meta_gradient(lesson(), batches._replace(**changed), validation, SGD(0.1))


def test_numbers_that_are_none_are_found_in_an_entry():
    batches, validation = models.data()
    batches.x[1, 2, 0] = float("nan")
    made = batches._replace(x=parted(batches.x))
    with pytest.raises(FloatingPointError, match=r"step 2 of 4.*the inputs x, where 1 of"):
        meta_gradient(lesson(), made, Labelled(parted(validation.x), validation.y), SGD(0.1))
    wrong = batches._replace(x={"a": batches.x[..., :1], "more": {"b": batches.x[..., 1:].float()}})
    given = replace(lesson(), student=Reading(models.student("mlp")))
    with pytest.raises(TypeError, match=r"Found torch\.float32 beside torch\.float64"):
        meta_gradient(given, wrong, validation, SGD(0.1))


class Reading(Joined):
    """Reads one entry alone."""

    def forward(self, parts):
        return self.inner(torch.cat([parts["more"]["b"]] * 2, -1)[..., :6])


def test_tensors_of_inference_mode_are_read():
    batches, validation = models.data()
    lesson = models.lesson(models.student("mlp"), models.teacher({"0": (5,)}), ["0"])
    with torch.inference_mode():
        same = Batches(*(part.clone() for part in batches)), Labelled(*(part.clone() for part in validation))
    found, expected = (meta_gradient(lesson, *given, SGD(0.1)).gradients for given in (same, (batches, validation)))
    assert models.largest_error(found, expected) == 0


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize("indices", [[0, 1], np.arange(2)])
def test_rows_are_taken_at_a_tensor(indices):
    with pytest.raises(TypeError, match=r"`indices` should be a tensor\..*torch\.as_tensor"):
        Examples(models.randn(0, 4, 6), models.randn(1, 4, 4), models.labels(2, 4)).rows(indices)
