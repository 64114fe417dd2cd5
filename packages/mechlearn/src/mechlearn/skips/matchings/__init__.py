"""Ways to match predictions with frames, one file each, and what they share.

Index convention: t counts frames from 0, T is a trajectory's length. A model at frame t predicts some frame t' > t.
"""

from mechlearn.skips.matchings.agnostic import TimeAgnostic as TimeAgnostic
from mechlearn.skips.matchings.aligned import Aligned as Aligned
from mechlearn.skips.matchings.ending import OrEnd as OrEnd
from mechlearn.skips.matchings.fixed import Fixed as Fixed
from mechlearn.skips.matchings.following import Predicted as Predicted
from mechlearn.skips.matchings.following import follow as follow
from mechlearn.skips.matchings.greedy import Greedy as Greedy
from mechlearn.skips.matchings.relative import displacement as displacement
from mechlearn.skips.matchings.soft import SoftAligned as SoftAligned
from mechlearn.skips.matchings.soft import SoftGreedy as SoftGreedy
