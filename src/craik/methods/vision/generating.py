"""AttnGAN: pictures of captions in stages, each region of a later stage attending to the words (Xu et al. 2018, section 3.1).

h_0 = F_0(n, F_ca(e)), h_i = F_i(h_{i-1}, F_attn(words, h_{i-1})), picture_i = G_i(h_i) (equations 1 to 4 of https://arxiv.org/abs/1711.10485);
every stage has its own discriminator, with and without the caption. Here two stages, 16 and 32 pixels, as small as they can
be shown.
Losses are functions: L = sum_i L_Gi + lambda L_DAMSM, with `matching_losses` of the last picture and lambda 5 in the text for
birds.

It is a GAN of stages: hours on a GPU at the text's sizes. For matching captions and pictures take `matching` alone.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Generator, Tensor, nn
from torch.nn.functional import interpolate, leaky_relu, logsigmoid

from craik.arguments import check_shape, check_whole
from craik.methods.paper import Paper
from craik.nn.perceptrons import linear

PAPER = Paper(
    "AttnGAN",
    2018,
    "Xu et al., equations 1 to 6 and 12",
    "https://arxiv.org/abs/1711.10485",
    "a generator and a discriminator a stage",
)

FIRST = 4
"""Pixels of the grid that the first stage starts from; 16 after two doublings."""


class Augmented(NamedTuple):
    """A sentence's condition: a sample, and the normal distribution (b, c) it is drawn from."""

    condition: Float[Tensor, "b c"]
    mean: Float[Tensor, "b c"]
    log_var: Float[Tensor, "b c"]


class Generated(NamedTuple):
    """Two pictures (b, 3, 16, 16) and (b, 3, 32, 32) in [0, 1], the attention (b, r, t) of the second, and the condition."""

    small: Float[Tensor, "b c h w"]
    large: Float[Tensor, "b c hh ww"]
    attention: Float[Tensor, "b r t"]
    augmented: Augmented


def word_context(
    hidden: Float[Tensor, "b d r"], words: Float[Tensor, "b d t"], mask: Bool[Tensor, "b t"]
) -> tuple[Float[Tensor, "b d r"], Float[Tensor, "b r t"]]:
    """Return F_attn: c_r = sum_t beta_rt e_t with beta a softmax over words of h_r . e_t (equation 2), and beta.

    Args:
        hidden: regions of a stage.
        words: already mapped to the stage's dimensions by U.
        mask: True for a caption's own words.

    Raises:
        ValueError: shapes that do not fit.
    """
    check_shape("words", words, len(hidden), hidden.shape[1], "t", way_out="Map words to the stage's channels first.")
    check_shape("mask", mask, len(words), words.shape[2])
    similar = torch.einsum("bdr,bdt->brt", hidden, words).masked_fill(~mask.unsqueeze(1), -torch.inf)
    attention = similar.softmax(2)
    return torch.einsum("brt,bdt->bdr", attention, words), attention


def augmentation_divergence(augmented: Augmented) -> Float[Tensor, ""]:
    """Return the mean over the batch of KL(N(mean, var) || N(0, 1)), F_ca's term."""
    _, mean, log_var = augmented
    return 0.5 * (mean.square() + log_var.exp() - log_var - 1).sum(1).mean()


class Judged(NamedTuple):
    """A discriminator's logits (b,): of the picture alone, and of the picture with a caption."""

    alone: Float[Tensor, " b"]
    captioned: Float[Tensor, " b"]


def stage_discriminator_loss(real: Judged, made: Judged, wrong: Float[Tensor, " b"] | None = None) -> Float[Tensor, ""]:
    """Return a stage's loss for D: -1/2 E [log D(x) + log(1 - D(x^)) + log D(x, e) + log(1 - D(x^, e))] (equation 6).

    Args:
        real: logits of real pictures, with their captions.
        made: logits of made pictures, detached, with theirs.
        wrong: logits of real pictures with captions of others; the published code has this further term.
    """
    loss = (
        -0.5
        * (logsigmoid(real.alone) + logsigmoid(-made.alone) + logsigmoid(real.captioned) + logsigmoid(-made.captioned)).mean()
    )
    return loss if wrong is None else loss - 0.5 * logsigmoid(-wrong).mean()


def stage_generator_loss(made: Judged) -> Float[Tensor, ""]:
    """Return a stage's loss for G: -1/2 E [log D(x^) + log D(x^, e)] (equation 5)."""
    return -0.5 * (logsigmoid(made.alone) + logsigmoid(made.captioned)).mean()


class TwoStages(nn.Module):
    """F_ca, F_0, F_attn, F_1 and G_0, G_1.

    Args:
        noise: dimensions of n.
        sentence: dimensions of a caption's sentence and words.
        channels: of h.
        generator: of the initial weights.
        condition: dimensions of the augmented sentence.
        attention: without it, every region of the second stage sees the mean of the words.

    Raises:
        TypeError: sizes that are no whole numbers.
        ValueError: sizes below 1.
    """

    def __init__(
        self, noise: int, sentence: int, channels: int, generator: Generator, condition: int = 32, attention: bool = True
    ) -> None:
        super().__init__()
        for name, size in {"noise": noise, "sentence": sentence, "channels": channels, "condition": condition}.items():
            check_whole(name, size, 1)
        self.noise, self.attends = noise, attention
        self.augment = linear(sentence, 2 * condition, "default", generator)
        self.first = linear(noise + condition, channels * FIRST**2, "default", generator)
        self.rising = nn.ModuleList(_convolution(channels, channels, generator) for _ in range(2))
        self.words = linear(sentence, channels, "default", generator)
        self.second = _convolution(2 * channels, channels, generator)
        self.third = _convolution(channels, channels, generator)
        self.small, self.large = (_convolution(channels, 3, generator) for _ in range(2))

    def forward(
        self, sentences: Float[Tensor, "b d"], words: Float[Tensor, "b d t"], mask: Bool[Tensor, "b t"], generator: Generator
    ) -> Generated:
        """Return pictures of captions.

        Args:
            sentences: (b, d).
            words: (b, d, t).
            mask: (b, t).
            generator: of n and of the condition's noise.
        """
        mean, log_var = self.augment(sentences).chunk(2, 1)
        condition = mean + torch.exp(0.5 * log_var) * torch.randn(mean.shape, generator=generator)
        noise = torch.randn(len(sentences), self.noise, generator=generator)
        h = self.first(torch.cat((noise, condition), 1)).unflatten(1, (-1, FIRST, FIRST))
        for layer in self.rising:
            h = leaky_relu(layer(interpolate(leaky_relu(h, 0.2), scale_factor=2.0)), 0.2)
        mapped = self.words(words.mT).mT
        context, attention = word_context(h.flatten(2), mapped, mask)
        if not self.attends:
            share = mask / mask.sum(1, keepdim=True)
            attention = share.unsqueeze(1).expand_as(attention)
            context = torch.einsum("brt,bdt->bdr", attention, mapped)
        joined = torch.cat((h, context.view_as(h)), 1)
        later = leaky_relu(self.third(interpolate(leaky_relu(self.second(joined), 0.2), scale_factor=2.0)), 0.2)
        small, large = torch.sigmoid(self.small(h)), torch.sigmoid(self.large(later))
        return Generated(small, large, attention, Augmented(condition, mean, log_var))


class StageDiscriminator(nn.Module):
    """D of one stage: convolutions down to 4 x 4 features, to which the sentence is joined for the second judgement.

    Args:
        size: pixels of the stage's pictures, 16 or 32 or another power of 2 above 4.
        sentence: dimensions of a caption's sentence.
        channels: of the convolutions.
        generator: of the initial weights.

    Raises:
        TypeError: sizes that are no whole numbers.
        ValueError: sizes below 1, or pictures of another size.
    """

    def __init__(self, size: int, sentence: int, channels: int, generator: Generator) -> None:
        super().__init__()
        for name, number in {"sentence": sentence, "channels": channels}.items():
            check_whole(name, number, 1)
        check_whole("size", size, 2 * FIRST)
        steps = math.log2(size / FIRST)
        if steps != int(steps):
            raise ValueError(f"`size` should be 4 times a power of 2. Found {size}. Take 16 or 32.")
        self.size = size
        widths = [3, *[channels] * int(steps)]
        self.down = nn.ModuleList(_convolution(a, b, generator, stride=2) for a, b in pairwise(widths))
        self.alone = linear(channels * FIRST**2, 1, "default", generator)
        self.joint = _convolution(channels + sentence, channels, generator)
        self.captioned = linear(channels * FIRST**2, 1, "default", generator)

    def forward(self, pictures: Float[Tensor, "..."], sentences: Float[Tensor, "b d"]) -> Judged:
        """Return the logits that pictures are real, and real with these captions.

        Raises:
            ValueError: pictures of another size.
        """
        check_shape("pictures", pictures, len(sentences), 3, self.size, self.size)
        h = pictures
        for layer in self.down:
            h = leaky_relu(layer(h), 0.2)
        told = sentences[:, :, None, None].expand(-1, -1, FIRST, FIRST)
        joint = leaky_relu(self.joint(torch.cat((h, told), 1)), 0.2)
        return Judged(self.alone(h.flatten(1)).squeeze(1), self.captioned(joint.flatten(1)).squeeze(1))


def _convolution(inputs: int, outputs: int, generator: Generator, stride: int = 1) -> nn.Conv2d:
    layer = nn.Conv2d(inputs, outputs, 3, stride, padding=1, device="meta").to_empty(device="cpu")
    bound = 1 / math.sqrt(9 * inputs)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -bound, bound, generator=generator)
    return layer
