"""For a person with a table from several sites: the next site, what sites disagree about, what helps, and estimators.

`transport` comes first: what a model will do at the next site. `disagreement` and `compare` take any table, too. Needs
scikit-learn: `pip install 'mechlearn[tables]'`.
"""

try:
    __import__("sklearn")
except ImportError as error:
    raise ImportError("mechlearn.tables needs scikit-learn. Found none. Run: pip install 'mechlearn[tables]'.") from error

from mechlearn.tables.agreeing import AgreementClassifier as AgreementClassifier
from mechlearn.tables.agreeing import AgreementRegressor as AgreementRegressor
from mechlearn.tables.comparing import Comparison as Comparison
from mechlearn.tables.comparing import compare as compare
from mechlearn.tables.disagreement import Disagreement as Disagreement
from mechlearn.tables.disagreement import Feature as Feature
from mechlearn.tables.disagreement import disagreement as disagreement
from mechlearn.tables.distilling.distilled import DistilledClassifier as DistilledClassifier
from mechlearn.tables.distilling.distilled import DistilledRegressor as DistilledRegressor
from mechlearn.tables.fitting import Training as Training
from mechlearn.tables.forecasts.forecaster import SkipForecaster as SkipForecaster
from mechlearn.tables.reading_in.encoder import TableEncoder as TableEncoder
from mechlearn.tables.reading_in.encoder import encoder as encoder
from mechlearn.tables.transport import Transport as Transport
from mechlearn.tables.transport import transport as transport
from mechlearn.tables.verdict import Verdict as Verdict
