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
from torch.nn.functional import interpolate, leaky_relu

from mechlearn.arguments import (
    check_all_finite,
    check_flag,
    check_floats,
    check_generator,
    check_mask,
    check_result,
    check_whole,
)
from mechlearn.nn.perceptrons import linear
from mechlearn_zoo.methods.paper import Paper
from mechlearn_zoo.methods.vision.judging import Augmented as Augmented  # noqa: PLC0414  # re-exported: py.typed
from mechlearn_zoo.methods.vision.judging import Judged as Judged  # noqa: PLC0414  # re-exported, as the next three
from mechlearn_zoo.methods.vision.judging import augmentation_divergence as augmentation_divergence  # noqa: PLC0414
from mechlearn_zoo.methods.vision.judging import stage_discriminator_loss as stage_discriminator_loss  # noqa: PLC0414
from mechlearn_zoo.methods.vision.judging import stage_generator_loss as stage_generator_loss  # noqa: PLC0414

PAPER = Paper(
    "AttnGAN",
    2018,
    "Xu et al., equations 1 to 6 and 12",
    "https://arxiv.org/abs/1711.10485",
    "a generator and a discriminator a stage",
)

FIRST = 4
"""Pixels of the grid that a first stage of 16 starts from, and that discriminators end at."""


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
        TypeError: what is no tensor of floating numbers, a mask that is not of booleans.
        ValueError: shapes that do not fit. Values are not looked at: `TwoStages` looks at what enters.
    """
    check_floats("hidden", hidden, "b", "d", "r")
    check_floats("words", words, *hidden.shape[:2], "t", like=hidden, way_out="Map words to the stage's channels first.")
    check_mask("mask", mask, len(words), words.shape[2], way_out="True for a caption's own words.")
    similar = torch.einsum("bdr,bdt->brt", hidden, words).masked_fill(~mask.unsqueeze(1), -torch.inf)
    attention = similar.softmax(2)
    return torch.einsum("brt,bdt->bdr", attention, words), attention


class TwoStages(nn.Module):
    """F_ca, F_0, F_attn, F_1 and G_0, G_1.

    Args:
        noise: dimensions of n.
        sentence: dimensions of a caption's sentence and words.
        channels: of h.
        generator: of the initial weights.
        condition: dimensions of the augmented sentence.
        attention: without it, every region of the second stage sees the mean of the words.
        first: pixels of the grid that the first stage starts from; its pictures have 4 times as many a side, the second's 8.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
        ValueError: sizes below 1.
    """

    def __init__(
        self,
        noise: int,
        sentence: int,
        channels: int,
        generator: Generator,
        condition: int = 32,
        attention: bool = True,
        first: int = FIRST,
    ) -> None:
        super().__init__()
        sizes = {"noise": noise, "sentence": sentence, "channels": channels, "condition": condition, "first": first}
        for name, size in sizes.items():
            check_whole(name, size, 1)
        check_flag("attention", attention)
        check_generator("generator", generator)
        self.noise, self.attends, self.grid = noise, attention, first
        self.augment = linear(sentence, 2 * condition, "default", generator)
        self.first = linear(noise + condition, channels * first**2, "default", generator)
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

        Raises:
            TypeError: captions of another type than the weights, a mask that is not of booleans, no generator.
            ValueError: other widths, captions without words or not finite, a generator on another device; a log variance of the
                layer `augment` whose exponential is not finite.
        """
        self._check(sentences, words, mask)
        check_generator("generator", generator, beside=sentences)
        mean, log_var = self.augment(sentences).chunk(2, 1)
        deviation = torch.exp(0.5 * log_var)
        check_result(deviation, {"sentences": sentences}, way_out="The layer `augment` overflows: lower the learning rate.")
        condition = mean + deviation * torch.randn(mean.shape, generator=generator, dtype=mean.dtype, device=mean.device)
        noise = torch.randn(len(mean), self.noise, generator=generator, dtype=mean.dtype, device=mean.device)
        h = self.first(torch.cat((noise, condition), 1)).unflatten(1, (-1, self.grid, self.grid))
        for layer in self.rising:
            h = leaky_relu(layer(interpolate(leaky_relu(h, 0.2), scale_factor=2.0)), 0.2)
        mapped = self.words(words.mT).mT
        context, attention = word_context(h.flatten(2), mapped, mask)
        if not self.attends:
            share = mask.to(mapped.dtype) / mask.sum(1, keepdim=True)
            attention = share.unsqueeze(1).expand_as(attention)
            context = torch.einsum("brt,bdt->bdr", attention, mapped)
        joined = torch.cat((h, context.view_as(h)), 1)
        later = leaky_relu(self.third(interpolate(leaky_relu(self.second(joined), 0.2), scale_factor=2.0)), 0.2)
        small, large = torch.sigmoid(self.small(h)), torch.sigmoid(self.large(later))
        return Generated(small, large, attention, Augmented(condition, mean, log_var))

    def _check(self, sentences: Tensor, words: Tensor, mask: Tensor) -> None:
        weight = self.augment.weight
        check_floats("sentences", sentences, "b", weight.shape[1], like=weight)
        check_floats("words", words, len(sentences), weight.shape[1], "t", like=weight)
        check_mask("mask", mask, len(words), words.shape[2], way_out="True for a caption's own words.")
        check_all_finite("sentences", sentences, way_out="Leave such captions out.")
        check_all_finite("words", words, way_out="Leave such captions out.")
        if not bool(mask.any(1).all()):
            empty = int((~mask.any(1)).nonzero()[0])
            raise ValueError(f"Every caption should have a word. Found none in caption {empty}. Leave it out.")


class StageDiscriminator(nn.Module):
    """D of one stage: convolutions down to 4 x 4 features, to which the sentence is joined for the second judgement.

    Args:
        size: pixels of the stage's pictures, 16 or 32 or another power of 2 above 4.
        sentence: dimensions of a caption's sentence.
        channels: of the convolutions.
        generator: of the initial weights.

    Raises:
        TypeError: sizes that are no whole numbers, no generator.
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
        check_generator("generator", generator)
        self.size = size
        widths = [3, *[channels] * int(steps)]
        self.down = nn.ModuleList(_convolution(a, b, generator, stride=2) for a, b in pairwise(widths))
        self.alone = linear(channels * FIRST**2, 1, "default", generator)
        self.joint = _convolution(channels + sentence, channels, generator)
        self.captioned = linear(channels * FIRST**2, 1, "default", generator)

    def forward(self, pictures: Float[Tensor, "..."], sentences: Float[Tensor, "b d"]) -> Judged:
        """Return the logits that pictures are real, and real with these captions.

        Raises:
            TypeError: pictures or sentences of another type than the weights.
            ValueError: pictures of another size, sentences of another width. Values are not looked at: the losses' are.
        """
        weight = self.joint.weight
        check_floats("sentences", sentences, "b", weight.shape[1] - weight.shape[0], like=weight)
        check_floats("pictures", pictures, len(sentences), 3, self.size, self.size, like=weight)
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
