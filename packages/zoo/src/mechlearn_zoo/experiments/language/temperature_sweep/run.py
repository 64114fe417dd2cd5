"""A generator by maximum likelihood, then by SeqGAN, their measures at T = 1, and their curves over temperatures.

Sequences come from a random LSTM, so that samples can be judged by their true probability. Both generators are one architecture
with one number of updates of MLE; SeqGAN goes on from there.
"""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Literal, NamedTuple

import torch
from annotated_types import Ge, MinLen
from torch import Tensor

from claimlab import Limited, Positive, Preset, Row, Saved, checkpoint, part
from mechlearn_zoo.experiments.language.temperature_sweep.recurrent_oracle import OracleText, recurrent_oracle
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.methods.language.ngrams import Bleu, bleu_against, distinct, self_bleu
from mechlearn_zoo.methods.language.sampling import sample
from mechlearn_zoo.methods.language.seqgan import (
    Filters,
    TextCNN,
    action_values,
    discriminator_loss,
    follow,
    policy_gradient_loss,
    rollouts,
)
from mechlearn_zoo.methods.language.step_model import RecurrentModel, StepModel, log_probabilities
from mechlearn_zoo.methods.language.temperature import Curve, sweep
from mechlearn_zoo.tasks.streams import stream

Arm = Literal["mle", "seqgan", "pg-bleu"]
Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run; README.md says where they come from."""

    seed: int = 100
    """First seed: of the oracle, its text, the weights and all draws."""
    arms: Annotated[tuple[Arm, ...], MinLen(1)] = ("mle", "seqgan", "pg-bleu")
    """Maximum likelihood; SeqGAN; the same policy gradient with BLEU against the training text as its reward."""
    vocabulary: Annotated[int, Ge(2)] = 30
    """Words."""
    length: Annotated[int, Ge(4)] = 8
    """Tokens of a sequence."""
    sequences: Annotated[int, Ge(2)] = 2000
    """Training sequences; as many are held out."""
    units: Count = 32
    """Of the oracle, the generator and their embeddings."""
    epochs: Count = 60
    """Of maximum likelihood."""
    mle_lr: Positive = 1e-2
    """Its Adam's rate."""
    batch: Count = 64
    """Sequences of a step."""
    rounds: Count = 150
    """Generator steps of the adversarial part."""
    samples: Count = 4
    """N, roll-outs of each prefix."""
    generator_lr: Positive = 3e-3
    """Adam's rate of the policy gradient."""
    judge_epochs: Count = 10
    """Of the discriminator before the first round, on fresh negatives each."""
    judge_steps: Count = 5
    """Discriminator steps a round."""
    judge_lr: Positive = 1e-3
    """Adam's rate of the discriminator."""
    temperatures: Annotated[tuple[Positive, ...], MinLen(2)] = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25)
    """Of the curves."""
    points: Count = 4000
    """Samples at each of them."""


PRESETS = {
    "quick": Preset(Config(arms=("mle", "seqgan")), seeds=6),
    "paper": Preset(
        Config(
            arms=("mle", "seqgan"), vocabulary=5000, length=20, sequences=10_000, epochs=120, rounds=200, samples=16,
            generator_lr=1e-2, judge_epochs=150, judge_steps=15, points=10_000,
        ),
        seeds=6,
    ),
}  # fmt: skip

SEQGAN = {
    # The curves are those of the presets above; here two temperatures keep them cheap.
    name: Preset(replace(PRESETS[size].config, arms=("mle", "seqgan", "pg-bleu"), temperatures=(0.7, 1.0)), seeds=6)
    for name, size in {"seqgan": "quick", "seqgan-paper": "paper"}.items()
}


class Measures(NamedTuple):
    """What a generator is judged by.

    Attributes:
        oracle: mean negative log-probability of its samples under the true distribution, a token.
        test: that of held-out text under the generator.
        distinct: share of different 4-grams in its samples.
        self_bleu: mean over some samples.
        bleu: against held-out text.
    """

    oracle: float
    test: float
    distinct: float
    self_bleu: float
    bleu: float


def nll(model: StepModel, tokens: Tensor) -> float:
    """Return the mean negative log-probability of a token."""
    with torch.no_grad():
        return -float(log_probabilities(model, tokens).mean())


def measured(model: StepModel, text: OracleText, samples: Tensor) -> Measures:
    """Return a generator's measures from its samples."""
    return Measures(
        nll(text.oracle, samples),
        nll(model, text.test),
        distinct(samples),
        float(self_bleu(samples[:1000], Bleu(smoothing="floor")).mean()),
        bleu_against(samples[:1000], text.test),
    )


def by_likelihood(config: Config, text: OracleText) -> RecurrentModel:
    """Train a generator by maximum likelihood; keep the weights of its best epoch on a tenth of the training text."""
    model = RecurrentModel(config.vocabulary, config.units, config.units, stream(config.seed, "likelihood, weights"))
    optimizer = torch.optim.Adam(model.parameters(), config.mle_lr)
    generator = stream(config.seed, "likelihood, batches")
    held = max(1, len(text.train) // 10)
    train, validation = text.train[held:], text.train[:held]
    best, least = copy.deepcopy(model), [float("inf")]
    for _ in kept_steps("likelihood", config.epochs, model, best, optimizer, generator, least):
        for rows in torch.randperm(len(train), generator=generator).split(config.batch):
            descend(optimizer, -log_probabilities(model, train[rows]).mean())
        if (found := nll(model, validation)) < least[0]:
            least[0] = found
            best.load_state_dict(model.state_dict())
    return best


class Judge:
    """A discriminator with its optimiser."""

    def __init__(self, config: Config, text: OracleText) -> None:
        generator = stream(config.seed, "judge")
        widths = tuple(width for width in (1, 2, 3, 4, 5, 8, 10, 15, 20) if width <= config.length)
        self.net = TextCNN(config.vocabulary, 32, Filters(widths, (16,) * len(widths)), generator).eval()
        self.optimizer = torch.optim.Adam(self.net.parameters(), config.judge_lr)
        self.text, self.batch, self.generator = text.train, config.batch, generator
        self.parts = self.net, self.optimizer, generator

    def learn(self, model: RecurrentModel, steps: int) -> None:
        """Take steps on real sequences and fresh ones of a generator."""
        self.net.train()
        for _ in range(steps):
            rows = torch.randint(len(self.text), (self.batch,), generator=self.generator)
            ids = torch.cat([self.text[rows], sample(model, self.batch, self.text.shape[1], self.generator)])
            real = torch.arange(2 * self.batch).lt(self.batch).float()
            descend(self.optimizer, discriminator_loss(self.net(ids), real).mean())
        self.net.eval()

    def __call__(self, ids: Tensor) -> Tensor:
        """Return the probability that each sequence is real."""
        return self.net(ids).sigmoid()


def bleu_of(text: Tensor, size: int = 200) -> "Rewards":
    """Return PG-BLEU's reward: a sequence's own BLEU-2 against some training text."""
    return Rewards(text[:size])


class Rewards:
    """BLEU-2 of each sequence against a text, in [0, 1]: the share of its bigrams and words that occur there."""

    def __init__(self, text: Tensor) -> None:
        self.words = int(text.max()) + 1
        self.known = torch.zeros(self.words, self.words, dtype=torch.bool)
        self.known[text[:, :-1].flatten(), text[:, 1:].flatten()] = True
        self.single = torch.zeros(self.words, dtype=torch.bool)
        self.single[text.flatten()] = True

    def __call__(self, ids: Tensor) -> Tensor:
        """Return the geometric mean of both shares; words beyond the text's count as unknown."""
        inside = ids < self.words
        known = ids.clamp(max=self.words - 1)
        pairs = self.known[known[:, :-1], known[:, 1:]] & inside[:, :-1] & inside[:, 1:]
        single = (self.single[known] & inside).float().mean(1)
        return (pairs.float().mean(1) * single).sqrt()


def by_rewards(
    config: Config, text: OracleText, start: RecurrentModel, arm: Arm, saved: Saved | None = None
) -> Iterator[tuple[int, RecurrentModel]]:
    """Go on from a generator by policy gradient; yield it after every tenth of the rounds, which the caller keeps."""
    saved = saved or Saved()
    model, policy = copy.deepcopy(start), copy.deepcopy(start)
    optimizer = torch.optim.Adam(model.parameters(), config.generator_lr)
    generator = stream(config.seed, "policy gradient")
    judge = Judge(config, text) if arm == "seqgan" else None
    rewards = bleu_of(text.train) if judge is None else judge
    if judge is not None:
        for _ in kept_steps("judge", config.judge_epochs, *judge.parts):
            judge.learn(model, len(text.train) // config.batch)
    saved.restore(model, policy, optimizer, generator, *(judge.parts if judge is not None else ()))
    for number in range(saved.done + 1, config.rounds + 1):
        tokens = sample(model, config.batch, config.length, generator)
        values = action_values(rewards, tokens, rollouts(policy, tokens, config.samples, generator))
        descend(optimizer, policy_gradient_loss(log_probabilities(model, tokens), values, reduction="sum").sum())
        follow(policy, model)
        if judge is not None:
            judge.learn(model, config.judge_steps)
        if number % max(1, config.rounds // 10) == 0 or number == config.rounds:
            yield number, model
        else:
            saved.keep(number)


def curve_of(config: Config, model: StepModel, text: OracleText) -> Curve:
    """Return quality (NLL_oracle) and diversity (NLL_test) by temperature."""
    return sweep(
        model,
        config.temperatures,
        lambda samples, tempered: nll(text.oracle, samples),
        lambda samples, tempered: nll(tempered, text.test),
        count=config.points,
        length=config.length,
        seed=config.seed,
    )


def run(config: Config) -> Iterator[Row]:
    """Yield each generator's rows: its training, its measures at T = 1, and its curve."""
    text = recurrent_oracle(config.seed, config.vocabulary, config.length, config.sequences, config.sequences, config.units)
    likelihood = by_likelihood(config, text)
    for arm in config.arms:
        yield from part(arm, rows_of(config, text, likelihood, arm))


def rows_of(config: Config, text: OracleText, likelihood: RecurrentModel, arm: Arm) -> Iterator[Row]:
    """Yield a generator's training, its measures at T = 1, and its curve."""
    model, saved = likelihood, checkpoint("rounds")
    yield from saved.values
    for number, model in () if arm == "mle" else by_rewards(config, text, likelihood, arm, saved):  # the last one stays
        drawn = sample(model, config.points, config.length, stream(config.seed, "rounds, samples"))
        oracle, test = nll(text.oracle, drawn), nll(model, text.test)
        row: Row = {"kind": "round", "arm": arm, "round": number, "oracle": oracle, "test": test}
        yield row if number == config.rounds else saved.keep(number, row)
    drawn = sample(model, config.points, config.length, stream(config.seed, "end, samples"))
    budget = config.epochs if arm == "mle" else config.rounds
    words = " ".join(str(index) for index in drawn[0].tolist())
    yield {"kind": "end", "arm": arm, "budget": budget, **measured(model, text, drawn)._asdict(), "sentence": words}
    for point in curve_of(config, model, text):
        drawn = sample(model, 1000, config.length, stream(config.seed, "curve, samples"), temperature=point.temperature)
        similar = float(self_bleu(drawn, Bleu(smoothing="floor")).mean())
        words = " ".join(str(index) for index in drawn[0].tolist())
        yield {
            "kind": "point", "arm": arm, "temperature": point.temperature, "oracle": point.quality, "test": point.diversity,
            "self_bleu": similar, "sentence": words,
        }  # fmt: skip
