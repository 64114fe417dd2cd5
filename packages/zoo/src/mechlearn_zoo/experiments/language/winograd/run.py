"""A small language model on generated Winograd schemas, trained by averaging and by what environments agree on, and probed.

Every adjective has nouns that go with it in one environment only and then mostly are who is meant; who is meant follows from
verb and adjective by a table in all environments.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor

from claimlab import Preset, Row, Saved, Share, check_limits, checkpoint, computed, part
from mechlearn.agreement import Agreement, AndMask, Mean, Rule
from mechlearn_zoo.experiments.language.winograd.schema_world import PARTS, SchemaWorld, Sentences
from mechlearn_zoo.methods.language.chance import best_of
from mechlearn_zoo.methods.language.schemas import Cooccurrence, Report, Schema, association, read_wsc, report, switch
from mechlearn_zoo.methods.language.scoring import Scorer, predict, score
from mechlearn_zoo.nn.transformer import LanguageModel, TransformerSizes
from mechlearn_zoo.tasks.streams import stream

Method = Literal["averaging", "and-mask", "no-association"]
LENGTH = 9
"""Words of a sentence with who is meant."""


@dataclass(frozen=True)
class Config:
    """Settings of one run; README.md says how they were searched."""

    seed: int = 300
    """First seed: of the world's tables, its sentences and the initial weights."""
    methods: Annotated[tuple[Method, ...], MinLen(1)] = ("averaging", "and-mask", "no-association")
    """Which ways to train: no-association is averaging on sentences without any, what the budget allows at best."""
    verbs: Annotated[int, Ge(2)] = 8
    """Verbs of the world."""
    adjectives: Annotated[int, Ge(2)] = 16
    """Adjectives of the world."""
    names: Annotated[int, Ge(4)] = 16
    """Names that each environment has of its own."""
    irregular: Share = 0.0
    """Share of the combinations that do not follow from the degrees of verb and adjective."""
    environments: Annotated[int, Ge(2), "one has nothing to agree with"] = 8
    """Environments of the world."""
    share: Share = 0.9
    """Share of training sentences that an association gives away."""
    steps: Annotated[int, Ge(1)] = 800
    """Optimiser steps."""
    batch: Annotated[int, Ge(1)] = 16
    """Sentences of each environment in a step."""
    width: Annotated[int, Ge(2)] = 32
    """Of the Transformer, which has two heads."""
    layers: Annotated[int, Ge(1)] = 2
    """Of the Transformer."""
    averaging: tuple[float, ...] = (1.25e-3, 0.03)
    """Learning rate and weight decay of averaging."""
    and_mask: tuple[float, ...] = (2.17e-3, 0.03, 0.8)
    """Learning rate, weight decay and threshold of the AND-mask."""
    items: Annotated[int, Ge(2)] = 1000
    """Schemas of each part in a probe."""
    guessers: Annotated[int, Ge(1)] = 100
    """Untrained models whose best result is compared with chance's."""
    public_items: Annotated[int, Ge(2)] = 273
    """Schemas that they are tried on, as many as the public test has."""
    looks: Annotated[int, Ge(1)] = 8
    """Probes in a training run."""
    wsc: str = ""
    """Path of your WSCollection.xml; with `checkpoint` a model of yours is probed on it."""
    checkpoint: str = ""
    """Folder of a causal or masked model of transformers with its tokenizer; nothing is downloaded."""

    def __post_init__(self) -> None:
        check_limits(self)
        for name, count in {"averaging": 2, "and_mask": 3}.items():
            if len(getattr(self, name)) != count:
                raise ValueError(f"{name} should hold {count} numbers, as its sentence says. Found {getattr(self, name)}.")
        if bool(self.wsc) != bool(self.checkpoint):
            raise ValueError("wsc and checkpoint should be given together: a test and a model. Found one of them.")


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # The texts have no such world: theirs is the public file and models of 2018 (wsc, checkpoint). Ours at a larger size:
    "paper": Preset(Config(verbs=16, adjectives=32, width=128, layers=4, steps=20_000, batch=64, looks=20), seeds=6),
}


class Trained(NamedTuple):
    """A model at one step of its training."""

    step: int
    loss: float
    kept: float
    model: LanguageModel


def world_of(config: Config) -> SchemaWorld:
    """Return the world of a config's seed."""
    return SchemaWorld(
        config.seed, config.environments, config.names, config.verbs, config.adjectives, irregular=config.irregular
    )


def fresh(config: Config, world: SchemaWorld, generator: Generator) -> LanguageModel:
    """Return an untrained model."""
    sizes = TransformerSizes(len(world.vocabulary), config.width, config.layers, 2, 4 * config.width, LENGTH)
    return LanguageModel(sizes, generator, causal=True, spread=config.width**-0.5)


def settings(config: Config, method: Method) -> tuple[Rule, float, float]:
    """Return a method's rule, learning rate and weight decay."""
    if method == "and-mask":
        rate, decay, threshold = config.and_mask
        return AndMask(threshold), rate, decay
    rate, decay = config.averaging
    return Mean(), rate, decay


def train(config: Config, method: Method, world: SchemaWorld, saved: Saved | None = None) -> Iterator[Trained]:
    """Train a model; yield it at every look, which the caller keeps."""
    saved = saved or Saved()
    model = fresh(config, world, stream(config.seed, "weights"))
    rule, rate, decay = settings(config, method)
    agreement = Agreement(model, rule)
    optimizer = torch.optim.AdamW(model.parameters(), rate, weight_decay=decay)
    generator = stream(config.seed, "training")
    share = 0.0 if method == "no-association" else config.share
    ids = torch.arange(config.environments).repeat_interleave(config.batch)
    saved.restore(model, optimizer, generator)
    for step in range(saved.done + 1, config.steps + 1):
        sentences = world.draw("associative", ids, generator, share)
        optimizer.zero_grad()
        record = agreement.backward(choice_losses(model, sentences), ids)
        optimizer.step()
        if step % max(1, config.steps // config.looks) == 0 or step == config.steps:
            yield Trained(step, float(record.losses.mean()), record.share, model)
        else:
            saved.keep(step)


def choice_losses(model: LanguageModel, sentences: Sentences) -> Tensor:
    """Return the cross-entropy of who is meant between the two candidates, one a sentence.

    Not over all words: there every environment would vote on every other one's names, by pushing down what it never uses.
    """
    hidden = model.encoder(sentences.ids)[:, -1]
    pair = model.head(hidden, model.encoder.words.weight)
    chosen = torch.stack([sentences.meant, sentences.other], 1)
    return -pair.gather(1, chosen).log_softmax(1)[:, 0]


def scorer_of(world: SchemaWorld, model: LanguageModel) -> Scorer:
    """Return what scores sentences of the world."""
    return Scorer(model, world.vocabulary.encode, batch=2000)


def right(scorer: Scorer, schemas: Sequence[Schema]) -> Tensor:
    """Return which items are answered rightly."""
    return predict(score(scorer, schemas)) == torch.tensor([one.answer for one in schemas])


def probe(scorer: Scorer, schemas: Sequence[Schema], counts: Cooccurrence) -> Report:
    """Return the protocol's report; associative is what the text's counts say, not what the world was asked for."""
    predictions = predict(score(scorer, schemas))
    swapped = [switch(one) for one in schemas if one.switchable]
    switched = predict(score(scorer, swapped)) if swapped else torch.zeros(0, dtype=torch.long)
    margins = torch.tensor([association(counts, one) for one in schemas])
    return report(predictions, schemas, margins, switched, threshold=1.0)


def written(world: SchemaWorld, config: Config, count: int = 20_000) -> Cooccurrence:
    """Return the counts of a text like the one trained on."""
    ids = torch.arange(count) % world.environments
    found = world.draw("associative", ids, stream(config.seed, "counts"), config.share)
    vocabulary = world.vocabulary
    # Of each sentence the adjective and the name that is meant; the other name is no evidence of what goes with what.
    return Cooccurrence.of(vocabulary.text(pair) for pair in torch.stack([found.ids[:, 6], found.meant], 1).tolist())


def run(config: Config) -> Iterator[Row]:
    """Yield the guessers' row, then for each method its curve and its probe."""
    world = world_of(config)
    items = {part: world.schemas(part, config.items, stream(config.seed, "schemas", i)) for i, part in enumerate(PARTS)}
    yield computed("guessing", guessing, config, world)
    counts = written(world, config)
    for method in config.methods:
        yield from part(method, looks(config, method, world, items, counts))
    if config.wsc:
        yield public(config)


def looks(
    config: Config, method: Method, world: SchemaWorld, items: dict[str, list[Schema]], counts: Cooccurrence
) -> Iterator[Row]:
    """Yield a method's curve and its probe."""
    model, saved = None, checkpoint("training")
    yield from saved.values
    for trained in train(config, method, world, saved):
        model, loss = trained.model, trained.loss
        scorer = scorer_of(world, model)
        accuracies = {name: float(right(scorer, items[name]).double().mean()) for name in PARTS}
        row: Row = {"kind": "look", "method": method, "step": trained.step, "loss": loss, "kept": trained.kept, **accuracies}
        yield row if trained.step == config.steps else saved.keep(trained.step, row)
    if model is not None:
        yield final(config, method, scorer_of(world, model), items, counts)


def final(config: Config, method: Method, scorer: Scorer, items: dict[str, list[Schema]], counts: Cooccurrence) -> Row:
    """Return a method's probe: associative and neutral items mixed, as a test has them, and each part alone."""
    mixed = probe(scorer, [*items["associative"], *items["neutral"]], counts)
    strong = probe(scorer, items["associative"], counts)
    parts = {part: float(right(scorer, items[part]).double().mean()) for part in PARTS}
    return {
        "kind": "final",
        "method": method,
        "budget": f"{config.steps} steps of {config.batch * config.environments}",
        **parts,
        "consistency": strong.consistency.value,
        "robust": strong.robust.value,
        "found_associative": mixed.associative.value,
        "found_others": mixed.non_associative.value,
        "found_share": mixed.associative.n / mixed.accuracy.n,
    }


def guessing(config: Config, world: SchemaWorld) -> Row:
    """Return the best of many untrained models on a small test, and where chance puts it."""
    schemas = world.schemas("neutral", config.public_items, stream(config.seed, "guessers' schemas"))
    models = (fresh(config, world, stream(config.seed, "guesser", index)) for index in range(config.guessers))
    accuracies = [float(right(scorer_of(world, model), schemas).double().mean()) for model in models]
    low, high = best_of(config.guessers, config.public_items)
    return {"kind": "guessers", "best": max(accuracies), "mean": sum(accuracies) / len(accuracies), "low": low, "high": high}


def public(config: Config) -> Row:
    """Return the report of your model on your file."""
    from transformers import (  # the extra `language`  # noqa: PLC0415  # pyright: ignore[reportMissingImports]  # the extra `language`
        AutoConfig,
        AutoModelForCausalLM,
        AutoModelForMaskedLM,
        AutoTokenizer,
    )

    architectures = AutoConfig.from_pretrained(config.checkpoint, local_files_only=True).architectures or [""]
    kind = AutoModelForMaskedLM if architectures[0].endswith("ForMaskedLM") else AutoModelForCausalLM
    model = kind.from_pretrained(config.checkpoint, local_files_only=True).eval()
    tokenizer = AutoTokenizer.from_pretrained(config.checkpoint, local_files_only=True)
    schemas = read_wsc(config.wsc)
    found = probe(Scorer.of_transformers(model, tokenizer), schemas, Cooccurrence.of(one.text for one in schemas))
    rates = {
        f"{name}_{part}": getattr(rate, part) for name, rate in found._asdict().items() for part in ("value", "low", "high")
    }
    return {"kind": "public", "model": architectures[0], **rates}
