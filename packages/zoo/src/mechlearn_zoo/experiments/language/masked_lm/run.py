"""Encoders pretrained on code from both sides or from the left, then asked for the role of each name with few labels.

The roles (attribute, call, keyword, store, definition, load) come from `ast`; many depend on the next token, which a causal
model does not see. The last arm teaches a causal student by what the bidirectional encoder sees, as privileged data.
"""

import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor, nn
from torch.nn.functional import cross_entropy

from claimlab import Limited, Positive, Preset, Row, Saved, checkpoint, computed
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.experiments.language.masked_lm.two_way import TwoWay
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.methods.language.masked import IGNORED, Corruption, corrupt
from mechlearn_zoo.methods.language.vocabulary import END, Vocabulary
from mechlearn_zoo.nn.transformer import LanguageModel, TransformerSizes
from mechlearn_zoo.tasks.streams import same_stream
from mechlearn_zoo.tasks.text.code_tokens import NO_ROLE, ROLES, code_tokens

Arm = Literal[
    "masked", "causal", "two-way", "masked-scratch", "causal-scratch", "masked-frozen", "causal-frozen", "two-way-frozen"
]
Model = LanguageModel | TwoWay
Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: of weights, masks, batches and which windows are labelled."""
    arms: Annotated[tuple[Arm, ...], MinLen(1)] = (
        "masked", "causal", "two-way", "masked-scratch", "causal-scratch", "masked-frozen", "causal-frozen", "two-way-frozen",
    )  # fmt: skip
    """Both sides, from the left, or two LSTMs from either side; pretrained or not, fine-tuned or frozen."""
    modules: Annotated[int, Ge(10)] = 50
    """Modules of the standard library: 8 of 10 to learn from, 1 to stop by, 1 to judge by."""
    words: Annotated[int, Ge(2)] = 1000
    """Words of the vocabulary."""
    window: Annotated[int, Ge(4)] = 32
    """Tokens of a sequence."""
    width: Annotated[int, Ge(2)] = 64
    """Of the encoder, which has two heads."""
    layers: Count = 2
    """Of the encoder."""
    steps: Count = 3000
    """Of pretraining, 32 windows each."""
    learning_rate: Positive = 1e-3
    """Adam's in pretraining, after a tenth of the steps to warm up."""
    labelled: Annotated[tuple[Count, ...], MinLen(1)] = (8, 32, 128)
    """Numbers of labelled windows."""
    tuning: Count = 200
    """Steps of fine-tuning at most; the weights that are best on validation windows stay."""
    tuning_rate: Positive = 1e-3
    """Adam's in fine-tuning."""
    reached: Positive = 3.0
    """Cross-entropy of a predicted validation token whose first step is looked for."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    "both-sides": Preset(
        Config(seed=300, arms=("masked", "causal", "masked-scratch", "causal-scratch"), labelled=(128,)), seeds=6
    ),
    "paper": Preset(Config(modules=200, words=5000, window=128, width=256, layers=4, steps=50_000, tuning=2000), seeds=5),
}


class Text(NamedTuple):
    """Windows of tokens with the roles of names, `NO_ROLE` elsewhere."""

    ids: Tensor
    roles: Tensor


class Corpus(NamedTuple):
    """Windows to learn from, to stop by and to judge by, and how many words there are."""

    train: Text
    validation: Text
    test: Text
    words: int


def corpus(config: Config) -> Corpus:
    """Return the standard library's windows, split by module."""
    found = code_tokens(modules=config.modules)
    cut = max(1, len(found.tokens) // 10)
    ends = (slice(0, -2 * cut), slice(-2 * cut, -cut), slice(-cut, None))
    vocabulary = Vocabulary.of(found.tokens[ends[0]], most=config.words)

    def windows(end: slice) -> Text:
        ids = [one for file in found.tokens[end] for one in (*vocabulary.ids(file), END)]
        roles = [one for file in found.roles[end] for one in (*file, NO_ROLE)]
        rows = len(ids) // config.window
        cut_to = rows * config.window
        text = Text(*(torch.tensor(one[:cut_to]).view(rows, config.window) for one in (ids, roles)))
        some = (text.roles != NO_ROLE).any(1)
        return Text(text.ids[some], text.roles[some])

    train, validation, test = map(windows, ends)
    return Corpus(train, validation, test, len(vocabulary))


def fresh(config: Config, words: int, causal: bool) -> LanguageModel:
    """Return an untrained model."""
    sizes = TransformerSizes(words, config.width, config.layers, 2, 4 * config.width, config.window)
    return LanguageModel(sizes, same_stream(config.seed), causal, spread=config.width**-0.5 / 2)


def token_losses(model: Model, ids: Tensor, corruption: Corruption, generator: Generator) -> Tensor:
    """Return the cross-entropy of each predicted token: the chosen ones, every next one, or every next one from either side."""
    if isinstance(model, TwoWay):
        return model.losses(ids)
    if model.encoder.causal:
        return cross_entropy(model(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    found = corrupt(ids, torch.zeros_like(ids, dtype=torch.bool), corruption, generator)
    chosen = found.targets != IGNORED
    hidden = model.encoder(found.ids)[chosen]  # the head sees chosen places only
    return cross_entropy(model.head(hidden, model.encoder.words.weight), found.targets[chosen], reduction="none")


def pretrain(config: Config, data: Corpus, model: Model, saved: Saved) -> Iterator[tuple[int, float]]:
    """Train on windows without labels; yield step and validation loss a predicted token ten times, which the caller keeps."""
    corruption, generator = Corruption(data.words), same_stream(config.seed)
    optimizer = torch.optim.Adam(model.parameters(), config.learning_rate)
    warm = max(1, config.steps // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, max(0.05, 1 - step / config.steps))
    )
    saved.restore(model, optimizer, schedule, generator)
    for step in range(saved.done + 1, config.steps + 1):
        rows = torch.randint(len(data.train.ids), (32,), generator=generator)
        descend(optimizer, token_losses(model, data.train.ids[rows], corruption, generator).mean(), schedule)
        if step % max(1, config.steps // 10) == 0 or step == config.steps:
            with torch.no_grad():
                held = token_losses(model, data.validation.ids[:300], corruption, Generator().manual_seed(config.seed))
            yield step, float(held.mean())
        else:
            saved.keep(step)


class Tagger(nn.Module):
    """An encoder and a linear layer that tells roles."""

    def __init__(self, model: Model, width: int, generator: Generator) -> None:
        super().__init__()
        self.encoder = copy.deepcopy(model.encoder)
        self.out = linear(width, len(ROLES), "default", generator)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of roles at each place."""
        return self.out(self.encoder(ids))


def accuracy(tagger: nn.Module, text: Text) -> float:
    """Return the share of names whose role is told."""
    with torch.no_grad():
        found = torch.cat([tagger(ids).argmax(-1) for ids in text.ids.split(500)])
    known = text.roles != NO_ROLE
    return float((found == text.roles)[known].double().mean())


def tune(config: Config, model: Model, data: Corpus, rows: Tensor, frozen: bool) -> float:
    """Return the test accuracy of a model that is fine-tuned on labelled windows, at its best on validation windows."""
    tagger = Tagger(model, config.width, same_stream(config.seed))
    tagger.encoder.requires_grad_(not frozen)
    trained = [parameter for parameter in tagger.parameters() if parameter.requires_grad]
    optimizer = torch.optim.Adam(trained, config.tuning_rate * (10 if frozen else 1))
    text = Text(data.train.ids[rows], data.train.roles[rows])
    validation = Text(data.validation.ids[: len(rows)], data.validation.roles[: len(rows)])
    generator = same_stream(config.seed)
    best, weights = -math.inf, copy.deepcopy(tagger.state_dict())
    for step in range(1, config.tuning + 1):
        some = torch.randperm(len(rows), generator=generator)[:16]
        logits = tagger(text.ids[some])
        descend(optimizer, cross_entropy(logits.flatten(0, 1), text.roles[some].flatten(), ignore_index=NO_ROLE))
        if step % 10 == 0 and (found := accuracy(tagger, validation)) > best:
            best, weights = found, copy.deepcopy(tagger.state_dict())
    tagger.load_state_dict(weights)
    return accuracy(tagger, Text(data.test.ids[:1000], data.test.roles[:1000]))


def run(config: Config) -> Iterator[Row]:
    """Yield the rows of pretraining, then each arm's accuracy by number of labelled windows."""
    data = corpus(config)
    models: dict[str, Model] = {}
    made: dict[str, Callable[[], Model]] = {
        "masked": lambda: fresh(config, data.words, causal=False),
        "causal": lambda: fresh(config, data.words, causal=True),
        "two-way": lambda: TwoWay(data.words, config.width, same_stream(config.seed)),
    }
    needed = {arm.removesuffix("-scratch").removesuffix("-frozen") for arm in config.arms}
    for name, make in made.items():
        if name not in needed:
            continue
        models[f"{name}-scratch"] = make()
        models[name], saved = make(), checkpoint(name)
        yield from saved.values
        for step, loss in pretrain(config, data, models[name], saved):
            yield saved.keep(step, {"kind": "pretraining", "model": name, "step": step, "loss": loss})
        saved.stay()
        reached = next((row["step"] for row in saved.values if row["loss"] <= config.reached), None)
        yield {"kind": "reached", "model": name, "step": reached, "budget": config.steps}
        models[f"{name}-frozen"] = models[name]
    order = torch.randperm(len(data.train.ids), generator=same_stream(config.seed))
    for count in config.labelled:
        rows = order[:count]
        for arm in config.arms:
            row: Row = {"kind": "final", "arm": arm, "labelled": count, "budget": config.tuning}
            frozen = arm.endswith("frozen")
            yield {**row, "accuracy": computed(f"{arm}, {count}", tune, config, models[arm], data, rows, frozen)}
