import pytest
import torch

from mechlearn_zoo.nn.recurrent import Recurrent, at_rest, gru, lstm, lstm_step, put_rows, rows_of


def test_steps_are_the_sequence():
    layer = lstm(3, 5, torch.Generator().manual_seed(0)).double()
    x = torch.randn(2, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    wanted, (shown, kept) = layer(x)
    state = at_rest(layer, 2)
    for t in range(7):
        state = lstm_step(layer, x[:, t], state)
        torch.testing.assert_close(state.shown, wanted[:, t], rtol=0, atol=1e-14)
    torch.testing.assert_close(state.kept, kept[0], rtol=0, atol=1e-14)
    torch.testing.assert_close(state.shown, shown[0], rtol=0, atol=1e-14)


def test_any_leading_dimensions():
    layer = lstm(3, 5, torch.Generator().manual_seed(0))
    x = torch.randn(2, 4, 3)
    state = lstm_step(layer, x, at_rest(layer, 2, 4))
    flat = lstm_step(layer, x.flatten(0, 1), at_rest(layer, 8))
    assert torch.equal(state.shown.flatten(0, 1), flat.shown)


@pytest.mark.parametrize("make", [lstm, gru])
def test_weights_come_from_the_generator_alone(make):
    before = torch.random.get_rng_state()
    one, other = (make(2, 3, torch.Generator().manual_seed(4)) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert torch.equal(before, torch.random.get_rng_state())
    with pytest.raises(ValueError, match="`hidden` should be at least 1"):
        make(2, 0, torch.Generator())


def test_rows_are_taken_out_and_put_back():
    state = Recurrent(*torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(0)))
    mask = torch.rand(3, 4, generator=torch.Generator().manual_seed(1)) < 0.5
    some = rows_of(state, mask)
    new = put_rows(state, mask, Recurrent(some.shown + 1, some.kept * 2))
    assert torch.equal(new.shown, torch.where(mask.unsqueeze(-1), state.shown + 1, state.shown))
    assert torch.equal(new.kept, torch.where(mask.unsqueeze(-1), state.kept * 2, state.kept))
    assert all(torch.equal(a, b) for a, b in zip(put_rows(state, mask, some), state, strict=True))


@pytest.mark.usefixtures("as_installed")
def test_steps_of_another_width_type_or_state_are_refused():
    layer = lstm(3, 4, torch.Generator().manual_seed(0))
    state = at_rest(layer, 2)
    with pytest.raises(ValueError, match=r"`x` should have the shape \(\.\.\., 3\)\. Found \(2, 5\)"):
        lstm_step(layer, torch.zeros(2, 5), state)
    with pytest.raises(TypeError, match=r"`x` should be of the type torch\.float32"):
        lstm_step(layer, torch.zeros(2, 3, dtype=torch.float64), state)
    with pytest.raises(ValueError, match=r"`state\.shown` should have the shape \(1, 4\)\. Found \(2, 4\)"):
        lstm_step(layer, torch.zeros(1, 3), state)
    with pytest.raises(TypeError, match=r"`state` should be a Recurrent\(shown, kept\).*Begin with at_rest"):
        lstm_step(layer, torch.zeros(2, 3), tuple(state))
    for make in (lstm, gru):
        with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator"):
            make(3, 4, None)


@pytest.mark.parametrize("other", [{"num_layers": 2}, {"bidirectional": True}, {"bias": False}, {"proj_size": 2}])
def test_steps_of_another_kind_of_lstm_are_refused(other):
    ((name, value),) = other.items()
    layer = torch.nn.LSTM(3, 4, **other)
    with pytest.raises(ValueError, match=rf"one layer and one direction, .*Found {name}={value}\. Make it with {name}="):
        lstm_step(layer, torch.zeros(2, 3), Recurrent(torch.zeros(2, 4), torch.zeros(2, 4)))
