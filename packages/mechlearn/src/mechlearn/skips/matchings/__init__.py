"""Ways to match predictions with frames, one file each, and what they share.

Index convention: t counts frames from 0, T is a trajectory's length. A model at frame t predicts some frame t' > t.
"""

from craik.skips.matchings.agnostic import TimeAgnostic as TimeAgnostic
from craik.skips.matchings.aligned import Aligned as Aligned
from craik.skips.matchings.ending import OrEnd as OrEnd
from craik.skips.matchings.fixed import Fixed as Fixed
from craik.skips.matchings.following import Predicted as Predicted
from craik.skips.matchings.following import follow as follow
from craik.skips.matchings.greedy import Greedy as Greedy
from craik.skips.matchings.relative import displacement as displacement
from craik.skips.matchings.soft import SoftAligned as SoftAligned
from craik.skips.matchings.soft import SoftGreedy as SoftGreedy
