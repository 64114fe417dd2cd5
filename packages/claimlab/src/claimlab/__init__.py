"""What an experiment is; how it is run, kept, judged and shown. One door: `from claimlab import Experiment, Claim, ...`.

Anybody's package can hold experiments: `claimlab run NAME --package theirs`.
What draws imports matplotlib, and is loaded when it is first named.
"""

import importlib
from typing import TYPE_CHECKING

from claimlab.claims import Claim as Claim
from claimlab.claims import EachSeed as EachSeed
from claimlab.claims import JudgedClaim as JudgedClaim
from claimlab.claims import Measure as Measure
from claimlab.claims import Measurement as Measurement
from claimlab.claims import Needs as Needs
from claimlab.claims import OverSeeds as OverSeeds
from claimlab.claims import Paired as Paired
from claimlab.claims import bootstrap as bootstrap
from claimlab.claims import both_stopped as both_stopped
from claimlab.claims import judge as judge
from claimlab.claims import where_stopped as where_stopped
from claimlab.conditions import Condition as Condition
from claimlab.conditions import above as above
from claimlab.conditions import at_least as at_least
from claimlab.conditions import at_most as at_most
from claimlab.conditions import below as below
from claimlab.conditions import between as between
from claimlab.conditions import contains as contains
from claimlab.conditions import equal as equal
from claimlab.conditions import high_at_most as high_at_most
from claimlab.conditions import high_below as high_below
from claimlab.conditions import low_above as low_above
from claimlab.conditions import low_at_least as low_at_least
from claimlab.conditions import within as within
from claimlab.conditions import within_factor as within_factor
from claimlab.conditions import within_share as within_share
from claimlab.errors import LabError as LabError
from claimlab.errors import UsageError as UsageError
from claimlab.experiment import Experiment as Experiment
from claimlab.experiment import Preset as Preset
from claimlab.experiment import listing as listing
from claimlab.experiment import load as load
from claimlab.limits import Positive as Positive
from claimlab.limits import Share as Share
from claimlab.limits import check_limits as check_limits
from claimlab.rows import Row as Row
from claimlab.rows import Rows as Rows
from claimlab.rows import Scalar as Scalar
from claimlab.rows import number as number
from claimlab.running.checkpoints.halves import Halves as Halves
from claimlab.running.checkpoints.loops import Saved as Saved
from claimlab.running.checkpoints.loops import checkpoint as checkpoint
from claimlab.running.checkpoints.parts import computed as computed
from claimlab.running.checkpoints.parts import part as part
from claimlab.running.checkpoints.stopping import EarlyStopping as EarlyStopping
from claimlab.sweeping.declared import Last as Last
from claimlab.sweeping.declared import Objective as Objective
from claimlab.sweeping.declared import Ranges as Ranges
from claimlab.sweeping.declared import Single as Single
from claimlab.sweeping.ranges import Choice as Choice
from claimlab.sweeping.ranges import LogUniform as LogUniform
from claimlab.sweeping.ranges import Options as Options
from claimlab.sweeping.ranges import Uniform as Uniform
from claimlab.sweeping.ranges import Whole as Whole
from claimlab.table import claims_of as claims_of

if TYPE_CHECKING:
    from claimlab.drawing import COLOURS as COLOURS
    from claimlab.drawing import WIDTH as WIDTH
    from claimlab.drawing import Animation as Animation
    from claimlab.drawing import band as band
    from claimlab.drawing import colour as colour
    from claimlab.drawing import house_style as house_style
    from claimlab.drawing import panels as panels

_DRAWING = frozenset({"COLOURS", "WIDTH", "Animation", "band", "colour", "house_style", "panels"})


def __getattr__(name: str) -> object:
    """Loads what draws.

    Raises:
        AttributeError: there is no such name.
    """
    if name in _DRAWING:
        return getattr(importlib.import_module("claimlab.drawing"), name)
    raise AttributeError(f"module 'claimlab' has no attribute {name!r}")
