"""The encoders of pictures and captions, and how they are trained."""

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Generator, Tensor, nn
from torch.nn.functional import max_pool2d, relu

from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.experiments.vision.captions.captioned_digits import WORDS, Captioned, drawn
from mechlearn_zoo.experiments.vision.captions.settings import Config
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.learners.stopping import Kept
from mechlearn_zoo.methods.vision.matching import Captions, Pictures, matching_losses
from mechlearn_zoo.nn.recurrent import lstm


class Encoders(nn.Module):
    """A convolutional network to 8 x 8 regions, and an LSTM each way over a caption's words.

    Args:
        width: dimensions of words and regions.
        generator: of the initial weights.
        sharpness: what words are multiplied by: cosines stay, but regions choose words, and words regions, more sharply.
        places: regions whose features are weighed each by its own factors; 0 for the same factors everywhere.
    """

    def __init__(self, width: int, generator: Generator, sharpness: float = 1.0, places: int = 0) -> None:
        super().__init__()
        self.sharpness = sharpness
        self.layers = nn.ModuleList(_convolution(a, b, generator) for a, b in pairwise((3, 32, 64)))
        self.regions = linear(64, width, "default", generator)
        self.whole = linear(64, width, "default", generator)
        self.embedding = nn.Parameter(torch.randn(len(WORDS), width, generator=generator) / math.sqrt(width))
        self.forwards, self.backwards = (lstm(width, width // 2, generator) for _ in range(2))
        self.places = nn.Parameter(1 + 0.5 * torch.randn(places, 64, generator=generator)) if places else None

    def see(self, pictures: Float[Tensor, "b c h w"]) -> Pictures:
        """Return regions and the whole of pictures."""
        h = pictures
        for layer in self.layers:
            h = max_pool2d(relu(layer(h)), 2)
        flat = h.flatten(2).mT if self.places is None else h.flatten(2).mT * self.places
        return Pictures(self.regions(flat).mT, self.whole(flat.mean(1)))

    def read(self, words: Int[Tensor, "b t"]) -> Captions:
        """Return words in their context, and sentences: the last state each way."""
        mask = words > 0
        lengths = mask.sum(1)
        place = torch.arange(words.shape[1])
        turned = torch.where(mask, lengths.unsqueeze(1) - 1 - place, place)
        x = self.embedding[words]
        ahead, _ = self.forwards(x)
        back, _ = self.backwards(x.gather(1, turned.unsqueeze(2).expand_as(x)))
        back = back.gather(1, turned.unsqueeze(2).expand_as(back))
        last = ahead[torch.arange(len(words)), lengths - 1]
        return Captions(self.sharpness * torch.cat((ahead, back), 2).mT, mask, torch.cat((last, back[:, 0]), 1))


def train(
    config: Config,
    encoders: Encoders,
    data: Captioned,
    words: bool,
    generator: Generator,
    validate: Callable[[Encoders], float],
) -> Kept[Encoders]:
    """Train by the four losses, after `warm` steps by those of sentences, or by those alone; return what is kept of it."""
    kept = Kept(encoders, validate)
    optimizer = torch.optim.Adam(encoders.parameters(), config.rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    name = f"encoders, {'words' if words else 'sentence'}"
    for done in kept_steps(name, config.steps, encoders, optimizer, schedule, generator, kept):
        some = drawn(len(data.pictures), config.batch, config.twins, generator)
        losses = matching_losses(encoders.read(data.words[some]), encoders.see(data.pictures[some]))
        descend(
            optimizer, losses.total() if words and done >= config.warm else losses.sentences + losses.sentences_back, schedule
        )
        kept.look((done + 1) / config.steps)
    encoders.eval().requires_grad_(False)
    return kept


def _convolution(inputs: int, outputs: int, generator: Generator) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, 3, padding=1, device="meta").to_empty(device="cpu")
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -1 / math.sqrt(9 * inputs), 1 / math.sqrt(9 * inputs), generator=generator)
    return layer
