import numpy as np

from mechlearn.tables.reading_in import prepare
from mechlearn.tables.reading_in.notes import no_inputs
from site_tables import beside, cells, small

COPIES, CLASSES = "exact copies of others", "The target is taken for classes"
IDENTIFIERS, TELLING = "looks like an identifier", "says what the target is"

TABLE = small()
N = len(TABLE.y)


def test_classes_of_few_rows_are_said():
    notes = prepare(TABLE.x, cells(TABLE.y, r3="unknown"), TABLE.site).notes
    assert notes[0].startswith(
        "The target is taken for classes, 3 of them: 0, 1, unknown. Fewer than 5 rows are of unknown (1): "
    )
    notes = prepare(TABLE.x, np.arange(N) % 60, TABLE.site, "classification").notes
    assert "60 of them: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 48 more. Fewer" in notes[0]
    assert "4 (2) and 55 more: mend" in notes[0]
    for target, task in ((TABLE.y, None), (TABLE.x[:, 0], None)):
        assert not any(CLASSES in note for note in prepare(TABLE.x, target, TABLE.site, task).notes)


def test_columns_that_are_perhapsno_inputs_are_said():
    shuffled = np.random.default_rng(0).permutation(N)
    gone = np.where(TABLE.y, 3.0, np.nan)
    stay = np.where(TABLE.y, "dead", "home").astype(object)
    notes = prepare(
        beside(id=shuffled + 1000, place=stay, day=gone, ill=TABLE.y * 1.0, ward=TABLE.site), TABLE.y, TABLE.site
    ).notes
    said = {note.split()[0]: note for note in notes if IDENTIFIERS in note or TELLING in note}
    assert set(said) == {"id", "place", "day", "ill"}
    assert said["id"].endswith("none of them twice. If it is, --drop 'id'.")
    assert (
        said["place"]
        == "place says what the target is, value by value. If it is known only when the target is, --drop 'place'."
    )
    numbers = prepare(beside(same=TABLE.x[:, 2], half=TABLE.x[:, 3]), TABLE.x[:, 2], TABLE.site).notes
    assert [note.split()[0] for note in numbers if TELLING in note] == ["same"]
    few = np.arange(16) % 2
    assert not no_inputs({"id": np.arange(16), "same": few}, few)


def test_rows_that_are_copies_are_said_unless_they_are_alike_by_chance():
    def said(x, y):
        return [note for note in prepare(x, y, np.arange(len(y)) % 2).notes if COPIES in note]

    twice = np.concatenate([TABLE.x, TABLE.x])
    assert said(twice, np.tile(TABLE.y, 2))[0].startswith(f"120 of 240 rows are {COPIES}. Tests count them as new evidence")
    twice[N:, 0] += 1
    assert not said(twice, np.tile(TABLE.y, 2))
    assert said(np.concatenate([TABLE.x, TABLE.x[:1]]), np.append(TABLE.y, TABLE.y[0]))[0].startswith("1 of 121 rows are")
    rng = np.random.default_rng(0)
    assert not said(rng.integers(2, size=(500, 4)), rng.integers(2, size=500))
    assert not said(np.column_stack([rng.integers(200, size=2000), rng.integers(2, size=2000)]), rng.integers(2, size=2000))


def test_more_columns_than_rows_is_said():
    wide = np.tile(TABLE.x, (1, 12))
    assert any("more columns than rows" in note for note in prepare(wide, TABLE.y, TABLE.site).notes)


def test_a_column_that_is_filled_in_only_where_the_target_is_so_is_said():
    rng = np.random.default_rng(0)
    hour = np.where(TABLE.y & (rng.random(N) < 0.7), rng.normal(size=N), np.nan)  # not of all the dead
    notes = prepare(beside(hour=hour), np.where(TABLE.y, "dead", "home"), TABLE.site).notes
    (said,) = [note for note in notes if TELLING in note]
    assert said.startswith(f"hour {TELLING}: it is filled in only where the target is dead. If it is known only when")
    assert not any(
        TELLING in note for note in prepare(beside(hour=np.where(rng.random(N) < 0.5, 1.5, np.nan)), TABLE.y, TABLE.site).notes
    )


def test_a_column_too_good_to_be_true_is_said():
    notes = prepare(beside(score=-3.0 * TABLE.y + np.random.default_rng(0).normal(size=N) / 2), TABLE.y, TABLE.site).notes
    (said,) = [note for note in notes if TELLING in note]
    assert "alone it has an AUC of 1.000, which is too good to be true" in said


def test_copies_at_other_sites_are_counted():
    twice, site = np.concatenate([TABLE.x, TABLE.x]), np.concatenate([TABLE.site, TABLE.site])
    for shift, told in ((0, False), (1, True)):
        notes = prepare(twice, np.tile(TABLE.y, 2), np.where(np.arange(2 * N) < N, site, (site + shift) % 4)).notes
        (said,) = [note for note in notes if COPIES in note]
        assert ("120 of them are at another site, which is then no new one." in said) == told


def test_gaps_and_numbers_of_a_regression_that_say_the_target_are_said():
    rng = np.random.default_rng(0)
    filled = np.where(TABLE.y, rng.normal(size=N), np.nan)
    filled[[np.argmax(TABLE.y == one) for one in (0, 1)]] = (1.0, np.nan)  # not only of one class, and not of all of it
    (said,) = [note for note in prepare(beside(days=filled), TABLE.y, TABLE.site).notes if TELLING in note]
    assert said.startswith(f"days {TELLING}: whether it is filled in has an AUC of 0.9")
    target = TABLE.x[:, 0]
    hours = 24 * target + 0.1 * rng.normal(size=N)
    for column, told in ((hours, True), (np.where(rng.random(N) < 0.2, np.nan, -hours), True), (target + TABLE.x[:, 1], False)):
        notes = prepare(beside(hours=column, a=TABLE.x[:, 2]), target, TABLE.site).notes
        assert [note.split(", which")[0] for note in notes if TELLING in note] == (
            [f"hours {TELLING}: alone it has a rank correlation of 1.000"] if told else []
        )
