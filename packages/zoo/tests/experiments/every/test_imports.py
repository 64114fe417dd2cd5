import re
from pathlib import Path

import claimlab
import mechlearn_zoo.experiments


def test_no_experiment_loads_what_draws():
    """A worker draws nothing, and matplotlib would be most of what it loads: annotations and functions name it alone."""
    (folder,) = mechlearn_zoo.experiments.__path__
    loading = [
        str(path)
        for path in [*Path(folder).rglob("*.py"), Path(claimlab.__file__).parent / "drawing.py"]
        if re.search(r"^(from|import) matplotlib", path.read_text(), re.MULTILINE)
    ]
    assert loading == []
