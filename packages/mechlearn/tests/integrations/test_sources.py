"""A watch in a loop of one's own: when it measures, what it logs, and that the training stays what it is."""

import dataclasses
import io
import json
import math
import random

import numpy as np
import pytest
import torch
from torch import nn

from mechlearn.integrations import SourceWatch

IDS = ["a", "a", "b", "b", "c", "c", "c", "c"]


def loop(watching, steps=20):
    """Train with dropout and momentum, and return all that a training is made of, with its watch."""
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.LayerNorm(8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)

    def losses_of(x, y):
        return (model(x)[:, 0] - y).square()

    sources = SourceWatch(model, losses_of, every=5)
    for step in range(steps):
        x, y = torch.randn(8, 3), torch.randn(8)
        random.seed(step)  # the type checker of the tests draws from it
        if watching:
            sources.step(x, y, environments=IDS)
        optimizer.zero_grad()
        losses_of(x, y).mean().backward()
        optimizer.step()
    state = [*model.state_dict().values(), *(v for s in optimizer.state.values() for v in s.values()), torch.get_rng_state()]
    return state, random.getstate(), np.random.get_state()[1].tolist(), sources  # noqa: NPY002


@pytest.mark.usefixtures("as_installed")  # the type checker of the tests draws random numbers
def test_a_watched_training_is_the_same_bit_for_bit():
    (state, *draws, _), (watched, *others, sources) = loop(False), loop(True)
    assert all(torch.equal(one, other) for one, other in zip(state, watched, strict=True))
    assert draws == others
    assert [one.step for one in sources.history] == [0, 5, 10, 15]


def test_a_history_is_plain_data_and_scalars_are_flat():
    sources = loop(True)[3]
    plain = [dataclasses.asdict(one) for one in sources.history]
    for one in plain:
        one["pairs"] = {"-".join(pair): cosine for pair, cosine in one["pairs"].items()}
    assert json.loads(json.dumps(plain)) == plain
    scalars, last = sources.scalars(), sources.history[-1]
    assert scalars["sources/a/loss"] == last.sources["a"].loss
    assert scalars["sources/c/cosine"] == last.sources["c"].cosine
    assert scalars["sources/pairs/a-c"] == last.pairs["a", "c"]
    assert scalars["sources/layers/0/sign_conflict"] == last.layers["0"].conflict
    assert all(math.isfinite(value) for value in scalars.values())


def test_rows_that_point_most_against_the_others_are_kept_by_their_ids_and_named_on_the_page(tmp_path):
    """Of a source's rows three want the opposite, the first much more of it; three have large gradients, and want the same."""
    torch.manual_seed(0)
    model = nn.Linear(3, 1)
    sources = SourceWatch(model, lambda x, y: (model(x)[:, 0] - y).square(), every=1)
    names = [f"row {i}" for i in range(24)]
    ids = torch.arange(3).repeat_interleave(8)[torch.randperm(24)]
    own = [i for i in range(24) if ids[i] == 2]
    for _ in range(16):
        x = torch.randn(24, 3).sign()
        y = 5 * x[:, 0]
        y[own[:3]] *= -9
        y[own[0]] *= 9
        y[own[3:6]] *= 2
        sources.step(x, y, environments=ids, examples=names)
    last = sources.history[-1].sources[2].against
    assert list(last) == sorted(last, key=last.get)
    assert next(iter(last)) == names[own[0]]
    assert {names[i] for i in own[:3]} <= last.keys()
    parameters = [*model.parameters()]

    def gradient(rows):
        found = torch.autograd.grad((model(x[rows])[:, 0] - y[rows]).square().mean(), parameters)
        return torch.cat([one.flatten() for one in found])

    others = (gradient(ids == 0) + gradient(ids == 1)) / 2
    assert last == pytest.approx({names[i]: float(gradient([i]) @ others) for i in own if names[i] in last}, rel=1e-4)
    page = sources.page(tmp_path / "sources.html").read_text()
    assert f"Rows of source 2 that point most against the others, from step 8 on: {names[own[0]]}" in page
    with pytest.raises(ValueError, match="one id for each of 24 rows"):
        sources.step(x, y, environments=ids, examples=names[1:])


def test_rows_of_a_single_source_point_against_none():
    model = nn.Linear(3, 1)
    sources = SourceWatch(model, lambda x: model(x)[:, 0], every=1)
    sources.step(torch.randn(4, 3), environments=["a"] * 4, examples=[1, 2, 3, 4])
    assert sources.history[0].sources["a"].against == {}


def test_nothing_is_logged_before_the_first_measurement():
    assert SourceWatch(nn.Linear(1, 1), lambda x: x).scalars() == {}


def test_a_source_of_one_row_has_no_noise_and_a_name_is_one_that_loggers_take():
    model, x = nn.Linear(2, 1), torch.randn(5, 2)
    sources = SourceWatch(model, lambda x: model(x)[:, 0].square(), every=1)
    sources.step(x, environments=["web: news", "web: news", "b", "b", "c"])
    scalars = sources.scalars()
    assert "sources/web_ news/noise_scale" in scalars
    assert "sources/c/noise_scale" not in scalars
    assert "sources/c/norm" in scalars


def test_a_noise_scale_is_of_all_measurements():
    sources = loop(True)[3]
    own = [one.sources["c"] for one in sources.history]
    signal, variance = sum(one.signal for one in own), sum(one.variance for one in own)
    assert sources.noise_scale("c") == (variance / signal if signal > 0 else float("inf"))
    assert np.isnan(sources.noise_scale("nobody"))


def test_the_panel_shows_each_source():
    console = pytest.importorskip("rich.console").Console(record=True, width=100, file=io.StringIO())
    console.print(loop(True)[3].panel())
    shown = console.export_text()
    assert "step 15" in shown
    assert all(f" {source} " in shown for source in "abc")
    console.print(SourceWatch(nn.Linear(1, 1), lambda x: x).panel())


@pytest.mark.parametrize(
    ("losses_of", "ids", "said"),
    [
        (lambda x: x.mean(), IDS, "already reduced"),
        (lambda x: x[:, 0], IDS[:7], "8"),
        (lambda x: x[:, 0], [["a", "b"]] * 8, "hashable"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_bad_batches_are_told(losses_of, ids, said):
    model = nn.Linear(2, 1)
    sources = SourceWatch(model, lambda x: losses_of(model(x)))
    with pytest.raises((TypeError, ValueError), match=said):
        sources.step(torch.randn(8, 2), environments=ids)
    assert sources.history == []


@pytest.mark.usefixtures("as_installed")
def test_bad_settings_are_told():
    with pytest.raises(TypeError, match="`losses_of` should be a function"):
        SourceWatch(nn.Linear(1, 1), 3)
    with pytest.raises(ValueError, match="`every` should be at least 1"):
        SourceWatch(nn.Linear(1, 1), abs, every=0)


@pytest.mark.extra("integrations", "accelerate")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("precision", ["no", "bf16"])
def test_accelerate_trains_the_same_bit_for_bit(precision):
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)  # another test's precision

    def trained(watching):
        torch.manual_seed(0)
        accelerator = Accelerator(cpu=True, mixed_precision=precision, gradient_accumulation_steps=2)
        model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Tanh(), nn.Linear(8, 1))
        model, optimizer = accelerator.prepare(model, torch.optim.Adam(model.parameters(), 0.01))
        sources = SourceWatch(model, lambda x, y: (model(x)[:, 0] - y).square(), every=6)
        for _ in range(20):
            x, y = torch.randn(8, 3), torch.randn(8)
            with accelerator.accumulate(model):
                if watching:
                    sources.step(x, y, environments=IDS)
                accelerator.backward((model(x)[:, 0] - y).square().mean())
                accelerator.clip_grad_norm_(model.parameters(), 0.1)
                optimizer.step()
                optimizer.zero_grad()
        return [*accelerator.unwrap_model(model).state_dict().values(), torch.get_rng_state()], sources.history

    (state, _), (watched, history) = trained(False), trained(True)
    assert all(torch.equal(one, other) for one, other in zip(state, watched, strict=True))
    assert [one.step for one in history] == [0, 6, 12, 18]
