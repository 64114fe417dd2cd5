"""What an experiment is; how it is run, kept, judged and shown. One door: `from craik.lab import Experiment, Claim, ...`.

The lab imports nothing of craik below it, so that anybody's package can hold experiments: `craik run NAME --package theirs`.
What draws is in `craik.lab.drawing`, which imports matplotlib; conditions are in `craik.lab.conditions`.
"""

from craik.lab.claims import (
    Claim as Claim,
)
from craik.lab.claims import (
    JudgedClaim as JudgedClaim,
)
from craik.lab.claims import (
    Measurement as Measurement,
)
from craik.lab.claims import (
    OverSeeds as OverSeeds,
)
from craik.lab.claims import (
    bootstrap as bootstrap,
)
from craik.lab.claims import (
    judge as judge,
)
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
