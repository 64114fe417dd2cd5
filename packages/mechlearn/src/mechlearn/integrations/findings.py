"""What a history of measurements shows, in sentences: counts of negative cosines that chance does not explain."""

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from mechlearn.integrations.measurements import MOST, Measurement

LEVEL = 0.05
"""The share of runs in which chance alone names a source, over all sources and both halves of the run."""


@dataclass(frozen=True)
class Signs:
    """How often a cosine was negative in half of a run.

    Attributes:
        negative: in how many measurements.
        count: of how many.
        mean: of the cosines. NaN without any.
    """

    negative: int
    count: int
    mean: float

    def rare(self, comparisons: int) -> bool:
        """Tell whether coins fall so with a probability of at most `LEVEL`, over the comparisons in each of two halves."""
        ways = sum(math.comb(self.count, k) for k in range(self.negative, self.count + 1))
        return self.count > 0 and 2 * ways * comparisons <= LEVEL * 2**self.count


@dataclass(frozen=True)
class Half:
    """Half of a run.

    Attributes:
        history: its measurements.
        when: its steps, in words.
        sources: by source, the signs of its cosine with the mean of the others.
        pairs: by pair of sources.
        layers: by layer and source.
    """

    history: Sequence[Measurement]
    when: str
    sources: dict[Hashable, Signs]
    pairs: dict[tuple[Hashable, Hashable], Signs]
    layers: dict[str, dict[Hashable, Signs]]

    def against(self) -> dict[Hashable, list[str]]:
        """Return the sources that pull against the others, each with the layers in which it does."""
        cells = len(self.sources) * len(self.layers)
        return {
            source: [name for name, row in self.layers.items() if row[source].rare(cells)]
            for source, signs in self.sources.items()
            if signs.rare(len(self.sources))
        }

    def crowded(self) -> bool:
        """Tell whether most sources pull against the others, so that none stands out."""
        return 2 * len(self.against()) > len(self.sources) > 2

    def fighting(self) -> list[tuple[Hashable, Hashable]]:
        """Return the pairs that pull against each other, of sources that do not pull against all others."""
        named = self.against()
        return [pair for pair, own in self.pairs.items() if own.rare(len(self.pairs)) and not named.keys() & set(pair)]


def halves(history: Sequence[Measurement]) -> tuple[Half, Half]:
    """Return the second half of a history and the first. A single measurement is in both."""
    middle = len(history) // 2
    later, earlier = history[middle:], history[:middle] or history
    sources = list(dict.fromkeys(source for one in history for source in one.sources))
    return (
        _half(later, f"from step {later[0].step} on", sources),
        _half(earlier, f"from step {earlier[0].step} to {earlier[-1].step}", sources),
    )


def sentences(history: Sequence[Measurement]) -> list[str]:
    """Return what was measured, in sentences, the main one first."""
    later, earlier = halves(history)
    against, few = later.against(), _few(later)
    said = [*_named(later, []), *_named(earlier, list(against))]
    if later.crowded():
        said = ["Most sources pull against the rest: read their losses and the pairs. Near a minimum gradients cancel, too."]
    if not against and not earlier.against() and len(few) < len(later.sources):
        count = f"{len(later.history)} measurements {later.when}"
        said.insert(0, f"No source is against the others more often than chance explains, in {count}.")
    if len(later.sources) > 1 and all(len(one.sources) == 1 for one in history):
        said = ["Each measured batch has rows of one source, so that nothing is compared. Draw several: `BalancedSampler`."]
    elif len(later.sources) == 1:
        said = ["All rows are of one source, so that nothing is compared."]
    elif few:
        least = math.ceil(math.log2(2 * len(later.sources) / LEVEL))
        said.append(f"Too few measurements {later.when} to name {', '.join(few)}: it takes {least}. Measure more often.")
    return [*_highest(later), *said]


def rows_against(half: Half, source: Hashable) -> list[Hashable]:
    """Return a source's rows that point most against the other sources in half of a run; none without ids of rows."""
    found: dict[Hashable, float] = {}
    for one in half.history:
        for row, product in one.sources[source].against.items() if source in one.sources else ():
            found[row] = min(product, found.get(row, 0.0))
    return sorted(found, key=found.__getitem__)[:MOST]


def spans(names: Sequence[str], order: Sequence[str]) -> list[str]:
    """Return names with runs of neighbours shortened to "first to last"."""
    runs: list[list[str]] = []
    for name in order:
        if name in names:
            after = bool(runs) and order.index(name) == order.index(runs[-1][-1]) + 1
            runs[-1].append(name) if after else runs.append([name])
    return [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]


def _named(half: Half, known: Sequence[Hashable]) -> list[str]:
    """Return a half's sentences on sources that are not known yet, and on pairs of others."""
    said: list[str] = []
    for source, layers in half.against().items():
        if source not in known:
            own = half.sources[source]
            said.append(
                f"Source {source} has a negative cosine with the mean of the others in {own.negative} of {own.count} "
                f"measurements {half.when}." + (f" Layers: {', '.join(spans(layers, list(half.layers)))}." if layers else "")
            )
    for one, other in [] if known else half.fighting():
        own = half.pairs[one, other]
        said.append(
            f"Sources {one} and {other} have a negative cosine in {own.negative} of {own.count} measurements {half.when}."
        )
    return said


def _highest(half: Half) -> list[str]:
    """Return a sentence on the source with the highest loss, where that is half as high again as the median of the others."""
    own = {s: [one.sources[s].loss for one in half.history if s in one.sources] for s in half.sources}
    means = {str(source): fmean(losses) for source, losses in own.items() if losses}
    if len(means) < 3:
        return []
    highest = max(means, key=lambda source: means[source])
    others = median(loss for source, loss in means.items() if source != highest)
    if not means[highest] > 1.5 * others > 0:
        return []
    return [
        f"Source {highest} has the highest loss {half.when}: {means[highest]:.3g}. The median of the others is {others:.3g}."
    ]


def _few(half: Half) -> list[str]:
    """Return the sources that would not be named if each of their cosines were negative."""
    return [str(s) for s, own in half.sources.items() if not Signs(own.count, own.count, 0.0).rare(len(half.sources))]


def _half(history: Sequence[Measurement], when: str, sources: Sequence[Hashable]) -> Half:
    pairs = dict.fromkeys(pair for one in history for pair in one.pairs)
    layers = dict.fromkeys(name for one in history for name in one.layers)
    return Half(
        history,
        when,
        {s: _signs(one.sources[s].cosine for one in history if s in one.sources) for s in sources},
        {p: _signs(one.pairs[p] for one in history if p in one.pairs) for p in pairs},
        {
            n: {s: _signs(one.layers[n].cosines.get(s, math.nan) for one in history if n in one.layers) for s in sources}
            for n in layers
        },
    )


def _signs(cosines: Iterable[float]) -> Signs:
    finite = [cosine for cosine in cosines if math.isfinite(cosine)]
    return Signs(sum(c < 0 for c in finite), len(finite), sum(finite) / len(finite) if finite else math.nan)
