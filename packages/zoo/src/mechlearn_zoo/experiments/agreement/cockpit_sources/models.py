"""Four architectures, with losses by row."""

import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn
from torch.nn import functional as F  # noqa: N812  # the usual name

from mechlearn_zoo.experiments.agreement.cockpit_sources.data import CLASSES, LETTERS
from mechlearn_zoo.nn.transformer import Block, TransformerSizes

TEXT, PICTURES = ("gpt", "lstm"), ("mixer", "vit")


class Mixing(nn.Module):
    """A block of an MLP-Mixer (Tolstikhin et al. 2021)."""

    def __init__(self, width: int, tokens: int) -> None:
        super().__init__()
        self.norm, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.tokens, self.inner = _two(tokens, 2 * tokens), _two(width, 4 * width)

    def forward(self, h: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
        """Return the block's output."""
        h = h + self.tokens(self.norm(h).transpose(1, 2)).transpose(1, 2)
        return h + self.inner(self.second(h))


class Recurrent(nn.LSTM):
    """An LSTM that returns what it shows at each place."""

    def forward(self, h: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the layer's output."""
        return super().forward(h)[0]


class Model(nn.Module):
    """Text to logits of the next character at each place, or pictures to logits of their class at one.

    Args:
        name: of the architecture. Blocks of Transformers are the zoo's.
        width: units of each place.
        depth: blocks.
        length: characters of a row of text.
    """

    def __init__(self, name: str, width: int, depth: int = 1, length: int = 16) -> None:
        super().__init__()
        self.text = name in TEXT
        places = length if self.text else 16
        sizes = TransformerSizes(2, width, inner=4 * width)
        self.entry = nn.Embedding(2 * LETTERS, width) if self.text else nn.Linear(4, width)
        self.places = nn.Embedding(places, width)
        self.blocks = nn.Sequential(
            *(Recurrent(width, width, batch_first=True) for _ in range(depth * (name == "lstm"))),
            *(Mixing(width, places) for _ in range(depth * (name == "mixer"))),
            *(Block(sizes, Generator(), causal=self.text) for _ in range(depth * (name in ("gpt", "vit")))),
        )
        self.head = nn.Linear(width, LETTERS if self.text else CLASSES)

    def forward(self, x: Tensor) -> Float[Tensor, "b t v"]:
        """Return logits."""
        h = self.blocks(self.entry(x) + self.places(torch.arange(x.shape[1])))
        return self.head(h if self.text else h.mean(1, keepdim=True))


def model_of(name: str, width: int, seed: int, depth: int = 1, length: int = 16) -> Model:
    """Return an architecture with initial weights by torch's defaults."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Model(name, width, depth, length)


def losses_of(model: nn.Module, x: Tensor, y: Tensor) -> Float[Tensor, " b"]:
    """Return each row's mean cross-entropy."""
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="none").view(y.shape).mean(1)


def _two(width: int, inner: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))
