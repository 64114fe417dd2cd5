"""Networks as people have them: models of `transformers`, made from a config, nothing downloaded."""

import importlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

import oracles
from definition_oracles import stacks_of
from mechlearn.agreement import Agreement, AndMask, Record

pytestmark = [pytest.mark.extra("language", "transformers"), pytest.mark.filterwarnings("error:.*backward pass for each")]

B, WORDS, LENGTH = 8, 30, 6
IDS = torch.arange(B) // 2
TEXT = {"vocab_size": WORDS, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
PLACES = {"max_position_embeddings": 16}
ENDS = {"bos_token_id": 0, "eos_token_id": 1}


def named(model: str, config: str, **settings: Any) -> nn.Module:
    transformers = importlib.import_module("transformers")
    return getattr(transformers, model)(getattr(transformers, config)(**settings))


READERS: dict[str, Callable[[], nn.Module]] = {
    "bert": lambda: named("BertForMaskedLM", "BertConfig", **TEXT, **PLACES),
    "roberta": lambda: named("RobertaForMaskedLM", "RobertaConfig", **TEXT, **PLACES),
    "electra": lambda: named("ElectraForMaskedLM", "ElectraConfig", **TEXT, **PLACES, embedding_size=16),
    "distilbert": lambda: named(
        "DistilBertForMaskedLM", "DistilBertConfig", vocab_size=WORDS, dim=16, n_layers=2, n_heads=2, hidden_dim=32
    ),
    "gpt2": lambda: named(
        "GPT2LMHeadModel", "GPT2Config", vocab_size=WORDS, n_embd=16, n_layer=2, n_head=2, n_positions=16, **ENDS
    ),
    "llama": lambda: named("LlamaForCausalLM", "LlamaConfig", **TEXT, **PLACES, num_key_value_heads=1),
    "mistral": lambda: named("MistralForCausalLM", "MistralConfig", **TEXT, **PLACES, num_key_value_heads=1),
    "qwen2": lambda: named("Qwen2ForCausalLM", "Qwen2Config", **TEXT, **PLACES, num_key_value_heads=1),
    "gemma": lambda: named("GemmaForCausalLM", "GemmaConfig", **TEXT, **PLACES, num_key_value_heads=1, head_dim=8),
    "mamba": lambda: named(
        "MambaForCausalLM", "MambaConfig", vocab_size=WORDS, hidden_size=16, state_size=4, num_hidden_layers=2
    ),
}
SEERS: dict[str, Callable[[], nn.Module]] = {
    "vit": lambda: named(
        "ViTForImageClassification", "ViTConfig", hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, image_size=16, patch_size=4, num_labels=3,
    ),
    "convnext": lambda: named(
        "ConvNextForImageClassification", "ConvNextConfig", patch_size=2, num_stages=2, hidden_sizes=[8, 16], depths=[1, 1],
        image_size=16, num_labels=3,
    ),
    "swin": lambda: named(
        "SwinForImageClassification", "SwinConfig", image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2],
        window_size=2, num_labels=3, drop_path_rate=0.0,
    ),
}  # fmt: skip


def losses_of(name: str, model: nn.Module) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    if name in SEERS:
        logits = model(pixel_values=torch.randn(B, 3, 16, 16, generator=generator)).logits
        return functional.cross_entropy(logits, torch.arange(B) % 3, reduction="none")
    x = torch.randint(2, WORDS, (B, LENGTH), generator=generator)
    found = functional.cross_entropy(model(input_ids=x).logits.flatten(0, 1), x.flatten(), reduction="none")
    return found.view(B, LENGTH).mean(1)


def made(name: str, mode: str) -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = {**READERS, **SEERS}[name]().train(mode == "train")
    for part in model.modules():
        if isinstance(part, nn.Dropout):
            part.p = 0.0
    return model


def definition(agreement: Agreement, losses: torch.Tensor) -> Record:
    """Take a step and compare it, to float32's tolerance: these models go down to it inside, whatever they are given."""
    model = agreement.model
    stacks = stacks_of(losses, IDS, list(model.parameters()))
    model.zero_grad()
    record = agreement.backward(losses, IDS)
    largest = max(float(stack.abs().max()) for stack in stacks)
    for parameter, stack in zip(model.parameters(), stacks, strict=True):
        gradient, _ = oracles.combine("and-mask", stack, "0.6")
        # Of a key's bias the gradient is 0 in theory: below these sizes a sign is rounding noise.
        scale = max(float(stack.abs().max()), 1e-3 * largest)
        clear = ((stack == 0) | (stack.abs() > 1e-5 * scale)).all(0)
        found = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        torch.testing.assert_close(found[clear], gradient[clear].to(found), rtol=1e-4, atol=1e-5 * scale)
    return record


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", [*READERS, *SEERS])
def test_every_parameter_has_a_formula_and_the_result_is_the_definitions(name, mode):
    model = made(name, mode)
    agreement = Agreement(model, AndMask(0.6))
    for _ in range(2):
        record = definition(agreement, losses_of(name, model))
        assert set(record.paths.values()) == {"layer"}
        assert record.proved == "proved"


def test_a_mixture_of_experts():
    """Its grouped product sorts tokens by expert: where each came from is read off the sort."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = named("MixtralForCausalLM", "MixtralConfig", **TEXT, **PLACES, num_key_value_heads=1, num_local_experts=2)
    record = definition(Agreement(model, AndMask(0.6)), losses_of("mixtral", model))
    assert set(record.paths.values()) == {"layer"}
    assert record.proved == "proved"
