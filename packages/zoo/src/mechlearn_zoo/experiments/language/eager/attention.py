"""The opponent: an encoder that reads all of the source both ways, a decoder with additive attention (Bahdanau et al. 2015)."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit


class Read(NamedTuple):
    """A source that was read: (b, s, 2 u) states, their keys, and which of them are words."""

    states: Tensor
    keys: Tensor
    words: Tensor


class Attention(nn.Module):
    """Encoder-decoder with attention.

    Args:
        vocabulary: words of both sides together.
        units: of the decoder; the encoder has half of them each way, embeddings half.
        generator: of the initial weights.
    """

    def __init__(self, vocabulary: int, units: int, generator: Generator) -> None:
        super().__init__()
        half = units // 2
        with torch.device("meta"):
            self.embedding = nn.Embedding(vocabulary, half)
            self.encoder = nn.LSTM(half, half, batch_first=True, bidirectional=True)
            self.keys = nn.Linear(units, half)
            self.query = nn.Linear(units, half, bias=False)
            self.score = nn.Linear(half, 1, bias=False)
            self.decoder = nn.LSTMCell(half + units, units)
            self.out = nn.Linear(2 * units, vocabulary)
        self.to_empty(device="cpu")
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(units**-0.5), units**-0.5, generator=generator)
        nn.init.normal_(self.embedding.weight, generator=generator)  # as the eager model's

    def encode(self, source: Tensor, lengths: Tensor) -> Read:
        """Read sources (b, s), padded at their ends."""
        packed = nn.utils.rnn.pack_padded_sequence(self.embedding(source), lengths, batch_first=True, enforce_sorted=False)
        states, _ = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=source.shape[1])
        return Read(states, self.keys(states), torch.arange(source.shape[1]) < lengths[:, None])

    def step(self, read: Read, previous: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Return logits of the next target word and the decoder's state."""
        scores = self.score(torch.tanh(read.keys + self.query(state[0])[:, None]))[..., 0]
        weights = scores.masked_fill(~read.words, -torch.inf).softmax(1)
        context = (weights[:, None] @ read.states)[:, 0]
        state = self.decoder(torch.cat([self.embedding(previous), context], 1), state)
        return self.out(torch.cat([state[0], context], 1)), state

    def start(self, batch: int) -> tuple[Tensor, Tensor]:
        """Return zeros."""
        zeros = self.out.bias.new_zeros(batch, self.decoder.hidden_size)
        return zeros, zeros

    def loss(self, source: Tensor, lengths: Tensor, target: Tensor, begin: int, ignored: int) -> Tensor:
        """Return the mean cross-entropy of each pair's words, the last word included."""
        read, state = self.encode(source, lengths), self.start(len(source))
        previous = torch.cat([torch.full_like(target[:, :1], begin), target[:, :-1]], 1).clamp(min=0)
        logits: list[Tensor] = []
        for t in range(target.shape[1]):
            found, state = self.step(read, previous[:, t], state)
            logits.append(found)
        losses = F.cross_entropy(torch.stack(logits, 2), target, reduction="none", ignore_index=ignored)
        return losses.sum(1) / (target != ignored).sum(1)

    def greedy(self, source: Tensor, lengths: Tensor, begin: int, end: int) -> list[list[int]]:
        """Return each source's translation without its end, the likeliest word at every step, at most twice as long."""
        with torch.no_grad():
            read, state = self.encode(source, lengths), self.start(len(source))
            last, over = torch.full((len(source),), begin), torch.zeros(len(source), dtype=torch.bool)
            written: list[Tensor] = []
            for _ in range(2 * source.shape[1]):
                logits, state = self.step(read, last, state)
                last = logits.argmax(1).masked_fill(over, end)
                over |= last == end
                written.append(last)
                if bool(over.all()):
                    break
        rows = torch.stack(written, 1).tolist()
        return [row[: row.index(end)] if end in row else row for row in rows]
