from mechlearn.tables.reading_in import prepare
from site_tables import small

TABLE = small()


def test_small_sites_are_pooled_and_not_judged():
    site = TABLE.site.copy()
    site[:15], site[15:30] = 10, 11
    table = prepare(TABLE.x, TABLE.y, site)
    assert table.sites == ("(small sites)", "1", "2", "3")
    assert table.judged.tolist() == [False, True, True, True]
    assert any("2 of 5 sites have fewer than 20 rows" in note for note in table.notes)
