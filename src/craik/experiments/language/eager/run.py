"""Subject-object-verb into subject-verb-object, adjectives moved: trained on short sentences, tried on longer ones.

Eager models with several numbers of start pads, and an encoder-decoder with attention of about as many parameters; all take the
same number of Adam steps on the same sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from craik.experiments.language.eager.attention import Attention
from craik.lab import Positive, Preset, Row, Saved, check_limits, checkpoint, part
from craik.methods.language.alignment import Fillers, align, eager_feasible
from craik.methods.language.eager import IGNORED, Decoding, EagerTranslator, eager_loss, greedy, stacked
from craik.params import count_bytes
from craik.tasks.text.reorderings import END, FILLERS, Pair, reorderings, vocabulary

WORDS = Fillers(*FILLERS)


@dataclass(frozen=True)
class Config:
    """Settings of one run."""

    seed: int = 200
    """First seed: of sentences and initial weights."""
    trained: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (1, 2, 3)
    """Clauses of training sentences."""
    tested: Annotated[tuple[Annotated[int, Ge(1)], ...], MinLen(1)] = (1, 2, 3, 4, 6, 8)
    """Clauses of test sentences."""
    pads: Annotated[tuple[Annotated[int, Ge(0)], ...], MinLen(1)] = (0, 2, 4)
    """Start pads of the eager models; 0 for none."""
    steps: Annotated[int, Ge(1)] = 400
    """Adam steps of each model."""
    batch: Annotated[int, Ge(1)] = 64
    """Sentences of one length in a step."""
    width: Annotated[int, Ge(2)] = 128
    """Of the eager model's LSTM."""
    units: Annotated[int, Ge(2)] = 96
    """Of the attention model's decoder: about as many parameters."""
    rate: Positive = 5e-3
    """Adam's."""
    tests: Annotated[int, Ge(1)] = 100
    """Test sentences of each length."""
    aligned: bool = False
    """Learn the alignment by EM from 2000 pairs in place of the known one."""

    def __post_init__(self) -> None:
        check_limits(self)


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(
        Config(steps=20_000, width=512, units=384, rate=1e-3, tests=1000, pads=(0, 1, 2, 3, 4, 5), aligned=True), seeds=5
    ),
}


def batches(config: Config, saved: Saved) -> Iterator[list[Pair]]:
    """Yield the same training sentences for every model, one length a step, from where it goes on."""
    generator = Generator().manual_seed(config.seed)
    saved.restore(generator)
    for step in range(saved.done, config.steps):
        yield reorderings(config.batch, config.trained[step % len(config.trained)], generator)
        saved.keep(step + 1)
    saved.stay()


def learned(config: Config) -> dict[int, list[tuple[int, int]]]:
    """Return for each length the links that most pairs have after EM, as sentences of one length are built alike."""
    generator = Generator().manual_seed(config.seed + 1)
    pairs = [pair for clauses in config.trained for pair in reorderings(2000 // len(config.trained), clauses, generator)]
    found: dict[int, dict[tuple[int, int], int]] = {}
    for pair, links in zip(pairs, align([(pair.source, pair.target) for pair in pairs]).links, strict=True):
        counts = found.setdefault(len(pair.source), {})
        for link in links:
            counts[link] = counts.get(link, 0) + 1
    half = 1000 // len(config.trained)
    return {length: [link for link, count in counts.items() if count > half] for length, counts in found.items()}


def eager_model(config: Config, pads: int) -> EagerTranslator:
    """Return a trained eager model."""
    model = EagerTranslator(vocabulary(20, 10, 10), config.width, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), config.rate)
    known = learned(config) if config.aligned else {}
    for pairs in batches(config, checkpoint("training", model, optimizer)):
        made = [
            eager_feasible(pair.source, pair.target, known.get(len(pair.source), pair.links), WORDS, pads) for pair in pairs
        ]
        optimizer.zero_grad()
        eager_loss(model, *stacked(made, WORDS)).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def attention_model(config: Config) -> Attention:
    """Return a trained model with attention."""
    model = Attention(vocabulary(20, 10, 10), config.units, Generator().manual_seed(config.seed))
    optimizer = torch.optim.Adam(model.parameters(), config.rate)
    for pairs in batches(config, checkpoint("training", model, optimizer)):
        source, lengths, target = tensors(pairs)
        optimizer.zero_grad()
        model.loss(source, lengths, target, WORDS.start, IGNORED).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def tensors(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Return sentences of one length as sources, lengths and targets."""
    source, target = (torch.tensor([pair[side] for pair in pairs]) for side in (0, 1))
    return source, torch.full((len(pairs),), source.shape[1]), target


def run(config: Config) -> Iterator[Row]:
    """Yield each model's exact sentences and words by length, and the eager model's memory."""
    generator = Generator().manual_seed(config.seed + 2**32)
    tests = {clauses: reorderings(config.tests, clauses, generator) for clauses in config.tested}
    for pads in config.pads:
        yield from part(f"eager {pads}", by_eager_model(config, pads, tests))
    yield from part("attention", by_attention(config, tests))


def by_eager_model(config: Config, pads: int, tests: dict[int, list[Pair]]) -> Iterator[Row]:
    """Yield an eager model's sentences and words by length, and its memory."""
    model = eager_model(config, pads)
    for clauses, pairs in tests.items():
        decoding = Decoding(WORDS, END, pads, epsilon_limit=4 * clauses, source_epsilons=4 * clauses + pads, beam=1)
        found = greedy(model, [pair.source for pair in pairs], decoding)
        yield {**row(f"eager {pads}", clauses, found, pairs), "parameters": count(model), "steps": config.steps}
    for length in (8, 800):
        words = torch.full((1, length), 4)
        with torch.no_grad():
            yield {"kind": "memory", "pads": pads, "length": length, "bytes": count_bytes(model.read(words, words)[1])}
    if pads == config.pads[-1]:
        yield from spoken(model, tests[config.tested[0]][0], pads)


def by_attention(config: Config, tests: dict[int, list[Pair]]) -> Iterator[Row]:
    """Yield the sentences and words of the model with attention by length."""
    opponent = attention_model(config)
    for clauses, pairs in tests.items():
        source, lengths, _ = tensors(pairs)
        found = opponent.greedy(source, lengths, WORDS.start, END)
        yield {**row("attention", clauses, found, pairs), "parameters": count(opponent), "steps": config.steps}


def row(model: str, clauses: int, found: Sequence[Sequence[int]], pairs: Sequence[Pair]) -> Row:
    """Return the share of sentences that are right, and of words at their places."""
    wanted = [pair.target[:-1] for pair in pairs]
    exact = sum(list(one) == right for one, right in zip(found, wanted, strict=True)) / len(pairs)
    words = sum(
        sum(a == b for a, b in zip(one, right, strict=False)) / len(right) for one, right in zip(found, wanted, strict=True)
    )
    return {"kind": "final", "model": model, "clauses": clauses, "exact": exact, "words": words / len(pairs)}


def spoken(model: EagerTranslator, pair: Pair, pads: int) -> Iterator[Row]:
    """Yield a sentence and its translation as words."""
    found = greedy(model, [pair.source], Decoding(WORDS, END, pads, source_epsilons=10, beam=1))[0]
    yield {"kind": "sentence", "source": named(pair.source), "translation": named(found), "right": found == pair.target[:-1]}


def named(words: Sequence[int]) -> str:
    """Return ids as words: n a noun, a an adjective, v a verb; the target's are in capitals.

    >>> named([4, 24, 34, 44])
    'n0 a0 v0 N0'
    """
    out: list[str] = []
    for word in words:
        if word > END:
            place, capital = (word - 4) % 40, word - 4 >= 40
            letter, first = ("n", 0) if place < 20 else ("a", 20) if place < 30 else ("v", 30)
            out.append(f"{letter.upper() if capital else letter}{place - first}")
    return " ".join(out)


def count(model: nn.Module) -> int:
    """Return the number of parameters."""
    return sum(parameter.numel() for parameter in model.parameters())
