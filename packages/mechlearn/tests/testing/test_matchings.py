import inspect
from dataclasses import dataclass

import pytest
import torch

from mechlearn.skips import Aligned, Chosen, Fixed, Greedy, follow
from mechlearn.testing import check_matching


@pytest.mark.parametrize("matching", [Greedy(4), Greedy(3, 0.3), Greedy(5, 1.0), Fixed(2), Fixed(3, last="drop")])
def test_our_own_keep_every_rule(matching):
    check_matching(matching)


@pytest.mark.parametrize("inputs", ["frames", "predictions"])
@pytest.mark.parametrize("cost", ["mean", "sum"])
def test_alignments_keep_every_rule(inputs, cost):
    check_matching(Aligned(4, inputs, cost), teacher_forcing=(1.0,))


@dataclass(frozen=True)
class ByStep:
    """A matching from a function of predictions to frames."""

    frames: object

    def along(self, predictor):
        return follow(predictor, lambda predicted: Chosen(self.frames(predicted)))


def next_frames(predicted):
    return [time + 1 for time in predicted.times]


def a_frame_of_any_length(predicted):
    longest = max(predicted.lengths)
    return [
        min(time + (2 if longest > 5 else 1), length - 1)
        for time, length in zip(predicted.times, predicted.lengths, strict=True)
    ]


def drawn_globally(predicted):
    return [t + 1 + int(torch.rand(()) * (n - 1 - t)) for t, n in zip(predicted.times, predicted.lengths, strict=True)]


class Remembering:
    """Goes two frames ahead at every second call."""

    calls = 0

    def along(self, predictor):
        self.calls += 1
        skip = 1 + self.calls % 2
        return follow(
            predictor, lambda made: Chosen([min(t + skip, n - 1) for t, n in zip(made.times, made.lengths, strict=True)])
        )


class Twisted:
    """Follows as it should, then changes what it found."""

    def __init__(self, twist):
        self.twist = twist

    def along(self, predictor):
        found = follow(predictor, lambda made: Chosen(next_frames(made)))
        return self.twist(found, predictor) or found


def uncounted(found, predictor):
    found.evaluations -= 1


def cut_off(found, predictor):
    found._losses = [losses.detach() for losses in found._losses]


def jumping(found, predictor):
    found._frames[0] += 1


def running_away(found, predictor):
    found._frames[-1] += 3


def peeking(found, predictor):
    padding = predictor.trajectories.frames[:, -1].sum()
    found._losses[0] = found._losses[0] + padding


def one_by_one(found, predictor):
    """Numbers of its own, in an order that depends on the batch."""
    drawn = torch.rand(len(found._rows), generator=predictor.generator[0] if isinstance(predictor.generator, list) else None)
    found._losses = [torch.cat(found._losses) + drawn]


@pytest.mark.parametrize(
    ("matching", "sentence"),
    [
        (ByStep(lambda made: made.times), "one of the frames 1 to 7, those that follow.*Found frame 0"),
        (ByStep(lambda made: [t + 2 for t in made.times]), "Found frame .* in trajectory"),
        (ByStep(a_frame_of_any_length), "matched the same whatever else is in the batch"),
        (ByStep(drawn_globally), "from the given generator alone"),
        (Remembering(), "the same result again. Found another the second time"),
        (Twisted(uncounted), "`evaluations` should count the frames"),
        (Twisted(cut_off), "reach every parameter"),
        (Twisted(jumping), "start from frame 0 or"),
        (Twisted(running_away), "ahead and within the trajectory"),
        (Twisted(peeking), "Padding should be neither matched nor looked at"),
        (Twisted(one_by_one), "whatever else is in the batch"),
        (Twisted(lambda found, predictor: [1, 2, 3]), r"should return the predictor's `steps\(\)`. Found list"),
    ],
)
def test_a_broken_rule_is_named(matching, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_matching(matching)


@pytest.mark.parametrize("what", [Greedy, 3, "greedy"])
def test_what_is_no_matching_is_refused(what):
    with pytest.raises(TypeError, match=r"an object with a method `along\(predictor\)`. Found "):
        inspect.unwrap(check_matching)(what)  # without its annotations' checks, which only tests have


def test_a_matching_that_refuses_says_what_it_was_given():
    with pytest.raises(AssertionError, match=r"lengths \[8, 5, 10, 4\] .*Found ValueError: With last='drop'"):
        check_matching(Fixed(9, last="drop"))
    check_matching(Fixed(9, last="drop"), lengths=(12, 10, 14))


def test_a_matching_of_one_s_own_needs_no_more_than_a_function():
    check_matching(ByStep(next_frames))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"lengths": (8,)}, r"two trajectories or more, not all alike\. Found \(8,\)"),
        ({"lengths": (8, 8)}, r"Found \(8, 8\)"),
        ({"teacher_forcing": ()}, "name a probability to try. Found none, so nothing is checked"),
    ],
)
def test_what_would_check_nothing_is_refused(words, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_matching(Greedy(4), **words)
