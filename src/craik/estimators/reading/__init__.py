"""Files to tables and trajectories."""

from craik.estimators.reading.large import read_batches as read_batches
from craik.estimators.reading.large import read_part as read_part
from craik.estimators.reading.recorded import Recorded as Recorded
from craik.estimators.reading.recorded import read_trajectories as read_trajectories
from craik.estimators.reading.tables import column as column
from craik.estimators.reading.tables import digest as digest
from craik.estimators.reading.tables import read_table as read_table
