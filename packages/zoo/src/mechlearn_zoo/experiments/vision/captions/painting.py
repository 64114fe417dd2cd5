"""AttnGAN in two stages, with attention and without: at the presets gan and paper."""

from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Generator, Tensor, nn

from mechlearn_zoo.experiments.vision.captions.captioned_digits import Captioned, drawn
from mechlearn_zoo.experiments.vision.captions.encoders import Encoders
from mechlearn_zoo.experiments.vision.captions.settings import Config
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.learners.stopping import Kept
from mechlearn_zoo.methods.vision.generating import (
    Generated,
    StageDiscriminator,
    TwoStages,
    augmentation_divergence,
    stage_discriminator_loss,
    stage_generator_loss,
)
from mechlearn_zoo.methods.vision.matching import Captions, matching_losses


def paint(
    config: Config,
    encoders: Encoders,
    data: Captioned,
    attention: bool,
    generator: Generator,
    validate: Callable[[TwoStages], float],
) -> Kept[TwoStages]:
    """Train a generator and its two discriminators; captions and the matching loss are the trained encoders'."""
    made_by = TwoStages(16, config.width, config.channels, generator, attention=attention, first=config.side // 8)
    mean = deepcopy(made_by).requires_grad_(False)
    kept = Kept(mean, validate)
    sizes = (config.side // 2, config.side)
    judges = nn.ModuleList(StageDiscriminator(size, config.width, config.channels, generator) for size in sizes)
    rates = ((judges, config.judge_rate or config.gan_rate), (made_by, config.gan_rate))
    optimizers = [torch.optim.Adam(part.parameters(), rate, (0.5, 0.999)) for part, rate in rates]
    for done in kept_steps("training", config.gan_steps, made_by, mean, judges, *optimizers, generator, kept):
        some = drawn(len(data.pictures), config.batch, config.twins, generator)
        captions = encoders.read(data.words[some])
        large = data.pictures[some]
        real = (torch.nn.functional.avg_pool2d(large, 2), large)
        made = made_by(captions.sentences, captions.words, captions.mask, generator)
        descend(optimizers[0], _judge_loss(judges, real, made, captions))
        descend(optimizers[1], _paint_loss(config, encoders, judges, made, captions))
        share = 1 - min(config.averaged, (done + 1) / (done + 10))
        for slow, fast in zip(mean.parameters(), made_by.parameters(), strict=True):
            slow.lerp_(fast.detach(), share)
        kept.look((done + 1) / config.gan_steps)
    mean.eval()
    return kept


def _judge_loss(judges: nn.ModuleList, real: tuple[Tensor, Tensor], made: Generated, captions: Captions) -> Tensor:
    total = torch.zeros(())
    for judge, true, found in zip(judges, real, (made.small, made.large), strict=True):
        wrong = judge(true, captions.sentences.roll(1, 0)).captioned
        total = total + stage_discriminator_loss(
            judge(true, captions.sentences), judge(found.detach(), captions.sentences), wrong
        )
    return total


def _paint_loss(config: Config, encoders: Encoders, judges: nn.ModuleList, made: Generated, captions: Captions) -> Tensor:
    total = config.divergence * augmentation_divergence(made.augmented)
    for judge, found in zip(judges, (made.small, made.large), strict=True):
        total = total + stage_generator_loss(judge(found, captions.sentences))
    return total + config.weight * matching_losses(captions, encoders.see(made.large)).total()
