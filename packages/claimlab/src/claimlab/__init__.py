"""What an experiment is; how it is run, kept, judged and shown. One door: `from claimlab import Experiment, Claim, ...`.

Anybody's package can hold experiments: `claimlab run NAME --package theirs`.
"""

from claimlab.claims import (
    Claim,
    EachSeed,
    JudgedClaim,
    Measure,
    Measurement,
    Needs,
    OverSeeds,
    Paired,
    bootstrap,
    both_stopped,
    judge,
    where_stopped,
)
from claimlab.conditions import Condition, condition
from claimlab.drawing import COLOURS, WIDTH, Animation, band, colour, house_style, panels
from claimlab.errors import LabError, UsageError
from claimlab.experiment import Experiment, Preset, listing, load
from claimlab.limits import Limited, Positive, Share, check_limits
from claimlab.progress import progress_over
from claimlab.rows import Row, Rows, Scalar, number
from claimlab.running.checkpoints.halves import Halves
from claimlab.running.checkpoints.loops import Saved, checkpoint
from claimlab.running.checkpoints.parts import computed, part
from claimlab.running.checkpoints.stopping import EarlyStopping
from claimlab.sweeping.declared import Choice, Last, LogUniform, Objective, Options, Ranges, Single, Uniform, Whole
from claimlab.table import claims_of

__all__ = [
    "COLOURS", "WIDTH", "Animation", "Choice", "Claim", "Condition", "EachSeed", "EarlyStopping", "Experiment", "Halves",
    "JudgedClaim", "LabError", "Last", "Limited", "LogUniform", "Measure", "Measurement", "Needs", "Objective", "Options",
    "OverSeeds", "Paired", "Positive", "Preset", "Ranges", "Row", "Rows", "Saved", "Scalar", "Share", "Single", "Uniform",
    "UsageError", "Whole", "band", "bootstrap", "both_stopped", "check_limits", "checkpoint", "claims_of", "colour", "computed",
    "condition", "house_style", "judge", "listing", "load", "number", "panels", "part", "progress_over", "where_stopped",
]  # fmt: skip
