"""SeqGAN: a generator of tokens trained by policy gradient, with a discriminator as its reward (Yu et al. 2017).

The value of token t is the discriminator's mean judgement of completions drawn from the generator, equation 4: "Monte Carlo"
roll-outs, without a tree, and of the action taken only. Useful for any judgement of whole sequences that has no gradient: pass
your own in the discriminator's place. As a text model it is a baseline: maximum likelihood with a temperature is ahead of it at
every diversity (`mechlearn_zoo.methods.language.temperature`).

Index convention: b a sequence, t a position (0 the first token), T the length, n a roll-out, k a prefix of k + 1 tokens.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F  # the usual name  # noqa: N812  # the usual name

from mechlearn.arguments import (
    check_callable,
    check_generator,
    check_one_of,
    check_shape,
    check_share,
    check_tensor,
    check_whole,
)
from mechlearn_zoo.methods.language.sampling import choose, gumbel
from mechlearn_zoo.methods.language.step_model import StepModel, check_rows, pick
from mechlearn_zoo.methods.paper import Paper

PAPER = Paper(
    "SeqGAN", 2017, "Yu et al., equations 4 and 8", "https://arxiv.org/abs/1609.05473", "N roll-outs of every prefix a step"
)

Noise = Callable[[int, int, Tensor], Tensor]
"""From a step t, the number of words and the row's (prefix, sample, sequence) triples (r, 3) to Gumbel noise (r, words)."""


@torch.no_grad()
def rollouts(
    model: StepModel,
    tokens: Int[Tensor, "b t"],
    samples: int,
    generator: torch.Generator,
    *,
    begin: int = 0,
    noise: Noise | None = None,
) -> Int[Tensor, "prefixes samples b t"]:
    """Return completions of every prefix, all in one pass.

    Position t is read once: the batch holds the sequences themselves and every roll-out begun so far, and grows by b * samples
    rows a step. So no prefix is read twice, where a pass for each prefix reads T^2 / 2 of them.

    Args:
        model: the generator; its states must have one row for each sequence.
        tokens: y, the sequences whose prefixes are completed.
        samples: N, completions of each prefix.
        generator: of the draws.
        begin: the id that is read first.
        noise: the draws' Gumbel noise by step and row, to share it with another way to roll out; drawn where None.

    Returns:
        (T - 1, N, b, T): [k] keeps the first k + 1 tokens. The whole sequences have no completion.

    Raises:
        TypeError: no tensor or generator.
        ValueError: sequences of one token (nothing to complete), no samples, a state that has not one row for each sequence.
    """
    check_shape("tokens", tokens, "B", "T")
    check_whole("samples", samples, 1, why="a value is a mean over completions")
    check_generator("generator", generator)
    rows, length = tokens.shape
    if length < 2:
        raise ValueError("`tokens` should have two positions or more, as whole sequences are not completed. Found 1.")
    state = model.start(rows)
    check_rows(state, rows)
    done = tokens[None, None].repeat(length - 1, samples, 1, 1)
    device = tokens.device
    index = torch.zeros(0, 3, dtype=torch.long, device=device)
    own = torch.arange(rows, device=device)
    branches, draws = own.repeat(samples), torch.arange(samples, device=device).repeat_interleave(rows)
    read = torch.full((rows,), begin, dtype=torch.long, device=device)
    for t in range(length):
        logits, state = model.step(read, state)
        drawn = torch.zeros(0, dtype=torch.long, device=device)
        if len(index):
            found = logits[rows:]
            added = gumbel(tuple(found.shape), generator, found.dtype) if noise is None else noise(t, found.shape[1], index)
            drawn = choose(found, added)
            done[index[:, 0], index[:, 1], index[:, 2], t] = drawn
        read = torch.cat([tokens[:, t], drawn])
        if t < length - 1:  # from here on the prefix of t + 1 tokens is completed, too: copies of the sequences' own states
            state = pick(state, torch.cat([own, torch.arange(rows, len(read), device=device), branches]))
            read = torch.cat([read, tokens[:, t].repeat(samples)])
            new = torch.stack([torch.full_like(branches, t), draws, branches], 1)
            index = torch.cat([index, new])
    return done


@torch.no_grad()
def action_values(
    discriminator: Callable[[Tensor], Tensor], tokens: Int[Tensor, "b t"], completions: Int[Tensor, "prefixes samples b t"]
) -> Float[Tensor, "b t"]:
    """Return Q(y_1 .. y_t-1, y_t): the mean judgement of the completions, and of the whole sequence at its last token (eq. 4).

    Args:
        discriminator: from ids (rows, T) to the probability (rows,) that a sequence is real.
        tokens: the sequences.
        completions: as `rollouts` gives them.

    Raises:
        TypeError: a discriminator that cannot be called.
        ValueError: other shapes, judgements outside [0, 1].
    """
    check_callable("discriminator", discriminator, "a function from ids to probabilities")
    check_shape("tokens", tokens, "B", "T")
    rows, length = tokens.shape
    check_shape("completions", completions, length - 1, "N", rows, length, way_out="Pass what `rollouts` returned.")
    judged = discriminator(torch.cat([completions.flatten(0, 2), tokens]))
    check_shape("judgements", judged, completions[..., 0].numel() + rows, way_out="Return one probability a row.")
    if not bool(((judged >= 0) & (judged <= 1)).all()):
        found = f"{float(judged.min()):.3g} to {float(judged.max()):.3g}"
        raise ValueError(
            f"`discriminator` should give probabilities in [0, 1]. Found {found}. Put a sigmoid behind its logits."
        )
    before = judged[:-rows].view(completions.shape[:3]).mean(1)
    return torch.cat([before, judged[None, -rows:]]).T


def policy_gradient_loss(
    log_probs: Float[Tensor, "b t"], values: Float[Tensor, "b t"], baseline: str = "none", reduction: str = "mean"
) -> Float[Tensor, " b"]:
    """Return -(sum over t of log G(y_t | y_1 .. y_t-1) (Q_t - baseline)) of each sequence (eq. 8), for you to average.

    Args:
        log_probs: of the tokens, with their graph (`mechlearn_zoo.methods.language.step_model.log_probabilities`).
        values: Q, as `action_values` gives them; no gradient flows into them.
        baseline: "none" as in the released code; "mean", that of the batch at each position; or "leave-one-out", that of the
            other sequences, which alone leaves the expected gradient as it is: the batch's own shrinks it by (b - 1) / b.
        reduction: "mean" over positions, or "sum" as in the released code, which also sums the batch.

    Raises:
        TypeError, ValueError: other shapes, another baseline or reduction, one sequence without the others to leave out.
    """
    check_shape("log_probs", log_probs, "B", "T")
    check_shape("values", values, *log_probs.shape)
    check_one_of("baseline", baseline, ("none", "mean", "leave-one-out"))
    check_one_of("reduction", reduction, ("mean", "sum"))
    values, rows = values.detach(), len(values)
    if baseline == "leave-one-out":
        if rows < 2:
            raise ValueError('`baseline="leave-one-out"` needs two sequences or more. Found one. Use "none".')
        values = values - (values.sum(0) - values) / (rows - 1)
    elif baseline == "mean":
        values = values - values.mean(0)
    weighted = -(log_probs * values)
    return weighted.mean(1) if reduction == "mean" else weighted.sum(1)


def discriminator_loss(logits: Float[Tensor, " n"], real: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Return the cross-entropy of each sequence (eq. 5); ``real`` is 1 for data and 0 for the generator's."""
    return F.binary_cross_entropy_with_logits(logits, real, reduction="none")


@torch.no_grad()
def follow(rollout: nn.Module, model: nn.Module, rate: float = 0.2, copied: tuple[str, ...] = ("embedding.",)) -> None:
    """Move the roll-out policy towards the generator: each parameter by a rate, those whose names begin as ``copied`` wholly.

    The released code keeps .8 of the old policy and copies the embedding.
    """
    check_share("rate", rate)
    own = dict(rollout.named_parameters())
    for name, value in model.named_parameters():
        own[name].lerp_(value, 1.0 if name.startswith(copied) else rate)


class Filters(NamedTuple):
    """Of a text CNN: widths of its windows, and how many filters each has."""

    widths: tuple[int, ...] = (1, 2, 3, 4)
    counts: tuple[int, ...] = (32, 32, 32, 32)


class TextCNN(nn.Module):
    """The paper's discriminator: an embedding, windows of several widths with the greatest over time, a highway, a logit.

    Args:
        vocabulary: number of words.
        embedding: numbers a word is turned into.
        filters: widths and counts; a sequence must have the widest.
        generator: of the initial weights and of what is dropped.
        dropout: of the highway's output; the released code drops .25. At 1 nothing is left of it, as in torch.

    Raises:
        TypeError, ValueError: sizes below 1, widths and counts of different number.
    """

    def __init__(
        self, vocabulary: int, embedding: int, filters: Filters, generator: torch.Generator, dropout: float = 0.25
    ) -> None:
        super().__init__()
        check_whole("vocabulary", vocabulary, 1)
        check_whole("embedding", embedding, 1)
        check_generator("generator", generator)
        check_share("dropout", dropout)
        if len(filters.widths) != len(filters.counts) or not filters.widths or min(*filters.widths, *filters.counts) < 1:
            raise ValueError(f"`filters` should have a count for each width, 1 or more. Found {filters}.")
        units = sum(filters.counts)
        with torch.device("meta"):
            self.embedding = nn.Embedding(vocabulary, embedding)
            sizes = zip(filters.widths, filters.counts, strict=True)
            self.windows = nn.ModuleList(nn.Conv1d(embedding, count, width) for width, count in sizes)
            self.gate, self.transform, self.out = nn.Linear(units, units), nn.Linear(units, units), nn.Linear(units, 1)
        self.to_empty(device="cpu")
        self.dropout, self.generator, self.widest = dropout, generator, max(filters.widths)
        for parameter in self.parameters():
            spread = 1.0 if parameter is self.embedding.weight else parameter[0].numel() ** -0.5 if parameter.dim() > 1 else 0.0
            nn.init.uniform_(parameter, -spread, spread, generator=generator)

    def forward(self, ids: Int[Tensor, "n t"]) -> Float[Tensor, " n"]:
        """Return the logit that each sequence is real.

        Raises:
            TypeError, ValueError: no tensor, sequences shorter than the widest window.
        """
        check_tensor("ids", ids)
        if ids.shape[1] < self.widest:
            raise ValueError(f"Sequences should have {self.widest} tokens, as the widest window. Found {ids.shape[1]}.")
        x = self.embedding(ids).transpose(1, 2)
        h = torch.cat([window(x).relu().amax(2) for window in self.windows], 1)
        gate = self.gate(h).sigmoid()
        h = gate * self.transform(h).relu() + (1 - gate) * h
        if self.training and self.dropout:
            drawn = torch.rand(h.shape, generator=self.generator, device=self.generator.device)
            kept = drawn.to(h.device) >= self.dropout
            h = h * kept / (1 - self.dropout) if self.dropout < 1 else torch.zeros_like(h)
        return self.out(h)[:, 0]
