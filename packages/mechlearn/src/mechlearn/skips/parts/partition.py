"""`Parts`: a frame's elements divided among processes, each with dynamics of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor

from mechlearn.arguments import Choice, check_kind, check_one_of
from mechlearn.skips.contexts import Actions
from mechlearn.skips.dynamics import Dynamics, check_dynamics
from mechlearn.trajectories import Trajectories

Sees = Literal["own", "all"]
"""What a part's model is shown: its own elements, or the others beside them."""


@dataclass(frozen=True, eq=False)
class Part(Choice):
    """One process: which elements of a frame's first dimension are its own, and its dynamics.

    The model is given frames of these elements, (n, len(elements), ...): numbers of a state, or channels of a picture.

    Args:
        elements: in the order in which the model sees them.
        dynamics: of those frames. `Cumulants.clock` gives it the clock that `rollout_parts` needs. Two parts may share a model.

    Raises:
        TypeError: what are no whole numbers, or no dynamics.
        ValueError: no element.
    """

    elements: Sequence[int]
    dynamics: Dynamics

    def __post_init__(self) -> None:
        check_dynamics(self.dynamics)
        check_kind("elements", self.elements, Sequence, "a list of whole numbers", way_out="Write range(0, 4).")
        found = list(self.elements)
        if any(type(each) is not int for each in found):
            raise TypeError(f"`elements` should be whole numbers. Found {found}. range(0, 4) names the first four.")
        if not found:
            raise ValueError("`elements` should name one of a frame's elements or more. Found none. Leave the part out.")
        object.__setattr__(self, "elements", tuple(found))


@dataclass(frozen=True, eq=False)
class Parts(Choice):
    """Processes that run side by side; every element of a frame belongs to one of them.

    Each goes along a trajectory at distances of its own, so that a frame that is predicted is never one frame of the world but
    some elements of it, and a model of all elements at once would have to wait for the slowest. With ``sees="all"`` the model
    of a part is ``f(own, others)``: the other elements at the frame that it predicts from, which are true ones in training,
    and in a roll-out those predicted for its clock. So processes act on each other.

    Args:
        parts: by name.
        sees: "own", processes that are independent, or "all".

    Raises:
        TypeError: what are no parts.
        ValueError: no part, elements that two parts have, another word, or a context where a part sees all.
    """

    parts: Mapping[str, Part]
    sees: Sees = "own"

    def __post_init__(self) -> None:
        check_kind("parts", self.parts, Mapping, "a dictionary of Part(elements, dynamics)")
        check_one_of("sees", self.sees, get_args(Sees))
        if not self.parts:
            raise ValueError("`parts` should name one process or more. Found none.")
        taken: dict[int, str] = {}
        for name, part in self.parts.items():
            check_kind(f"parts[{name!r}]", part, Part, "Part(elements, dynamics)")
            for element in part.elements:
                if element in taken:
                    raise ValueError(
                        f"Every element should belong to one part. Found {element} in {taken[element]!r} and in {name!r}. "
                        "Leave it out of one of them."
                    )
                taken[element] = name
            if self.sees == "all" and part.dynamics.context is not None:
                raise ValueError(
                    f"A part that sees all is given the other elements as its context. Found another one in {name!r}. Put what "
                    "stands still into the frame, or pass sees='own'."
                )

    def check_cover(self, frame_shape: Sequence[int]) -> None:
        """Reject parts that do not cover a frame.

        Raises:
            ValueError: an element of no part, or one that a frame does not have.
        """
        if len(frame_shape) == 0:
            raise ValueError("Frames should have a first dimension to divide into parts. Found one number each. Add one.")
        named = sorted(element for part in self.parts.values() for element in part.elements)
        if named != list(range(frame_shape[0])):
            missing = sorted(set(range(frame_shape[0])) - set(named))
            other = sorted(set(named) - set(range(frame_shape[0])))
            found = f"none for {missing}" if missing else f"{other}, which there are not"
            raise ValueError(
                f"Parts should cover a frame, elements 0 to {frame_shape[0] - 1}. Found {found}. Name what rests as a part of "
                "its own."
            )

    def own(self, name: str, frames: Float[Tensor, "n elements *rest"]) -> Float[Tensor, "n own *rest"]:
        """Return a part's own elements of frames."""
        return frames[:, list(self.parts[name].elements)]

    def others(self, name: str, frames: Float[Tensor, "n elements *rest"]) -> Float[Tensor, "n others *rest"]:
        """Return the elements of frames that are not a part's own, in order."""
        own = set(self.parts[name].elements)
        return frames[:, [element for element in range(frames.shape[1]) if element not in own]]

    def of(self, name: str, trajectories: Trajectories) -> tuple[Dynamics, Trajectories]:
        """Return a part's dynamics, with the other elements beside its frames where it sees all, and its own trajectories."""
        part = self.parts[name]
        if self._whole(part, trajectories.frame_shape):
            return part.dynamics, trajectories
        own = Trajectories(trajectories.frames[:, :, list(part.elements)], trajectories.lengths, trajectories.scale)
        if self.sees == "own":
            return part.dynamics, own
        values = trajectories.values()
        beside = self.others(name, values.flatten(0, 1)).unflatten(0, values.shape[:2])
        return replace(part.dynamics, context=Actions(beside, lengths=trajectories.lengths)), own

    def _whole(self, part: Part, frame_shape: Sequence[int]) -> bool:
        """Say whether a part is the whole frame as it is, beside which there is nothing to see."""
        return list(part.elements) == list(range(frame_shape[0]))

    def joined(self, values: Mapping[str, Float[Tensor, "n own *rest"]]) -> Float[Tensor, "n elements *rest"]:
        """Return frames from their parts."""
        order = [element for name in self.parts for element in self.parts[name].elements]
        return torch.cat([values[name] for name in self.parts], dim=1)[:, torch.tensor(order).argsort()]
