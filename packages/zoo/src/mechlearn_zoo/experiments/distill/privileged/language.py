"""Fine-tuning of a small language model by rewards, beside a teacher that sees the context."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import cross_entropy

from claimlab import Row
from mechlearn.distill.contexts import shuffle_contexts
from mechlearn.distill.divergence import privileged_divergence
from mechlearn_zoo.experiments.distill.privileged.arms import Arm, clip, combine_all
from mechlearn_zoo.experiments.distill.privileged.students import Weights, completion_logits, draw_weights, repeated, sample
from mechlearn_zoo.experiments.distill.privileged.worlds import (
    COMPLETION,
    Questions,
    World,
    draw_questions,
    draw_rules,
    pretraining,
    prompts,
    rewards,
    told,
)
from mechlearn_zoo.learners.descent import descend
from mechlearn_zoo.tasks.streams import stream

TRAINED, HELD_OUT, TESTED = 64, 32, 256
"""Questions for training, for choosing and for testing."""
BATCH, ROLLOUTS = 8, 4
"""Questions of an update, and samples of each."""
EVERY = 30
"""Updates between two evaluations on held-out questions."""


class Board(NamedTuple):
    """A base model and its questions.

    Attributes:
        base: weights of one model.
        trained, held_out, tested: questions, all different.
    """

    base: Weights
    trained: Questions
    held_out: Questions
    tested: Questions


def make_board(world: World, seed: int, steps: int) -> Board:
    """Draw a replicate's rules and questions, and pretrain its base for so many steps of 64 sequences."""
    rules, generator = draw_rules(world, seed), stream(seed, "pretraining", world)
    weights = {name: one.requires_grad_() for name, one in draw_weights(stream(seed, "weights", world)).items()}
    optimizer = torch.optim.Adam(weights.values(), 3e-3)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, steps)
    for _ in range(steps):
        words = pretraining(rules, 64, generator)
        written = words[:, -COMPLETION:]
        scores, counts = completion_logits(weights, words[None, :, :-COMPLETION], written[None])[0], told(written)
        descend(optimizer, cross_entropy(scores[counts], written[counts]), schedule)
    questions = draw_questions(rules, TRAINED + HELD_OUT + TESTED, stream(seed, "questions", world))
    parts = torch.arange(len(questions.asked)).split([TRAINED, HELD_OUT, TESTED])
    return Board({name: one.detach() for name, one in weights.items()}, *(questions.at(rows) for rows in parts))


def accuracy(weights: Weights, questions: Questions, samples: int, generator: Generator) -> list[float]:
    """Return each model's share of right completions, in points."""
    models = len(weights["words"])
    asked = prompts(questions.asked).expand(models, -1, -1)
    answer = questions.answer.repeat_interleave(samples).expand(models, -1)
    found = rewards(sample(weights, asked, samples, generator), answer)
    return (100 * found.double().mean(1)).tolist()


def fine_tune(board: Board, arms: Sequence[Arm], updates: int, reports: Sequence[int], seed: int) -> Iterator[Row]:
    """Train models side by side, one for each arm, and yield what each scores where held-out questions stop it.

    Args:
        board: base and questions.
        arms: how updates are made.
        updates: of each.
        reports: after how many updates to yield rows; early stopping knows of the updates before.
        seed: of the order of questions and of samples.
    """
    order, draws, halves = (stream(seed, name) for name in ("order", "rollouts", "halves"))
    weights = {name: one.requires_grad_() for name, one in repeated(board.base, len(arms)).items()}
    optimizer = torch.optim.Adam(weights.values(), 1e-3)
    best, at = [-1.0] * len(arms), [0] * len(arms)
    kept = repeated(weights, 1)
    questions = torch.empty(0, dtype=torch.long)
    for update in range(updates + 1):
        if update % EVERY == 0:
            for k, score in enumerate(accuracy(weights, board.held_out, ROLLOUTS, stream(seed, "held out", update))):
                if score > best[k]:
                    best[k], at[k] = score, update
                    for name, one in weights.items():
                        kept[name][k] = one[k].detach()
        if update in reports:
            scores = accuracy(kept, board.tested, ROLLOUTS, stream(seed, "test"))
            final = accuracy(weights, board.tested, 1, stream(seed, "test"))
            for k, arm in enumerate(arms):
                row: Row = {"arm": arm.name, "context": arm.context, "updates": update, "stopped_at": at[k]}
                yield row | {"held_out": best[k], "test": scores[k], "last": final[k]}
        if update == updates:
            return
        if not len(questions):
            questions = torch.randperm(TRAINED, generator=order)
        now, questions = questions[:BATCH], questions[BATCH:]
        label, second = losses(weights, board, arms, now, draws)
        parameters = list(weights.values())
        labels = torch.autograd.grad(label.sum(), parameters, retain_graph=True)
        seconds = torch.autograd.grad(second.sum(), parameters)
        gradients = combine_all(arms, labels, seconds, halves)
        clip(gradients, 1.0)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()


def losses(weights: Weights, board: Board, arms: Sequence[Arm], rows: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
    """Return each arm's label loss and second loss on some questions.

    The label loss is that of a policy gradient, with the mean reward of a question's rollouts as its baseline; the second is
    the divergence from the base with a context, added over words.
    """
    asked, true = board.trained.asked[rows], board.trained.context[rows]
    own, models = prompts(asked).expand(len(arms), -1, -1), len(arms)
    shuffled = shuffle_contexts(true, rows)
    contexts = torch.stack([shuffled if arm.context == "shuffled" else true for arm in arms])
    seen = prompts(asked.expand(models, -1, -1), contexts).view(1, models * len(rows), -1)
    # Numbers are drawn for both, so that an arm's rows do not depend on which others there are.
    of_student = sample(weights, own, ROLLOUTS, generator)
    of_teacher = sample(board.base, prompts(asked, true)[None], ROLLOUTS, generator)[0]
    written = torch.stack([of_student[k] if arm.own else of_teacher for k, arm in enumerate(arms)])
    counts = told(written)
    mine = completion_logits(weights, own, written)
    with torch.no_grad():
        theirs = completion_logits(board.base, seen, written.flatten(0, 1)[None])[0].view_as(mine)
    right = rewards(written, board.trained.answer[rows].repeat_interleave(ROLLOUTS).expand(models, -1))
    right = right.view(models, -1, ROLLOUTS)
    advantage = (right - right.mean(-1, keepdim=True)).flatten(1)
    said = mine.log_softmax(-1).gather(-1, written[..., None])[..., 0]
    label = -(advantage * (said * counts).sum(-1)).mean(1)
    second = [privileged_divergence(mine[k], theirs[k], counts[k], arm.kind).sum(-1).mean() for k, arm in enumerate(arms)]
    return label, torch.stack(second)
