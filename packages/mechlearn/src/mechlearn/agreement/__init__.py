"""Agreement: combine the gradients of several environments by what they agree on (thesis chapter 3)."""

from craik.agreement.decay import decay_masked as decay_masked
from craik.agreement.inputs import by_input as by_input
from craik.agreement.rules import AndMask as AndMask
from craik.agreement.rules import Combined as Combined
from craik.agreement.rules import GeometricMean as GeometricMean
from craik.agreement.rules import Heterogeneous as Heterogeneous
from craik.agreement.rules import Homogeneous as Homogeneous
from craik.agreement.rules import Mean as Mean
from craik.agreement.rules import MedianSign as MedianSign
from craik.agreement.rules import Qualitative as Qualitative
from craik.agreement.rules import Rule as Rule
from craik.agreement.rules import SandMask as SandMask
from craik.agreement.rules import SignalToNoiseMask as SignalToNoiseMask
from craik.agreement.rules import Statistics as Statistics
from craik.agreement.rules import XorMask as XorMask
from craik.agreement.stacked import combine as combine
from craik.agreement.standard_errors import StandardErrors as StandardErrors
from craik.agreement.step import Agreement as Agreement
from craik.agreement.step import Record as Record
from craik.agreement.temporal import AdamForm as AdamForm
from craik.agreement.temporal import TemporalAndMaskAdam as TemporalAndMaskAdam
from craik.agreement.temporal import TemporalMask as TemporalMask
