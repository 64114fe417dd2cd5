"""For a person with a table from several sites: what the sites disagree about, whether agreement helps, and estimators.

`disagreement` comes first, `compare` second; both take any table. Needs scikit-learn: `pip install -e '.[sklearn]'`.
"""

from craik.estimators.agreeing import AgreementClassifier as AgreementClassifier
from craik.estimators.agreeing import AgreementRegressor as AgreementRegressor
from craik.estimators.comparing import Comparison as Comparison
from craik.estimators.comparing import compare as compare
from craik.estimators.disagreement import Disagreement as Disagreement
from craik.estimators.disagreement import Feature as Feature
from craik.estimators.disagreement import disagreement as disagreement
from craik.estimators.distilling.distilled import DistilledClassifier as DistilledClassifier
from craik.estimators.distilling.distilled import DistilledRegressor as DistilledRegressor
from craik.estimators.fitting import Training as Training
from craik.estimators.forecasts.forecaster import SkipForecaster as SkipForecaster
from craik.estimators.verdict import Verdict as Verdict
