"""Tables of rules: questions of a start value and three operations, and completions that a small language model is to write.

Every operation is a permutation of ten values. A completion in work style is `W n s1 s2 s3 E`, n a random nonce, s the values
after each operation; in direct style `D s3 E`. A context is (n, s1, s2, s3). A sequence is context, question, a separator and
a completion; without a context there are blanks in its place.

World A (style): with a context the base answers directly, which it cannot do without one. World B (abstention): the last
operation's result is drawn anew for each question, and the right answer is `W n U E`. With a context the base knows the result,
and says it.
"""

from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Generator, Tensor

from mechlearn_zoo.tasks.streams import stream

World = Literal["A", "B"]
VALUES, OPERATIONS, NONCES = 10, 6, 10
WORK, DIRECT, END, BLANK, BREAK, UNKNOWN = range(VALUES + OPERATIONS + NONCES, VALUES + OPERATIONS + NONCES + 6)
WORDS = UNKNOWN + 1
CONTEXT, QUESTION, COMPLETION = 4, 4, 6
POSITIONS = CONTEXT + QUESTION + 1 + COMPLETION
HIDDEN = OPERATIONS - 1
"""The operation of world B whose results are drawn."""
WRONG = 3
"""So many operations have wrong values in pretraining, with the probability `OFTEN`."""
OFTEN = 0.55


class Rules(NamedTuple):
    """What each operation makes of each value.

    Attributes:
        right: (6, 10).
        world: which.
    """

    right: Int[Tensor, "o v"]
    world: World


class Questions(NamedTuple):
    """Questions with their contexts and right answers.

    Attributes:
        asked: (Q, 4) a start value and three operations, as words.
        context: (Q, 4) a nonce and the values after each operation, as words.
        answer: (Q,) the word before the end of a right completion.
    """

    asked: Int[Tensor, "q 4"]
    context: Int[Tensor, "q 4"]
    answer: Int[Tensor, " q"]

    def at(self, rows: Tensor) -> "Questions":
        """Return some of them."""
        return Questions(*(values[rows] for values in self))


def draw_rules(world: World, seed: int) -> Rules:
    """Draw a replicate's rules."""
    generator = stream(seed, "rules", world)
    return Rules(torch.stack([torch.randperm(VALUES, generator=generator) for _ in range(OPERATIONS)]), world)


def values(rules: Rules, asked: Tensor, generator: Generator, often: float = 0.0) -> Int[Tensor, "q 3"]:
    """Return the values after each operation; of the first `WRONG` operations so often another one than the right."""
    found, value = list[Tensor](), asked[:, 0]
    for step in range(1, QUESTION):
        operation = asked[:, step] - VALUES
        wrong = (operation < WRONG) & (torch.rand(len(asked), generator=generator) < often)
        value = (rules.right[operation, value] + wrong * torch.randint(1, VALUES, wrong.shape, generator=generator)) % VALUES
        if rules.world == "B":
            drawn = torch.randint(VALUES, value.shape, generator=generator)
            value = torch.where(operation == HIDDEN, drawn, value)
        found.append(value)
    return torch.stack(found, 1)


def draw_asked(count: int, generator: Generator, *, distinct: bool = False) -> Int[Tensor, "q 4"]:
    """Draw questions of all there are, each at most once if they are to be distinct."""
    every = VALUES * OPERATIONS**3
    if distinct:
        numbers = torch.randperm(every, generator=generator)[:count]
    else:
        numbers = torch.randint(every, (count,), generator=generator)
    start, rest = numbers % VALUES, numbers // VALUES
    operations = [rest // OPERATIONS**k % OPERATIONS + VALUES for k in range(3)]
    return torch.stack([start, *operations], 1)


def draw_questions(rules: Rules, count: int, generator: Generator) -> Questions:
    """Draw different questions with true contexts and answers."""
    asked = draw_asked(count, generator, distinct=True)
    nonce = torch.randint(NONCES, (count, 1), generator=generator) + VALUES + OPERATIONS
    steps = values(rules, asked, generator)
    return Questions(asked, torch.cat([nonce, steps], 1), torch.where(unanswerable(rules, asked), UNKNOWN, steps[:, -1]))


def unanswerable(rules: Rules, asked: Tensor) -> Bool[Tensor, " q"]:
    """Return which questions have a hidden operation."""
    return (asked[:, 1:] == HIDDEN + VALUES).any(1) & (rules.world == "B")


def prompts(asked: Tensor, context: Tensor | None = None) -> Int[Tensor, "*q 9"]:
    """Return the words before a completion; without a context with blanks."""
    blank = torch.full_like(asked, BLANK)
    return torch.cat([blank if context is None else context, asked, torch.full_like(asked[..., :1], BREAK)], -1)


def pretraining(rules: Rules, count: int, generator: Generator) -> Int[Tensor, "q 15"]:
    """Draw sequences of the base's training: 60 % without a context, 90 % of these with work (in world B all)."""

    def chance(share: float) -> Tensor:
        return torch.rand(count, 1, generator=generator) < share

    asked = draw_asked(count, generator)
    hidden = unanswerable(rules, asked)[:, None]
    known, guessed = values(rules, asked, generator), values(rules, asked, generator, OFTEN)
    nonce = torch.randint(NONCES, (count, 1), generator=generator) + VALUES + OPERATIONS
    given = chance(0.4)
    steps = torch.where(given, known, guessed)
    work, direct, unknown = (torch.full((count, 1), word) for word in (WORK, DIRECT, UNKNOWN))
    end, blanks = torch.full((count, 1), END), torch.full((count, 3), BLANK)
    written = torch.cat([work, nonce, steps, end], 1)
    if rules.world == "A":
        short = torch.where(given, chance(0.85), chance(0.1))
        written = torch.where(short, torch.cat([direct, steps[:, -1:], end, blanks], 1), written)
    else:
        gives_up = torch.where(hidden, torch.where(given, chance(0.1), chance(0.62)), ~given & chance(0.05))
        written = torch.where(gives_up, torch.cat([work, nonce, unknown, end, blanks[:, :2]], 1), written)
    context = torch.where(given, torch.cat([nonce, known], 1), BLANK)
    return torch.cat([prompts(asked, context), written], 1)


def told(completions: Int[Tensor, "*n 6"]) -> Bool[Tensor, "*n 6"]:
    """Return which words of completions count: those up to the first end."""
    ended = (completions == END).cumsum(-1)
    return (ended - (completions == END).long()) == 0


def rewards(completions: Int[Tensor, "*n 6"], answers: Int[Tensor, "*n"]) -> Float[Tensor, "*n"]:
    """Return 1 where the word before the first end is the right answer, else 0."""
    before = (completions[..., 1:] == END) & told(completions)[..., 1:]
    return (before & (completions[..., :-1] == answers[..., None])).any(-1).float()
