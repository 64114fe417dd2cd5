"""Functions make their own tensors beside their inputs: their tests, with inputs on a device that is pretended."""

import os
import subprocess
import sys
from pathlib import Path

PACKAGES = Path(__file__).parents[2]

FILES = [
    *(
        f"zoo/tests/methods/control/test_{name}.py"
        for name in ("counterfactual", "empowerment", "entropy", "one_shot", "popart", "reachability")
    ),
    *(
        f"zoo/tests/methods/language/test_{name}.py"
        for name in ("eager", "grammar", "masked", "ngrams", "schemas", "seqgan", "trellis")
    ),
    "zoo/tests/methods/robustness/test_poisoning.py",
    "zoo/tests/methods/robustness/test_reprogramming.py",
    "zoo/tests/methods/worlds/test_forward_models.py",
    "zoo/tests/nn/test_graphs.py",
    "mechlearn/tests/skips/matchings/test_soft.py",
    "zoo/tests/test_finite.py",
]
"""`make device` runs more, of which some fail for what the pretence cannot know."""

SLOW = (
    *("lemma_one_by_enumeration", "keep_every_rule", "ten_thousand_updates"),
    *(f"literal_iteration[{count}]" for count in (0, 3, 4, 5)),
    *("gradient_is_that_of_full_retraining", "decay_makes_poison_weaker", "is_rescaled_when_asked"),
    *("posterior_is_enumerated[0]", "its_law_is_the_released_codes", "trajectories_sum_to_the_expected_return"),
    *("learns_what_is_close", "learns_to_copy", "right_on_associative_items_only"),
)
"""What calls much, which the pretence makes slow; `make device` runs it."""


def test_tensors_lie_beside_the_inputs():
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=short"]
    command += ["-o", "addopts=--import-mode=importlib --strict-markers --strict-config"]  # shapes are looked at elsewhere
    done = subprocess.run(
        [*command, "-k", f"not ({' or '.join(SLOW)})", *(str(PACKAGES / name) for name in FILES)],
        env=os.environ | {"MECHLEARN_DEVICE": "pretended"},
        cwd=PACKAGES.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]


MIXED = """
import torch
def made_by_the_library(x):
    return x + torch.arange(len(x))
"""


def test_what_mixes_devices_fails_where_one_is_pretended(tmp_path):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent / "made_up")!r})
import torch
from on_device import SOURCE, TESTS, Pretended
with Pretended():
    mixed = {{}}
    exec(compile({MIXED!r}, SOURCE[0] + "/mixed.py", "exec"), mixed)
    own = {{}}
    exec(compile("import torch; x = torch.ones(3); y = x.cpu()", TESTS[0] + "/own.py", "exec"), own)
    assert own["x"].device.type == "cuda" and own["y"].device.type == "cpu"
    mixed["made_by_the_library"](own["y"])
    try:
        mixed["made_by_the_library"](own["x"])
    except RuntimeError as error:
        assert "cuda:0 and cpu! (pretended, add)" in str(error)
    else:
        raise SystemExit("nothing was said")
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, cwd=tmp_path)
