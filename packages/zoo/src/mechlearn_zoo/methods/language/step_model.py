"""`StepModel`: what generates tokens one at a time, and an LSTM that is one.

Index convention: b a sequence, t a position, v a word. A state is a tensor, or a tuple of states, whose first dimension is b:
so any generator's states can be repeated, picked and put in another order by `pick`, without knowing what they hold.
"""

from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn

from mechlearn.arguments import check_generator, check_kind, check_positive, check_shape, check_whole

State = Any
"""A tensor, a tuple (or NamedTuple) of states, or None; each tensor's dimension 0 runs over sequences."""


@runtime_checkable
class StepModel(Protocol):
    """A generator of tokens: sampling, beam search and scoring ask no more of it."""

    def start(self, batch: int) -> State:
        """Return the state before anything was read, for so many sequences."""
        ...

    def step(self, tokens: Int[Tensor, " b"], state: State) -> tuple[Float[Tensor, "b v"], State]:
        """Read a token of each sequence; return logits of the next one and the new state."""
        ...


class LSTMState(NamedTuple):
    """Of an LSTM: both (b, layers, units)."""

    hidden: Float[Tensor, "b layers units"]
    cell: Float[Tensor, "b layers units"]


class RecurrentModel(nn.Module):
    """An embedding, an LSTM and a linear layer: a `StepModel` that reads whole sequences in one call, too.

    Args:
        vocabulary: v, number of words.
        embedding: numbers a word is turned into.
        units: of the LSTM.
        generator: of the initial weights.
        layers: of the LSTM.
        spread: standard deviation of normal initial weights, biases included; None draws them uniformly within
            1 / sqrt(units), as torch does.

    Raises:
        TypeError, ValueError: sizes below 1 or no numbers, no generator, a spread of 0 or less.
    """

    def __init__(
        self, vocabulary: int, embedding: int, units: int, generator: Generator, layers: int = 1, spread: float | None = None
    ) -> None:
        super().__init__()
        for name, value in {"vocabulary": vocabulary, "embedding": embedding, "units": units, "layers": layers}.items():
            check_whole(name, value, 1)
        check_generator("generator", generator)
        if spread is not None:
            check_positive("spread", spread)
        with torch.device("meta"):  # elsewhere they would draw default weights from the global generator
            self.embedding = nn.Embedding(vocabulary, embedding)
            self.lstm = nn.LSTM(embedding, units, layers, batch_first=True)
            self.out = nn.Linear(units, vocabulary)
        self.to_empty(device="cpu")
        for parameter in self.parameters():
            if spread is None:
                nn.init.uniform_(parameter, -(units**-0.5), units**-0.5, generator=generator)
            else:
                nn.init.normal_(parameter, 0.0, spread, generator=generator)

    def start(self, batch: int) -> LSTMState:
        """Return zeros."""
        zeros = self.out.weight.new_zeros(batch, self.lstm.num_layers, self.lstm.hidden_size)
        return LSTMState(zeros, zeros)

    def step(self, tokens: Int[Tensor, " b"], state: LSTMState) -> tuple[Float[Tensor, "b v"], LSTMState]:
        """Return logits of the next token and the new state."""
        logits, state = self.read(tokens[:, None], state)
        return logits[:, 0], state

    def read(self, tokens: Int[Tensor, "b t"], state: LSTMState | None = None) -> tuple[Float[Tensor, "b t v"], LSTMState]:
        """Return logits after each token, in one call of the LSTM, and the last state."""
        state = self.start(len(tokens)) if state is None else state
        hidden, cell = (part.transpose(0, 1).contiguous() for part in state)
        h, (hidden, cell) = self.lstm(self.embedding(tokens), (hidden, cell))
        return self.out(h), LSTMState(hidden.transpose(0, 1), cell.transpose(0, 1))


def pick(state: State, rows: Int[Tensor, " n"]) -> State:
    """Return the states of some sequences, in the order of ``rows``, which may repeat.

    >>> import torch
    >>> pick((torch.tensor([[1.0], [2.0]]), None), torch.tensor([1, 1, 0]))[0].flatten().tolist()
    [2.0, 2.0, 1.0]
    """
    if state is None:
        return None
    if isinstance(state, Tensor):
        return state[rows]
    parts = [pick(part, rows) for part in cast(tuple[State, ...], state)]
    kind = cast(Any, type(cast(object, state)))
    return kind(*parts) if hasattr(kind, "_fields") else kind(parts)


def check_rows(state: State, batch: int) -> None:
    """Reject a state whose tensors do not have one row for each sequence.

    Raises:
        TypeError: something else than tensors and tuples of them.
        ValueError: another first dimension.
    """
    if state is None:
        return
    if isinstance(state, Tensor):
        if state.dim() == 0 or len(state) != batch:
            raise ValueError(
                f"A state should hold a row for each of the {batch} sequences, dimension 0. Found the shape "
                f"{tuple(state.shape)}. Move the batch first, as `RecurrentModel` does with an LSTM's layers."
            )
        return
    check_kind("state", state, tuple, "a tensor, or a tuple of tensors", way_out="Return a NamedTuple of tensors.")
    for part in cast(tuple[State, ...], state):
        check_rows(part, batch)


def device_of(model: object, state: State = None) -> torch.device | None:
    """Return where a model reads tokens: beside its state, or its parameters where it has none; None where nothing tells."""
    if isinstance(state, Tensor):
        return state.device
    if isinstance(state, tuple) and state:
        parts = (device_of(model, part) for part in cast(tuple[State, ...], state))
        return next((one for one in parts if one is not None), None)
    parameters = model.parameters() if isinstance(model, nn.Module) else ()
    return next((one.device for one in parameters), None)


def log_probabilities(model: StepModel, tokens: Int[Tensor, "b t"], begin: int = 0) -> Float[Tensor, "b t"]:
    """Return log p(y_t | y_1 .. y_t-1) of each token, with gradients.

    Models that have a method `read(tokens, state)` as `RecurrentModel` has are asked for all positions in one call.

    Args:
        model: the generator.
        tokens: y, ids.
        begin: the id that stands before every sequence.

    Raises:
        TypeError, ValueError: tokens of another type or shape, or a state that has not one row for each sequence.
    """
    check_shape("tokens", tokens, "B", "T")
    rows, length = tokens.shape
    read = torch.cat([tokens.new_full((rows, 1), begin), tokens[:, :-1]], 1)
    state = model.start(rows)
    check_rows(state, rows)
    whole = getattr(model, "read", None)
    if whole is not None:
        logits = whole(read, state)[0]
    else:
        steps: list[Tensor] = []
        for t in range(length):
            found, state = model.step(read[:, t], state)
            steps.append(found)
        logits = torch.stack(steps, 1)
    return logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
