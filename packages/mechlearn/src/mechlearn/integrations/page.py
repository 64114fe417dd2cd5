"""One HTML page of a history: what was found in sentences, the heat map of sources and layers, pairs, and sources over time."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path

from mechlearn.integrations.findings import Half, Signs, halves, rows_against, sentences
from mechlearn.integrations.measurements import Measurement

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;margin:auto;max-width:60rem;padding:1rem;color:#1e2228;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin:1.6rem 0 .3rem}p,li{max-width:44rem}.soft{color:#5b616b;font-size:.9rem}
div.wide{overflow-x:auto}table{border-collapse:collapse;font-size:.85rem;font-variant-numeric:tabular-nums}
th,td{padding:.25rem .5rem;text-align:right;white-space:nowrap}
th:first-child{text-align:left;position:sticky;left:0;background:#fff}
th{font-weight:600;max-width:11rem;overflow:hidden;text-overflow:ellipsis}thead th{border-bottom:1px solid #8a8f98}
.lines{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.8rem}figure{margin:0}
svg{width:100%;height:auto;background:#f6f7f8}figcaption{font-size:.85rem}.found li{margin:.3rem 0}
@media(max-width:30rem){th:first-child{min-width:7rem;max-width:7rem;white-space:normal;overflow-wrap:anywhere}}
"""

TRY = (
    "Train once without the source that you suspect, and once with half its weight. Compare the others' held-out losses.",
    "Look at its rows with the largest loss: labels, language, format.",
    "If the source should stay, train with a rule for several sources, such as mechlearn.agreement.AndMask.",
)


def written(history: Sequence[Measurement], noise: Mapping[Hashable, float], path: Path) -> Path:
    """Write the page of a history to a file and return its path.

    Args:
        history: the oldest first.
        noise: each source's noise scale, in rows.
        path: the file's. A missing folder is made.

    Raises:
        ValueError: if nothing was measured.
    """
    if not history:
        raise ValueError("A page should have a measurement to show. Found none. Call `step` in the training first.")
    found = next((half for half in halves(history) if half.against()), halves(history)[0])
    names = list(found.sources)
    count = f"{len(history)} measurement{'' if len(history) == 1 else 's'}"
    head = f"{count}, steps {history[0].step} to {history[-1].step}. Tables: those {found.when}."
    rows = (
        [name, *(_cell(row[s]) for s in names), f"{_conflict(found.history, name):.0%}"] for name, row in found.layers.items()
    )
    body = [
        f"<h1>Which sources pull against the others?</h1><p class=soft>{head}</p>",
        f"<ul class=found>{_items(sentences(history))}</ul>",
        f"<h2>What to try</h2><ul>{_items([*TRY, *_rows(found)])}</ul>" if found.against() else "",
        "<h2>Where: layer by source</h2><p class=soft>Mean cosine between the source's gradient and the mean of the others. "
        "Red is against them. Last column: components at which two sources have opposite signs.</p>",
        _table(["layer", *names, "sign conflict"], rows),
        "<h2>Sources</h2>",
        _table(
            ["source", "cosine", "negative", "last loss", "gradient norm", "noise scale, rows"],
            ([s, _cell(signs), f"{signs.negative} of {signs.count}", *_last(history, s), _number(noise.get(s, math.nan))]
             for s, signs in found.sources.items()),
        ),
        "<p class=soft>Noise scale: with so many rows of a source in a step, its noise equals its signal.</p>",
        "<h2>Pairs</h2><p class=soft>Mean cosine between two sources' gradients.</p>",
        _table(["", *names], ([s, *(_pair(found.pairs, s, other) for other in names)] for s in names)),
        f"<h2>Over time</h2><div class=lines>{''.join(_lines(history, s) for s in names)}</div>",
        "<h2>What this page cannot show</h2><p>A fault that all sources share. Which side of a conflict is right: two sound "
        "sources can pull apart. A source is named if its cosine is negative more often than chance explains. In runs without "
        "a conflict, chance names one in at most 5 %, if batches are drawn independently.</p>",
    ]  # fmt: skip
    path.parent.mkdir(parents=True, exist_ok=True)
    top = '<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width">'
    path.write_text(f"{top}<title>Sources</title><style>{STYLE}</style>\n" + "\n".join(body) + "\n", encoding="utf-8")
    return path


def _rows(half: Half) -> list[str]:
    named = {source: rows_against(half, source) for source in half.against()}
    return [
        f"Rows of source {source} that point most against the others, {half.when}: {', '.join(map(str, rows))}."
        for source, rows in named.items()
        if rows
    ]


class _Cell(str):
    """A coloured table cell, already HTML."""


def _cell(signs: Signs | None) -> _Cell:
    mean = signs.mean if signs else math.nan
    if not math.isfinite(mean):
        return _Cell("<td>")
    colour = "209,73,91" if mean < 0 else "11,110,158"
    return _Cell(f'<td style="background:rgba({colour},{min(1, abs(mean)) * 0.8:.2f})">{mean:+.2f}')


def _pair(pairs: Mapping[tuple[Hashable, Hashable], Signs], one: Hashable, other: Hashable) -> _Cell:
    return _cell(pairs.get((one, other), pairs.get((other, one))))


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    def cell(value: object, kind: str) -> str:
        return value if isinstance(value, _Cell) else f"<{kind} title='{escape(str(value))}'>{escape(str(value))}"

    top = "".join(cell(name, "th") for name in head)
    lines = ("<tr>" + cell(first, "th") + "".join(cell(value, "td") for value in rest) for first, *rest in rows)
    return f"<div class=wide><table><thead><tr>{top}<tbody>{''.join(lines)}</table></div>"


def _items(said: Iterable[str]) -> str:
    return "".join(f"<li>{escape(one)}" for one in said)


def _number(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "no signal" if value == math.inf else "unknown"


def _conflict(history: Sequence[Measurement], layer: str) -> float:
    found = [one.layers[layer].conflict for one in history if layer in one.layers]
    return sum(found) / len(found)


def _last(history: Sequence[Measurement], source: Hashable) -> tuple[str, str]:
    own = next(one.sources[source] for one in reversed(history) if source in one.sources)
    return f"{own.loss:.3g}", f"{own.norm:.3g}"


def _lines(history: Sequence[Measurement], source: Hashable) -> str:
    """Return a source's cosine over its steps, as a picture, with its first and last loss."""
    own = [(one.step, one.sources[source]) for one in history if source in one.sources]
    first, length = history[0].step, max(1, history[-1].step - history[0].step)
    dots = [(4 + 192 * (step - first) / length, 40 - 36 * one.cosine) for step, one in own if math.isfinite(one.cosine)]
    colours = (("#0b6e9e", "#d1495b")[y > 40] for _, y in dots)
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{c}"/>' for (x, y), c in zip(dots, colours, strict=True))
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    said = f"cosine with the others, -1 to 1; loss {own[0][1].loss:.3g} to {own[-1][1].loss:.3g}"
    return (
        f'<figure><svg viewBox="0 0 200 80" role=img aria-label="{escape(str(source))}"><path d="M0 40H200" stroke="#8a8f98" '
        f'stroke-width=".5"/><polyline points="{path}" fill="none" stroke="#b9bec6"/>{marks}</svg>'
        f"<figcaption><b>{escape(str(source))}</b>: {said}</figcaption></figure>"
    )
