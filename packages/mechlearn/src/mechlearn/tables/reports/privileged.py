"""From a table with columns known in training only to an answer: do they help to predict without them?"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.comparing import UNIT
from mechlearn.tables.distilling.comparing import UNTAUGHT, Asked, Found, compare_taught, fitted, splits_of
from mechlearn.tables.distilling.students import TRAINING
from mechlearn.tables.reading_in import Column, Encoding, Numbers, Table, encoding_of, is_missing, pooled, prepare, site_names
from mechlearn.tables.reports.calibration import by_site, pairs_of
from mechlearn.tables.reports.questions import Answer, Columns, Question
from mechlearn.tables.saving.cards import can_keep
from mechlearn.tables.saving.models import Model, shares_of
from mechlearn.tables.verdict import MORE, Verdict, judge

INDEPENDENT = (
    "Rows are taken to be independent. Where several are of one person, machine or place, scores are too good: name the column "
    "that says whose they are in --environment, and folds keep them together."
)
"""What is said where nothing tells whose the rows are."""


def distill_answer(
    columns: Columns,
    privileged: Sequence[Sequence[str]],
    question: Question,
    folds: int = 10,
    sites: NDArray[Any] | None = None,
) -> Answer:
    """Compare what privileged columns teach with what is learnt without them, on rows held out; fit the one to use.

    The unit is a fold of rows here. Folds share training rows, so the interval is narrower than that of new data would be.
    Rows of one site lie in one fold, as they are like each other: else a model that knows the site by its inputs would predict
    what it was trained on.

    Args:
        columns: by name, target and privileged ones among them.
        privileged: names of the columns known in training only; of several steps in time a list each, as many in every one.
        question: what is asked.
        folds: of rows, all of a site in one; as many as there are sites, if these are fewer.
        sites: of each row, whose it is; missing ones are one site. Calibration is shown by them. Rows are independent if None.
    """
    names = [name for step in privileged for name in step]
    inputs = {name: values for name, values in columns.items() if name not in (question.target, *names)}
    target = columns[question.target]
    _check_asked(inputs, len(target), folds)
    table, order = prepare(inputs, target, _halves(len(target)), question.task, compared=False), _order(len(target))
    known = [step[order] for step in encoded_steps(columns, privileged)]
    whose = None if sites is None else site_names(np.asarray(sites))[order]
    asked = Asked(table, known, question.seed, question.training or TRAINING, _apart(whose))
    found = compare_taught(asked, folds, question.budget, question.progress, question.parts)
    simple = [name for name in UNTAUGHT if name in found.scores]
    taught = [name for name in found.scores if name not in UNTAUGHT]
    verdicts = {name: judge(found.scores, name, simple, found.overlap, found.errors) for name in taught}
    verdict = _chosen(verdicts, found.scores)
    method = verdict.method if verdict.word == "helps" else _simplest(found.scores)
    facts = {"verdict": verdict.word, "method": method, "target": question.target, "rows": len(target)}
    asked = replace(asked, settings=found.settings)
    kept = fitted(asked, method)
    votes = kept.votes or fitted(asked, "vote").votes
    model = Model(encoding_of(inputs), table.classes, kept.arrays, kept.scores, facts, kept.estimator, shares_of(table))
    shown = {
        "sentence": _in_folds(verdict.sentence, asked.whose is not None),
        "word": verdict.word,
        "kept": method,
        "target": question.target,
        "privileged": names,
        "votes": {name: round(share, 3) for name, share in sorted(votes.items(), key=lambda item: -item[1])},
        "unit": UNIT[table.task],
        "candidates": _candidates(found, verdicts),
        "others": [_in_folds(one.sentence, asked.whose is not None) for one in verdicts.values() if one is not verdict],
        "rows": len(target),
        "notes": [_what_a_fold_is(asked, folds), *found.notes, *table.notes],
        "advice": [_advice(verdict, method)],
        "classes": None if table.classes is None else [str(label) for label in table.classes],
        "calibration": calibration_of(table, found.predictions[method], sites, question.anonymous)
        | {"method": method, "rows_only": True, "numbers": kept.scores == "numbers"},
    }
    return Answer(shown, verdict, model)


def _check_asked(inputs: Columns, rows: int, folds: int) -> None:
    if not inputs:
        raise ValueError("Something should be known when predicting. Found privileged columns only. Name fewer of them.")
    if rows < 4 * folds:
        raise ValueError(f"{folds} folds need {4 * folds} rows at least. Found {rows}. Use ridge.")


def _apart(whose: NDArray[Any] | None) -> NDArray[Any] | None:
    """Reject environments that no fold can keep apart."""
    if whose is not None and len(np.unique(whose)) < 2:
        raise ValueError(
            "Folds keep the rows of an environment together, so there should be at least two environments. Found one. Name "
            "another column in --environment, or none."
        )
    return whose


def _what_a_fold_is(asked: Asked, folds: int) -> str:
    tests = [test for _, test in splits_of(asked, folds)]
    if asked.whose is None:
        fewer = f" There are {len(tests)} folds, as no class has more rows." if len(tests) < folds else ""
        return f"{INDEPENDENT}{fewer}"
    held, every = [len(np.unique(asked.whose[test])) for test in tests], len(np.unique(asked.whose))
    each = f"{min(held)}" if min(held) == max(held) else f"{min(held)} to {max(held)}"
    one_class = sum(len(np.unique(asked.table.labels[test])) < 2 for test in tests) if asked.table.classes is not None else 0
    single = f" {one_class} of them hold one class only, and have no score." if one_class else ""
    return (
        f"{len(tests)} folds; each is all rows of {each} of the {every} environments, so that none of these is trained on and "
        f"held out at once.{single}"
    )


def _candidates(found: Found, verdicts: Mapping[str, Verdict]) -> list[dict[str, Any]]:
    return [
        {"name": name, "mean": float(np.mean(one)), "worst": float(min(one)), "seconds": found.seconds[name]}
        | {"verdict": verdicts[name].word if name in verdicts else ""}
        for name, one in found.scores.items()
    ]


def _halves(rows: int) -> NDArray[np.int64]:
    """Two made-up sites: `prepare` checks and encodes, and lays one after the other; rows are not told apart by them."""
    return np.random.default_rng(0).permutation(rows) % 2


def _order(rows: int) -> NDArray[np.int64]:
    """The rows of a table as `prepare` lays them."""
    return np.argsort(_halves(rows), kind="stable")


def calibration_of(table: Table, prediction: Numbers, sites: NDArray[Any] | None, anonymous: bool) -> dict[str, Any]:
    """What the kept model said of rows that it had not seen, and what was so, by site where there are any."""
    rows = len(table.y)
    names = site_names(np.full(rows, "all rows", dtype=object) if sites is None else np.asarray(sites))
    found, site = np.unique(pooled(names)[0], return_inverse=True)
    shown = tuple(f"site {e + 1}" for e in range(len(found))) if anonymous and sites is not None else tuple(found.tolist())
    by = replace(table, site=site[_order(rows)], sites=shown)
    return by_site(by, pairs_of(by, prediction))


def _chosen(verdicts: Mapping[str, Verdict], scores: Mapping[str, Sequence[float]]) -> Verdict:
    helping = [one for one in verdicts.values() if one.word == "helps"]
    return max(helping, key=lambda one: float(np.mean(scores[one.method]))) if helping else verdicts["vote"]


def _simplest(scores: Mapping[str, Sequence[float]]) -> str:
    """The vote without privileged columns, unless another one that needs none, and can be kept, is a point better."""
    usual = "vote without privileged columns"
    some = [name for name in UNTAUGHT if name in scores and (name != "boosting" or can_keep(f"pooled {name}"))]
    best = max(some, key=lambda name: float(np.mean(scores[name])))
    return best if np.mean(scores[best]) >= np.mean(scores[usual]) + MORE else usual


def _in_folds(sentence: str, together: bool) -> str:
    """The verdict's sentence where the unit is a fold of rows; how many more would settle it says nothing then."""
    first, _, _ = sentence.partition(" About ")
    first, _, _ = first.partition(" More sites")
    first, _, _ = first.partition(" Sites like")
    unseen = "on environments it had not seen" if together else "on rows it had not seen"
    return first.replace("on sites it had not seen", unseen).replace("sites", "folds")


def _advice(verdict: Verdict, method: str) -> str:
    if verdict.word == "helps":
        return f"Keep recording these columns for training, and use {verdict.method}: it does not need them to predict."
    return f"You need not collect these columns: use the {method}."


def encoded_steps(columns: Columns, steps: Sequence[Sequence[str]]) -> list[Numbers]:
    """Return (n, Q) numbers of each step, a missing one NaN; Q is the same for all.

    The first columns of all steps are taken to be the same one at other times, and so on: where one of them has gaps all get
    the column that says so, and all get a column for each text that one of them holds.
    """
    widths = [len(step) for step in steps]
    if len(set(widths)) > 1:
        raise ValueError(
            f"Steps in time should have as many columns. Found {', '.join(map(str, widths))}. Name the same columns of each."
        )
    each = [encoding_of({name: columns[name] for name in step}).columns for step in steps]
    alike = zip(*(_alike(same, columns) for same in zip(*each, strict=True)), strict=True)
    return [Encoding(tuple(step)).encoded(columns) for step in alike]


def _alike(same: Sequence[Column], columns: Columns) -> list[Column]:
    """One column at all times, encoded alike; where it is empty it says nothing of what it holds."""
    filled = [column for column in same if not is_missing(columns[column.name]).all()]
    texts = [column for column in filled if column.categories is not None]
    if texts and len(texts) < len(filled):
        number = next(column for column in filled if column.categories is None)
        raise ValueError(
            f"Steps in time should have the same columns, in the same order. Found numbers in {number.name!r} and texts in "
            f"{texts[0].name!r}. Name the same columns of each."
        )
    known = np.unique([category for column in texts for category in column.categories or ()])
    categories = tuple(known.tolist()) if texts else None
    missing = any(column.missing for column in same)
    return [replace(column, categories=categories, missing=missing) for column in same]
