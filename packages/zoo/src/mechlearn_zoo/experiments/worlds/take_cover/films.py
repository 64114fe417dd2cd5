"""A dream beside the world, the world with and without its fog, a frame beside what V makes of it: text for rows, pictures."""

import base64
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import Generator, Tensor

from claimlab import Row
from mechlearn_zoo.experiments.worlds.take_cover.settings import Config
from mechlearn_zoo.experiments.worlds.take_cover.take_cover import TakeCover
from mechlearn_zoo.learners.films import gif
from mechlearn_zoo.methods.worlds.acting import LinearController, Seen, Watched, World
from mechlearn_zoo.methods.worlds.dreaming import DreamState, DreamWorld
from mechlearn_zoo.nn.autoencoders import ConvVAE

LEVELS = 16
"""Shades that are kept of a pixel."""


@torch.no_grad()
def rows(
    config: Config, name: str, controller: LinearController, candidate: Tensor, dream: DreamWorld, real: Watched
) -> Iterator[Row]:
    """Yield the same controller's dream, decoded by V, and its episode in the world, a row each."""

    def dreamt(state: DreamState) -> Tensor:
        return real.vision.decode(state.z[0])[0]

    def lived(state: Seen) -> Tensor:
        return real.world.frames(state.world)[0, 0]

    sides: list[tuple[str, World, Callable[[Any], Tensor]]] = [("dream", dream, dreamt), ("world", real, lived)]
    for side, world, show in sides:
        frames, generator = list[Tensor](), Generator().manual_seed(config.seed + 3)
        state = world.start(1, 1, generator)
        for _ in range(config.film):
            frames.append(show(state))
            state, _, ended = world.step(state, controller.act(candidate, world.features(state)), generator)
            if bool(ended.all()):
                frames.append(show(state))
                break
        yield {"kind": "film", "method": name, "side": side, "frames": len(frames), "pictures": encode(torch.stack(frames))}


@torch.no_grad()
def foggy(config: Config, name: str, controller: LinearController, candidate: Tensor, real: Watched, world: TakeCover) -> Row:
    """Return an episode in the fog: its frames as the controller sees them, and with all balls."""
    generator = Generator().manual_seed(config.seed + 3)
    clear, state = replace(world, fog=1.0), real.start(1, 1, generator)
    shown, there = list[Tensor](), list[Tensor]()
    for _ in range(config.film):
        shown.append(world.frames(state.world)[0, 0])
        there.append(clear.frames(state.world)[0, 0])
        state, _, ended = real.step(state, controller.act(candidate, real.features(state)), generator)
        if bool(ended.all()):
            break
    pictures = {"shown": encode(torch.stack(shown)), "there": encode(torch.stack(there))}
    return {"kind": "fog", "method": name, "fog": world.fog, "frames": len(shown), **pictures}


@torch.no_grad()
def seen(vision: ConvVAE, frames: Tensor) -> Row:
    """Return, of frames (m, 3, h, h), the one whose loss is the median's, and what V makes of it."""
    rebuilt = vision.decode(vision.encode(frames).mean)
    lost = (frames - rebuilt).square().sum((1, 2, 3))
    index = int(lost.argsort()[len(lost) // 2])
    share = float(lost[index] / (frames[index] - frames.mean(0)).square().sum().clamp(min=1e-9))
    pictures = encode_colours(torch.stack((frames[index], rebuilt[index])))
    return {"kind": "seen", "lost": share, "frames": 2, "pictures": pictures}


def encode_colours(frames: Tensor) -> str:
    """Return (t, 3, h, h) in [0, 1] as text, in sixteen shades of each colour."""
    shades = (frames * (LEVELS - 1)).round().to(torch.uint8)
    return base64.b64encode(zlib.compress(shades.numpy().tobytes(), 9)).decode()


def decode_colours(text: str, count: int) -> np.ndarray:
    """Return (t, h, h, 3) bytes."""
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    size = int(np.sqrt(len(flat) // (3 * count)))
    return flat.reshape(count, 3, size, size).transpose(0, 2, 3, 1) * (255 // (LEVELS - 1))


def encode(frames: Tensor) -> str:
    """Return (t, 2, h, h) in [0, 1] as text, in sixteen shades."""
    shades = (frames * (LEVELS - 1)).round().to(torch.uint8)
    both = shades[:, 0] * LEVELS + shades[:, 1]
    return base64.b64encode(zlib.compress(both.numpy().tobytes(), 9)).decode()


def decode(text: str, count: int) -> np.ndarray:
    """Return (t, h, h, 3) bytes: balls red, the agent blue, on white."""
    flat = np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=np.uint8)
    size = int(np.sqrt(len(flat) // count))
    balls, agent = np.divmod(flat.reshape(count, size, size).astype(float), LEVELS)
    balls, agent = balls[..., None] / (LEVELS - 1), agent[..., None] / (LEVELS - 1)
    picture = 1 - balls * np.array([0.18, 0.72, 0.64]) - agent * np.array([0.96, 0.57, 0.38])
    return (255 * picture.clip(0, 1)).astype(np.uint8)


def beside(left: np.ndarray, right: np.ndarray, titles: tuple[str, str], scale: int = 9) -> bytes:
    """Return a GIF of two films, each with its title; the shorter one stands still at its last frame."""
    frames: list[np.ndarray] = []
    for t in range(max(len(left), len(right))):
        pair = [film[min(t, len(film) - 1)].repeat(scale, 0).repeat(scale, 1) for film in (left, right)]
        gap = np.full((pair[0].shape[0], 3 * scale, 3), 200, dtype=np.uint8)
        image = Image.fromarray(np.concatenate([pair[0], gap, pair[1]], 1))
        draw = ImageDraw.Draw(image)
        for place, (title, film) in enumerate(zip(titles, (left, right), strict=True)):
            words = title if t < len(film) - 1 else f"{title}: over" if len(film) <= t + 1 else title
            draw.text((5 + place * (pair[0].shape[1] + gap.shape[1]), 4), words, fill=(0, 0, 0))
        frames.append(np.asarray(image))
    return gif(frames, 120)
