"""Will my model survive the next site? The gap, the next site's interval, the room, labelled rows, and what the drop is."""

from mechlearn.tables.transport.answer import Transport as Transport
from mechlearn.tables.transport.columns import second_level as second_level
from mechlearn.tables.transport.comparison import Effort as Effort
from mechlearn.tables.transport.comparison import order_of as order_of
from mechlearn.tables.transport.comparison import transport as transport
from mechlearn.tables.transport.comparison import transport_table as transport_table
from mechlearn.tables.transport.drop import Drop as Drop
from mechlearn.tables.transport.evaluation import Failure as Failure
from mechlearn.tables.transport.intervals import Interval as Interval
from mechlearn.tables.transport.labelled import Curve as Curve
from mechlearn.tables.transport.learners import DEFAULT as DEFAULT
from mechlearn.tables.transport.learners import SIMPLE as SIMPLE
from mechlearn.tables.transport.room import Room as Room
from mechlearn.tables.transport.scored import Scored as Scored
