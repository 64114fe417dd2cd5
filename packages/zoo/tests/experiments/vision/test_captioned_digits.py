import torch

from mechlearn_zoo.experiments.vision.captions.captioned_digits import COLOURS, WORDS, caption, captioned_digits


def draw(part="train", count=15):
    return captioned_digits(0, count, part, torch.Generator().manual_seed(1))


def test_captions_say_what_is_there():
    data = draw()
    for n in range(15):
        words = caption(data.words[n]).split()
        relation = next(word for word in words if word in ("above", "below", "left-of", "right-of"))
        first, second = (torch.nonzero(box).double().mean(0) for box in data.boxes[n])
        axis, sign = {"above": (0, 1), "below": (0, -1), "left-of": (1, 1), "right-of": (1, -1)}[relation]
        assert sign * (second - first)[axis] > 0
        for which in range(2):
            own = [
                WORDS[word]
                for word, about in zip(data.words[n].tolist(), data.about[n].tolist(), strict=True)
                if about == which
            ]
            side = int(data.boxes[n, which].any(0).sum())
            assert ("small" in own) == (side == 9)
            colour = next(word for word in own if word in COLOURS)
            inside = data.pictures[n][:, data.boxes[n, which]]
            brightest = inside[:, inside.sum(0).argmax()]
            torch.testing.assert_close(brightest / brightest.max(), torch.tensor(COLOURS[colour]) / max(COLOURS[colour]))


def test_boxes_do_not_meet_and_nothing_lies_outside():
    data = draw()
    assert not (data.boxes[:, 0] & data.boxes[:, 1]).any()
    assert not data.pictures.sum(1)[~data.boxes.any(1)].any()


def test_parts_differ_and_draws_repeat():
    assert torch.equal(draw().pictures, draw().pictures)
    parts = [draw(part).pictures for part in ("train", "validation", "test")]
    assert not any(torch.equal(parts[one], parts[one - 1]) for one in range(3))
