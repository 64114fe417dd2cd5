"""Wrong tensors, and values of the wrong kind, for public doors of blocks, worlds and vision: prints JSON, as `wrong_kinds`.

Beside what is no tensor at all, each tensor is replaced by one of another rank, width or dtype, by an empty one, by one with a
NaN or an id that there is not. A call that is refused must have left its arguments as they were: weights, states, generators.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import nn

from doors_of_blocks import of_blocks, of_graphs
from doors_of_people import of_influence, of_particles, of_symbols
from doors_of_vision import of_captions, of_decoding
from doors_of_worlds import of_dreams, of_memory, of_plans
from wrong_kinds import Door, report, wrong_for

WORLDS = (of_memory, of_dreams, of_plans, of_influence, of_symbols, of_particles)
ROOMS = (of_blocks, of_graphs, *WORLDS, of_captions, of_decoding)


def wrong_tensors(good: object) -> dict[str, object]:
    """What is of another kind than a value that is taken, and the tensors that it is not."""
    wrong = wrong_for(good)
    if not isinstance(good, torch.Tensor):
        return wrong
    wrong |= {"an axis more": good[None], "none of it": good[:0]}
    wrong |= {"an axis less": good[0], "a column more": torch.cat([good, good[..., :1]], -1)}
    if good.is_floating_point():
        broken = good.detach().clone()
        broken.view(-1)[0] = torch.nan
        return wrong | {"whole numbers": good.detach().long(), "doubles": good.detach().double(), "with NaN": broken}
    if good.dtype == torch.bool:
        return wrong | {"zeros and ones": good.float()}
    return wrong | {"floats": good.float(), "too large": good + 1000, "negative": good - 1000}


def state(value: object) -> object:
    """What a refusal may not change of an argument."""
    if isinstance(value, torch.Generator):
        return value.get_state().numpy().tobytes()
    if isinstance(value, torch.Tensor):
        return value.detach().resolve_conj().clone().numpy().tobytes()
    if isinstance(value, nn.Module):
        return [state(one) for one in value.state_dict().values()]
    return [state(one) for one in value] if isinstance(value, tuple) else id(value)


def watched(room: Callable[[], list[Door]]) -> Callable[[], list[Door]]:
    """The doors of a room, each of which says so if it was not left as it was."""

    def call(door: Door, given: dict[str, Any]) -> Any:
        held = (*given.values(), *door.good.values(), *door.holds)
        before = state(held)
        try:
            return door.call(**given)
        except Exception as error:
            if state(held) != before:
                raise AssertionError(f"{door.name} was not left as it was") from error
            raise

    return lambda: [replace(door, call=lambda door=door, **given: call(door, given)) for door in room()]


if __name__ == "__main__":
    report(tuple(watched(room) for room in ROOMS), wrong_tensors)
