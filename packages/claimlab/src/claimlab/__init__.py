"""What an experiment is; how it is run, kept, judged and shown. One door: `from craik.lab import Experiment, Claim, ...`.

Anybody's package can hold experiments: `claimlab run NAME --package theirs`.
What draws imports matplotlib, and is loaded when it is first named.
"""

import importlib
from typing import TYPE_CHECKING

from craik.lab.claims import EARLY_STOPPING as EARLY_STOPPING
from craik.lab.claims import Claim as Claim
from craik.lab.claims import EachSeed as EachSeed
from craik.lab.claims import Greatest as Greatest
from craik.lab.claims import JudgedClaim as JudgedClaim
from craik.lab.claims import Least as Least
from craik.lab.claims import Measure as Measure
from craik.lab.claims import Measurement as Measurement
from craik.lab.claims import OverSeeds as OverSeeds
from craik.lab.claims import Paired as Paired
from craik.lab.claims import bootstrap as bootstrap
from craik.lab.claims import judge as judge
from craik.lab.claims import where_stopped as where_stopped
from craik.lab.conditions import Condition as Condition
from craik.lab.conditions import above as above
from craik.lab.conditions import at_least as at_least
from craik.lab.conditions import at_most as at_most
from craik.lab.conditions import below as below
from craik.lab.conditions import between as between
from craik.lab.conditions import equal as equal
from craik.lab.conditions import high_at_most as high_at_most
from craik.lab.conditions import high_below as high_below
from craik.lab.conditions import low_above as low_above
from craik.lab.conditions import low_at_least as low_at_least
from craik.lab.conditions import within as within
from craik.lab.conditions import within_factor as within_factor
from craik.lab.conditions import within_share as within_share
from craik.lab.errors import LabError as LabError
from craik.lab.errors import UsageError as UsageError
from craik.lab.experiment import Experiment as Experiment
from craik.lab.experiment import Preset as Preset
from craik.lab.experiment import listing as listing
from craik.lab.experiment import load as load
from craik.lab.limits import Positive as Positive
from craik.lab.limits import Share as Share
from craik.lab.limits import check_limits as check_limits
from craik.lab.rows import Row as Row
from craik.lab.rows import Rows as Rows
from craik.lab.rows import Scalar as Scalar
from craik.lab.rows import number as number
from craik.lab.running.checkpoints.halves import Halves as Halves
from craik.lab.running.checkpoints.loops import Saved as Saved
from craik.lab.running.checkpoints.loops import checkpoint as checkpoint
from craik.lab.running.checkpoints.parts import computed as computed
from craik.lab.running.checkpoints.parts import part as part
from craik.lab.running.checkpoints.stopping import EarlyStopping as EarlyStopping
from craik.lab.sweeping.declared import Last as Last
from craik.lab.sweeping.declared import Objective as Objective
from craik.lab.sweeping.declared import Ranges as Ranges
from craik.lab.sweeping.declared import Single as Single
from craik.lab.sweeping.ranges import Choice as Choice
from craik.lab.sweeping.ranges import LogUniform as LogUniform
from craik.lab.sweeping.ranges import Options as Options
from craik.lab.sweeping.ranges import Uniform as Uniform
from craik.lab.sweeping.ranges import Whole as Whole

if TYPE_CHECKING:
    from craik.lab.drawing import COLOURS as COLOURS
    from craik.lab.drawing import WIDTH as WIDTH
    from craik.lab.drawing import Animation as Animation
    from craik.lab.drawing import band as band
    from craik.lab.drawing import colour as colour
    from craik.lab.drawing import house_style as house_style
    from craik.lab.drawing import panels as panels

_DRAWING = frozenset({"COLOURS", "WIDTH", "Animation", "band", "colour", "house_style", "panels"})


def __getattr__(name: str) -> object:
    """Loads what draws.

    Raises:
        AttributeError: there is no such name.
    """
    if name in _DRAWING:
        return getattr(importlib.import_module("craik.lab.drawing"), name)
    raise AttributeError(f"module 'craik.lab' has no attribute {name!r}")
