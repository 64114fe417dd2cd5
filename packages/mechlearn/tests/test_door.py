import re
import subprocess
import sys
from pathlib import Path

import pytest

import mechlearn

SOURCE = Path(mechlearn.__file__).parent

EARLY = """
import sys, mechlearn.__main__ as door

class Pressed:
    def find_spec(self, name, path=None, target=None):
        if name == "mechlearn.cli":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Pressed())
sys.exit(door.main())
"""


def test_dir_is_the_table_of_contents():
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    assert {*dir(mechlearn)} == rooms - {"__init__", "__main__"} | {"__version__"}


@pytest.mark.parametrize("room", [room for room in dir(mechlearn) if not room.startswith("_")])
def test_every_room_has_a_sentence(room: str):
    assert (getattr(mechlearn, room).__doc__ or "").strip()


def test_nothing_heavy_is_loaded_before_a_room_is_named():
    loaded = "import sys, mechlearn; print([name for name in ('torch', 'numpy', 'matplotlib') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_ctrl_c_in_the_first_second_is_a_sentence():
    done = subprocess.run([sys.executable, "-c", EARLY], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "mechlearn: stopped by Ctrl-C\n")


def test_without_an_extra_its_name_is_said():
    alone = "import sys; sys.modules['sklearn'] = None; import mechlearn.tables"
    done = subprocess.run([sys.executable, "-c", alone], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].endswith("Found none. Run: pip install 'mechlearn[tables]'.")


def test_a_missing_name_says_what_there_is():
    with pytest.raises(AttributeError, match="agreement, "):
        _ = mechlearn.nonsense


def test_what_an_editor_completes_is_what_there_is():
    named = set(re.findall(r"from mechlearn import (\w+) as \1", Path(mechlearn.__file__).read_text()))
    assert named | {"__version__"} == set(dir(mechlearn))
