"""What an experiment is; how it is run, kept, judged and shown. One door: `from claimlab import Experiment, Claim, ...`.

Anybody's package can hold experiments: `claimlab run NAME --package theirs`.
A name is loaded when it is first used: a command answers at once, and what draws does not burden what computes.
"""

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
    from claimlab.conditions import condition as condition
    from claimlab.drawing import COLOURS as COLOURS
    from claimlab.drawing import WIDTH as WIDTH
    from claimlab.drawing import Animation as Animation
    from claimlab.drawing import band as band
    from claimlab.drawing import colour as colour
    from claimlab.drawing import house_style as house_style
    from claimlab.drawing import panels as panels
    from claimlab.errors import LabError as LabError
    from claimlab.errors import UsageError as UsageError
    from claimlab.experiment import Experiment as Experiment
    from claimlab.experiment import Preset as Preset
    from claimlab.experiment import listing as listing
    from claimlab.experiment import load as load
    from claimlab.limits import Limited as Limited
    from claimlab.limits import Positive as Positive
    from claimlab.limits import Share as Share
    from claimlab.limits import check_limits as check_limits
    from claimlab.progress import progress_over as progress_over
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
    from claimlab.sweeping.declared import Choice as Choice
    from claimlab.sweeping.declared import Last as Last
    from claimlab.sweeping.declared import LogUniform as LogUniform
    from claimlab.sweeping.declared import Objective as Objective
    from claimlab.sweeping.declared import Options as Options
    from claimlab.sweeping.declared import Ranges as Ranges
    from claimlab.sweeping.declared import Single as Single
    from claimlab.sweeping.declared import Uniform as Uniform
    from claimlab.sweeping.declared import Whole as Whole
    from claimlab.table import claims_of as claims_of

_NAMES = {
    "claims": "Claim EachSeed JudgedClaim Measure Measurement Needs OverSeeds Paired bootstrap both_stopped judge "
    "where_stopped",
    "conditions": "Condition condition",
    "errors": "LabError UsageError",
    "experiment": "Experiment Preset listing load",
    "limits": "Limited Positive Share check_limits",
    "progress": "progress_over",
    "rows": "Row Rows Scalar number",
    "running.checkpoints.halves": "Halves",
    "running.checkpoints.loops": "Saved checkpoint",
    "running.checkpoints.parts": "computed part",
    "running.checkpoints.stopping": "EarlyStopping",
    "sweeping.declared": "Choice Last LogUniform Objective Options Ranges Single Uniform Whole",
    "table": "claims_of",
    "drawing": "COLOURS WIDTH Animation band colour house_style panels",
}
"""What each module of the package defines for users."""

_WHERE = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Load what is named.

    Raises:
        AttributeError: if there is no such name.
    """
    if name not in _WHERE:
        raise AttributeError(f"module 'claimlab' has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(f"claimlab.{_WHERE[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
