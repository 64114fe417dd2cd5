import numpy as np

from craik.estimators.tables import prepare
from site_tables import beside, small

TABLE = small()


class Frame:
    """What pandas and polars have in common."""

    def __init__(self, columns, values):
        self.columns, self._values = columns, values

    def __getitem__(self, name):
        return self._values[self.columns.index(name)]


def test_a_frame_a_matrix_and_a_mapping_say_the_same():
    frame = Frame(["a", "b"], [TABLE.x[:, 0], TABLE.x[:, 1]])
    tables = [prepare(x, TABLE.y, TABLE.site) for x in (frame, beside(), TABLE.x[:, :2])]
    assert tables[0].names == tables[1].names == ("a", "b")
    assert tables[2].names == ("x0", "x1")
    assert all(np.array_equal(tables[0].x, table.x) for table in tables)
