"""Draw the same number of rows from each source."""

from collections.abc import Iterator

import torch
from torch import Generator
from torch.utils.data import Sampler

from mechlearn.environments import EnvironmentIds, partition
from mechlearn.environments.ids import read_ids


class BalancedSampler(Sampler[int]):
    """Draw a row of each source in turn, so that any batch of k E rows has k of each of the E sources.

    Pass it as ``sampler`` to a `torch.utils.data.DataLoader`, with a multiple of E as ``batch_size``. Rows of a source come in
    random order, each at most once an epoch. An epoch ends with the smallest source. On several processes pass each the same
    seed.

    Args:
        environments: N ids, the source of each row of the data set.
        generator: of the order. None draws a seed from torch's global generator in each epoch.

    Raises:
        TypeError: if ids are of another type.
        ValueError: if there are no ids.

    Example:
        >>> import torch
        >>> from mechlearn.integrations import BalancedSampler
        >>> sampler = BalancedSampler(["a", "a", "a", "a", "b", "b"], torch.Generator().manual_seed(0))
        >>> len(sampler), [row < 4 for row in sampler]
        (4, [True, False, True, False])
    """

    def __init__(self, environments: EnvironmentIds, generator: Generator | None = None) -> None:
        ids = read_ids(environments)
        if not len(ids):
            raise ValueError(
                "`environments` should have an id for each row. Found none. Pass the data set's column of sources."
            )
        groups = partition(ids, len(ids), torch.device("cpu"))
        self.rows = [torch.nonzero(groups.index == e)[:, 0] for e in range(groups.count)]
        self.generator = generator

    def __len__(self) -> int:
        return min(len(own) for own in self.rows) * len(self.rows)

    def __iter__(self) -> Iterator[int]:
        generator = self.generator or Generator().manual_seed(int(torch.randint(2**62, ())))
        fewest = len(self) // len(self.rows)
        orders = [own[torch.randperm(len(own), generator=generator)[:fewest]] for own in self.rows]
        yield from torch.stack(orders, 1).flatten().tolist()
