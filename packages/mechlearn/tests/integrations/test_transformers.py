"""Trainers of transformers that are watched train the same, and measure what a loop by hand does."""

import math
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.nn import functional

pytestmark = [pytest.mark.extra("integrations", "transformers", "accelerate"), pytest.mark.filterwarnings("ignore")]

NAMES = ["web", "books", "code"]
QUIET = {"use_cpu": True, "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no"}


def texts(count=64):
    """Rows of tokens from three sources; the third has its labels shuffled."""
    generator = torch.Generator().manual_seed(0)
    rows = []
    for i in range(count):
        words = torch.randint(0, 30, (12,), generator=generator)
        labels = words if i % 3 < 2 else words[torch.randperm(12, generator=generator)]
        rows.append({"input_ids": words.tolist(), "labels": labels.tolist(), "source": NAMES[i % 3]})
    return rows


def gpt2(**settings):
    from transformers import GPT2Config, GPT2LMHeadModel

    sizes = {"vocab_size": 30, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 16}
    return GPT2LMHeadModel(GPT2Config(**sizes, bos_token_id=0, eos_token_id=1, **settings))


def trained(tmp_path, watching, model=None, rows=None, losses_of=None, column="source", **settings):
    """Train 20 steps, and return the trainer and all states that a training leaves."""
    from transformers import Trainer, TrainingArguments, set_seed

    from mechlearn.integrations.transformers import watched

    set_seed(0)
    made = (model or gpt2)()
    kind = watched(Trainer, losses_of, column=column, every=5) if watching else Trainer
    settings = {"max_steps": 20, "per_device_train_batch_size": 6, **QUIET, **settings}
    trainer = kind(made, TrainingArguments(str(tmp_path), **settings), train_dataset=rows or texts())
    trainer.train()
    optimizer = [v for s in trainer.optimizer.state.values() for v in s.values() if isinstance(v, torch.Tensor)]
    tensors = [*made.state_dict().values(), *optimizer, torch.get_rng_state()]
    return trainer, tensors, (random.getstate(), np.random.get_state()[1].tolist())  # noqa: NPY002


def same(tmp_path, **settings):
    """Train with and without, and return the trainer that watched."""
    _, tensors, draws = trained(tmp_path, False, **settings)
    trainer, watched, others = trained(tmp_path, True, **settings)
    assert len(tensors) == len(watched)
    assert all(torch.equal(one, other) for one, other in zip(tensors, watched, strict=True))
    assert draws == others
    assert [one.step for one in trainer.sources.history] == list(range(0, trainer.state.global_step, 5))
    return trainer


def frozen():
    model = gpt2()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_("h.1" in name)
    return model


@pytest.mark.parametrize(
    "settings",
    [
        {"gradient_accumulation_steps": 2, "max_grad_norm": 0.1},
        {"bf16": True},
        {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}},
        {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": True}},
        {"model": frozen},
        {"remove_unused_columns": False},
        {"dataloader_num_workers": 1, "max_steps": 6},
    ],
    ids=["accumulated and clipped", "bf16", "checkpointing", "reentrant", "frozen", "all columns", "workers"],
)
@pytest.mark.usefixtures("as_installed")  # the type checker of the tests draws random numbers
def test_a_watched_training_is_the_same_bit_for_bit(settings, tmp_path):
    trainer = same(tmp_path, **settings)
    logged = [one for one in trainer.state.log_history if any(name.startswith("sources/") for name in one)]
    assert [one["step"] for one in logged] == [one.step for one in trainer.sources.history]
    assert (tmp_path / "sources.html").read_text().startswith("<!doctype html>")
    if settings.get("model") is frozen:
        assert set(trainer.sources.history[0].layers) == {"transformer.h.1"}


@pytest.mark.usefixtures("as_installed")
def test_a_compiled_training_is_the_same_bit_for_bit(tmp_path):
    same(tmp_path, torch_compile=True, torch_compile_backend="aot_eager", max_steps=6)
    torch._dynamo.reset()


@pytest.mark.parametrize("precision", [{}, {"bf16": True}], ids=["float32", "bf16"])
def test_a_measurement_is_that_of_the_model_s_own_batch(precision, tmp_path):
    """The first one, of the first micro-batch, by a backward pass for each source."""
    from transformers import Trainer

    seen = []

    class Seeing(Trainer):
        def compute_loss(self, model, inputs, *args, **kwargs):
            seen.append({name: value.clone() for name, value in inputs.items()})
            seen[-1]["state"] = {name: p.clone() for name, p in model.state_dict().items()}
            return super().compute_loss(model, inputs, *args, **kwargs)

    from transformers import TrainingArguments, set_seed

    from mechlearn.integrations.transformers import watched

    set_seed(0)
    model = gpt2(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    rows = [{**row, "source": i % 2} for i, row in enumerate(texts())]
    arguments = TrainingArguments(str(tmp_path), max_steps=1, gradient_accumulation_steps=2, **QUIET, **precision)
    trainer = watched(Seeing)(model, arguments, train_dataset=rows)
    trainer.train()
    (found,), first = trainer.sources.history, seen[0]
    model.load_state_dict(first["state"])
    ids = [next(row["source"] for row in rows if row["input_ids"] == words) for words in first["input_ids"].tolist()]
    gradients = []
    for source in (0, 1):
        own = torch.tensor([i for i, one in enumerate(ids) if one == source])
        with torch.autocast("cpu", torch.bfloat16, enabled=bool(precision)):
            logits = model(input_ids=first["input_ids"][own]).logits.float()
        losses = functional.cross_entropy(logits[:, :-1].flatten(0, 1), first["labels"][own][:, 1:].flatten())
        gradients.append(torch.cat([g.flatten() for g in torch.autograd.grad(losses, list(model.parameters()))]))
        near = 0.02 if precision else 1e-5
        assert found.sources[source].loss == pytest.approx(losses.item(), rel=near)
        assert found.sources[source].norm == pytest.approx(gradients[-1].norm().item(), rel=near)
    cosine = torch.cosine_similarity(*gradients, dim=0).item()
    assert found.pairs[0, 1] == pytest.approx(cosine, abs=0.02 if precision else 1e-5)


def labelled(kind):
    from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

    sizes = {"vocab_size": 30, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    generator = torch.Generator().manual_seed(0)
    words = torch.randint(0, 30, (6, 5), generator=generator)
    if kind == "masked":
        labels = words.masked_fill(torch.rand(6, 5, generator=generator) < 0.5, -100)
        return BertForMaskedLM(BertConfig(**sizes)), words, labels
    if kind == "causal":
        return gpt2(), words, words.masked_fill(torch.arange(5) < torch.arange(6)[:, None], -100)
    count = {"classes": 3, "regression": 1, "regressions": 3, "several": 3}[kind]
    problem = {"several": "multi_label_classification", "regressions": "regression"}.get(kind)
    labels = {
        "classes": torch.arange(6) % 3,
        "regression": torch.randn(6, generator=generator),
        "regressions": torch.randn(6, 3, generator=generator),
        "several": torch.randint(0, 2, (6, 3), generator=generator).float(),
    }[kind]
    return BertForSequenceClassification(BertConfig(**sizes, num_labels=count, problem_type=problem)), words, labels


@pytest.mark.parametrize("kind", ["masked", "causal", "classes", "regression", "regressions", "several"])
def test_a_row_s_loss_is_the_model_s_own_of_that_row_alone(kind):
    from mechlearn.integrations.transformers import row_losses

    model, words, labels = labelled(kind)
    model.eval()
    found = row_losses(model, {"input_ids": words, "labels": labels})
    for row in range(6):
        own = model(input_ids=words[row : row + 1], labels=labels[row : row + 1]).loss
        expected = 0.0 if own.isnan() else own.item()  # of no labelled token
        assert found[row].item() == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_other_losses_are_told(tmp_path):
    from mechlearn.integrations.transformers import row_losses

    model = gpt2()
    with pytest.raises(ValueError, match="labels"):
        row_losses(model, {"input_ids": torch.zeros(2, 3, dtype=torch.long)})
    model.loss_function = lambda logits, labels, **kwargs: logits.square().mean()
    with pytest.raises(TypeError, match="losses_of"):
        row_losses(model, {"input_ids": torch.ones(2, 3, dtype=torch.long), "labels": torch.ones(2, 3, dtype=torch.long)})


def test_a_function_of_one_s_own(tmp_path):
    def losses_of(model, inputs):
        return model(input_ids=inputs["input_ids"]).logits.square().mean((1, 2))

    trainer, *_ = trained(tmp_path, True, losses_of=losses_of, max_steps=1)
    assert trainer.sources.history[0].sources["web"].loss < 0.1


def test_ids_of_rows_reach_a_measurement_if_each_row_has_one(tmp_path):
    rows = [{**row, "example_ids": f"line {i}"} for i, row in enumerate(texts())]
    for given in (rows, [texts()[0], *rows[1:]]):
        trainer, *_ = trained(tmp_path, True, rows=given, max_steps=1, per_device_train_batch_size=64)
        found = trainer.sources.history[0].sources["code"].against
        assert bool(found) == (given is rows)
        assert all(int(name.split()[1]) % 3 == 2 for name in found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"source": None}, "Found none"),
        ({"source": ""}, "Found none"),
        ({"source": 1.0}, r"Found 1\.0"),
        ({"source": math.nan}, "Found nan"),
        ({"source": ["web", "code"]}, "do not pack"),
        ({"source": torch.tensor([0, 1])}, "do not pack"),
    ],
)
def test_bad_ids_are_told(change, said, tmp_path):
    rows = texts()
    rows[0] = {**rows[0], **change}
    with pytest.raises(ValueError, match=said):
        trained(tmp_path, True, rows=rows, per_device_train_batch_size=64)


@pytest.mark.usefixtures("as_installed")
def test_a_batch_without_ids_and_a_class_that_is_none_are_told(tmp_path):
    from mechlearn.integrations.transformers import watched

    for rows, said in ((texts(), "The data set"), (dict(enumerate(texts())), "Each batch")):  # columns are known, or not
        with pytest.raises(ValueError, match=f"{said} should have the rows' sources in 'site'. Found 'input_ids'"):
            trained(tmp_path, True, column="site", rows=rows)
    with pytest.raises(TypeError, match="`trainer` should be a class"):
        watched(3)


def test_logged_but_not_printed(tmp_path, capsys):
    trainer, *_ = trained(tmp_path, True, logging_strategy="steps", logging_steps=10)
    printed = capsys.readouterr().out
    assert "'loss'" in printed
    assert "sources/" not in printed
    assert sum(any(name.startswith("sources/") for name in one) for one in trainer.state.log_history) == 4


def test_reduced_losses_are_told(tmp_path):
    with pytest.raises(ValueError, match="already reduced"):
        trained(tmp_path, True, losses_of=lambda model, inputs: model(**inputs).loss)


def test_evaluation_does_not_see_the_ids(tmp_path):
    from transformers import Trainer, TrainingArguments

    from mechlearn.integrations.transformers import watched

    found = []
    for kind, rows in ((Trainer, texts()), (watched(Trainer), texts()), (watched(Trainer), [{**r} for r in texts()])):
        torch.manual_seed(0)
        trainer = kind(gpt2(), TrainingArguments(str(tmp_path), **QUIET), eval_dataset=rows)
        found.append(trainer.evaluate()["eval_loss"])
    assert found[0] == found[1] == found[2]


RANKS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_transformers import trained
watching = sys.argv[2] == "yes"
folder = Path(sys.argv[3])
trainer, tensors, _ = trained(folder, watching)
found = [float(t.double().sum()) for t in tensors]
ids = [{k: v.rows for k, v in one.sources.items()} for one in trainer.sources.history] if watching else []
(folder / f"{sys.argv[2]}-{trainer.args.process_index}.json").write_text(json.dumps([found, ids]))
"""


def test_two_ranks_train_the_same_and_each_measures_its_own_batch(tmp_path):
    import json
    from pathlib import Path

    (tmp_path / "ranks.py").write_text(RANKS)
    for watching in ("no", "yes"):
        command = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(tmp_path / "ranks.py"),
        ]  # fmt: skip
        done = subprocess.run(
            [*command, str(Path(__file__).parent), watching, str(tmp_path)],
            env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr[-4000:]
    found = {name: json.loads((tmp_path / f"{name}.json").read_text()) for name in ("no-0", "no-1", "yes-0", "yes-1")}
    assert found["no-0"][0] == found["yes-0"][0]
    assert found["no-1"][0] == found["yes-1"][0]
    assert len(found["yes-0"][1]) == len(found["yes-1"][1]) == 4
    assert all(sum(rows.values()) == 6 for rows in found["yes-0"][1])
    assert (tmp_path / "sources.html").is_file()
