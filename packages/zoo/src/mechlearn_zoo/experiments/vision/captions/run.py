"""Captions: encoders trained by words and sentences or by sentences alone, retrieval among a hundred, and where words look."""

import base64
import zlib
from collections.abc import Iterator
from functools import partial

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import avg_pool2d, normalize

from claimlab import Row, part
from mechlearn_zoo.experiments.vision.captions import encoders as networks
from mechlearn_zoo.experiments.vision.captions import painting
from mechlearn_zoo.experiments.vision.captions.captioned_digits import (
    COLOURS,
    NAMES,
    WORDS,
    Captioned,
    caption,
    captioned_digits,
)
from mechlearn_zoo.experiments.vision.captions.encoders import Encoders
from mechlearn_zoo.experiments.vision.captions.settings import Config
from mechlearn_zoo.learners.stopping import Kept
from mechlearn_zoo.methods.vision.generating import Generated, TwoStages
from mechlearn_zoo.methods.vision.matching import Captions, Pictures, attend
from mechlearn_zoo.tasks.streams import stream

SHOWN, TWINS = 3, 8
"""Test pictures whose attention is kept, and captions of which pictures are made for a figure; with twins, more."""
HELD = 300
"""Validation pictures, of further digits; fewer where fewer are tested."""


def run(config: Config) -> Iterator[Row]:
    """Yield retrieval, where words look, and, where asked for, retrieval of made pictures."""
    generator = Generator().manual_seed(config.seed)
    drawn = partial(captioned_digits, config.seed, side=config.side, twins=config.twins)
    train = drawn(config.pictures, "train", generator)
    test = drawn(config.tested, "test", generator)
    held = drawn(min(HELD, config.tested), "validation", stream(config.seed, "validation"))
    places = (config.side // 4) ** 2 if config.twins else 0
    trained: dict[str, Kept[Encoders]] = {}
    for name in ("words", "sentence"):
        one = Encoders(config.width, generator, config.sharpness, places)
        validate = partial(finds, config, held, name == "words")
        trained[name] = networks.train(config, one, train, name == "words", generator, validate)
    untrained = Encoders(config.width, generator, config.sharpness, places).requires_grad_(False)
    yield from part("retrieval", retrieval(config, trained, untrained, test))
    for name, one in (("words", trained["words"].model), ("untrained", untrained)):
        yield from part(f"pointing, {name}", pointing(name, one, test))
    yield from shown(config, trained["words"].model, test)
    for attention in (True, False) if config.gan_steps else ():
        name = f"painted, {'with' if attention else 'without'} attention"
        yield from part(name, painted(config, trained, (train, held, test), attention))


def finds(config: Config, held: Captioned, by_words: bool, encoders: Encoders) -> float:
    """Return how often encoders find the caption of a validation picture."""
    return retrieved(config, encoders, held, held.pictures, by_words=by_words)


def retrieval(config: Config, trained: dict[str, Kept[Encoders]], untrained: Encoders, test: Captioned) -> Iterator[Row]:
    """Yield how often each pair of encoders finds the caption of a test picture."""
    ways = (("words", "words", True), ("sentence", "sentence", False), ("words' sentence", "words", False))
    for method, name, by_words in ways:
        kept = trained[name]
        right, then = (retrieved(config, one, test, test.pictures, by_words=by_words) for one in (kept.model, kept.best))
        stopped: Row = {"stopped_right": then, "stopped_at": kept.share}
        yield {"kind": "retrieval", "budget": config.steps, "method": method, "right": right, **stopped}
    right = retrieved(config, untrained, test, test.pictures, by_words=True)
    yield {"kind": "retrieval", "method": "untrained", "right": right}


def painted(
    config: Config, trained: dict[str, Kept[Encoders]], data: tuple[Captioned, Captioned, Captioned], attention: bool
) -> Iterator[Row]:
    """Train one generator; yield how often its pictures' captions are found, and the first of them.

    Found by the encoders that the generator is trained against, as in the text, and by those of sentences alone, which it
    never meets. The former say on validation captions where the generator is stopped.
    """
    train, held, test = data
    encoders, others = trained["words"].model, trained["sentence"].model

    def validate(painter: TwoStages) -> float:
        made = paintings(painter, encoders, held, stream(config.seed, "validation noise"))
        return retrieved(config, encoders, held, made.large, by_words=True)

    kept = painting.paint(config, encoders, train, attention, Generator().manual_seed(config.seed + 1), validate)
    made, then = (paintings(one, encoders, test, Generator().manual_seed(config.seed + 2)) for one in (kept.model, kept.best))
    found, stopped = (
        {
            "right": retrieved(config, encoders, test, some.large, by_words=True),
            "right_unseen": retrieved(config, others, test, some.large, by_words=False),
            "spread": float(some.large.std(0).mean()),
        }
        for some in (made, then)
    )
    yield {
        "kind": "painted",
        "budget": config.gan_steps,
        "attention": attention,
        **found,
        **{f"stopped_{name}": value for name, value in stopped.items()},
        "stopped_at": kept.share,
    }
    for i in range(min(_figured(config), len(test.words))):
        stages: Row = {"small": encode(made.small[i]), "large": encode(made.large[i])}
        yield {"kind": "picture", "attention": attention, "index": i, "caption": caption(test.words[i]), **stages}


def paintings(painter: TwoStages, encoders: Encoders, data: Captioned, generator: Generator) -> Generated:
    """Return a generator's pictures of captions."""
    captions = encoders.read(data.words)
    return painter(captions.sentences, captions.words, captions.mask, generator)


def retrieved(config: Config, encoders: Encoders, test: Captioned, pictures: Tensor, *, by_words: bool) -> float:
    """Return the share of pictures whose own caption scores best among others that differ from it (R-precision).

    With twins, the twin's caption is one of them.
    """
    generator = Generator().manual_seed(config.seed + 3)
    captions, seen = encoders.read(test.words), encoders.see(pictures)
    count, right = len(test.words), 0
    for i in range(count):
        different = (test.words != test.words[i]).any(1).nonzero().flatten()
        others = different[torch.randperm(len(different), generator=generator)[: config.candidates - 1]]
        if config.twins:
            others = torch.cat((torch.tensor([i ^ 1]), others[others != i ^ 1][: config.candidates - 2]))
        chosen = torch.cat((torch.tensor([i]), others))
        scores = _scores(captions, seen, chosen, i, by_words)
        right += bool((scores[0] > scores[1:]).all())
    return right / count


def _scores(captions: Captions, seen: Pictures, chosen: Tensor, i: int, by_words: bool) -> Float[Tensor, " j"]:
    some = Captions(*(piece[chosen] for piece in captions))
    if by_words:
        return attend(some, Pictures(seen.regions[i : i + 1], seen.whole[i : i + 1])).scores[0]
    return normalize(some.sentences, dim=1) @ normalize(seen.whole[i], dim=0)


def pointing(name: str, encoders: Encoders, test: Captioned) -> Iterator[Row]:
    """Yield the attention mass of colour and digit words in their digit's box, and in the other's, over the box's area."""
    attention = own_attention(encoders, test)
    boxes = avg_pool2d(test.boxes.float(), 4).flatten(2)
    for kind, chosen in (("colour", set(COLOURS)), ("digit", set(NAMES))):
        places = torch.tensor([WORDS[word] in chosen for word in range(len(WORDS))])[test.words] & (test.about >= 0)
        rows, columns = places.nonzero(as_tuple=True)
        which = test.about[rows, columns]
        ratios: list[float] = []
        for box in (boxes[rows, which], boxes[rows, 1 - which]):
            ratios.append(float(((attention[rows, columns] * box).sum(1) / box.mean(1)).mean()))
        yield {"kind": "pointing", "method": name, "word": kind, "own": ratios[0], "other": ratios[1]}


def own_attention(encoders: Encoders, test: Captioned) -> Float[Tensor, "n t r"]:
    """Return where each caption's words look in its own picture."""
    captions, seen = encoders.read(test.words), encoders.see(test.pictures)
    found: list[Tensor] = []
    for i in range(len(test.words)):
        one = Captions(*(piece[i : i + 1] for piece in captions))
        found.append(attend(one, Pictures(seen.regions[i : i + 1], seen.whole[i : i + 1])).attention[0, 0])
    return torch.stack(found)


def shown(config: Config, encoders: Encoders, test: Captioned) -> Iterator[Row]:
    """Yield the first test pictures with the attention of their words, in sixteenths of the largest."""
    few = Captioned(*(piece[: _figured(config)] for piece in test))
    for i, attention in enumerate(own_attention(encoders, few)):
        text = caption(few.words[i])
        shades = (15 * attention[: len(text.split())] / attention.max()).round().to(torch.uint8)
        maps = "".join(f"{int(shade):x}" for shade in shades.flatten())
        yield {"kind": "attention", "index": i, "caption": text, "pixels": encode(few.pictures[i]), "maps": maps}


def _figured(config: Config) -> int:
    return TWINS if config.twins else SHOWN


def encode(picture: Float[Tensor, "3 h w"]) -> str:
    """Return a picture as text, in sixteen shades of each colour."""
    shades = (picture.clamp(0, 1) * 15).round().to(torch.uint8).movedim(0, -1).contiguous()
    return base64.b64encode(zlib.compress(shades.numpy().tobytes(), 9)).decode()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = {"retrieval": 0.8, "pointing": 0.9, "attention": 0.95}.get(str(row["kind"]), 1.0)
    return done / (4 if config.gan_steps else 1), str(row["kind"])
