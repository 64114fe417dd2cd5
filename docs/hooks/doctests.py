"""Examples in docstrings stand in code blocks on the site, as they do in an editor."""

import re

from griffe import Extension, Object

BLOCK = re.compile(r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)", re.M)


class Doctests(Extension):
    """Fences every doctest of a docstring."""

    def on_instance(self, *, obj: Object, **_: object) -> None:
        """Called for everything that has a docstring."""
        if obj.docstring:
            obj.docstring.value = BLOCK.sub(lambda match: f"```pycon\n{match[0].rstrip()}\n```\n", obj.docstring.value)
