"""Several processes at once, each matched at its own distances (thesis chapter 5, "several parallel processes")."""

from craik.skips.parts.matching import MatchedParts as MatchedParts
from craik.skips.parts.matching import match_parts as match_parts
from craik.skips.parts.partition import Part as Part
from craik.skips.parts.partition import Parts as Parts
from craik.skips.parts.rolling import RolledParts as RolledParts
from craik.skips.parts.rolling import rollout_parts as rollout_parts
