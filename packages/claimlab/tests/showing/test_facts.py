import pytest

from claimlab.errors import LabError
from claimlab.showing.facts import FILE, explanations, on_one_data_set, sizes


def test_facts_say_which_of_four(tmp_path):
    tmp_path.joinpath(FILE).write_text(
        '[[failing]]\nis = "budget"\nwhy = "its slope"\nclaims = ["a.one", "a.two"]\n'
        '[[failing]]\nis = "open"\nwhy = "flat"\nclaims = ["b.one"]\n'
    )
    assert explanations(tmp_path) == {"a.one": "budget", "a.two": "budget", "b.one": "open"}
    assert explanations(tmp_path / "family") == explanations(tmp_path)


def test_facts_say_of_which_size_a_record_is(tmp_path):
    tmp_path.joinpath(FILE).write_text('[[size]]\nis = "smaller"\nrecords = ["a quick", "a paper"]\n')
    assert sizes(tmp_path) == {"a quick": "smaller", "a paper": "smaller"}
    tmp_path.joinpath(FILE).write_text('[[size]]\nis = "large"\nrecords = ["a quick"]\n')
    with pytest.raises(LabError, match="one of the paper's size and data, the paper's size, other data, smaller, toy"):
        sizes(tmp_path)


def test_facts_say_which_records_train_on_one_data_set(tmp_path):
    tmp_path.joinpath(FILE).write_text('[[data]]\nis = "one data set"\nrecords = ["a quick"]\n')
    assert on_one_data_set(tmp_path) == {"a quick"}


def test_no_facts_say_nothing(tmp_path):
    assert explanations(tmp_path) == sizes(tmp_path) == {}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[[failing", "should be TOML"),
        ('[[failing]]\nis = "luck"\nwhy = "x"\nclaims = []\n', "one of the text's mistake, another reading, budget, open"),
        ('[[failing]]\nis = "open"\nclaims = []\n', "`why`"),
    ],
)
def test_a_damaged_file_is_a_sentence(tmp_path, text, sentence):
    tmp_path.joinpath(FILE).write_text(text)
    with pytest.raises(LabError, match=sentence):
        explanations(tmp_path)
