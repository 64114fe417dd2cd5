"""Agreement over time: environments that come one after another (thesis appendix B.2.6)."""

from craik.agreement.temporal.adam import TemporalAndMaskAdam as TemporalAndMaskAdam
from craik.agreement.temporal.form import AdamForm as AdamForm
from craik.agreement.temporal.mask import TemporalMask as TemporalMask
