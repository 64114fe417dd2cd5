"""Eager translation: one recurrent language model reads a source word and writes a target word at every step.

Source: Press and Smith 2018, https://arxiv.org/abs/1810.13409, section 3: at step t the input is [E x_t ; E y_{t-1}], one
embedding E of half the width for both sides; an LSTM; o = tanh(W h); logits E o + b. Sentences are made eager feasible first
(`mechlearn_zoo.methods.language.alignment.eager_feasible`). Memory while decoding is that of the LSTM, whatever the length of
the source.

Not for languages whose verb waits at the end of the other's sentence, unless start pads and epsilons may be many: what is
written cannot be taken back. Where all of the source is at hand, attention is better at sentences of ordinary length.

Decoding: start pads are forced and cost nothing; `end` is never written before the source's `end` was read; at most
``epsilon_limit`` epsilons; after the source up to ``source_epsilons`` further steps read its epsilon. Scores are mean
log-probabilities of what was not forced. The published code tries each number of source epsilons in a search of its own; here
one search goes on until all hypotheses ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # torch's own habit

from mechlearn.arguments import check_generator, check_kind, check_share, check_whole
from mechlearn.nn.perceptrons import Dropout
from mechlearn_zoo.methods.language.alignment import Fillers, Padded
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "Eager translation", 2018, "Press and Smith, section 3", "https://arxiv.org/abs/1810.13409",
    "a language model's; no attention, constant memory",
)  # fmt: skip

IGNORED = -100
"""Target of steps that no sentence has: it reaches no loss."""


class EagerState(NamedTuple):
    """What a model remembers, (b, layers, units) each: the same at any length."""

    hidden: Float[Tensor, "b layers units"]
    cell: Float[Tensor, "b layers units"]


class EagerTranslator(nn.Module):
    """The model; `reading` makes a `mechlearn_zoo.methods.language.step_model.StepModel` of it for given sources.

    Args:
        vocabulary: words of both sides together, fillers and the end among them.
        width: of the LSTM; embeddings have half of it.
        generator: of the initial weights.
        layers: of the LSTM.
        dropout: between layers and before the output, in train mode, drawn from the same generator.

    Raises:
        TypeError, ValueError: sizes that are no whole numbers from 1 on, an odd width, no generator.
    """

    def __init__(self, vocabulary: int, width: int, generator: Generator, layers: int = 1, dropout: float | int = 0.0) -> None:
        super().__init__()
        for name, value in {"vocabulary": vocabulary, "width": width, "layers": layers}.items():
            check_whole(name, value, 1)
        check_generator("generator", generator)
        check_share("dropout", dropout)
        if width % 2:
            raise ValueError(f"`width` should be even: each side is embedded in half of it. Found {width}. Add one.")
        with torch.device("meta"):  # elsewhere they would draw default weights from the global generator
            self.embedding = nn.Embedding(vocabulary, width // 2)
            # One LSTM a layer: dropout inside of torch's own would be drawn from the global generator.
            self.lstms = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(layers))
            self.to_output = nn.Linear(width, width // 2, bias=False)
        self.to_empty(device="cpu")
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.dropout = Dropout(dropout, generator) if dropout else nn.Identity()
        for parameter in (*self.lstms.parameters(), self.to_output.weight):
            nn.init.uniform_(parameter, -(width**-0.5), width**-0.5, generator=generator)
        # Torch's own scale: words a tenth apart reach neither the gates nor, as the embedding is the output's too, the logits.
        nn.init.normal_(self.embedding.weight, generator=generator)

    def start(self, batch: int) -> EagerState:
        """Return zeros."""
        zeros = self.bias.new_zeros(batch, len(self.lstms), 2 * self.embedding.embedding_dim)
        return EagerState(zeros, zeros)

    def read(
        self, source: Int[Tensor, "b t"], previous: Int[Tensor, "b t"], state: EagerState | None = None
    ) -> tuple[Float[Tensor, "b t v"], EagerState]:
        """Return logits at every step, in one call of the LSTM, and the last state.

        Args:
            source: x_t.
            previous: y_{t-1}.
            state: before the first step.
        """
        state = self.start(len(source)) if state is None else state
        h = torch.cat([self.embedding(source), self.embedding(previous)], -1)
        ends: list[tuple[Tensor, Tensor]] = []
        for layer, (lstm, hidden, cell) in enumerate(zip(self.lstms, *(part.unbind(1) for part in state), strict=True)):
            h, end = lstm(self.dropout(h) if layer else h, (hidden[None].contiguous(), cell[None].contiguous()))
            ends.append(end)
        o = torch.tanh(self.to_output(self.dropout(h)))
        hidden, cell = (torch.cat(parts).transpose(0, 1) for parts in zip(*ends, strict=True))
        return o @ self.embedding.weight.T + self.bias, EagerState(hidden, cell)

    def reading(self, source: Int[Tensor, "b t"], filler: int) -> "Reading":
        """Return a generator of target words that reads these sources, and the filler once they are over."""
        return Reading(self, source, filler)


class ReadingState(NamedTuple):
    """A model's state, which source it reads and how far it is: a row for each hypothesis."""

    model: EagerState
    source: Int[Tensor, " b"]
    place: Int[Tensor, " b"]


class Reading:
    """A translator bound to sources: a step model whose tokens are target words.

    Args:
        model: the translator.
        source: (b, t) words, the filler behind short ones.
        filler: read when a source is over.
    """

    def __init__(self, model: EagerTranslator, source: Int[Tensor, "b t"], filler: int) -> None:
        self.model, self.source, self.filler = model, source, filler

    def start(self, batch: int) -> ReadingState:
        """Return the state before the first word of each source.

        Raises:
            ValueError: another number of sequences than of sources.
        """
        if batch != len(self.source):
            raise ValueError(f"`batch` should be the number of sources, {len(self.source)}. Found {batch}. Repeat the sources.")
        rows = torch.arange(batch, device=self.source.device)
        return ReadingState(self.model.start(batch), rows, torch.zeros_like(rows))

    def step(self, tokens: Int[Tensor, " b"], state: ReadingState) -> tuple[Float[Tensor, "b v"], ReadingState]:
        """Read the previous target word and the next source word; return logits of the next target word."""
        over = state.place >= self.source.shape[1]
        x = self.source[state.source, state.place.clamp(max=self.source.shape[1] - 1)].masked_fill(over, self.filler)
        logits, model = self.model.read(x[:, None], tokens[:, None], state.model)
        return logits[:, 0], ReadingState(model, state.source, state.place + 1)


def stacked(pairs: Sequence[Padded], fillers: Fillers) -> tuple[Int[Tensor, "b t"], Int[Tensor, "b t"], Int[Tensor, "b t"]]:
    """Return padded pairs as source, previous target word and target; steps behind a pair's end have the target `IGNORED`.

    The word before the first is the start filler.

    Raises:
        ValueError: no pairs, or sides of unlike length.
    """
    if not pairs or any(len(pair.source) != len(pair.target) or not pair.source for pair in pairs):
        raise ValueError(
            "`pairs` should be eager feasible, both sides of one length. Found others, or none. Use eager_feasible."
        )
    longest = max(len(pair.source) for pair in pairs)
    source = torch.tensor([pair.source + [fillers.source] * (longest - len(pair.source)) for pair in pairs])
    target = torch.tensor([pair.target + [IGNORED] * (longest - len(pair.target)) for pair in pairs])
    previous = torch.cat([torch.full_like(target[:, :1], fillers.start), target[:, :-1]], 1)
    return source, previous.masked_fill(previous == IGNORED, fillers.start), target


def eager_loss(
    model: EagerTranslator, source: Int[Tensor, "b t"], previous: Int[Tensor, "b t"], target: Int[Tensor, "b t"]
) -> Float[Tensor, " b"]:
    """Return the mean cross-entropy of each pair over its steps, epsilons and start pads included, in float32 at least.

    Raises:
        ValueError: a row whose targets are all ignored.
    """
    kept = target != IGNORED
    if not bool(kept.any(1).all()):
        raise ValueError("Every row should have a target. Found one with none. Leave empty pairs out.")
    logits, _ = model.read(source, previous)
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    losses = F.cross_entropy(wide.transpose(1, 2), target.long(), reduction="none", ignore_index=IGNORED)
    return losses.sum(1) / kept.sum(1)


@dataclass(frozen=True)
class Decoding:
    """How to translate.

    Args:
        fillers: as in training.
        end: the word that closes a sentence on both sides.
        start_pads: forced in front.
        epsilon_limit: most epsilons in a translation.
        source_epsilons: steps after the source is read.
        beam: hypotheses that are kept; 1 is greedy.

    Raises:
        ValueError: an end that is a filler, negative numbers, start pads beyond what may be written after the source.
    """

    fillers: Fillers
    end: int
    start_pads: int = 0
    epsilon_limit: int = 10
    source_epsilons: int = 10
    beam: int = 5

    def __post_init__(self) -> None:
        for name in ("start_pads", "epsilon_limit", "source_epsilons"):
            check_whole(name, getattr(self, name))
        check_whole("beam", self.beam, 1)
        if self.end in self.fillers:
            raise ValueError(
                f"`end` should be no filler. Found {self.end} among {tuple(self.fillers)}. Give it a word of its own."
            )
        if self.start_pads > self.source_epsilons:
            raise ValueError(
                f"`start_pads` should be at most `source_epsilons`, {self.source_epsilons}: what they delay is written after "
                f"the source. Found {self.start_pads}. Raise `source_epsilons`."
            )


class Hypothesis(NamedTuple):
    """A translation.

    Attributes:
        words: without pads, epsilons and the end.
        score: mean log-probability of what was not forced.
        steps: taken.
    """

    words: list[int]
    score: float
    steps: int


def translate(model: EagerTranslator, source: Sequence[int], decoding: Decoding) -> Hypothesis:
    """Return the best translation that a beam finds.

    Args:
        model: in eval mode, or dropout is drawn.
        source: words, the end as the last.
        decoding: limits and beam.

    Raises:
        TypeError: no decoding.
        ValueError: an empty source, one that does not close with the end, or with a filler in it.
    """
    check_kind("decoding", decoding, Decoding, "a Decoding")
    _check_source(source, decoding)
    device = model.bias.device
    words = torch.tensor([list(source)], device=device)
    limit = len(source) + decoding.source_epsilons
    reading = model.reading(words, decoding.fillers.source)
    beams: list[_Beam] = [_Beam([], 0.0, 0, decoding.start_pads)]
    done: list[_Beam] = []
    state = reading.start(1)
    with torch.no_grad():
        for step in range(limit):
            last = torch.tensor([beam.words[-1] if beam.words else decoding.fillers.start for beam in beams], device=device)
            logits, state = reading.step(last, state)
            if step < decoding.start_pads:
                beams = [beam.with_word(decoding.fillers.start, 0.0, decoding) for beam in beams]
                continue
            logits = torch.stack(
                [_allowed(one, beam, step, len(source), decoding) for one, beam in zip(logits, beams, strict=True)]
            )
            scores = logits.log_softmax(1) + logits.new_tensor([beam.total for beam in beams])[:, None]
            best = scores.flatten().topk(min(decoding.beam, int(scores.isfinite().sum())))
            rows, found = best.indices // scores.shape[1], best.indices % scores.shape[1]
            grown = [
                beams[row].with_word(word, total - beams[row].total, decoding)
                for row, word, total in zip(rows.tolist(), found.tolist(), best.values.tolist(), strict=True)
            ]
            done += [beam for beam in grown if beam.words[-1] == decoding.end]
            open_rows = [place for place, beam in enumerate(grown) if beam.words[-1] != decoding.end]
            beams = [grown[place] for place in open_rows]
            if not beams:
                break
            picked = rows[open_rows]
            kept = EagerState(*(part[picked] for part in state.model))
            state = ReadingState(kept, state.source[picked], state.place[picked])
    # What the limit cut off is a translation, too, where nothing has ended.
    return max((beam.closed(decoding) for beam in done or beams), key=lambda one: one.score)


class _Beam(NamedTuple):
    """Words so far, their log-probability, epsilons among them, and how many were forced."""

    words: list[int]
    total: float
    epsilons: int
    forced: int

    def with_word(self, word: int, gain: float, decoding: Decoding) -> "_Beam":
        epsilons = self.epsilons + (word == decoding.fillers.target)
        return _Beam([*self.words, word], self.total + gain, epsilons, self.forced)

    def closed(self, decoding: Decoding) -> Hypothesis:
        silent = {*decoding.fillers, decoding.end}
        score = self.total / max(1, len(self.words) - self.forced)
        return Hypothesis([word for word in self.words if word not in silent], score, len(self.words))


def _allowed(logits: Tensor, beam: _Beam, step: int, length: int, decoding: Decoding) -> Tensor:
    """Return logits without what may not be written now."""
    banned = [decoding.fillers.start, decoding.fillers.source]
    if step < length - 1:
        banned.append(decoding.end)
    if beam.epsilons >= decoding.epsilon_limit:
        banned.append(decoding.fillers.target)
    return logits.index_fill(0, torch.tensor(banned, device=logits.device), -torch.inf)


def greedy(model: EagerTranslator, sources: Sequence[Sequence[int]], decoding: Decoding) -> list[list[int]]:
    """Return the translations of many sources at once, each the likeliest word at every step: `translate` with a beam of 1.

    Raises:
        TypeError: no decoding.
        ValueError: no source; as `translate`.
    """
    check_kind("decoding", decoding, Decoding, "a Decoding")
    if not len(sources):
        raise ValueError("`sources` should hold one at least. Found none. Leave empty batches out.")
    for source in sources:
        _check_source(source, decoding)
    fillers, device = decoding.fillers, model.bias.device
    lengths = torch.tensor([len(source) for source in sources], device=device)
    longest = int(lengths.max())
    words = torch.tensor([[*source, *[fillers.source] * (longest - len(source))] for source in sources], device=device)
    reading = model.reading(words, fillers.source)
    last = torch.full((len(sources),), fillers.start, device=device)
    epsilons, over = torch.zeros_like(last), torch.zeros(len(sources), dtype=torch.bool, device=device)
    state, written = reading.start(len(sources)), list[Tensor]()
    with torch.no_grad():
        for step in range(longest + decoding.source_epsilons):
            logits, state = reading.step(last, state)
            if step < decoding.start_pads:
                continue
            logits[:, [fillers.start, fillers.source]] = -torch.inf
            logits[:, decoding.end] = logits[:, decoding.end].masked_fill(step < lengths - 1, -torch.inf)
            logits[:, fillers.target] = logits[:, fillers.target].masked_fill(epsilons >= decoding.epsilon_limit, -torch.inf)
            last = logits.argmax(1)
            epsilons += last == fillers.target
            over |= step >= lengths + decoding.source_epsilons
            written.append(last.masked_fill(over, decoding.end))
            over |= last == decoding.end
            if bool(over.all()):
                break
    silent = {*fillers, decoding.end}
    return [[word for word in row if word not in silent] for row in torch.stack(written, 1).tolist()]


def _check_source(source: Sequence[int], decoding: Decoding) -> None:
    if not len(source) or source[-1] != decoding.end or set(source[:-1]) & {*decoding.fillers, decoding.end}:
        raise ValueError(
            f"A source should hold words and close with the end, {decoding.end}. Found {list(source)[:8]}. Append it, and "
            "leave fillers out."
        )
