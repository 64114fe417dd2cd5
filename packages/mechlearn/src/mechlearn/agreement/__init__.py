"""Agreement: combine the gradients of several environments by what they agree on (thesis chapter 3)."""

from mechlearn.agreement.agreement import Agreement as Agreement
from mechlearn.agreement.agreement import Record as Record
from mechlearn.agreement.decay import decay_masked as decay_masked
from mechlearn.agreement.inputs import by_input as by_input
from mechlearn.agreement.rules import Anchored as Anchored
from mechlearn.agreement.rules import AndMask as AndMask
from mechlearn.agreement.rules import Combined as Combined
from mechlearn.agreement.rules import GeometricMean as GeometricMean
from mechlearn.agreement.rules import Heterogeneous as Heterogeneous
from mechlearn.agreement.rules import Homogeneous as Homogeneous
from mechlearn.agreement.rules import Mean as Mean
from mechlearn.agreement.rules import MedianSign as MedianSign
from mechlearn.agreement.rules import Qualitative as Qualitative
from mechlearn.agreement.rules import Rule as Rule
from mechlearn.agreement.rules import SandMask as SandMask
from mechlearn.agreement.rules import SignalToNoiseMask as SignalToNoiseMask
from mechlearn.agreement.rules import Statistics as Statistics
from mechlearn.agreement.rules import XorMask as XorMask
from mechlearn.agreement.stacked import combine as combine
from mechlearn.agreement.standard_errors import StandardErrors as StandardErrors
from mechlearn.agreement.temporal import AdamForm as AdamForm
from mechlearn.agreement.temporal import TemporalAndMaskAdam as TemporalAndMaskAdam
from mechlearn.agreement.temporal import TemporalMask as TemporalMask
