"""What a method is after: one line `PAPER = Paper(...)` in its file, from which a field's table is read."""

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules


@dataclass(frozen=True)
class Paper:
    """A method's source.

    Args:
        name: what the method is called.
        year: of publication.
        reference: authors and place in the text, for example "Arjovsky et al., equation IRMv1".
        url: of the text.
        cost: what a step takes beside an ordinary one, in a few words.
    """

    name: str
    year: int
    reference: str
    url: str
    cost: str


def papers(field: str) -> dict[str, Paper]:
    """Return the papers of a field's methods by their file's name, the oldest first.

    Args:
        field: a folder of `mechlearn_zoo.methods`, for example "control".

    >>> "vtrace" in papers("control")
    True
    """
    package = import_module(f"mechlearn_zoo.methods.{field}")
    names = [module.name for module in iter_modules(package.__path__)]
    found = {name: getattr(import_module(f"mechlearn_zoo.methods.{field}.{name}"), "PAPER", None) for name in names}
    known = {name: paper for name, paper in found.items() if isinstance(paper, Paper)}
    return dict(sorted(known.items(), key=lambda item: item[1].year))


def table(field: str) -> str:
    """Return a field's table in Markdown, as its page in docs/methods has it."""
    lines = ["| method | source | cost |", "|---|---|---|"]
    for name, paper in papers(field).items():
        lines.append(
            f"| {paper.name} (`mechlearn_zoo.methods.{field}.{name}`) "
            f"| [{paper.reference}]({paper.url}), {paper.year} | {paper.cost} |"
        )
    return "\n".join(lines)
