"""Templates: what is shown of runs, as a page of HTML or as Markdown, by one renderer."""

from __future__ import annotations

import base64
import functools
import html
from collections.abc import Mapping
from typing import Any

import jinja2

from claimlab.claims import FAILED
from claimlab.showing import wording
from claimlab.showing.evidence import confirmed_cell, confirmed_words, made_words, older_words

WORDS: dict[str, Any] = {
    "signs": wording.SIGNS,
    "failed": FAILED,
    "kinds": wording.KINDS,
    "numbers": wording.numbers,
    "spread": wording.spread,
    "crosses": wording.crosses,
    "tallied": wording.tallied,
    "counted": wording.counted,
    "times": wording.times,
    "made": made_words,
    "confirmed": confirmed_words,
    "confirmed_cell": confirmed_cell,
    "older": older_words,
}
"""What every template may say."""


def render(template: str, values: Mapping[str, Any]) -> str:
    """Return a template of the folder `templates`, filled in.

    Sentences of experiments are text, whatever they contain: HTML is escaped by the renderer, as are
    control characters and what turns the direction of reading; cells of Markdown by `cell`.
    """
    return _environment().get_template(template, globals=WORDS).render(values)


@functools.cache
def _environment() -> jinja2.Environment:
    """Return the renderer, which compiles each template once a process: a hundred pages have one."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("claimlab.showing", "templates"),
        autoescape=jinja2.select_autoescape(enabled_extensions=("html.jinja",), default=False),
        undefined=jinja2.StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        number=wording.number, duration=wording.duration, spent=wording.spent, numerals=wording.numerals, cell=cell, code=code
    )
    return environment


def _seen(value: object) -> object:
    """Return a text without what a terminal or a browser would obey; what the renderer has made is not touched."""
    return wording.plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def data_uri(file: str, content: bytes) -> str:
    """Return a picture's content as an address, by its file's ending."""
    kind = "gif" if file.endswith(".gif") else "svg+xml"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def cell(text: str) -> str:
    """Return text as Markdown's tables take it: on one line, no bar that ends the cell, nothing that reads as a tag or link."""
    shown = html.escape(" ".join(wording.plain(text).split()), quote=False)
    return shown.replace("|", "\\|").replace("](", "]\\(")


def code(text: str) -> str:
    """Return text between two backticks: on one line, without a backtick that would end it, or a bar that would end a cell."""
    return " ".join(wording.plain(text).split()).replace("`", "'").replace("|", "\\|")
