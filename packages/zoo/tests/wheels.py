"""Tries the three wheels where no file of the checkout is at hand: `python wheels.py FOLDER PYTHON`, called by `make wheel`."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

TRAIN = """
import torch
from mechlearn.agreement import Agreement, AndMask

site = torch.arange(64) % 4
x = torch.randn(64, 8, generator=torch.Generator().manual_seed(0))
y = (x[:, :1] > 0).float()
torch.manual_seed(0)
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
def loss():
    return torch.nn.functional.binary_cross_entropy_with_logits(model(x), y, reduction="none")[:, 0]
before = loss().mean().item()
with Agreement(model, AndMask(threshold=0.5)) as agreement:
    for _ in range(100):
        optimizer.zero_grad()
        agreement.backward(loss(), environments=site)
        optimizer.step()
assert loss().mean().item() < before / 2, (before, loss().mean().item())
import mechlearn.agreement.kernels.compiled
"""
"""The README's loop, on numbers that are drawn."""


def main(folder: Path, python: str) -> None:
    """Install and try the library alone, then with tables, then everything."""
    wheels = {path.name.partition("-")[0]: path.resolve() for path in folder.glob("*.whl")}
    assert sorted(wheels) == ["claimlab", "mechlearn", "mechlearn_zoo"], wheels
    held = zipfile.ZipFile(wheels["mechlearn"]).namelist()
    assert not [name for name in held if "test_" in name or "experiments" in name or "results/" in name]
    assert "mechlearn/py.typed" in held
    subprocess.run([python, "-m", "venv", "venv"], cwd=folder, check=True)
    constraints = Path("constraints.txt").resolve()

    def install(*words: str) -> None:
        pip = [folder / "venv" / "bin" / "pip", "install", "--quiet", "--no-compile", "--constraint", constraints]
        subprocess.run([*pip, *words], check=True)

    def told(*words: str, status: int = 0) -> str:
        bare = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        command = ["venv/bin/" + words[0], *words[1:]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=bare)
        assert done.returncode == status, (words, done.stdout, done.stderr)
        return done.stdout + done.stderr

    install(str(wheels["mechlearn"]))
    told("python", "-c", TRAIN)
    said = told("mechlearn", "run", "spirals", status=1)
    assert said.count("\n") == 1, said
    assert "pip install ./packages/claimlab ./packages/zoo" in said, said
    install(f"{wheels['mechlearn']}[tables]")
    lines = [f"{number % 3},{number % 7},{(number * 5) % 11},{int(number % 7 > 3)}" for number in range(120)]
    (folder / "data.csv").write_text("\n".join(["site,a,b,y", *lines]) + "\n")
    told(
        "mechlearn", "fit", "agreement", "data.csv", "--target", "y", "--environment", "site", "--budget", "0.1", "--out", "fit"
    )
    assert (folder / "fit" / "report.html").is_file()
    told("mechlearn", "predict", "fit/model", "data.csv", "--out", "predicted.csv")
    install(*map(str, wheels.values()))
    small = ("--seeds", "1", "--epochs", "2", "--examples", "128", "--environments", "4", "--out", "runs")
    told("mechlearn", "run", "spirals", *small)
    told("mechlearn", "report", "runs")
    assert "spirals" in told("mechlearn", "list")
    told("pip", "check")
    assert "Pass --package." in told("claimlab", "list", status=2)
    print("the library trains alone; with [tables] it fits and predicts; all three run the main experiment")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
