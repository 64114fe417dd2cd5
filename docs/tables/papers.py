"""Writes the table of methods into each field's page, docs/methods/FIELD.md, from the files' lines `PAPER`.

`python docs/tables/papers.py`, of which `make pages` is one more way.
"""

import re
from pathlib import Path

from mechlearn_zoo.methods.paper import table

PAGES = Path(__file__).parents[1] / "methods"
FOUND = re.compile(r"\| method \| source \| cost \|\n(?:\|.*\n)+")


def main() -> None:
    """Put each field's table in the place of the one that its page has."""
    for page in sorted(PAGES.glob("*.md")):
        text = page.read_text(encoding="utf-8")
        if FOUND.search(text):
            page.write_text(FOUND.sub(lambda _, field=page.stem: f"{table(field)}\n", text, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
