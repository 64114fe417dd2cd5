"""Rooms with alarms: M trained by averaging or by the AND-mask over rooms, and dreamt in a new one.

Every room tells M whether this step ends the episode in a code of its own: numbers beside the action, one set for yes and
one for no, others in each room. What all rooms share is what balls do. Averaging learns the codes, which are easier than
balls; in a new room they say nothing, and in a dream there are none.

Averaging could stop before it knows the codes: with looks, further episodes in further new rooms say where each M is best.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.utils import clip_grad_value_

from claimlab import EarlyStopping, Row
from mechlearn.agreement import Agreement, AndMask, Mean, Rule
from mechlearn_zoo.experiments.worlds.take_cover import models
from mechlearn_zoo.experiments.worlds.take_cover.models import Latents
from mechlearn_zoo.experiments.worlds.take_cover.settings import Config
from mechlearn_zoo.methods.worlds.world_model import MixtureRNN
from mechlearn_zoo.tasks.streams import same_stream, stream

RULES = ("averaging", "AND-mask")
NEW = 16
"""New rooms that M is tried in: in one, yes and no may by luck lie as they do elsewhere."""
CODE = 16
"""Numbers of an alarm: more than rooms, so that every code can be learnt."""


class Trained(NamedTuple):
    """What came of a rule.

    Args:
        row: how well its M foretells ends, in rooms it knows, in new ones and where there are no alarms.
        silent: its M without alarms.
        stopped: the same as it was where validation stops it; None without looks, or where that is the end.
    """

    row: Row
    silent: MixtureRNN
    stopped: MixtureRNN | None


@dataclass
class Looks:
    """Looks at an M while it trains.

    Args:
        validation: further new rooms, which nothing is trained or judged on.
        found: what an M is worth where it is judged.
        stopping: where that in validation is best.
    """

    validation: list[Latents]
    found: Callable[[MixtureRNN], Row]
    stopping: EarlyStopping
    weights: dict[str, Tensor] = field(default_factory=dict[str, Tensor])

    @torch.no_grad()
    def look(self, share: float, memory: MixtureRNN) -> None:
        """Look where that is due after a share of the training; where it goes better than before M's weights are kept."""
        if self.stopping.due(share):
            auc = mean_auc(memory, self.validation)
            validation = math.nan if auc is None else auc
            if self.stopping.improves(validation):
                self.stopping.look(share, validation, self.found(memory))
                self.weights = {name: weight.detach().clone() for name, weight in memory.state_dict().items()}


def trained(config: Config, data: Latents, held_out: Latents, further: Latents | None = None) -> Iterator[Trained]:
    """Train an M by each rule; yield what came of it, with looks also where further held-out episodes stop it."""
    generator = same_stream(config.seed)
    codes = torch.randn(config.rooms + NEW, 2, CODE, generator=generator)
    rooms = [data.rows(own) for own in dealt(len(data.actions), config.rooms)]
    known = [
        alarmed(held_out.rows(own), code) for own, code in zip(dealt(len(held_out.actions), config.rooms), codes, strict=False)
    ]
    new = [alarmed(held_out, code) for code in codes[config.rooms :]]

    def found(memory: MixtureRNN) -> Row:
        silent = models.end_auc(without_alarms(memory), held_out)
        return {"known": mean_auc(memory, known), "new": mean_auc(memory, new), "silent": silent}

    for name, rule in zip(RULES, (Mean(), AndMask(config.room_threshold, rescale=True)), strict=True):
        actions = data.actions.shape[-1] + CODE
        memory = models.make_memory(config, actions, Generator().manual_seed(config.seed))
        looks = None if further is None else Looks(validation_rooms(config, further), found, EarlyStopping(config.looks))
        train(config, memory, [alarmed(room, code) for room, code in zip(rooms, codes, strict=False)], rule, looks)
        row: Row = {"kind": "room", "rule": name, **found(memory), "budget": config.room_steps}
        stopped = None
        if looks:
            row |= looks.stopping.row
            if row.get("stopped_at", 1) != 1:
                early = models.make_memory(config, actions, Generator())
                early.load_state_dict(looks.weights)
                stopped = without_alarms(early)
        yield Trained(row, without_alarms(memory), stopped)


def validation_rooms(config: Config, further: Latents) -> list[Latents]:
    """Return as many new rooms as M is tried in, with codes and episodes of their own."""
    codes = torch.randn(NEW, 2, CODE, generator=stream(config.seed, "validation", "codes"))
    return [alarmed(further, code) for code in codes]


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


def train(config: Config, memory: MixtureRNN, rooms: list[Latents], rule: Rule, looks: Looks | None = None) -> None:
    """Train M on equally many episodes of each room, in as many draws for every rule; look at it on the way, if asked."""
    agreement = Agreement(memory, rule)
    optimizer = torch.optim.Adam(memory.parameters(), config.memory_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.room_steps)
    generator = same_stream(config.seed)
    each = max(1, config.memory_batch // len(rooms))
    for step in range(config.room_steps):
        optimizer.zero_grad()
        for place, room in enumerate(rooms):
            some = room.rows(torch.randint(len(room.actions), (each,), generator=generator))
            loss = models.predict_loss(memory, some, generator)[None]
            # A room at a time: an LSTM's rows are not told apart, so that each room's gradient is a backward pass anyway.
            (agreement.backward if place + 1 == len(rooms) else agreement.accumulate)(loss, [place])
        clip_grad_value_(memory.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if looks:
            looks.look((step + 1) / config.room_steps, memory)
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
