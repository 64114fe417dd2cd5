"""From a table with sites to an answer: does it help to learn only what they agree on?"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mechlearn.tables.candidates import CANDIDATES, PEERS, SIMPLE, TRAINING, Candidate, Fold, Recipe, weighed
from mechlearn.tables.comparing import POOLED, UNIT, Comparison, chosen, compare_table
from mechlearn.tables.disagreement import Disagreement
from mechlearn.tables.reading_in import (
    LEAST,
    Encoding,
    Table,
    check_column,
    check_target,
    encoding_of,
    listed,
    nearest,
    prepare,
    site_names,
)
from mechlearn.tables.reports.calibration import calibrated
from mechlearn.tables.reports.questions import Answer, Columns, Question
from mechlearn.tables.saving.cards import can_keep
from mechlearn.tables.saving.models import Model, model_of
from mechlearn.tables.training_rules.penalties import fishr, penalised
from mechlearn.tables.verdict import AGREEING, FEWEST, MARGIN, MORE, t_interval

BESIDE: dict[str, Candidate] = {
    "IRM": PEERS["IRM"],
    "V-REx": PEERS["V-REx"],
    "Fishr": partial(Fold.network, recipe=Recipe(weighed(1.0, 100.0), penalised(fishr))),
}
"""Compared, too, and judged each by itself. Fishr is weighed less than in `PEERS`: there a table of four classes is not learnt
at all."""

BESIDE_ONLY = (
    f"{', '.join(BESIDE)}: for comparison only. The verdict is not drawn from them and none is kept, as every further question "
    "is one more chance to be fooled."
)


def agreement_answer(columns: Columns, sites: NDArray[Any], question: Question, apart: str | None = None) -> Answer:
    """Audit a table, compare candidates on held-out sites, and fit the one to use.

    The target is among the columns and the sites are not. A site set apart has no part in anything but a last look.
    """
    inputs = {name: values for name, values in columns.items() if name != question.target}
    target = columns[question.target]
    check_target(target, question.target, question.task)
    for name, values in inputs.items():  # before a row is set apart: a sentence's data rows are those of the file
        check_column(name, values)
    kept = np.ones(len(target), dtype=bool) if apart is None else _others(sites, apart, question.anonymous)
    seen = {name: values[kept] for name, values in inputs.items()}
    encoding = encoding_of(seen)
    table = prepare(seen, target[kept], sites[kept], question.task)
    if question.anonymous:
        masked = tuple(f"site {e + 1}" for e in range(len(table.sites)))
        table = replace(table, sites=masked, notes=tuple(note for note in table.notes if note not in table.naming))
    training = question.training or TRAINING
    asked = {**CANDIDATES, **BESIDE}
    found = compare_table(table, asked, training, question.seed, question.progress, question.budget, parts=question.parts)
    found = without(found, tuple(BESIDE))
    method = to_keep(found)
    facts = {"verdict": found.verdict.word, "method": method, "rows": int(kept.sum()), "target": question.target}
    whole = Fold(table, -1, training, question.seed, found.settings)
    model = model_of(method, whole, encoding, facts)
    shown = {**_facts(found, table), "kept": method, "target": question.target, "advice": advice(found, method)}
    shown["notes"] = [*_profile(table, encoding), BESIDE_ONLY, *shown["notes"]]
    shown |= calibrated(table, found.predictions[method], method)
    if apart is not None:
        shown["apart"] = _last_look(model, inputs, target, ~kept, "the site set apart" if question.anonymous else apart)
    return Answer(shown, found.verdict, model)


def _others(sites: NDArray[Any], apart: str, anonymous: bool) -> NDArray[np.bool_]:
    """Which rows are of another site than the one set apart."""
    names = site_names(sites)
    if apart not in names:
        way_out = "Take one that its column names." if anonymous else nearest(apart, np.unique(names).tolist())
        raise ValueError(f"The site to set apart should be one of the table's. Found {apart!r}. {way_out}")
    return names != apart


def _profile(table: Table, encoding: Encoding) -> list[str]:
    """What the table holds, and what cannot be answered with so little."""
    texts = sum(column.categories is not None for column in encoding.columns)
    sizes, judged = table.sizes, int(table.judged.sum())
    rows = f"{min(sizes)} to {max(sizes)}" if min(sizes) < max(sizes) else f"{min(sizes)}"
    said = [f"{len(sizes)} sites of {rows} rows; {len(encoding.columns) - texts} columns of numbers, {texts} of texts."]
    if judged < AGREEING:
        number = f"{judged} {'site' if judged == 1 else 'sites'}"
        said.append(f"With {number} to judge one cannot tell, whatever is true: that takes {AGREEING} at least.")
    elif judged < FEWEST:
        said.append(
            f"With {judged} sites to judge there is no interval: one can tell only where all of them agree by more than "
            f"{MARGIN:g} points."
        )
    if float(np.median(sizes)) < 100:
        said.append("Most sites have fewer than 100 rows: a small difference between methods cannot be seen at one site.")
    return said


def without(found: Comparison, names: Sequence[str]) -> Comparison:
    """Return a comparison whose verdict is not drawn from some of its candidates; they are shown all the same."""
    others = {name: one for name, one in found.verdicts.items() if name not in names}
    return replace(found, verdict=chosen(others, found.scores))


def to_keep(found: Comparison) -> str:
    """Return the candidate to use: what helps, else the best pooled one that can be kept."""
    if found.verdict.word == "helps":
        return found.verdict.method
    pooled = [name for name in POOLED if name in found.scores and can_keep(name)]
    return max(pooled, key=lambda name: float(np.mean(found.scores[name])))


def advice(found: Comparison, method: str) -> list[str]:
    """Return what to do next, in sentences."""
    audit = found.audit
    said = _use(found, method)
    best = max(found.scores, key=lambda name: float(np.mean(found.scores[name])))
    if best == "pooled boosting" and method != best and not can_keep(best):
        said.append(
            "Pooled boosting did best here. Keeping it needs skops (pip install skops), or fit scikit-learn's on all rows."
        )
    if audit.flagged:
        said.append(f"Ask the sites what they write into {', '.join(audit.flagged[:5])}: its meaning differs between them.")
    said += _odd(audit)
    lonely = [name for name in audit.at_one_site if not _hardly_missing(name, found.table)]
    if lonely:
        said.append(f"{', '.join(lonely[:5])} varies at one site only: nothing else tells what it means.")
    return said


def _odd(audit: Disagreement) -> list[str]:
    """A sentence for the sites that are odd in the same columns."""
    sites: dict[tuple[str, ...], list[str]] = {}
    for name, columns in zip(audit.odd_sites, audit.odd_columns, strict=True):
        sites.setdefault(columns, []).append(name)
    return [
        f"Look at {', '.join(names)}: {_relations(columns, {*names} <= {*audit.odd_in_most})} unlike the other sites'."
        for columns, names in sites.items()
    ]


def _relations(columns: tuple[str, ...], most: bool) -> str:
    if most:
        return f"most relations to the target there ({', '.join(columns[:5])}{', ...' if len(columns) > 5 else ''}) are"
    named, one = listed(columns), len(columns) == 1
    return f"the relation of {named} to the target is" if one else f"the relations of {named} to the target are"


def _hardly_missing(name: str, table: Table) -> bool:
    """Of a column that says where a value is missing: whether that is so in too few rows to speak of."""
    return name.endswith(" missing") and float(np.nansum(table.x[:, table.names.index(name)])) < LEAST


def _use(found: Comparison, method: str) -> list[str]:
    if found.verdict.word != "helps" or method in POOLED:
        return [f"Use the {method} model."]
    means = {name: float(np.mean(scores)) for name, scores in found.scores.items()}
    screened = ", ".join(feature.column for feature in found.audit.features if feature.screened)
    if method == "screening" and screened:
        said = [f"Leave out {screened} and train any model you like on the pool: that is all it takes."]
        others = [name for name in means if name not in (*POOLED, *SIMPLE) and means[name] > means[method] - MORE]
        if others:
            said.append(f"{' and '.join(others)} came within a point of it: prefer leaving columns out, it is simpler.")
        return said
    if method == "screening":
        return [
            "Where a site was held out, screening left out columns that the others disagree about. The audit of all sites "
            "leaves out none, so that the kept model is the pooled network: look at the columns before you drop any."
        ]
    if "screening" not in means:
        return [
            "Use agreement. Dropping the columns that disagree was not tried beside it: it would be simpler if it did as well."
        ]
    if screened and means["screening"] > means[method] - MORE:
        return [f"Dropping {screened} gives the same within a point: prefer that, it is simpler."]
    return ["Use agreement. Dropping the columns that disagree was tried beside it and gave less."]


def _facts(found: Comparison, table: Table) -> dict[str, Any]:
    candidates = [
        {
            "name": name,
            "mean": float(np.mean(scores)),
            "interval": t_interval(scores),
            "worst": float(min(scores)),
            "scores": list(scores),
            "seconds": found.seconds[name],
            "verdict": found.verdicts[name].word if name in found.verdicts else "",
        }
        for name, scores in found.scores.items()
    ]
    audited = found.audit
    features = [dict(zip(("column", "score", "flagged", "screened", "signs"), one, strict=True)) for one in audited.features]
    return {
        "sentence": found.verdict.sentence,
        "word": found.verdict.word,
        "differences": dict(zip(found.sites, found.verdict.differences, strict=True)),
        "against": found.verdict.against,
        "method": found.verdict.method,
        "p": found.verdict.p,
        "others": [one.sentence for name, one in found.verdicts.items() if name != found.verdict.method],
        "unit": UNIT[found.task],
        "candidates": candidates,
        "held_out": list(found.sites),
        "sites": _sites(table),
        "classes": None if table.classes is None else [str(label) for label in table.classes],
        "rows": len(table.x),
        "features": features,
        "site_names": list(audited.sites),
        "odd": list(audited.odd_in_most),
        "lonely": list(audited.at_one_site),
        "notes": list(dict.fromkeys(found.notes)),
    }


def _sites(table: Table) -> list[dict[str, Any]]:
    means = [table.y[table.site == e].mean(0) for e in range(len(table.sites))]
    of_each = zip(table.sites, table.sizes, means, table.judged, strict=True)
    return [
        {"name": name, "rows": size, "base": [float(share) for share in mean], "judged": bool(judged)}
        for name, size, mean, judged in of_each
    ]


def _last_look(model: Model, inputs: Columns, target: NDArray[Any], rows: NDArray[np.bool_], name: str) -> str:
    predicted = model.predicted({column: values[rows] for column, values in inputs.items()})
    if model.classes is None:
        error = float(np.sqrt(np.mean((predicted - target[rows].astype(float)) ** 2)))
        return f"On {name}, which had no part in anything, the kept model's root mean squared error is {error:.4g}."
    known = target[rows].astype(str if isinstance(model.classes[0], str) else np.float64)  # as the classes are
    right = float(np.mean([(predicted[known == label] == label).mean() for label in np.unique(known)]))
    return f"On {name}, which had no part in anything, the kept model's balanced accuracy is {100 * right:.1f} points."
