import unicodedata

import numpy as np

from mechlearn.tables.reading_in import prepare, site_names
from site_tables import small

TABLE = small()


def test_small_sites_are_pooled_and_not_judged():
    site = TABLE.site.copy()
    site[:15], site[15:30] = 10, 11
    table = prepare(TABLE.x, TABLE.y, site)
    assert table.sites == ("(small sites)", "1", "2", "3")
    assert table.judged.tolist() == [False, True, True, True]
    assert any("2 of 5 sites have fewer than 20 rows" in note for note in table.notes)


def test_names_of_sites():
    spelt = np.array([unicodedata.normalize(form, "K\u00f6ln") for form in ("NFC", "NFD")], dtype=object)
    assert len(set(site_names(spelt))) == 1
    assert site_names(np.array(["(missing)", None, " ", "B"], dtype=object)).tolist() == [
        "(missing)",
        "(no site)",
        "(no site)",
        "B",
    ]
    assert site_names(np.array([1.0, 2.5, np.nan])).tolist() == ["1", "2.5", "(missing)"]


def test_a_text_that_means_nothing_names_no_site():
    texts = np.array(["A", "NA", "nan", "NaT", "<NA>", "None", "nato"], dtype=object)
    assert site_names(texts).tolist() == ["A", *["(missing)"] * 5, "nato"]
    assert site_names(texts.astype(str)).tolist() == site_names(texts).tolist()
    site = np.where(np.arange(len(TABLE.y)) == 5, "NA", TABLE.site.astype(str))
    assert "1 rows name no site: they are one of their own." in prepare(TABLE.x, TABLE.y, site).notes
