"""The control of every run with privileged contexts: the same run with another question's context."""

from collections.abc import Hashable, Sequence
from typing import TypeVar, cast

from torch import Tensor

Contexts = TypeVar("Contexts", bound=Tensor | Sequence[object])


def shuffle_contexts(contexts: Contexts, questions: Tensor | Sequence[Hashable]) -> Contexts:
    """Return contexts moved by one question, so that no row has its own question's context.

    Train once more with them. If the second loss helps as much, the gain does not come from the context. If it harms, you know
    what a worthless context costs.

    All rows of a question receive the context of one other question. Moving single rows is not a control: rollouts of a
    question lie side by side, and most would receive their own context.

    Args:
        contexts: (B, ...) a tensor or a sequence, the context of each row.
        questions: B ids, the question of each row.

    Raises:
        ValueError: if their lengths differ, or all rows are of one question.
    """
    names: list[Hashable] = questions.tolist() if isinstance(questions, Tensor) else list(questions)
    if len(names) != len(contexts):
        raise ValueError(
            f"`questions` should be an id for each row of `contexts`. Found {len(names)} and {len(contexts)}. Repeat a "
            "question's id for each of its rollouts."
        )
    rows: dict[Hashable, list[int]] = {}
    for row, name in enumerate(names):
        rows.setdefault(name, []).append(row)
    if len(rows) < 2:
        raise ValueError(f"`questions` should hold at least two different ids. Found {len(rows)}. Draw larger batches.")
    others = dict(zip(rows, [*list(rows.values())[1:], next(iter(rows.values()))], strict=True))
    places = dict.fromkeys(rows, -1)
    moved: list[int] = []
    for name in names:
        places[name] += 1
        moved.append(others[name][places[name] % len(others[name])])
    if isinstance(contexts, Tensor):
        return cast("Contexts", contexts[moved])
    return cast("Contexts", [contexts[row] for row in moved])
