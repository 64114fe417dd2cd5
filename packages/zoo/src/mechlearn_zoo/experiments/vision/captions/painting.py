"""AttnGAN in two stages, with attention and without: at the presets gan and paper."""

from collections.abc import Callable

import torch
from torch import Generator, Tensor, nn

from mechlearn_zoo.experiments.vision.captions.captioned_digits import Captioned
from mechlearn_zoo.experiments.vision.captions.encoders import Encoders
from mechlearn_zoo.experiments.vision.captions.settings import Config
from mechlearn_zoo.experiments.vision.captions.stopping import Kept
from mechlearn_zoo.learners.descent import descend, kept_steps
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
    made_by = TwoStages(16, config.width, config.channels, generator, attention=attention)
    kept = Kept(made_by, validate)
    judges = nn.ModuleList(StageDiscriminator(size, config.width, config.channels, generator) for size in (16, 32))
    optimizers = [torch.optim.Adam(part.parameters(), config.gan_rate, (0.5, 0.999)) for part in (judges, made_by)]
    for done in kept_steps("training", config.gan_steps, made_by, judges, *optimizers, generator, kept):
        some = torch.randint(len(data.pictures), (config.batch,), generator=generator)
        captions = encoders.read(data.words[some])
        large = data.pictures[some]
        real = (torch.nn.functional.avg_pool2d(large, 2), large)
        made = made_by(captions.sentences, captions.words, captions.mask, generator)
        descend(optimizers[0], _judge_loss(judges, real, made, captions))
        descend(optimizers[1], _paint_loss(config, encoders, judges, made, captions))
        kept.look((done + 1) / config.gan_steps)
    made_by.eval().requires_grad_(False)
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
    total = augmentation_divergence(made.augmented)
    for judge, found in zip(judges, (made.small, made.large), strict=True):
        total = total + stage_generator_loss(judge(found, captions.sentences))
    return total + config.weight * matching_losses(captions, encoders.see(made.large)).total()
