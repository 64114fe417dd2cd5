"""Several processes at once, each matched at its own distances (thesis chapter 5, "several parallel processes")."""

from mechlearn.skips.parts.matching import MatchedParts as MatchedParts
from mechlearn.skips.parts.matching import match_parts as match_parts
from mechlearn.skips.parts.partition import Part as Part
from mechlearn.skips.parts.partition import Parts as Parts
from mechlearn.skips.parts.rolling import RolledParts as RolledParts
from mechlearn.skips.parts.rolling import rollout_parts as rollout_parts
