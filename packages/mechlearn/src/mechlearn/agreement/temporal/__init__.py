"""Agreement over time: environments that come one after another (thesis appendix B.2.6)."""

from mechlearn.agreement.temporal.adam import TemporalAndMaskAdam as TemporalAndMaskAdam
from mechlearn.agreement.temporal.form import AdamForm as AdamForm
from mechlearn.agreement.temporal.grokfast import Grokfast as Grokfast
from mechlearn.agreement.temporal.mask import TemporalMask as TemporalMask
