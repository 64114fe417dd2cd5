"""The control of every run with privileged contexts: the same run with another question's context."""

from collections.abc import Hashable, Sequence
from typing import TypeVar, cast

from torch import Tensor

from mechlearn.arguments import check_data, check_kind, check_shape

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
        TypeError: if one is neither a tensor nor a sequence.
        ValueError: if their lengths differ, or all rows are of one question.
    """
    for name, given in (("contexts", contexts), ("questions", questions)):
        check_kind(name, given, (Tensor, Sequence), "a tensor or a sequence with an entry for each row")
    if isinstance(contexts, Tensor):
        check_data("contexts", contexts)
        check_shape("contexts", contexts, "...", "n")
    if isinstance(questions, Tensor):
        check_data("questions", questions)
        check_shape("questions", questions, "B", way_out="One id for each row.")
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
