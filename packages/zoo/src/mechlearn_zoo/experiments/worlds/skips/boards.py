"""Falling balls as latents: boards are drawn, V learns to see what moves, latents are whitened."""

import math
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Generator, Tensor, nn

from claimlab import checkpoint
from mechlearn.skips import Actions
from mechlearn.trajectories import Trajectories
from mechlearn_zoo.experiments.worlds.skips.settings import Config
from mechlearn_zoo.methods.worlds.skipping import Whitening, whitening
from mechlearn_zoo.methods.worlds.world_model import energy_lost
from mechlearn_zoo.nn.autoencoders import ConvVAE, sample_latent, vae_loss
from mechlearn_zoo.tasks import caching
from mechlearn_zoo.tasks.frames import funnel_board
from mechlearn_zoo.tasks.frames.episodes import Episodes
from mechlearn_zoo.tasks.frames.funnel_board import FunnelBoardSettings
from mechlearn_zoo.tasks.frames.reading import NOTHING


class Falls(NamedTuple):
    """Falls as M meets them: whitened latents, the boards' layouts, and the episodes that they are of."""

    latents: Trajectories
    layouts: Float[Tensor, "n layout"]
    episodes: Episodes[FunnelBoardSettings]

    def chosen(self, rows: Tensor) -> tuple[Trajectories, Actions]:
        """Return some falls, and their boards as what is known at every frame."""
        latents = self.latents[rows]
        return latents, Actions(self.layouts[rows].unsqueeze(1).expand(-1, latents.time, -1))


class Seen(NamedTuple):
    """V, how latents are whitened, falls to learn from, to test on and to stop on, the share of energy that V loses."""

    vision: ConvVAE
    white: Whitening
    train: Falls
    test: Falls
    validation: Falls
    lost: float


def see(config: Config) -> Seen:
    """Draw boards, train V on the frames of those to learn from, and encode all."""
    # Seeds below 3000 are left to those who look for settings.
    draws = [
        funnel_board.generate(count, 3000 + 3 * config.seed + split, config.board, cache=caching.default_folder())
        for split, count in ((0, config.episodes), (2, config.tests), (1, config.tests))
    ]
    frames = [[squared(drawn.moving(index), config) for index in range(len(drawn))] for drawn in draws]
    vision, test_frames = trained_vision(config, torch.cat(frames[0])), torch.cat(frames[1])
    latents = [[encoded(vision, one) for one in some] for some in frames]
    white = whitening(torch.cat(latents[0]), 0.05)
    layouts = [torch.from_numpy(drawn.layouts).float() for drawn in draws]
    mean, deviation = layouts[0].mean(0), layouts[0].std(0)
    varies = deviation > 1e-6
    falls = [
        Falls(
            Trajectories.from_list([white.whiten(z) for z in some]),
            ((layout - mean) / deviation.clamp(min=1e-6))[:, varies],
            drawn,
        )
        for some, layout, drawn in zip(latents, layouts, draws, strict=True)
    ]
    train, test, validation = falls
    return Seen(vision, white, train, test, validation, energy_lost(vision, test_frames))


def trained_vision(config: Config, frames: Float[Tensor, "n c h w"]) -> ConvVAE:
    """Return V, trained on frames."""
    generator = Generator().manual_seed(config.seed)
    size, brightness = frames.shape[-1], float(frames[:2000].mean())
    vision = ConvVAE(frames.shape[1], size, config.latent, generator, config.widths, brightness=brightness)
    optimizer = torch.optim.Adam(vision.parameters(), lr=2e-3)
    saved = checkpoint("V", vision, optimizer, generator)
    for step in range(saved.done, config.vision_steps):
        optimizer.param_groups[0]["lr"] = 2e-3 * (1 - step / config.vision_steps)
        x = frames[torch.randint(len(frames), (48,), generator=generator)]
        encoded = vision.encode(x)
        loss = vae_loss(x, vision.decode(sample_latent(encoded, generator)), encoded, reconstruction=config.reconstruction)
        optimizer.zero_grad()
        loss.mean().backward()
        nn.utils.clip_grad_norm_(vision.parameters(), 100.0)
        optimizer.step()
        saved.keep(step + 1)
    saved.stay()
    return vision


def squared(moving: np.ndarray, config: Config) -> Float[Tensor, "time c size size"]:
    """Return what moves as V sees it: square frames in [0, 1], zeros behind the shorter side."""
    height, width = config.board.shape
    side = max(height, width)
    frames = torch.from_numpy(moving).float() / 255
    return nn.functional.pad(frames, (0, side - width, 0, side - height))


@torch.no_grad()
def encoded(vision: ConvVAE, frames: Float[Tensor, "n c h w"]) -> Float[Tensor, "n l"]:
    """Return the means of V's latents."""
    return vision.encode(frames).mean


@torch.no_grad()
def shown(config: Config, seen: Seen, latents: Float[Tensor, "n l"]) -> np.ndarray:
    """Return what V shows of whitened latents, (n, c, height, width) in bytes."""
    height, width = config.board.shape
    frames = seen.vision.decode(seen.white.undo(latents))[:, :, :height, :width]
    return (frames * 255).round().to(torch.uint8).numpy()


def first_label(episodes: Episodes[FunnelBoardSettings], frames: np.ndarray, row: int) -> tuple[int, int | None]:
    """Return the first label that frames of an episode show, and in which of them; `NOTHING` and None where none does."""
    labels = episodes.read_moving(frames, np.full(len(frames), row))
    hits = np.flatnonzero(labels != NOTHING)
    return (int(labels[hits[0]]), int(hits[0])) if len(hits) else (NOTHING, None)


def centre(frame: np.ndarray) -> tuple[float, float]:
    """Return where the ball is in a frame (c, height, width): the centre of its brightness, x and y in pixels."""
    ball = frame[0].astype(float) ** 2
    total = max(float(ball.sum()), 1e-9)
    y, x = np.indices(ball.shape)
    place = float((x * ball).sum() / total), float((y * ball).sum() / total)
    return place if math.isfinite(sum(place)) else (0.0, 0.0)
