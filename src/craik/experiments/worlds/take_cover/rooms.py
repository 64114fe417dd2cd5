"""Rooms with alarms: M trained by averaging or by the AND-mask over rooms, and dreamt in a new one.

Every room tells M whether this step ends the episode in a code of its own: numbers beside the action, one set for yes and
one for no, others in each room. What all rooms share is what balls do. Averaging learns the codes, which are easier than
balls; in a new room they say nothing, and in a dream there are none.
"""

from collections.abc import Iterator

import torch
from torch import Generator, Tensor
from torch.nn.utils import clip_grad_value_

from craik.agreement import Agreement, AndMask, Mean, Rule
from craik.experiments.worlds.take_cover import models
from craik.experiments.worlds.take_cover.models import Latents
from craik.experiments.worlds.take_cover.settings import Config
from craik.lab import Row
from craik.methods.worlds.world_model import MixtureRNN

RULES = ("averaging", "AND-mask")
NEW = 16
"""New rooms that M is tried in: in one, yes and no may by luck lie as they do elsewhere."""
CODE = 16
"""Numbers of an alarm: more than rooms, so that every code can be learnt."""


def trained(config: Config, data: Latents, held_out: Latents) -> Iterator[tuple[Row, MixtureRNN]]:
    """Yield for each rule how well its M foretells ends, in the rooms it knows and in new ones, and M without alarms."""
    generator = Generator().manual_seed(config.seed + 2**33)
    codes = torch.randn(config.rooms + NEW, 2, CODE, generator=generator)
    rooms = [data.rows(own) for own in dealt(len(data.actions), config.rooms)]
    known = [
        alarmed(held_out.rows(own), code) for own, code in zip(dealt(len(held_out.actions), config.rooms), codes, strict=False)
    ]
    for name, rule in zip(RULES, (Mean(), AndMask(config.room_threshold, rescale=True)), strict=True):
        memory = models.make_memory(config, data.actions.shape[-1] + CODE, Generator().manual_seed(config.seed))
        train(config, memory, [alarmed(room, code) for room, code in zip(rooms, codes, strict=False)], rule)
        silent = without_alarms(memory)
        yield (
            {
                "kind": "room",
                "rule": name,
                "known": mean_auc(memory, known),
                "new": mean_auc(memory, [alarmed(held_out, code) for code in codes[config.rooms :]]),
                "silent": models.end_auc(silent, held_out),
                "budget": config.room_steps,
            },
            silent,
        )


def dealt(episodes: int, rooms: int) -> list[Tensor]:
    """Return the numbers of each room's episodes, dealt in turn; fewer rooms where there are not as many episodes."""
    return [torch.arange(room, episodes, rooms) for room in range(min(rooms, episodes))]


def mean_auc(memory: MixtureRNN, rooms: list[Latents]) -> float | None:
    """Return how well M foretells ends, mean over the rooms that have any."""
    found = [auc for room in rooms if (auc := models.end_auc(memory, room)) is not None]
    return sum(found) / len(found) if found else None


def alarmed(data: Latents, code: Tensor) -> Latents:
    """Return episodes whose actions have a room's alarm (2, 16) beside them: whether the step ends the episode."""
    return data._replace(actions=torch.cat((data.actions, code[data.ended.long()]), -1))


def train(config: Config, memory: MixtureRNN, rooms: list[Latents], rule: Rule) -> None:
    """Train M on equally many episodes of each room, in as many draws for every rule."""
    agreement = Agreement(memory, rule)
    optimizer = torch.optim.Adam(memory.parameters(), config.memory_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.room_steps)
    generator = Generator().manual_seed(config.seed + 2**32)
    each = max(1, config.memory_batch // len(rooms))
    for _ in range(config.room_steps):
        optimizer.zero_grad()
        for place, room in enumerate(rooms):
            some = room.rows(torch.randint(len(room.actions), (each,), generator=generator))
            loss = models.predict_loss(memory, some, generator)[None]
            # A room at a time: an LSTM's rows are not told apart, so that each room's gradient is a backward pass anyway.
            (agreement.backward if place + 1 == len(rooms) else agreement.accumulate)(loss, [place])
        clip_grad_value_(memory.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    memory.eval().requires_grad_(False)


def without_alarms(memory: MixtureRNN) -> MixtureRNN:
    """Return M as it is where no alarm ever rings: the same but for the weights of what is always 0."""
    ends = memory.ending is not None
    mixtures = memory.head.mixtures
    found = MixtureRNN(memory.latent, memory.action - CODE, memory.hidden, mixtures, ends, Generator())
    kept = dict(memory.state_dict())
    kept["layer.weight_ih_l0"] = kept["layer.weight_ih_l0"][:, :-CODE]
    found.load_state_dict(kept)
    return found.eval().requires_grad_(False)
