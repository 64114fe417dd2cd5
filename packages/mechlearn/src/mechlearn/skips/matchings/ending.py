"""`OrEnd`: a window with one frame more, the end of what runs, however far ahead."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from mechlearn.arguments import Choice, check_kind
from mechlearn.skips.matched import Chosen, Steps
from mechlearn.skips.matchings.following import Predicted, follow
from mechlearn.skips.matchings.greedy import Greedy
from mechlearn.skips.predicting import Predictor


@dataclass(frozen=True)
class OrEnd(Choice):
    """Match as `Greedy` does, or with the frame at which the running option ends, if that fits better; however far.

    Under `Options` no window passes an option's end, so that skips and switches are learned together (ours, after thesis
    section 2.5: "a more interesting interplay between ideal skip intervals and switching points for options"). Here that end
    is always a legal match, as in value prediction networks, where it is the only one. Without options it is the trajectory's
    end. Where no end lies beyond the horizon this is `Greedy`.

    Args:
        greedy: the window; random matches stay within it. Without a scale, which says nothing of a frame beyond the horizon.

    Raises:
        TypeError: another matching.
        ValueError: one with a scale.
    """

    greedy: Greedy

    def __post_init__(self) -> None:
        check_kind("greedy", self.greedy, Greedy, "Greedy(...)")
        if self.greedy.scale is not None:
            raise ValueError(
                "`greedy` should have no scale: it holds no number for a frame beyond the horizon. Found one. Lengthen it."
            )

    def along(self, predictor: Predictor) -> Steps:
        """Follow every trajectory to its last frame."""
        within = self.greedy.chooser(predictor)
        return follow(
            predictor, lambda predicted: self._choose(predictor, within, predicted), explores=self.greedy.exploration > 0
        )

    @torch.no_grad()
    def _choose(self, predictor: Predictor, within: Callable[[Predicted], Chosen], predicted: Predicted) -> Chosen:
        chosen = within(predicted)
        explored = chosen.explored or [False] * len(predicted.rows)
        far = [
            i
            for i, (time, length) in enumerate(zip(predicted.times, predicted.lengths, strict=True))
            if length - 1 > time + self.greedy.horizon and not explored[i]
        ]
        if not far:
            return chosen
        frames, rows = list(chosen.frames), [predicted.rows[i] for i in far]
        ends = [predicted.lengths[i] - 1 for i in far]
        seen = predicted.seen[far]
        at_end, near = (predictor.losses(seen, rows, each).tolist() for each in (ends, [frames[i] for i in far]))
        for i, end, loss, best in zip(far, ends, at_end, near, strict=True):
            if loss < best or (loss == best and self.greedy.ties == "last"):
                frames[i] = end
        return Chosen(frames, chosen.explored)
