"""The page on more machines: its script for Slurm is run with a made-up `mechlearn`, its submission by submitit's debugger."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2].joinpath("docs", "running", "scaling.md").read_text()


def test_the_script_for_slurm_runs_one_seed_in_a_folder_of_its_own(tmp_path):
    (script,) = [code for code in re.findall(r"```bash\n(.*?)```", PAGE, re.S) if "#SBATCH" in code]
    (tmp_path / "script.sh").write_text(script)
    stub = tmp_path / "mechlearn"
    stub.write_text('#!/bin/bash\necho "$@"\n')
    stub.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "SLURM_ARRAY_TASK_ID": "7"}
    done = subprocess.run(["bash", "script.sh"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "run spirals --preset paper --seed 7 --seeds 1 --jobs 1 --out runs/7\n"
    assert {"#SBATCH --signal=B:TERM@60", "#SBATCH --cpus-per-task=1", "#SBATCH --requeue"} <= set(script.splitlines())


@pytest.mark.extra("cluster", "submitit")
def test_seeds_are_submitted_and_run(tmp_path):
    (code,) = [code for code in re.findall(r"```python\n(.*?)```", PAGE, re.S) if "submitit" in code]
    call = 'print(submit(jobs("walker", 2, "--package", "fake_trainings", "--steps", "2"), "debug"))'
    (tmp_path / "submitting.py").write_text(f'{code}\nif __name__ == "__main__":\n    {call}\n')
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "submitting.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["[0, 0]"], done.stderr
    assert sorted(path.parts[-4] for path in tmp_path.glob("runs/*/walker/*/rows.jsonl.gz")) == ["0", "1"]
