"""Tables of people: columns of any kind to numbers, a target, and the sites that rows come from; what is refused, and why."""

from craik.estimators.tables.cells import HUGE as HUGE
from craik.estimators.tables.cells import Numbers as Numbers
from craik.estimators.tables.cells import check_cells as check_cells
from craik.estimators.tables.cells import check_finite as check_finite
from craik.estimators.tables.cells import is_missing as is_missing
from craik.estimators.tables.cells import kind as kind
from craik.estimators.tables.cells import plain as plain
from craik.estimators.tables.columns import columns_of as columns_of
from craik.estimators.tables.columns import nearest as nearest
from craik.estimators.tables.columns import one_dimensional as one_dimensional
from craik.estimators.tables.encoding import Column as Column
from craik.estimators.tables.encoding import Encoding as Encoding
from craik.estimators.tables.encoding import encoding_of as encoding_of
from craik.estimators.tables.notes import CLASSES as CLASSES
from craik.estimators.tables.notes import COPIES as COPIES
from craik.estimators.tables.notes import IDENTIFIERS as IDENTIFIERS
from craik.estimators.tables.notes import TELLING as TELLING
from craik.estimators.tables.preparing import Table as Table
from craik.estimators.tables.preparing import prepare as prepare
from craik.estimators.tables.scaling import Scaling as Scaling
from craik.estimators.tables.sites import LEAST as LEAST
from craik.estimators.tables.sites import SMALL as SMALL
from craik.estimators.tables.sites import pooled as pooled
from craik.estimators.tables.sites import site_names as site_names
from craik.estimators.tables.targets import check_target as check_target
