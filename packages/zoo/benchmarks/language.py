"""Language methods beside what people use: time over a peer's or over the literal way, on the same input in the same run.

`ratio` is our seconds over theirs, formed within a round: below 1 we are faster. What is compared:

- self-bleu: `self_bleu` of 1000 samples of 20 tokens, beside `sacrebleu` sentence by sentence (on the first ``slow`` of them,
  times as many as there are, since its time is the same for each);
- roll-outs: one pass, beside a pass for each prefix and sample with the same model, as the released code has it, at T = 20 and
  100 words; with thousands of words drawing takes most of the time and the ratio tends to a half;
- corruption: `corrupt` of (256, 128) ids, beside transformers' DataCollatorForLanguageModeling;
- encoder: a training step of `Encoder`, beside transformers' BertModel with eager attention and the same weights;
- scoring: all items in padded batches, beside one sentence at a time, with a GPT-2 of transformers;
- trellis: a training step of `TrellisNet`, beside a torch.nn.LSTM of as many parameters (reported, nothing is promised);
- eager: a training step of `EagerTranslator`, beside the experiment's encoder-decoder with attention, of about as many
  parameters, on the same sentences;
- grammar: ten terminals against 50,000 vectors of 300 numbers, beside scikit-learn's exact neighbours within a radius;
- align: five iterations on 300 sentences, beside nltk's first IBM model, whose probabilities must be equal; two further rows
  have the diagonal prior, which nltk's model lacks, and 10,000 sentences.

Attacks on classifiers are `mechlearn bench robustness`. A peer that is not installed leaves a row that says so.
"""

import random
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple

import torch
from mechlearn_zoo_benchmarks.measuring.peers import NotRunError, installed, versioned
from mechlearn_zoo_benchmarks.measuring.timing import Step, interleaved, seconds, threads
from torch import Generator, Tensor, nn

from claimlab import Row
from mechlearn_zoo.experiments.language.eager.attention import Attention
from mechlearn_zoo.experiments.language.eager.reorderings import FILLERS, reorderings, vocabulary
from mechlearn_zoo.experiments.language.winograd.schema_world import SchemaWorld
from mechlearn_zoo.methods.language.alignment import Fillers, align, eager_feasible
from mechlearn_zoo.methods.language.eager import IGNORED, EagerTranslator, eager_loss, stacked
from mechlearn_zoo.methods.language.grammar import EmbeddingGrammar, Vectors
from mechlearn_zoo.methods.language.masked import Corruption, corrupt
from mechlearn_zoo.methods.language.ngrams import Bleu, self_bleu
from mechlearn_zoo.methods.language.sampling import choose, gumbel
from mechlearn_zoo.methods.language.schemas import substituted
from mechlearn_zoo.methods.language.scoring import Scorer, score
from mechlearn_zoo.methods.language.seqgan import rollouts
from mechlearn_zoo.methods.language.step_model import RecurrentModel
from mechlearn_zoo.methods.language.trellis import Trellis, TrellisNet
from mechlearn_zoo.methods.language.vocabulary import BEGIN, END, MASK
from mechlearn_zoo.nn.transformer import from_bert

Announce = Callable[[str], None]
LANGUAGE = "pip install 'mechlearn-zoo[language]'"


@dataclass(frozen=True)
class Config:
    """Settings of the benchmark."""

    workloads: tuple[str, ...] = (
        "self-bleu", "roll-outs", "corruption", "encoder", "scoring", "trellis", "eager", "grammar", "align",
    )  # fmt: skip
    """Which to run."""
    repeats: int = 5
    """How many interleaved rounds."""
    turn: float = 0.2
    """Seconds over which a turn repeats a step."""
    clock: Literal["wall", "cpu"] = "wall"
    """Elapsed time, or processor time with one thread: what to take on a machine that other work shares."""
    threads: int = 1
    """Threads of torch's operators."""
    seed: int = 0
    """Of inputs and weights."""
    slow: int = 20
    """Samples that sacrebleu is given of the 1000."""
    small: bool = False
    """Shrink everything to the size of a test; the ratios mean nothing."""


PRESETS = {"full": Config(), "quick": Config(repeats=1, turn=0.001, slow=3, small=True)}


class Pair(NamedTuple):
    """Two ways to do one thing.

    Attributes:
        peer: the other's name.
        ours: our way.
        theirs: the other way.
        difference: the greatest difference of results; None where they draw numbers of their own.
        factor: how often ``theirs`` would have to be done to do all that ``ours`` does.
    """

    peer: str
    ours: Callable[[], object]
    theirs: Callable[[], object]
    difference: float | None
    factor: float = 1.0


def run(config: Config, announce: Announce) -> Iterator[Row]:
    """Measure each workload."""
    with threads(config.threads):
        for name in config.workloads:
            announce(name)
            try:
                yield from aligners(config) if name == "align" else _rows(name, WORKLOADS[name](config), config)
            except NotRunError as why:
                yield _row(name, "peer", None, config) | {"note": str(why)}


def _rows(name: str, pair: Pair, config: Config) -> Iterator[Row]:
    steps = {"mechlearn": pair.ours, pair.peer: pair.theirs}
    for step in steps.values():
        seconds(step, _nothing, config.clock)
    clean = dict.fromkeys(steps, _nothing)
    rounds = dict.fromkeys(steps, config.repeats)
    times = interleaved(steps, clean, rounds, config.turn, Generator().manual_seed(config.seed), config.clock)
    over = [one / (other * pair.factor) for one, other in zip(times["mechlearn"], times[pair.peer], strict=True)]
    yield _row(name, pair.peer, [1.0], config) | {"seconds": statistics.median(times[pair.peer]) * pair.factor}
    exact = None if pair.difference is None else pair.difference <= 1e-5
    yield _row(name, f"mechlearn {name}", over, config) | {
        "seconds": statistics.median(times["mechlearn"]), "exact": exact, "difference": pair.difference,
    }  # fmt: skip


def _row(name: str, method: str, ratios: list[float] | None, config: Config) -> Row:
    return {
        "workload": name, "method": method, "ratio": statistics.median(ratios) if ratios else None,
        "low": min(ratios) if ratios else None, "high": max(ratios) if ratios else None, "memory_ratio": None, "exact": None,
        "clock": config.clock, "threads": config.threads, "seed": config.seed, "small": config.small,
    }  # fmt: skip


def _nothing() -> None:
    return None


def _seeded(config: Config) -> Generator:
    return Generator().manual_seed(config.seed)


def self_bleus(config: Config) -> Pair:
    """Self-BLEU of all samples, beside sacrebleu's of some."""
    metrics = installed("sacrebleu.metrics", LANGUAGE)
    count, length = (12, 6) if config.small else (1000, 20)
    samples = torch.randint(50, (count, length), generator=_seeded(config))
    theirs = metrics.BLEU(tokenize="none", effective_order=False, force=True)
    sentences = [" ".join(f"w{index}" for index in row) for row in samples.tolist()]

    def literal() -> list[float]:
        return [theirs.sentence_score(sentences[i], sentences[:i] + sentences[i + 1 :]).score / 100 for i in range(config.slow)]

    found, expected = self_bleu(samples, Bleu())[: config.slow], torch.tensor(literal(), dtype=torch.float64)
    difference = float((found - expected).abs().max())
    return Pair("sacrebleu", lambda: self_bleu(samples, Bleu()), literal, difference, count / config.slow)


def roll_outs(config: Config) -> Pair:
    """Completions of every prefix in one pass, beside a pass for each."""
    rows, length, samples, words = (2, 4, 2, 9) if config.small else (64, 20, 16, 100)
    model = RecurrentModel(words, 32, 32, _seeded(config))
    tokens = torch.randint(words, (rows, length), generator=_seeded(config))
    generator = _seeded(config)

    @torch.no_grad()
    def literal() -> Tensor:
        done = tokens[None, None].repeat(length - 1, samples, 1, 1)
        for k, n in product(range(length - 1), range(samples)):  # the released code's two loops
            state, read = model.start(rows), torch.zeros(rows, dtype=torch.long)
            for t in range(length):
                logits, state = model.step(read, state)
                if t > k:
                    done[k, n, :, t] = choose(logits, gumbel(tuple(logits.shape), generator))
                read = done[k, n, :, t]
        return done

    return Pair("a pass for each prefix", lambda: rollouts(model, tokens, samples, generator), literal, None)


def corruption(config: Config) -> Pair:
    """Masking, beside transformers' collator, which chooses each token by itself and so do we here."""
    transformers = installed("transformers", LANGUAGE)
    rows, length, words = (4, 8, 50) if config.small else (256, 128, 30_000)
    ids = torch.randint(5, words, (rows, length), generator=_seeded(config))
    ids[:, 0], ids[:, -1] = BEGIN, END
    special = (ids == BEGIN) | (ids == END)
    collator = transformers.DataCollatorForLanguageModeling(_tokenizer(transformers, words), mlm=True, mlm_probability=0.15)
    settings, generator = Corruption(words, selection="bernoulli"), _seeded(config)
    return Pair(
        "transformers' collator",
        lambda: corrupt(ids, special, settings, generator),
        lambda: collator.torch_mask_tokens(ids.clone(), special_tokens_mask=special),
        None,
    )


def encoder(config: Config) -> Pair:
    """A training step, beside BertModel's with the same weights."""
    transformers: Any = installed("transformers", LANGUAGE)
    rows, length, width = (2, 4, 8) if config.small else (16, 64, 128)
    settings = transformers.BertConfig(
        vocab_size=1000, hidden_size=width, num_hidden_layers=2, num_attention_heads=2, intermediate_size=4 * width,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        theirs = transformers.BertModel(settings)
    ours = from_bert(theirs)
    ids = torch.randint(1000, (rows, length), generator=_seeded(config))
    attended = torch.arange(length).expand(rows, length) < torch.linspace(2, length, rows).long()[:, None]
    mask = attended.long()
    with torch.no_grad():
        gap = ours(ids, None, attended) - theirs(ids, attention_mask=mask).last_hidden_state
    return Pair(
        "transformers' BertModel",
        lambda: ours(ids, None, attended).square().mean().backward(),
        lambda: theirs(ids, attention_mask=mask).last_hidden_state.square().mean().backward(),
        float(gap[attended].abs().max()),
    )


def scoring(config: Config) -> Pair:
    """Schemas in padded batches, beside one sentence at a time."""
    transformers = installed("transformers", LANGUAGE)
    world = SchemaWorld(seed=config.seed)
    words = world.vocabulary
    settings = transformers.GPT2Config(vocab_size=len(words), n_embd=64, n_layer=2, n_head=2, n_positions=32)
    with torch.random.fork_rng():
        torch.manual_seed(config.seed)
        model = transformers.GPT2LMHeadModel(settings).eval()
    items = world.schemas("neutral", 4 if config.small else 273, _seeded(config))
    scorer = Scorer(lambda ids, attended: model(ids, attention_mask=attended.long()).logits, words.encode, batch=64)

    @torch.no_grad()
    def literal() -> Tensor:
        found: list[float] = []
        for item in items:
            for candidate in (0, 1):
                ids = torch.tensor([words.encode(substituted(item, candidate).text).ids])
                found.append(-float(model(ids, labels=ids).loss) * (ids.shape[1] - 1))
        return torch.tensor(found).view(-1, 2)

    difference = float((score(scorer, items) - literal()).abs().max()) / 10  # sums of about ten logarithms in float32
    return Pair("one sentence at a time", lambda: score(scorer, items), literal, difference)


def trellis(config: Config) -> Pair:
    """A training step, beside an LSTM of as many parameters."""
    rows, length, hidden = (2, 5, 4) if config.small else (16, 64, 32)
    levels = 4 if config.small else 12
    net = TrellisNet(1, hidden, hidden, Trellis(levels, dilations=(1, 2, 4, 8, 16)), _seeded(config))
    size = sum(parameter.numel() for parameter in net.parameters())
    units = max(1, int((size / 4) ** 0.5) - 1)
    with torch.random.fork_rng():
        lstm = nn.LSTM(1, units, batch_first=True)
    x = torch.randn(rows, length, 1, generator=_seeded(config))
    return Pair(
        "an LSTM of as many parameters",
        lambda: net(x).output.square().mean().backward(),
        lambda: lstm(x)[0].square().mean().backward(),
        None,
    )


def eager(config: Config) -> Pair:
    """A training step on sentences of three clauses, beside attention, which writes word by word."""
    batch, width, units = (4, 8, 8) if config.small else (64, 128, 96)
    fillers, words = Fillers(*FILLERS), vocabulary(20, 10, 10)
    pairs = reorderings(batch, 3, _seeded(config))
    padded = stacked([eager_feasible(pair.source, pair.target, pair.links, fillers, 2) for pair in pairs], fillers)
    source, target = (torch.tensor([pair[side] for pair in pairs]) for side in (0, 1))
    lengths = torch.full((batch,), source.shape[1])
    ours, theirs = EagerTranslator(words, width, _seeded(config)), Attention(words, units, _seeded(config))
    return Pair(
        "attention of as many parameters",
        lambda: eager_loss(ours, *padded).mean().backward(),
        lambda: theirs.loss(source, lengths, target, fillers.start, IGNORED).mean().backward(),
        None,
    )


def grammar(config: Config) -> Pair:
    """Ten terminals expanded, beside exact neighbours within the radius."""
    neighbours = installed("sklearn.neighbors", "pip install 'mechlearn[tables]'")
    count, size = (50, 5) if config.small else (50_000, 300)
    # Words in a thousand clusters, so that a radius holds some of them and not all.
    centres = torch.randn(1000, size, generator=_seeded(config))
    own = torch.randn(count, size, generator=_seeded(config))
    vectors = Vectors(tuple(f"w{index}" for index in range(count)), centres[torch.arange(count) % 1000] + 0.6 * own)
    names = random.Random(config.seed).sample(vectors.words, 20)
    pattern = " ".join(f"{{t{index}: {names[2 * index]} {names[2 * index + 1]} ~0.35}}" for index in range(10))
    table = (vectors.table / vectors.table.norm(dim=1, keepdim=True)).numpy()
    places = vectors.places(names)
    search = neighbours.NearestNeighbors(radius=0.7**0.5, algorithm="brute").fit(table)  # |a - b|^2 = 2 (1 - cos)

    def literal() -> list[set[str]]:
        found = search.radius_neighbors(table[places], return_distance=False)
        return [{vectors.words[int(place)] for row in found[2 * t : 2 * t + 2] for place in row} for t in range(10)]

    made = EmbeddingGrammar(pattern, vectors)
    ours = [{one.word for one in made.expansion(f"t{index}")} for index in range(10)]
    return Pair("scikit-learn's neighbours", lambda: EmbeddingGrammar(pattern, vectors), literal, float(ours != literal()))


WORKLOADS: dict[str, Callable[[Config], Pair]] = {
    "self-bleu": self_bleus, "roll-outs": roll_outs, "corruption": corruption, "encoder": encoder, "scoring": scoring,
    "trellis": trellis, "eager": eager, "grammar": grammar,
}  # fmt: skip


def sentences(seed: int, count: int) -> list[tuple[list[int], list[int]]]:
    """Return sentences of 20 words of 500 and their words' translations in another order within five places."""
    generator = Generator().manual_seed(seed)
    # No word twice: nltk counts a repeated target word's normaliser twice.
    source = torch.rand(count, 500, generator=generator).argsort(1)[:, :20]
    order = (torch.arange(20) + 5 * torch.rand(count, 20, generator=generator)).argsort(1)
    return list(zip(source.tolist(), (source.gather(1, order) + 500).tolist(), strict=True))


def aligners(config: Config) -> Iterator[Row]:
    """Time both aligners on the same sentences and compare probabilities; then ours with its prior, and on many."""
    translate = installed("nltk.translate", LANGUAGE)
    few, many = (5, 20) if config.small else (300, 10_000)
    pairs, more = sentences(config.seed, few), sentences(config.seed + 1, many)
    words = [translate.AlignedSent([str(w) for w in target], [str(w) for w in source]) for source, target in pairs]
    peer = f"nltk's IBM model 1, {few} sentences"
    steps: dict[str, Step] = {
        peer: lambda: translate.IBMModel1(words, 5),
        "mechlearn align": lambda: align(pairs, 5, 0.0, None),
        "mechlearn align, diagonal": lambda: align(pairs, 5),
        f"mechlearn align, diagonal, {many} sentences": lambda: align(more, 5),
    }
    table: Any = translate.IBMModel1(words, 5).translation_table
    ours = align(pairs, 5, 0.0, None)
    away = max(
        abs(p - table[str(f)][None if e < 0 else str(e)])
        for (e, f), p in zip(ours.pairs.tolist(), ours.probabilities.tolist(), strict=True)
    )
    rounds = dict.fromkeys(steps, config.repeats)
    times = interleaved(steps, dict.fromkeys(steps, _nothing), rounds, 0.0, _seeded(config), config.clock)
    for method, found in times.items():
        over = [one / other for one, other in zip(found, times[peer], strict=True)]
        yield _row("align", method, over, config) | {
            "seconds": statistics.median(found), "exact": away < 1e-8 if method == "mechlearn align" else None,
            "difference": away if method == "mechlearn align" else None, "version": versioned("nltk") if method == peer else "",
            "note": f"{statistics.median(found):.2f} s",
        }  # fmt: skip


def _tokenizer(transformers: Any, words: int) -> Any:  # a module, and what it makes  # noqa: ANN401  # a module, and what it makes
    tokenizers = installed("tokenizers", LANGUAGE)
    known = {"<pad>": 0, "<unknown>": 1, "<begin>": BEGIN, "<end>": END, "<mask>": MASK}
    known |= {f"w{index}": index for index in range(len(known), words)}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="<unknown>"))
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", mask_token="<mask>")
