"""Nothing is claimed of the search: its trials read no test data. What it selects is judged by `spirals`, on fresh seeds."""

from craik.lab import Claim

CLAIMS: tuple[Claim, ...] = ()
