"""The package's door: names are loaded when they are used, and Ctrl-C is a sentence while commands still load."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import claimlab

EARLY = """
import sys, claimlab.__main__ as door

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "claimlab.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
sys.exit(door.main())
"""


def test_ctrl_c_in_the_first_second_is_a_sentence():
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "claimlab: stopped by Ctrl-C\n")


def test_nothing_heavy_is_loaded_before_a_name_is_used():
    heavy = "{'torch', 'scipy', 'matplotlib', 'optuna', 'jinja2', 'rich'}"
    code = f"import sys, claimlab.__main__; print(({heavy} | {{'numpy'}}) & set(sys.modules)); "
    code += f"sys.argv = ['claimlab', 'list']; claimlab.__main__.main(); print({heavy} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\nset()\n"


def test_what_an_editor_completes_is_what_there_is():
    named = re.findall(r"^    from ([\w.]+) import (\w+) as \2$", Path(claimlab.__file__).read_text(), re.MULTILINE)
    assert {(f"claimlab.{module}", name) for name, module in claimlab._WHERE.items()} == set(named)
    assert all(getattr(claimlab, name) is not None for _, name in named)
    assert {name for _, name in named} <= set(dir(claimlab))
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = claimlab.nonsense
