"""V and M of one seed: trained on episodes of a random policy, without reward."""

from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.utils import clip_grad_value_

from mechlearn_zoo.experiments.worlds.take_cover.playing import Episodes
from mechlearn_zoo.experiments.worlds.take_cover.settings import Config
from mechlearn_zoo.learners.descent import descend, kept_steps
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN, memory_loss
from mechlearn_zoo.nn.autoencoders import ConvVAE, Encoded, sample_latent, vae_loss


class Latents(NamedTuple):
    """Episodes as V sees them: means and log variances (n, t + 1, l), with actions, ends and mask."""

    encoded: Encoded
    actions: Tensor
    ended: Tensor
    mask: Tensor

    def rows(self, index: Tensor) -> "Latents":
        """Return some of the episodes."""
        encoded = Encoded(*(part[index] for part in self.encoded))
        return Latents(encoded, self.actions[index], self.ended[index], self.mask[index])


def train_vision(config: Config, frames: Tensor, generator: Generator) -> ConvVAE:
    """Train V on bytes (m, c, h, w): Adam, the rate falling to nothing along a cosine."""
    decoder = "published" if config.world != "ours" else "mirrored"
    mean = float(frames[:4096].float().mean() / 255)
    vision = ConvVAE(frames.shape[1], frames.shape[-1], config.latent, generator, config.widths, decoder, mean)
    optimizer = torch.optim.Adam(vision.parameters(), config.vision_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.vision_steps)
    for _ in kept_steps("V", config.vision_steps, vision, optimizer, schedule, generator):
        x = frames[torch.randint(len(frames), (64,), generator=generator)].float() / 255
        encoded = vision.encode(x)
        x_hat = vision.decode(sample_latent(encoded, generator))
        descend(optimizer, vae_loss(x, x_hat, encoded, reconstruction=config.reconstruction).mean(), schedule)
    return vision.eval().requires_grad_(False)


@torch.no_grad()
def encode(vision: ConvVAE, episodes: Episodes) -> Latents:
    """Return what V sees in every frame."""
    flat = episodes.frames.flatten(0, 1)
    parts = [vision.encode(some.float() / 255) for some in flat.split(4096)]
    encoded = Encoded(*(torch.cat(some).unflatten(0, episodes.frames.shape[:2]) for some in zip(*parts, strict=True)))
    return Latents(encoded, episodes.actions, episodes.ended, episodes.mask())


def make_memory(config: Config, actions: int, generator: Generator) -> MixtureRNN:
    """Return an M that has learnt nothing."""
    return MixtureRNN(config.latent, actions, config.hidden, config.mixtures, config.world != "car", generator)


def train_memory(config: Config, memory: MixtureRNN, data: Latents, generator: Generator) -> None:
    """Train M: Adam, gradients clamped to [-1, 1], latents drawn afresh in every step."""
    optimizer = torch.optim.Adam(memory.parameters(), config.memory_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.memory_steps)
    for _ in kept_steps("M", config.memory_steps, memory, optimizer, schedule, generator):
        some = data.rows(torch.randint(len(data.actions), (config.memory_batch,), generator=generator))
        optimizer.zero_grad()
        predict_loss(memory, some, generator).backward()
        clip_grad_value_(memory.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    memory.eval().requires_grad_(False)


def predict_loss(memory: MixtureRNN, data: Latents, generator: Generator) -> Tensor:
    """Return M's mean loss over the episodes' own steps."""
    z = sample_latent(data.encoded, generator)
    longest = int(data.mask.sum(1).max())
    mask, ended = data.mask[:, :longest], data.ended[:, :longest]
    predicted = memory(z[:, :longest], data.actions[:, :longest])
    loss = memory_loss(predicted, z[:, 1 : longest + 1], ended if memory.ending is not None else None)
    return (loss * mask).sum() / mask.sum()


@torch.no_grad()
def end_auc(memory: MixtureRNN, data: Latents) -> float | None:
    """Return how often M thinks an end likelier where there is one than where there is none."""
    predicted = memory(data.encoded.mean[:, :-1], data.actions)
    if predicted.ends is None:
        return None
    logits, ended = predicted.ends[data.mask], data.ended[data.mask]
    ranks = logits.argsort().argsort().double() + 1
    positives, negatives = int(ended.sum()), int((~ended).sum())
    if not positives or not negatives:
        return None
    return float((ranks[ended].sum() - positives * (positives + 1) / 2) / (positives * negatives))
