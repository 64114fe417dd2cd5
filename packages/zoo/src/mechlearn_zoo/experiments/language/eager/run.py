"""Subject-object-verb into subject-verb-object, adjectives moved: trained on short sentences, tried on longer ones.

Eager models with several numbers of start pads, an encoder-decoder with attention of about as many
parameters; all take the same number of Adam steps on the same sentences.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Saved, Share, checkpoint, part
from mechlearn.params import count_bytes
from mechlearn_zoo.experiments.language.eager.attention import Attention
from mechlearn_zoo.experiments.language.eager.reorderings import END, FILLERS, Pair, reorderings, vocabulary
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.learners.evaluation import parameters
from mechlearn_zoo.methods.language.alignment import Fillers, align, eager_feasible
from mechlearn_zoo.methods.language.eager import IGNORED, Decoding, EagerTranslator, eager_loss, greedy, stacked
from mechlearn_zoo.tasks.streams import stream

WORDS = Fillers(*FILLERS)


@dataclass(frozen=True)
class Config(Limited):
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
    every: Annotated[int, Ge(1)] = 10
    """Steps between two looks at how many words are right, at lengths of training."""
    enough: Share = 0.9
    """Right words at which the steps are read off."""
    tests: Annotated[int, Ge(1)] = 100
    """Test sentences of each length."""
    validated: Annotated[int, Ge(1)] = 50
    """Sentences of each of these lengths, of another draw, by which a training may be stopped early."""
    aligned: bool = False
    """Learn the alignment by EM from 2000 pairs in place of the known one."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "paper": Preset(
        Config(steps=20_000, width=512, units=384, rate=1e-3, tests=1000, pads=(0, 1, 2, 3, 4, 5), aligned=True, every=500),
        seeds=5,
    ),
}


LOOKS = 10
"""How often a training is looked at for early stopping."""

Found = Callable[[Sequence[Pair]], list[list[int]]]
"""A model's translations of some sentences of one length."""


class Sets(NamedTuple):
    """Sentences by their clauses, of two draws: what is tested on, and what may stop a training."""

    tests: dict[int, list[Pair]]
    validation: dict[int, list[Pair]]


class Trained(NamedTuple):
    """A training: its loop, whose values are looks at lengths of training, and what there was where validation was best."""

    saved: Saved
    stopping: EarlyStopping


def batches(config: Config, saved: Saved, found: Found) -> Iterator[list[Pair]]:
    """Yield the same training sentences for every model, one length a step, from where it goes on; look at it now and then."""
    generator = Generator().manual_seed(config.seed)
    saved.restore(generator)
    unseen = stream(config.seed, "held out")
    held = {clauses: reorderings(20, clauses, unseen) for clauses in config.trained}
    for step in range(saved.done + 1, config.steps + 1):
        yield reorderings(config.batch, config.trained[(step - 1) % len(config.trained)], generator)
        if step % config.every == 0 or step == config.steps:
            right = sum(shares(found(pairs), pairs)[1] for pairs in held.values()) / len(held)
            saved.keep(step, {"kind": "look", "step": step, "words": right})
        else:
            saved.keep(step)
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


def fit(config: Config, model: nn.Module, losses: Callable[[list[Pair]], Tensor], found: Found, sets: Sets) -> Trained:
    """Train a model; look at it on the way."""
    optimizer, stopping = torch.optim.Adam(model.parameters(), config.rate), EarlyStopping(LOOKS)
    saved = checkpoint("training", model, optimizer, stopping)
    for step, pairs in enumerate(batches(config, saved, found), start=saved.done + 1):
        descend(optimizer, losses(pairs).mean(), clip=1.0)
        if stopping.due(step / config.steps):
            look(stopping, step / config.steps, model, found, sets)
    model.eval()
    return Trained(saved, stopping)


def look(stopping: EarlyStopping, share: float, model: nn.Module, found: Found, sets: Sets) -> None:
    """Keep what test sentences give where words of validation, all lengths alike, are right more often than before."""
    model.eval()
    right = sum(shares(found(pairs), pairs)[1] for pairs in sets.validation.values()) / len(sets.validation)
    if stopping.improves(right):
        tested: Row = {}
        for clauses, pairs in sets.tests.items():
            tested[f"exact_{clauses}"], tested[f"words_{clauses}"] = shares(found(pairs), pairs)
        stopping.look(share, right, tested)
    model.train()


def tensors(pairs: Sequence[Pair]) -> tuple[Tensor, Tensor, Tensor]:
    """Return sentences of one length as sources, lengths and targets."""
    source, target = (torch.tensor([pair[side] for pair in pairs]) for side in (0, 1))
    return source, torch.full((len(pairs),), source.shape[1]), target


def run(config: Config) -> Iterator[Row]:
    """Yield each model's exact sentences and words by length, and the eager model's memory."""
    sets = Sets(drawn(config, "tests", config.tests), drawn(config, "validation", config.validated))
    for pads in config.pads:
        yield from part(f"eager {pads}", by_eager_model(config, pads, sets))
    yield from part("attention", by_attention(config, sets))


def drawn(config: Config, name: str, count: int) -> dict[int, list[Pair]]:
    """Return so many sentences of each length of the test, of a stream of their own."""
    generator = stream(config.seed, name)
    return {clauses: reorderings(count, clauses, generator) for clauses in config.tested}


def by_eager_model(config: Config, pads: int, sets: Sets) -> Iterator[Row]:
    """Yield an eager model's sentences and words by length, and its memory."""
    model = EagerTranslator(vocabulary(20, 10, 10), config.width, Generator().manual_seed(config.seed))
    known = learned(config) if config.aligned else {}

    def losses(pairs: list[Pair]) -> Tensor:
        made = [
            eager_feasible(pair.source, pair.target, known.get(len(pair.source), pair.links), WORDS, pads) for pair in pairs
        ]
        return eager_loss(model, *stacked(made, WORDS))

    def found(pairs: Sequence[Pair]) -> list[list[int]]:
        clauses = len(pairs[0].source) // 4  # a clause has four words
        decoding = Decoding(WORDS, END, pads, epsilon_limit=4 * clauses, source_epsilons=4 * clauses + pads, beam=1)
        return [list(one) for one in greedy(model, [pair.source for pair in pairs], decoding)]

    yield from scored(config, f"eager {pads}", model, fit(config, model, losses, found, sets), found, sets.tests)
    for length in (8, 800):
        words = torch.full((1, length), 4)
        with torch.no_grad():
            yield {"kind": "memory", "pads": pads, "length": length, "bytes": count_bytes(model.read(words, words)[1])}
    if pads == config.pads[-1]:
        yield from spoken(model, sets.tests[config.tested[0]][0], pads)


def by_attention(config: Config, sets: Sets) -> Iterator[Row]:
    """Yield the sentences and words of the model with attention by length."""
    model = Attention(vocabulary(20, 10, 10), config.units, Generator().manual_seed(config.seed))

    def losses(pairs: list[Pair]) -> Tensor:
        source, lengths, target = tensors(pairs)
        return model.loss(source, lengths, target, WORDS.start, IGNORED)

    def found(pairs: Sequence[Pair]) -> list[list[int]]:
        source, lengths, _ = tensors(pairs)
        return model.greedy(source, lengths, WORDS.start, END)

    yield from scored(config, "attention", model, fit(config, model, losses, found, sets), found, sets.tests)


def scored(
    config: Config, name: str, model: nn.Module, trained: Trained, found: Found, tests: dict[int, list[Pair]]
) -> Iterator[Row]:
    """Yield the looks at a model, when it had learnt enough, and what it makes of test sentences by length.

    Beside that at its end is what it made of them where validation was best.
    """
    looks, best = trained.saved.values, trained.stopping.row
    for one in looks:
        yield {**one, "model": name}
    enough = [int(one["step"]) for one in looks if one["words"] >= config.enough]
    yield {"kind": "reached", "model": name, "step": min(enough, default=None), "steps": config.steps}
    for clauses, pairs in tests.items():
        exact, words = shares(found(pairs), pairs)
        ends: Row = {"exact": exact, "words": words, "parameters": parameters(model), "steps": config.steps}
        stopped = {f"stopped_{key}": best[f"stopped_{key}_{clauses}"] for key in ("exact", "words")}
        yield {"kind": "final", "model": name, "clauses": clauses, **ends, "stopped_at": best["stopped_at"], **stopped}


def shares(found: Sequence[Sequence[int]], pairs: Sequence[Pair]) -> tuple[float, float]:
    """Return the share of sentences that are right, and of words at their places."""
    wanted = [pair.target[:-1] for pair in pairs]
    exact = sum(list(one) == right for one, right in zip(found, wanted, strict=True)) / len(pairs)
    words = sum(
        sum(a == b for a, b in zip(one, right, strict=False)) / len(right) for one, right in zip(found, wanted, strict=True)
    )
    return exact, words / len(pairs)


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
