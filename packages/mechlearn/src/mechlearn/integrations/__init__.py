"""Watch the sources of a training in the loop that you have: plain PyTorch, Accelerate, transformers, Lightning, skorch."""

from mechlearn.integrations.measurements import LayerMeasurement as LayerMeasurement
from mechlearn.integrations.measurements import Measurement as Measurement
from mechlearn.integrations.measurements import SourceMeasurement as SourceMeasurement
from mechlearn.integrations.sampling import BalancedSampler as BalancedSampler
from mechlearn.integrations.sources import SourceWatch as SourceWatch
