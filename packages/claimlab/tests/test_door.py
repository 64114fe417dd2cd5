"""The package's door: what is slow is loaded when it is needed, and Ctrl-C is a sentence while commands still load."""

import subprocess
import sys

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


def test_nothing_heavy_is_loaded_before_a_command_needs_it():
    code = "import sys, claimlab.__main__; sys.argv = ['claimlab', 'list']; claimlab.__main__.main(); "
    code += "print({'torch', 'scipy', 'matplotlib', 'optuna', 'jinja2', 'rich'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_door_has_the_names_that_it_says():
    assert all(getattr(claimlab, name) is not None for name in claimlab.__all__)
