"""Small language models, several side by side along a leading axis r: none sees another's weights or words."""

import math

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor
from torch.nn.functional import embedding, layer_norm, scaled_dot_product_attention

from mechlearn_zoo.experiments.distill.privileged.worlds import COMPLETION, POSITIONS, WORDS

Weights = dict[str, Tensor]
"""By name, each with a leading axis r."""
Past = list[tuple[Tensor, Tensor]]
"""Keys and values of the words so far, a block each."""

WIDTH, HEADS, BLOCKS = 48, 4, 2


def draw_weights(generator: Generator) -> Weights:
    """Draw one model's weights: 60,000."""

    def matrix(*sizes: int, scale: float) -> Tensor:
        return scale * torch.randn(1, *sizes, generator=generator)

    found = {"words": matrix(WORDS, WIDTH, scale=0.1), "places": matrix(POSITIONS, WIDTH, scale=0.1)}
    for block in range(BLOCKS):
        sizes = {"attend": (WIDTH, 3 * WIDTH), "merge": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH), "down": (4 * WIDTH, WIDTH)}
        for name, (inputs, outputs) in sizes.items():
            found[f"{name} {block}"] = matrix(inputs, outputs, scale=1 / math.sqrt(inputs))
            found[f"{name} bias {block}"] = torch.zeros(1, 1, outputs)
    return found | {"out": matrix(WIDTH, WORDS, scale=1 / math.sqrt(WIDTH)), "out bias": torch.zeros(1, 1, WORDS)}


def repeated(weights: Weights, times: int) -> Weights:
    """Return copies of one model side by side."""
    return {name: one.detach().repeat(times, *[1] * (one.dim() - 1)) for name, one in weights.items()}


def logits(weights: Weights, words: Int[Tensor, "r n t"], past: Past | None = None) -> tuple[Float[Tensor, "r n t v"], Past]:
    """Return the logits of each next word, and keys and values for the words that follow."""
    models, rows, length = words.shape
    before = 0 if past is None else past[0][0].shape[2]
    offsets = torch.arange(models)[:, None, None] * WORDS
    x = embedding(words + offsets, weights["words"].flatten(0, 1)) + weights["places"][:, None, before : before + length]
    x = x.reshape(models, rows * length, WIDTH)
    seen = None if past is None else torch.ones(length, before + length, dtype=torch.bool).tril(before)
    now: Past = []
    for block in range(BLOCKS):

        def linear(name: str, inputs: Tensor, block: int = block) -> Tensor:
            return torch.baddbmm(weights[f"{name} bias {block}"], inputs, weights[f"{name} {block}"])

        parts = linear("attend", layer_norm(x, (WIDTH,))).view(models * rows, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = (part.transpose(1, 2) for part in parts.unbind(2))
        if past is not None:
            key, value = (torch.cat([old, new], 2) for old, new in zip(past[block], (key, value), strict=True))
        now.append((key, value))
        if length == 1:  # which the kernel is slow for
            scores = (query * key).sum(-1, keepdim=True) / math.sqrt(WIDTH / HEADS)
            mixed = (scores.softmax(2) * value).sum(2, keepdim=True)
        else:
            mixed = scaled_dot_product_attention(query, key, value, seen, is_causal=seen is None)
        x = x + linear("merge", mixed.transpose(1, 2).reshape(models, rows * length, WIDTH))
        x = x + linear("down", torch.relu(linear("up", layer_norm(x, (WIDTH,)))))
    found = torch.baddbmm(weights["out bias"], layer_norm(x, (WIDTH,)), weights["out"])
    return found.view(models, rows, length, WORDS), now


def read(weights: Weights, prompts: Int[Tensor, "r q 9"], samples: int) -> tuple[Float[Tensor, "r n 1 v"], Past]:
    """Return the logits of completions' first words, and keys and values, for so many samples of each prompt in a row."""
    first, past = logits(weights, prompts)
    repeated = [(key.repeat_interleave(samples, 0), value.repeat_interleave(samples, 0)) for key, value in past]
    return first[:, :, -1:].repeat_interleave(samples, 1), repeated


def completion_logits(
    weights: Weights, prompts: Int[Tensor, "r q 9"], written: Int[Tensor, "r n 6"]
) -> Float[Tensor, "r n 6 v"]:
    """Return the logits of each word of completions, n // q of each prompt in a row."""
    first, past = read(weights, prompts, written.shape[1] // prompts.shape[1])
    return torch.cat([first, logits(weights, written[..., :-1], past)[0]], 2)


@torch.no_grad()
def sample(weights: Weights, prompts: Int[Tensor, "r q 9"], samples: int, generator: Generator) -> Int[Tensor, "r n 6"]:
    """Sample completions; models side by side share the random numbers, so that equal models write equal words."""
    scores, past = read(weights, prompts, samples)
    chances = torch.rand(COMPLETION, scores.shape[1], 1, generator=generator)
    found: list[Tensor] = []
    for step in range(COMPLETION):
        sums = scores[:, :, -1].double().softmax(-1).cumsum(-1)
        found.append((sums < chances[step] * sums[..., -1:]).sum(-1, keepdim=True))
        if step < COMPLETION - 1:
            scores, past = logits(weights, found[-1], past)
    return torch.cat(found, -1)
