"""Trainers of transformers that train with a rule take the steps of an `Agreement` written out by hand, bit for bit."""

import pytest
import torch
from torch.nn import functional

from mechlearn.agreement import Agreement, AndMask

pytestmark = [pytest.mark.extra("integrations", "transformers", "accelerate"), pytest.mark.filterwarnings("ignore")]

RULE = AndMask(threshold=1.0)
QUIET = {"use_cpu": True, "report_to": "none", "save_strategy": "no", "disable_tqdm": True, "logging_strategy": "no"}
PLAIN = {"optim": "sgd", "learning_rate": 0.5, "lr_scheduler_type": "constant", "max_grad_norm": 0.01}
CHECKPOINTS = {"gradient_checkpointing": True, "gradient_checkpointing_kwargs": {"use_reentrant": False}}


def rows(count=48):
    """Rows of tokens from two sources, of different lengths of labels."""
    generator = torch.Generator().manual_seed(0)
    found = []
    for i in range(count):
        words = torch.randint(0, 30, (8,), generator=generator)
        labels = words.masked_fill(torch.arange(8) < i % 4, -100)
        found.append({"input_ids": words.tolist(), "labels": labels.tolist(), "source": ["web", "code"][i % 2]})
    return found


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    sizes = {"vocab_size": 30, "n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 8, "bos_token_id": 0, "eos_token_id": 1}
    return GPT2LMHeadModel(GPT2Config(**sizes, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))


def by_hand(batches, passes, precision):
    """Take a step for each so many micro-batches."""
    model = gpt2().train()
    agreement, optimizer = Agreement(model, RULE), torch.optim.SGD(model.parameters(), 0.5)
    for number, (batch, ids) in enumerate(batches, 1):
        with torch.autocast("cpu", torch.bfloat16, enabled=precision):
            logits = model(input_ids=batch["input_ids"]).logits
        labels = batch["labels"][:, 1:]
        losses = functional.cross_entropy(logits.float()[:, :-1].movedim(-1, 1), labels, reduction="none")
        losses = losses.sum(1) / (labels != -100).sum(1)
        if number % passes:
            agreement.accumulate(losses, ids, hold=passes > 1)
            continue
        record = agreement.backward(losses, ids, hold=passes > 1)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
        optimizer.step()
        optimizer.zero_grad()
    return model, record


def trained(folder, kind=None, losses_of=None, model=None, data=None, **settings):
    from transformers import Trainer, TrainingArguments

    from mechlearn.integrations.transformers import watched

    seen = []

    class Seeing(kind or Trainer):
        def compute_loss(self, model, inputs, *args, **kwargs):
            seen.append({name: value.clone() for name, value in inputs.items()})
            return super().compute_loss(model, inputs, *args, **kwargs)

    class Taking(watched(Seeing, losses_of, rule=RULE, every=2)):
        def training_step(self, model, inputs, *args, **kwargs):
            taken.append(({name: inputs[name].clone() for name in ("input_ids", "labels")}, list(inputs["source"])))
            return super().training_step(model, inputs, *args, **kwargs)

    taken = []
    settings = {"max_steps": 2, "per_device_train_batch_size": 6, "seed": 0, **PLAIN, **QUIET, **settings}
    arguments = TrainingArguments(str(folder), **settings)
    trainer = Taking(model or gpt2(), arguments, train_dataset=data or rows())
    trainer.train()
    return trainer, taken


@pytest.mark.parametrize(
    "settings",
    [{}, {"gradient_accumulation_steps": 3}, {"bf16": True}, CHECKPOINTS, {**CHECKPOINTS, "bf16": True}],
    ids=["plain", "accumulated", "bf16", "checkpointing", "checkpointing and bf16"],
)
@pytest.mark.usefixtures("as_installed")
def test_steps_are_those_by_hand(settings, tmp_path):
    passes = settings.get("gradient_accumulation_steps", 1)
    trainer, taken = trained(tmp_path, **settings)
    assert len(taken) == 2 * passes
    model, record = by_hand(taken, passes, settings.get("bf16", False))
    start = gpt2().state_dict()
    for name, value in model.state_dict().items():
        assert torch.equal(value, trainer.model.state_dict()[name]), name
    assert any(not torch.equal(start[name], value) for name, value in trainer.model.state_dict().items())
    assert trainer.record.share_by_parameter == record.share_by_parameter
    assert [one.step for one in trainer.sources.history] == [0]
    assert "backward" not in vars(trainer.accelerator)


def test_the_loss_that_is_logged_is_the_mean_over_rows(tmp_path):
    trainer, taken = trained(tmp_path, max_steps=1, gradient_accumulation_steps=2)
    model, found = gpt2(), []
    for batch, _ in taken:
        labels = batch["labels"][:, 1:]
        losses = functional.cross_entropy(model(batch["input_ids"]).logits[:, :-1].movedim(-1, 1), labels, reduction="none")
        found.append((losses.sum(1) / (labels != -100).sum(1)).mean().item())
    assert trainer.state.log_history[-1]["train_loss"] == pytest.approx(sum(found) / 2, rel=1e-5)


def test_a_function_of_one_s_own_and_a_model_that_is_made_later(tmp_path):
    def losses_of(model, inputs):
        return model(input_ids=inputs["input_ids"]).logits.square().mean((1, 2))

    trainer, _ = trained(tmp_path, losses_of=losses_of, label_smoothing_factor=0.1)
    assert trainer.agreement.model is trainer.model
    assert trainer.state.log_history[-1]["train_loss"] < 0.1


@pytest.mark.usefixtures("as_installed")
def test_what_a_rule_cannot_train_is_told(tmp_path):
    from transformers import Trainer

    from mechlearn.integrations.transformers import watched

    with pytest.raises(TypeError, match="instead of"):
        trained(tmp_path, label_smoothing_factor=0.1)
    with pytest.raises(ValueError, match="Found torch_compile"):
        trained(tmp_path, torch_compile=True)
    with pytest.raises(TypeError, match="rule"):
        watched(Trainer, rule="and-mask")
    with pytest.raises(ValueError, match="reentrant"):
        trained(tmp_path, gradient_checkpointing=True, gradient_checkpointing_kwargs={"use_reentrant": True})
