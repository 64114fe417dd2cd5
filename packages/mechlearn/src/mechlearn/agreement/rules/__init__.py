"""What agreement means: rules that combine the gradients of several environments, one file each.

A rule is a pure function of `Statistics`, of which `craik.agreement.rules.base` says more.
"""

from craik.agreement.rules.and_mask import AndMask as AndMask
from craik.agreement.rules.base import Consuming as Consuming
from craik.agreement.rules.base import agreement_mask as agreement_mask
from craik.agreement.rules.base import count_survivors as count_survivors
from craik.agreement.rules.base import required_count as required_count
from craik.agreement.rules.base import rescaled as rescaled
from craik.agreement.rules.base import survival as survival
from craik.agreement.rules.geometric_mean import GeometricMean as GeometricMean
from craik.agreement.rules.heterogeneous import Heterogeneous as Heterogeneous
from craik.agreement.rules.homogeneous import Homogeneous as Homogeneous
from craik.agreement.rules.mean import Mean as Mean
from craik.agreement.rules.median_sign import MedianSign as MedianSign
from craik.agreement.rules.qualitative import Qualitative as Qualitative
from craik.agreement.rules.sand_mask import SandMask as SandMask
from craik.agreement.rules.signal_to_noise import SignalToNoiseMask as SignalToNoiseMask
from craik.agreement.rules.statistics import STANDARD_ERRORS as STANDARD_ERRORS
from craik.agreement.rules.statistics import Combined as Combined
from craik.agreement.rules.statistics import Rule as Rule
from craik.agreement.rules.statistics import Statistics as Statistics
from craik.agreement.rules.statistics import check_needs as check_needs
from craik.agreement.rules.statistics import check_rule as check_rule
from craik.agreement.rules.xor_mask import XorMask as XorMask
