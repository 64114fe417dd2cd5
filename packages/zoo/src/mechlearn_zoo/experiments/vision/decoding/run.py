"""Decoding: a sound's envelope from real spikes; pictures of digits from simulated voxels, with and without a prior.

Every digit is a real image (scikit-learn's); pictures to train the extractor and its inverse, to train the decoders, and to
test on are made of different ones. The voxels are simulated.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple, get_args

import torch
from annotated_types import Ge, MinLen
from torch import Generator, Tensor
from torch.nn.functional import relu

from claimlab import EarlyStopping, Limited, Positive, Preset, Row, Share, checkpoint, part
from mechlearn_zoo.experiments.vision.decoding import looks, networks, pictures
from mechlearn_zoo.experiments.vision.decoding.networks import LAYERS, Extractor, Inverse
from mechlearn_zoo.experiments.vision.decoding.simulated_voxels import SimulatedVoxels, simulated_voxels
from mechlearn_zoo.methods.vision.decoding import (
    Decoded,
    FeatureDecoder,
    correlations,
    lagged,
    match_spread,
    pairwise_identification,
)
from mechlearn_zoo.methods.vision.reconstructing import Pixels, Prior
from mechlearn_zoo.tasks.pictures.digits import digits
from mechlearn_zoo.tasks.pictures.images import Images
from mechlearn_zoo.tasks.recordings.neurons import grasshopper
from mechlearn_zoo.tasks.streams import stream

Whole = Annotated[int, Ge(1)]
Way = Literal["all layers", "top layer", "with prior", "top layer with prior", "generator alone", "plain ridge"]
"""The first four are searches: on pixels or, with a prior, on the generator's input. "generator alone" is what the generator
makes of the decoded highest layer; "plain ridge" goes from voxels to pixels."""


@dataclass(frozen=True)
class Config(Limited):
    """Settings of one run."""

    seed: int = 100
    """First seed: which seconds of the neurons are held out; digits, networks, voxels and noise."""
    neurons: tuple[Annotated[int, Ge(1)], ...] = (1, 2)
    """Which of nitime's two recordings of a real neuron are read; none: that part is left out."""
    held_out: Whole = 3
    """Seconds of the ten that are held out, one after the other."""
    digits: Whole = 2
    """Digits side by side in a picture."""
    pictures: Whole = 1200
    """Pictures that the decoders are trained on."""
    tested: Annotated[int, Ge(2)] = 100
    """Pictures that are reconstructed."""
    validated: Annotated[int, Ge(2)] = 50
    """Further ones, of the same digits in another draw, by which a search may be stopped early."""
    voxels: Whole = 400
    """Simulated voxels."""
    negatives: Share = 0.0
    """Share of the pictures that are dark on light; the others are light on dark."""
    light: Share = 0.5
    """Share of the voxels that pool light; the others have oriented energy."""
    balanced: bool = False
    """Whether these answer to contrast alone, and so to a picture and its negative alike."""
    noise: Annotated[float, Ge(0)] = 1.5
    """Standard deviation of a recording's noise over that of the voxels' answers."""
    repetitions: Whole = 8
    """Test recordings that are averaged."""
    gains: Annotated[tuple[Positive, ...], MinLen(1)] = (1.0, 0.5)
    """Of the answers in the test sessions, 1 as trained, below it weakened."""
    alpha: Positive = 400.0
    """Ridge's weight for the voxels."""
    steps: Whole = 600
    """Training steps of each network."""
    search: Whole = 200
    """Steps of each search."""
    ways: Annotated[tuple[Way, ...], MinLen(1)] = ("all layers", "top layer", "with prior", "plain ridge")
    """How pictures are reconstructed."""


PRESETS = {
    "quick": Preset(Config(), seeds=6),
    # Most voxels see contrast of either sign, as complex cells do: pixels are no linear function of what these say, and plain
    # ridge, to which quick's small pictures are easy, has to lose.
    "contrast": Preset(Config(seed=200, neurons=(), negatives=0.5, light=0.1, balanced=True, ways=get_args(Way)), seeds=6),
    "paper": Preset(Config(pictures=6000, tested=400, voxels=2000, alpha=2000.0, steps=6000, search=1000), seeds=10),
}


def run(config: Config) -> Iterator[Row]:
    """Yield what was read from the real neurons, then from the simulated voxels."""
    for neuron in config.neurons:
        yield from part(f"neuron {neuron}", real(config, neuron))
    yield from simulated(config)


def real(config: Config, neuron: int) -> Iterator[Row]:
    """Yield how well a held-out stretch of the stimulus is read from real spikes, and with the stimulus moved in time."""
    recording = grasshopper(neuron)
    bins = len(recording.stimulus)
    first = int(torch.randint(bins, (1,), generator=Generator().manual_seed(config.seed)))
    order = (torch.arange(bins) + first) % bins
    test = order < config.held_out * 1000
    x = lagged(recording.spikes, range(-10, 61))
    for control in (False, True):
        # Moved by half the recording, spikes and stimulus keep their own statistics and lose each other.
        stimulus = recording.stimulus.roll(bins // 2) if control else recording.stimulus
        read = FeatureDecoder(10.0).fit(x[~test], stimulus[~test, None]).predict(x[test])[:, 0]
        r = float(correlations(read[None], stimulus[test][None]))
        yield {"kind": "neuron", "neuron": neuron, "control": control, "r": r, "spikes": int(recording.spikes.sum())}
        if not control:
            shown = test.nonzero().flatten()[:400]
            for t, (truth, found) in enumerate(zip(stimulus[shown].tolist(), read[:400].tolist(), strict=True)):
                if t % 4 == 0:
                    yield {"kind": "trace", "neuron": neuron, "ms": t, "stimulus": round(truth, 4), "read": round(found, 4)}


class Split(NamedTuple):
    """Pictures (n, 1, 8, 8 d) and their digits (n, d)."""

    x: Tensor
    y: Tensor


def simulated(config: Config) -> Iterator[Row]:
    """Yield how well features are decoded, and how well each way reconstructs."""
    generator = Generator().manual_seed(config.seed)
    own, training, test = splits(config, generator)
    size = (int(own.x.shape[2]), int(own.x.shape[3]))
    extractor, reader = (Extractor(config.digits, generator) for _ in range(2))
    for name, network in (("extractor", extractor), ("reader", reader)):
        networks.train_reader(name, network, own.x, own.y, config.steps, generator)
    inverse = Inverse(size, generator)
    apart = stream(config.seed, "validation")
    validation = again(config, apart)
    trained = networks.train_inverse(inverse, extractor, own.x, config.steps, generator, (validation.x, test.x))
    error = networks.missed(inverse, extractor, test.x)
    yield {"kind": "generator", "error": error, **trained.row}
    voxels = simulated_voxels(config.voxels, *size, generator, pooled=config.light, balanced=config.balanced)
    recordings = recorded(voxels, training.x, config, generator)
    true = extractor(training.x)
    decoders = Decoders(
        {name: FeatureDecoder(config.alpha).fit(recordings, true[name].flatten(1)) for name in LAYERS},
        {name: float(true[name].flatten(1).std(1).mean()) for name in LAYERS},
        FeatureDecoder(config.alpha).fit(recordings, training.x.flatten(1)),
    )
    for gain in config.gains:
        seen, before = (
            voxels.record(some.x, config.noise, config.repetitions, noise, gain).mean(0)
            for some, noise in ((test, generator), (validation, apart))
        )
        session = Session(config, test, seen, extractor, inverse, {"recognised by": reader}, own)
        beside = session._replace(test=validation, recordings=before)
        yield from part(f"gain {gain}", judged(session, beside, decoders, gain))


class Decoders(NamedTuple):
    """What reads recordings: the features of each layer, with the spread that these have; and pixels."""

    layers: dict[str, Decoded]
    spread: dict[str, float]
    plain: Decoded

    def decoded(self, recordings: Tensor) -> dict[str, Tensor]:
        """Return the features by layer."""
        return {name: match_spread(self.layers[name].predict(recordings), self.spread[name]) for name in LAYERS}


class Session(NamedTuple):
    """A session: pictures, of the test or of validation, averaged recordings and the networks."""

    config: Config
    test: Split
    recordings: Tensor
    extractor: Extractor
    inverse: Inverse
    readers: dict[str, Extractor]
    own: Split


def splits(config: Config, generator: Generator) -> tuple[Split, Split, Split]:
    """Return pictures for the networks, for the decoders and for the test, each of its own digits."""
    data = digits(config.seed, 800, 697, 300)
    counts = (3 * config.pictures, config.pictures, config.tested)
    own, training, test = (_paired(config, some, n, generator) for some, n in zip(data[:3], counts, strict=True))
    return own, training, test


def again(config: Config, generator: Generator) -> Split:
    """Return pictures of the test's digits in another draw: there are no further digits."""
    return _paired(config, digits(config.seed, 800, 697, 300).test, config.validated, generator)


def _paired(config: Config, some: Images, count: int, generator: Generator) -> Split:
    rows = torch.randint(len(some.x), (count, config.digits), generator=generator)
    x = torch.cat(some.x[rows].unbind(1), -1)
    if config.negatives > 0:
        dark = torch.rand(count, 1, 1, 1, generator=generator) < config.negatives
        x = torch.where(dark, 1 - x, x)
    return Split(x, some.y[rows])


def recorded(voxels: SimulatedVoxels, x: Tensor, config: Config, generator: Generator) -> Tensor:
    """Return one noisy recording of each training picture."""
    return voxels.record(x, config.noise, 1, generator)[0]


def judged(session: Session, validation: Session, decoders: Decoders, gain: float) -> Iterator[Row]:
    """Yield the decoding's correlations by layer, exemplar identification, and each reconstruction's scores."""
    truth = session.extractor(session.test.x)
    decoded = decoders.decoded(session.recordings)
    for name in LAYERS:
        r = correlations(decoded[name].T, truth[name].flatten(1).T).diagonal()
        yield {"kind": "layer", "gain": gain, "layer": name, "r": float(r[truth[name].flatten(1).std(0) > 1e-3].mean())}
    candidates = torch.cat([truth["hidden"], session.extractor(session.own.x[: len(truth["hidden"])])["hidden"]])
    named = correlations(decoded["hidden"], candidates).argmax(1)
    share = float((named == torch.arange(len(named))).float().mean())
    yield {"kind": "exemplar", "gain": gain, "named": share, "among": len(candidates)}
    found, early = reconstructions(session, validation, decoders)
    for method, images in found.items():
        row: Row = {"kind": "reconstruction", "gain": gain, "method": method, **scores(session, images)}
        yield row | (looks.stopped(early[method]) if method in early else {})
    for method, images in {"truth": session.test.x, **found}.items():
        yield {"kind": "picture", "gain": gain, "method": method, "pictures": pictures.encode(images[:8])}


def scores(session: Session, images: Tensor) -> dict[str, float]:
    """Return what a session's reconstructions are scored by, `looks.SCORES`."""
    return {
        "pairwise": float(pairwise_identification(images, session.test.x).mean()),
        "r": float(correlations(images.flatten(1), session.test.x.flatten(1)).diagonal().mean()),
        "recognised": networks.recognised(session.readers["recognised by"], images, session.test.y),
    }


def searches(session: Session, decoded: dict[str, Tensor]) -> dict[Way, tuple[dict[str, Tensor], Pixels | Prior]]:
    """Return what each search has for its targets, and how it goes."""
    count, steps = len(session.test.x), session.config.search
    targets = {
        name: values.unflatten(1, session.extractor(session.test.x[:1])[name].shape[1:]) for name, values in decoded.items()
    }
    mean = session.own.x.mean(0, keepdim=True).expand(count, -1, -1, -1)
    inputs = relu(session.extractor(session.own.x)["hidden"])
    prior = Prior(session.inverse, inputs.mean(0).expand(count, -1), 3 * inputs.std(0), steps, rate=0.3)
    top = {"hidden": targets["hidden"]}
    return {
        "all layers": (targets, Pixels(mean, steps)),
        "top layer": (top, Pixels(mean, steps)),
        "with prior": (targets, prior),
        "top layer with prior": (top, prior),
    }


def reconstructions(
    session: Session, validation: Session, decoders: Decoders
) -> tuple[dict[Way, Tensor], dict[Way, dict[str, EarlyStopping]]]:
    """Return each way's pictures; of searches also what scores had where those of validation pictures were best."""
    decoded = decoders.decoded(session.recordings)
    both = [(one, searches(one, decoders.decoded(one.recordings))) for one in (session, validation)]
    found: dict[Way, Tensor] = {}
    early: dict[Way, dict[str, EarlyStopping]] = {}
    for method in session.config.ways:
        if method == "plain ridge":
            found[method] = decoders.plain.predict(session.recordings).view_as(session.test.x).clamp(0, 1)
        elif method == "generator alone":
            found[method] = session.inverse(relu(decoded["hidden"]))
        else:
            found[method], early[method] = torch.empty_like(session.test.x), looks.stops()
            saved = checkpoint(method, found[method], *early[method].values())
            if not saved.finished:
                here, there = (looks.searched(one.extractor, *ways[method]) for one, ways in both)
                found[method].copy_(here[session.config.search])
                for steps, images in here.items():
                    share = steps / session.config.search
                    looks.look(early[method], share, scores(validation, there[steps]), scores(session, images))
                saved.stay()
    return found, early


def progress(config: Config, row: Row) -> tuple[float, str]:
    """Tell how far a seed is."""
    return {"neuron": 0.05, "trace": 0.05}.get(str(row["kind"]), 0.6), str(row["kind"])
