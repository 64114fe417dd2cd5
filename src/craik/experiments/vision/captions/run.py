"""Captions: encoders trained by words and sentences or by sentences alone, retrieval among a hundred, and where words look."""

import base64
import zlib
from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Generator, Tensor
from torch.nn.functional import avg_pool2d, normalize

from craik.experiments.vision.captions import encoders as networks
from craik.experiments.vision.captions import painting
from craik.experiments.vision.captions.encoders import Encoders
from craik.experiments.vision.captions.settings import Config
from craik.lab import Row
from craik.methods.vision.matching import Captions, Pictures, attend
from craik.tasks.pictures.captioned_digits import COLOURS, NAMES, WORDS, Captioned, caption, captioned_digits

GRID = 8
"""Regions of a side."""


def run(config: Config) -> Iterator[Row]:
    """Yield retrieval, where words look, and, where asked for, retrieval of made pictures."""
    generator = Generator().manual_seed(config.seed)
    train = captioned_digits(config.seed, config.pictures, "train", generator)
    test = captioned_digits(config.seed, config.tested, "test", generator)
    trained: dict[str, Encoders] = {}
    for name in ("words", "sentence"):
        trained[name] = Encoders(config.width, generator, config.sharpness)
        networks.train(config, trained[name], train, name == "words", generator)
    untrained = Encoders(config.width, generator, config.sharpness).requires_grad_(False)
    seen = test.pictures
    budget = {"budget": config.steps}
    yield {
        "kind": "retrieval",
        **budget,
        "method": "words",
        "right": retrieved(config, trained["words"], test, seen, by_words=True),
    }
    yield {
        "kind": "retrieval",
        **budget,
        "method": "sentence",
        "right": retrieved(config, trained["sentence"], test, seen, by_words=False),
    }
    yield {
        "kind": "retrieval",
        **budget,
        "method": "words' sentence",
        "right": retrieved(config, trained["words"], test, seen, by_words=False),
    }
    yield {"kind": "retrieval", "method": "untrained", "right": retrieved(config, untrained, test, seen, by_words=True)}
    for name, one in (("words", trained["words"]), ("untrained", untrained)):
        yield from pointing(name, one, test)
    yield from shown(trained["words"], test)
    for attention in (True, False) if config.gan_steps else ():
        painter = painting.paint(config, trained["words"], train, attention, Generator().manual_seed(config.seed + 1))
        captions = trained["words"].read(test.words)
        made = painter(captions.sentences, captions.words, captions.mask, Generator().manual_seed(config.seed + 2)).large
        right = retrieved(config, trained["words"], test, made, by_words=True)
        yield {"kind": "painted", "attention": attention, "right": right, "spread": float(made.std(0).mean())}
        yield {"kind": "picture", "attention": attention, "captions": caption(test.words[0]), "pixels": encode(made[0])}


def retrieved(config: Config, encoders: Encoders, test: Captioned, pictures: Tensor, *, by_words: bool) -> float:
    """Return the share of pictures whose own caption scores best among others that differ from it (R-precision)."""
    generator = Generator().manual_seed(config.seed + 3)
    captions, seen = encoders.read(test.words), encoders.see(pictures)
    count, right = len(test.words), 0
    for i in range(count):
        different = (test.words != test.words[i]).any(1).nonzero().flatten()
        others = different[torch.randperm(len(different), generator=generator)[: config.candidates - 1]]
        chosen = torch.cat((torch.tensor([i]), others))
        scores = _scores(captions, seen, chosen, i, by_words)
        right += bool((scores[0] > scores[1:]).all())
    return right / count


def _scores(captions: Captions, seen: Pictures, chosen: Tensor, i: int, by_words: bool) -> Float[Tensor, " j"]:
    some = Captions(*(part[chosen] for part in captions))
    if by_words:
        return attend(some, Pictures(seen.regions[i : i + 1], seen.whole[i : i + 1])).scores[0]
    return normalize(some.sentences, dim=1) @ normalize(seen.whole[i], dim=0)


def pointing(name: str, encoders: Encoders, test: Captioned) -> Iterator[Row]:
    """Yield the attention mass of colour and digit words in their digit's box, and in the other's, over the box's area."""
    attention = own_attention(encoders, test)
    boxes = avg_pool2d(test.boxes.float(), 32 // GRID).flatten(2)
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
        one = Captions(*(part[i : i + 1] for part in captions))
        found.append(attend(one, Pictures(seen.regions[i : i + 1], seen.whole[i : i + 1])).attention[0, 0])
    return torch.stack(found)


def shown(encoders: Encoders, test: Captioned) -> Iterator[Row]:
    """Yield the first three test pictures with the attention of their words, in sixteenths of the largest."""
    few = Captioned(*(part[:3] for part in test))
    for i, attention in enumerate(own_attention(encoders, few)):
        text = caption(few.words[i])
        shades = (15 * attention[: len(text.split())] / attention.max()).round().to(torch.uint8)
        maps = "".join(f"{int(shade):x}" for shade in shades.flatten())
        yield {"kind": "attention", "index": i, "caption": text, "pixels": encode(few.pictures[i]), "maps": maps}


def encode(picture: Float[Tensor, "3 h w"]) -> str:
    """Return a picture as text, in sixteen shades of each colour."""
    shades = (picture.clamp(0, 1) * 15).round().to(torch.uint8).movedim(0, -1).contiguous()
    return base64.b64encode(zlib.compress(shades.numpy().tobytes(), 9)).decode()


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    done = {"retrieval": 0.8, "pointing": 0.9, "attention": 0.95}.get(str(row["kind"]), 1.0)
    return done / (4 if config.gan_steps else 1), str(row["kind"])
