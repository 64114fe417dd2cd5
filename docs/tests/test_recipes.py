"""Each recipe trains the same board to the same survivors as the plain loop, also where its launcher starts it.

MECHLEARN_RANKS says on how many processes, 2 if left out.
"""

import json
import os
import re
import signal
import subprocess
import sys
import types
import warnings
from pathlib import Path

import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

import oracles
from held_oracles import whole_gradients
from mechlearn.agreement import Agreement, AndMask
from mechlearn.nn.perceptrons import mlp
from mechlearn_zoo.tasks.boards.spirals import Shortcuts, spirals

FOLDER = Path(__file__).parents[2] / "docs" / "recipes"
NEEDS = re.compile(r"<!-- needs the extra (\w+): ([\w, ]+) -->")
FENCE = re.compile(r"^```(python|py)[^\n]*\n(.*?)^```$", re.M | re.S)


def page(path):
    needs = NEEDS.search(path.read_text())
    marks = [pytest.mark.extra(needs[1], *needs[2].split(", "))] if needs else []
    return pytest.param(path, marks=marks, id=path.stem)


@pytest.fixture(scope="module")
def plain():
    x, y, site = spirals(0, environments=4, examples=64, shortcuts=Shortcuts(4)).train
    model = mlp(6, 1, torch.Generator().manual_seed(0), hidden=32)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    found = []
    with Agreement(model, AndMask(threshold=1.0)) as agreement:
        for _ in range(20):
            optimizer.zero_grad()
            losses = binary_cross_entropy_with_logits(model(x)[:, 0], y, reduction="none")
            found.append(agreement.backward(losses, site))
            optimizer.step()
    return found


def close(found, plain):
    """Compare shares of parameters, or of all of them, with those of the plain loop's records."""
    expected = [one.share_by_parameter if isinstance(found[0], dict) else {"": one.share} for one in plain]
    found = [one if isinstance(one, dict) else {"": one} for one in found]
    ours, theirs = (torch.tensor([[step[name] for name in sorted(step)] for step in steps]) for steps in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-6)


@pytest.mark.parametrize("path", [page(path) for path in sorted(FOLDER.glob("*.md")) if "survivors" in path.read_text()])
def test_the_same_survivors(path, plain, tmp_path, monkeypatch):
    module = types.ModuleType(f"recipe_{path.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(), torch.random.fork_rng(devices=[]):
        warnings.simplefilter("ignore")  # other people's
        for language, code in FENCE.findall(path.read_text()):
            if language == "python":
                exec(compile(code, path, "exec"), vars(module))
    lists = [value for value in vars(module).values() if isinstance(value, list) and value and "0.weight" in str(value[0])]
    for found in (module.survivors, *lists):
        close(found, plain)


RANKS = int(os.environ.get("MECHLEARN_RANKS", "2"))
ROOT = Path(__file__).parents[2]
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS))
ACCELERATE = (
    "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", str(RANKS), "--num_machines", "1",
    "--mixed_precision", "no", "--dynamo_backend", "no", "--main_process_port", "0",
)  # fmt: skip

FOUND = """
import json, os, pathlib, sys
rank = os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))
pathlib.Path(f"found-{rank}.json").write_text(json.dumps(FOUND))
sys.stdout.flush()
sys.stderr.flush()
os._exit(0)
"""
"""What the tests add to a script: each process says what it found, and goes without Python's tear-down.

torch's wrapped models keep the threads of their process group past destroy_process_group. On a loaded machine a process that
was done has aborted while its interpreter ended.
"""


def script(name, number=0):
    """A page's script: its block with a title, the first unless told, or else its Python."""
    found = FENCE.findall((FOLDER / f"{name}.md").read_text())
    titled = [code for language, code in found if language == "py"]
    return titled[number] if titled else "\n".join(code for language, code in found if language == "python")


def launch(code, found, launcher, arguments, folder):
    """Start a script as a shell would, and return what each of its processes found."""
    (folder / "train.py").write_text(code + FOUND.replace("FOUND", found))
    source = os.pathsep.join(map(str, ROOT.glob("packages/*/src")))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": source, "TRANSFORMERS_OFFLINE": "1"}
    command = [sys.executable, *launcher, "train.py", *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, **pipes) as started:
        try:
            said, _ = started.communicate(timeout=560)
        finally:
            if started.poll() is None:
                os.killpg(started.pid, signal.SIGTERM)  # a launcher ends what it has started
    assert started.returncode == 0, said[-8000:]
    return [json.loads((folder / f"found-{rank}.json").read_text()) for rank in range(RANKS)]


@pytest.mark.parametrize("wrapper", ["ddp", "fsdp2"])
def test_torchrun(plain, wrapper, tmp_path):
    for found in launch(script("plain"), "survivors", TORCHRUN, [wrapper], tmp_path):
        close(found, plain)


@pytest.mark.extra("integrations", "accelerate")
def test_accelerate(plain, tmp_path):
    for found in launch(script("accelerate"), "survivors", ACCELERATE, [], tmp_path):
        close(found, plain)


@pytest.mark.extra("integrations", "lightning")
def test_lightning(plain, tmp_path):
    code = script("lightning")
    assert "DEVICES = 1 " in code
    for found in launch(code.replace("DEVICES = 1 ", f"DEVICES = {RANKS} "), "survivors", (), [], tmp_path):
        close(found, plain)


STEPS, PASSES = 5, 2
ARGUMENTS = [
    "--output_dir", "runs", "--use_cpu", "--gradient_checkpointing", "--max_steps", str(STEPS), "--optim", "sgd",
    "--learning_rate", "0.3", "--report_to", "none", "--save_strategy", "no", "--disable_tqdm", "true",
]  # fmt: skip


def end_to_end(parameters):
    return torch.cat([torch.as_tensor(parameter).detach().flatten() for parameter in parameters])


class Literal:
    """What an `Agreement` is by its definition, of all of a step's micro-batches; a stand-in for it in a recipe."""

    def __init__(self, model, rule):
        assert rule.threshold == 0.6
        self.model, self.parameters, self.calls = model, list(model.parameters()), []
        self.start = end_to_end(model.parameters())

    def accumulate(self, losses, site, hold):
        self.calls.append((losses, site))

    def backward(self, losses, site, hold):
        self.accumulate(losses, site, hold)
        stacks = whole_gradients(self.calls, self.parameters)
        for parameter, stack in zip(self.parameters, stacks, strict=True):
            parameter.grad = oracles.combine("and-mask", stack, "0.6")[0]
        self.calls.clear()


def defined(monkeypatch, folder, precision):
    """Where the recipe's model starts and ends on one process, which sees all processes' micro-batches."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["train.py", *ARGUMENTS, "--gradient_accumulation_steps", str(PASSES * RANKS), *precision])
    monkeypatch.setattr("mechlearn.integrations.transformers.Agreement", Literal)
    namespace = {"__name__": "recipe"}
    exec(compile(script("transformers"), "train.py", "exec"), namespace)
    trainer = namespace["main"]()
    return trainer.agreement.start, end_to_end(trainer.model.parameters())


@pytest.mark.extra("integrations", "transformers", "accelerate")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("precision", "near"), [([], 1e-5), (["--bf16"], 0.1)], ids=["float32", "bfloat16"])
def test_trainer(precision, near, tmp_path, monkeypatch):
    """Shuffled batches on all processes, accumulated, with gradient checkpointing."""
    found = "[parameter.tolist() for parameter in trainer.model.parameters()]"
    arguments = [*ARGUMENTS, "--gradient_accumulation_steps", str(PASSES), *precision]
    processes = launch(script("transformers"), found, TORCHRUN, arguments, tmp_path)
    assert all(other == processes[0] for other in processes)
    start, expected = defined(monkeypatch, tmp_path, precision)
    assert (end_to_end(processes[0]) - expected).norm() < near * (expected - start).norm()


class LiteralAnchor(Literal):
    """The same for `Anchored`: the second gradient is added where it has the sign of the first."""

    def __init__(self, model, rule):
        assert (rule.anchor, rule.weight) == ("reward", 0.3)
        super().__init__(model, types.SimpleNamespace(threshold=0.6))

    def backward(self, losses, site, hold):
        self.accumulate(losses, site, hold)
        for parameter, (trusted, other) in zip(self.parameters, whole_gradients(self.calls, self.parameters), strict=True):
            parameter.grad = trusted + 0.3 * other * (trusted * other > 0)
        self.calls.clear()


@pytest.mark.extra("trl", "trl")
@pytest.mark.filterwarnings("ignore")
def test_trl(tmp_path, monkeypatch):
    """On one process the recipe takes the steps of the definition; on several, all processes end with the same model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["train.py", "4"])
    ends = []
    for stand_in in (None, LiteralAnchor):
        namespace = {"__name__": "recipe"}
        exec(compile(script("trl"), "train.py", "exec"), namespace)
        if stand_in:
            namespace["Agreement"] = stand_in
        trainer = namespace["main"]()
        ends.append(end_to_end(trainer.model.parameters()))
    start = trainer.agreement.start
    assert not torch.equal(ends[0], start)
    assert (ends[0] - ends[1]).norm() < 1e-4 * (ends[1] - start).norm()
    found = "[parameter.tolist() for parameter in trainer.model.parameters()]"
    processes = launch(script("trl"), found, TORCHRUN, ["4"], tmp_path)
    assert all(other == processes[0] for other in processes)


@pytest.mark.extra("trl", "trl", "peft")
@pytest.mark.filterwarnings("ignore")
def test_sft(tmp_path):
    """An adapter trains with a rule on several processes, all of which end with the same one, and the rest stays as it is."""
    found = "[trainer.record.paths, [p.tolist() for p in trainer.model.parameters() if p.requires_grad]]"
    processes = launch(script("transformers", 1), found, TORCHRUN, [], tmp_path)
    assert all(other == processes[0] for other in processes)
    assert all("lora" in name and path == "layer" for name, path in processes[0][0].items())
    assert "measurements" in (tmp_path / "runs" / "sources.html").read_text()
