import copy

import pytest
import torch

import returns_oracles as oracles
from mechlearn_zoo.methods.control import PopArt, PopArtLinear, art, normalize, pop, unnormalize
from mechlearn_zoo.methods.control.popart import popart


def drawn(seed, count, tasks):
    generator = torch.Generator().manual_seed(seed)
    task = torch.randint(tasks, (count,), generator=generator)
    scale = 10.0 ** torch.randint(-2, 4, (tasks,), generator=generator)
    return task, scale[task] * (torch.randn(count, generator=generator, dtype=torch.float64) + 1)


@pytest.mark.parametrize("beta", [3e-4, 0.1, 1.0])
def test_a_batch_is_its_targets_in_turn(beta):
    for seed in range(5):
        task, target = drawn(seed, 40, 6)
        state = PopArt(torch.randn(6, dtype=torch.float64), torch.rand(6, dtype=torch.float64) + 3)
        expected = oracles.art(state.mean.tolist(), state.second_moment.tolist(), target.tolist(), task.tolist(), beta)
        found = art(state, target, task, beta)
        torch.testing.assert_close(found.mean, torch.tensor(expected[0], dtype=torch.float64), rtol=1e-13, atol=1e-12)
        torch.testing.assert_close(found.second_moment, torch.tensor(expected[1], dtype=torch.float64), rtol=1e-13, atol=1e-9)


def test_the_other_orders():
    task, target = drawn(0, 40, 3)
    state = popart(3)
    for k in range(3):
        of = target[task == k]
        assert art(state, target, task, 0.01, "sum").mean[k] == pytest.approx(0.01 * float(of.sum()))
        assert art(state, target, task, 0.01, "mean").mean[k] == pytest.approx(0.01 * float(of.mean()))
    one = torch.tensor([5.0]), torch.tensor([1])
    found = {order: art(state, *one, 0.1, order) for order in ("sequential", "sum", "mean")}
    assert all(torch.equal(found["sum"].mean, other.mean) for other in found.values())
    shuffled = torch.randperm(40, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(art(state, target, task, 0.1, "mean"), art(state, target[shuffled], task[shuffled], 0.1, "mean"))


def test_outputs_are_preserved_over_ten_thousand_updates():
    """To 4 units in the last place of what an output is summed from, at each update, in float64; 64 tasks, 160 times each."""
    generator = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    scales = 10.0 ** (4 * torch.rand(64, generator=generator, dtype=torch.float64) - 1)
    weight, bias, features, every, worst = draw(64, 3), draw(64), draw(3), torch.arange(64), 0.0
    state = popart(64).to(scales.device)
    for _ in range(160):
        new = art(state, scales * (1 + draw(64)), every, 0.02)
        before, size = unnormalize(state, weight @ features + bias, every), state.scale * (weight.abs() @ features.abs())
        size = size + state.scale * bias.abs() + state.scale + state.mean.abs() + new.mean.abs()
        weight, bias = pop(weight, bias, state, new)
        error = (unnormalize(new, weight @ features + bias, every) - before).abs() / size
        worst, state = max(worst, float(error.max())), new
    assert worst <= 4 * torch.finfo(torch.float64).eps


def test_the_layer():
    head = PopArtLinear(5, 3, torch.Generator().manual_seed(1)).double()
    generator = torch.Generator().manual_seed(2)
    features, tasks = (
        torch.randn(4, 7, 5, generator=generator, dtype=torch.float64),
        torch.randint(3, (4, 7), generator=generator),
    )
    before = head.values(features, tasks)
    head.update(1000 * torch.randn(4, 7, generator=generator, dtype=torch.float64), tasks, 0.1)
    torch.testing.assert_close(head.values(features, tasks), before, rtol=1e-12, atol=1e-10)
    values = head.values(features, tasks)
    torch.testing.assert_close(normalize(head.state, values, tasks), head(features, tasks), rtol=1e-9, atol=1e-9)
    again = PopArtLinear(5, 3, torch.Generator().manual_seed(3)).double()
    again.load_state_dict(head.state_dict())
    assert torch.equal(again.values(features, tasks), head.values(features, tasks))


KEPT = {"momentum_buffer": 1, "exp_avg": 1, "exp_inf": 1, "prev": 1, "exp_avg_sq": 2, "square_avg": 2, "sum": 2}


@pytest.mark.parametrize("kind", ["SGD", "Adam", "RMSprop", "Adamax", "Adagrad", "Rprop", "Adadelta", "NAdam", "RAdam", "ASGD"])
def test_what_an_optimiser_keeps_is_rescaled_when_asked(kind):
    """A gradient of the rescaled layer is the old one times sigma / sigma': averages that are rescaled agree with that."""
    settings = {"momentum": 0.9} if kind in ("SGD", "RMSprop") else {}
    head = PopArtLinear(2, 2, torch.Generator().manual_seed(0)).double()
    optimizer = getattr(torch.optim, kind)(head.parameters(), lr=1e-3, **settings)
    head(torch.ones(3, 2, dtype=torch.float64), torch.tensor([0, 1, 1])).sum().backward()
    optimizer.step()
    kept, old = copy.deepcopy(optimizer.state[head.weight]), head.state
    head.update(torch.tensor([40.0, 3.0]), torch.tensor([0, 1]), 0.5, optimizer=optimizer)
    ratio = (old.scale / head.state.scale)[:, None]
    for name, value in optimizer.state[head.weight].items():
        if name in KEPT and value is not None:
            # RMSprop's is of gradients over their own size.
            power = 0 if (kind, name) == ("RMSprop", "momentum_buffer") else KEPT[name]
            torch.testing.assert_close(value, kept[name] * ratio**power)
        elif isinstance(value, torch.Tensor):
            assert torch.equal(value, kept[name])
    head.update(torch.tensor([1.0]), torch.tensor([0]), 0.5)  # nothing asked, nothing changed
    assert head.mean.dtype == torch.float64


@pytest.mark.parametrize(("kind", "settings"), [("SGD", {}), ("RMSprop", {}), ("RMSprop", {"centered": True})])
def test_momentum_goes_on_as_if_all_gradients_had_been_rescaled(kind, settings):
    """Whatever the optimiser keeps, the next steps are those after gradients times sigma / sigma' from the start."""
    head, task, features = PopArtLinear(2, 1, torch.Generator().manual_seed(0)).double(), torch.tensor([0]), torch.ones(1, 2)
    other = torch.nn.Parameter(torch.zeros(1, 2, dtype=torch.float64))
    settings = {"lr": 0.0, "momentum": 0.9, **settings, **({"eps": 0.0} if kind == "RMSprop" else {})}
    optimizer, wanted = (getattr(torch.optim, kind)(part, **settings) for part in (head.parameters(), [other]))
    gradients = [torch.tensor([[one, -2.0]], dtype=torch.float64) for one in (3.0, 1.0, 2.0)]
    head(features.double(), task).sum().backward()
    for gradient in gradients:
        head.weight.grad = gradient
        optimizer.step()
    old = head.state.scale
    head.update(torch.tensor([40.0]), task, 0.5, optimizer=optimizer)
    for gradient in gradients:
        other.grad = gradient * old / head.state.scale
        wanted.step()
    torch.testing.assert_close(
        optimizer.state[head.weight]["momentum_buffer"], wanted.state[other]["momentum_buffer"], rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["Adagrad", "Adamax"])
def test_an_optimiser_goes_on_as_if_its_gradients_had_been_rescaled(kind):
    """What it keeps by definition: the sum of squares, or the largest gradient so far, of gradients times sigma / sigma'."""
    head = PopArtLinear(2, 1, torch.Generator().manual_seed(0)).double()
    optimizer = getattr(torch.optim, kind)(head.parameters(), lr=1e-3)
    features, task = torch.tensor([[1.0, -2.0]], dtype=torch.float64), torch.tensor([0])
    seen = []
    for scale in (3.0, 1.0):
        optimizer.zero_grad()
        (scale * head(features, task)).sum().backward()
        seen.append(head.weight.grad.clone())
        optimizer.step()
    old = head.state.scale
    head.update(torch.tensor([40.0]), task, 0.5, optimizer=optimizer)
    seen = [gradient * old / head.state.scale for gradient in seen]
    found = optimizer.state[head.weight]["sum" if kind == "Adagrad" else "exp_inf"]
    wanted = sum(one**2 for one in seen) if kind == "Adagrad" else torch.maximum(0.999 * seen[0].abs(), seen[1].abs())
    torch.testing.assert_close(found, wanted, rtol=1e-6, atol=1e-10)


def test_an_optimiser_that_keeps_something_else_is_refused():
    head = PopArtLinear(2, 2, torch.Generator().manual_seed(0))
    optimizer = torch.optim.Adafactor(head.parameters(), lr=1e-3)
    head(torch.ones(3, 2), torch.tensor([0, 1, 1])).sum().backward()
    optimizer.step()
    kept = copy.deepcopy(head.state_dict())
    with pytest.raises(ValueError, match=r"`optimizer` should keep what is known.*Found Adafactor's 'row_var'\. Pass none"):
        head.update(torch.tensor([40.0, 3.0]), torch.tensor([0, 1]), 0.5, optimizer=optimizer)
    assert all(torch.equal(kept[name], value) for name, value in head.state_dict().items())
    head.update(torch.tensor([40.0, 3.0]), torch.tensor([0, 1]), 0.5)


@pytest.mark.usefixtures("as_installed")
def test_a_head_is_drawn_and_asked_within_its_bounds():
    with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
        PopArtLinear(2, 3, None)
    head = PopArtLinear(2, 3, torch.Generator().manual_seed(0))
    for wrong in (3, -1):
        with pytest.raises(ValueError, match=rf"`tasks` should be numbers from 0 to 2. Found {min(wrong, 0)} to "):
            head(torch.ones(2, 2), torch.tensor([0, wrong]))
    with pytest.raises(ValueError, match=r"`tasks` should have the shape \(2,\). Found \(1,\)"):
        head(torch.ones(2, 2), torch.tensor([0]))
    with pytest.raises(TypeError, match="`tasks` should hold whole numbers"):
        head(torch.ones(2, 2), torch.tensor([0.0, 1.0]))
    tasks = torch.tensor([0, 2])
    assert torch.equal(head(torch.ones(2, 2), tasks.int()), head(torch.ones(2, 2), tasks))


def test_scale_stays_within_its_bounds():
    assert PopArt(torch.tensor([3.0]), torch.tensor([9.0])).scale.item() == pytest.approx(1e-4)
    assert PopArt(torch.tensor([0.0]), torch.tensor([1e20])).scale.item() == pytest.approx(1e6)
    assert art(popart(1), torch.tensor([3e30]), torch.tensor([0]), 0.5).second_moment.item() == pytest.approx(4.5e60)


def test_bad_input_leaves_everything_as_it_was():
    head = PopArtLinear(2, 3, torch.Generator().manual_seed(0))
    kept = copy.deepcopy(head.state_dict())
    fine, task = torch.ones(2), torch.tensor([0, 2])
    cases = [
        ((torch.tensor([1.0, torch.inf]), task), ValueError, "`targets` should be finite. Found inf at place 1. The state is"),
        ((fine, torch.tensor([0, 3])), ValueError, "`tasks` should lie between 0 and 2. Found 3"),
        ((fine, torch.tensor([-1, 3])), ValueError, "between 0 and 2. Found -1"),
        ((fine, torch.tensor([0.0, 1.0])), TypeError, "`tasks` should be integers. Found torch.float32"),
        ((fine, torch.tensor([0])), ValueError, r"shape of the values, \(2,\).*Found \(1,\)"),
        ((fine[:0], task[:0]), ValueError, "at least one target"),
        ((fine, task, 0.0), ValueError, r"`beta` should lie in \(0, 1\].*Found 0.0"),
        ((fine, task, 2.0), ValueError, "Found 2.0. The paper's is 3e-4"),
    ]
    for arguments, error, sentence in cases:
        with pytest.raises(error, match=sentence):
            head.update(*arguments)
    assert all(torch.equal(kept[name], value) for name, value in head.state_dict().items())


def moved_head(mean=1e4):
    generator = torch.Generator().manual_seed(0)
    head, tasks = PopArtLinear(4, 1, generator), torch.zeros(20_000, dtype=torch.int64)
    head.update(mean + torch.randn(20_000, generator=generator, dtype=torch.float64), tasks, beta=0.01)
    return head, torch.randn(3, 4, generator=generator), tasks[:3]


def test_a_cast_leaves_the_statistics_in_float64():
    """In float32 the difference of 1e8 + 1 and 1e8 is a matter of luck, in shorter types there is none."""
    head, features, tasks = moved_head()
    values, scale = head.values(features, tasks).detach(), head.state.scale
    assert torch.equal(copy.deepcopy(head).float().values(features, tasks), values)
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        cast = copy.deepcopy(torch.nn.Sequential(head)).to(dtype)[0]
        assert cast.weight.dtype == cast.bias.dtype == dtype
        assert all(one.dtype == torch.float64 for one in cast.state)
        assert torch.equal(cast.state.scale, scale)
        size = scale * (1 + head.bias.detach().abs()) + head.state.mean
        off = (cast.values(features.to(dtype), tasks).detach().double() - values.double()).abs()
        assert float((off / size).max()) < 2 * max(torch.finfo(dtype).eps, 2e-7)
        again = PopArtLinear(4, 1, torch.Generator().manual_seed(1)).to(dtype)
        again.load_state_dict(copy.deepcopy(cast).state_dict())
        assert torch.equal(again.values(features.to(dtype), tasks), cast.values(features.to(dtype), tasks))
    cast.update(torch.tensor([1e4]), tasks[:1])
    assert cast.mean.dtype == torch.float64


def test_a_move_takes_the_statistics_along():
    head, _, _ = moved_head()
    gone = copy.deepcopy(head).to("meta", torch.bfloat16)
    assert {one.device.type for one in (*gone.state, *gone.parameters())} == {"meta"}
    assert {one.dtype for one in gone.state} == {torch.float64}
    assert dict(gone.named_buffers()).keys() == {"mean", "second_moment"}


def test_a_bias_that_a_type_cannot_hold_is_refused():
    head, _, _ = moved_head(1e6)
    kept = copy.deepcopy(head.state_dict())
    with pytest.raises(ValueError, match=r"`bias` should be finite in torch.float16. Found one of 9.*Cast to torch.bfloat16"):
        head.half()
    assert all(torch.equal(kept[name], value) for name, value in head.state_dict().items())
    head.bfloat16()


def test_whole_values_are_not_cut():
    state, tasks = art(popart(1), torch.tensor([3.0]), torch.tensor([0]), 0.5), torch.zeros(3, dtype=torch.int64)
    values = torch.tensor([0, 1, 2])
    for change in (normalize, unnormalize):
        assert torch.equal(change(state, values, tasks), change(state, values.float(), tasks))


def test_targets_elsewhere_do_not_move_the_layer(monkeypatch):
    """No second device is needed to see it: statistics are asked to go where the layer is."""
    asked = list[torch.device]()
    monkeypatch.setattr(PopArt, "to", lambda self, device: asked.append(device) or self)
    head = PopArtLinear(2, 1, torch.Generator().manual_seed(0))
    monkeypatch.setattr("mechlearn_zoo.methods.control.popart.art", lambda state, *_: state)
    monkeypatch.setattr("mechlearn_zoo.methods.control.popart.pop", lambda weight, bias, *_: (weight, bias))
    head.update(torch.tensor([1.0]), torch.tensor([0]))
    assert asked == [head.mean.device]
