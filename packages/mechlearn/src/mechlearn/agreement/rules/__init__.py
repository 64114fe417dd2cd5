"""What agreement means: rules that combine the gradients of several environments, one file each.

A rule is a pure function of `Statistics`, of which `mechlearn.agreement.rules.base` says more.
"""

from mechlearn.agreement.rules.anchored import Anchored as Anchored
from mechlearn.agreement.rules.and_mask import AndMask as AndMask
from mechlearn.agreement.rules.base import Consuming as Consuming
from mechlearn.agreement.rules.base import agreement_mask as agreement_mask
from mechlearn.agreement.rules.base import count_survivors as count_survivors
from mechlearn.agreement.rules.base import required_count as required_count
from mechlearn.agreement.rules.base import rescaled as rescaled
from mechlearn.agreement.rules.base import survival as survival
from mechlearn.agreement.rules.geometric_mean import GeometricMean as GeometricMean
from mechlearn.agreement.rules.grad_drop import GradDrop as GradDrop
from mechlearn.agreement.rules.heterogeneous import Heterogeneous as Heterogeneous
from mechlearn.agreement.rules.homogeneous import Homogeneous as Homogeneous
from mechlearn.agreement.rules.mean import Mean as Mean
from mechlearn.agreement.rules.median_sign import MedianSign as MedianSign
from mechlearn.agreement.rules.moments import EACH as EACH
from mechlearn.agreement.rules.moments import STANDARD_ERRORS as STANDARD_ERRORS
from mechlearn.agreement.rules.moments import Combined as Combined
from mechlearn.agreement.rules.moments import Rule as Rule
from mechlearn.agreement.rules.moments import Statistics as Statistics
from mechlearn.agreement.rules.moments import check_needs as check_needs
from mechlearn.agreement.rules.moments import check_rule as check_rule
from mechlearn.agreement.rules.qualitative import Qualitative as Qualitative
from mechlearn.agreement.rules.sand_mask import SandMask as SandMask
from mechlearn.agreement.rules.signal_to_noise import SignalToNoiseMask as SignalToNoiseMask
from mechlearn.agreement.rules.xor_mask import XorMask as XorMask
