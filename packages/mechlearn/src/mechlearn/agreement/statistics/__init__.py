"""Statistics of gradients by environment and by example, from one backward pass: norms, cosines, signs, noise scales."""

from mechlearn.agreement.statistics.measuring import gradient_statistics as gradient_statistics
from mechlearn.agreement.statistics.results import GradientStatistics as GradientStatistics
from mechlearn.agreement.statistics.results import Noise as Noise
from mechlearn.agreement.statistics.results import ParameterStatistics as ParameterStatistics
from mechlearn.agreement.statistics.watching import watch as watch
