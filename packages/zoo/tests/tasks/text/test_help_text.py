import pytest

from mechlearn_zoo.tasks.text.help_text import help_text, sentences

TEXT = """Title
*****

The first one ends here.  "A second" follows (it does!). no capital, no end
of it.

   code = "Is left out. Always."

Last, e.g. this: x.
"""


def test_sentences_end_where_a_capital_follows_and_code_and_headings_are_left_out():
    assert [" ".join(words) for words in sentences(TEXT)] == [
        "The first one ends here .", '" A second " follows ( it does ! ) . no capital , no end of it .',
        "Last , e . g . this : x .",
    ]  # fmt: skip
    assert sentences("   only = code\n\nHeading\n=======\n") == ()


def test_the_language_reference():
    found = help_text()
    assert len(found.names) == len(found.documents) > 50
    words = [word for document in found.documents for sentence in document for word in sentence]
    assert len(words) > 20_000
    assert len(set(words)) > 2000
    assert not any("=" * 3 in word for word in words)
    assert found.digest == help_text().digest


def test_your_own_text(tmp_path):
    (tmp_path / "a.md").write_text(TEXT)
    (tmp_path / "b.py").write_text("x = 1")
    (tmp_path / "empty.txt").write_text("    nothing = 0\n")
    found = help_text([tmp_path])
    assert found.names == (str(tmp_path / "a.md"),)
    assert found.documents == (sentences(TEXT),)
    assert found.digest == help_text([tmp_path / "a.md"]).digest != help_text().digest


def test_bad_input(tmp_path):
    with pytest.raises(ValueError, match="Check the path"):
        help_text([tmp_path / "none.txt"])
    (tmp_path / "empty.txt").write_text("    nothing = 0\n")
    with pytest.raises(ValueError, match="Pass prose"):
        help_text([tmp_path])


@pytest.mark.usefixtures("as_installed")
def test_one_path_is_no_list_of_paths(tmp_path):
    with pytest.raises(TypeError, match=r"`paths` should be a list of paths. .* Put one path into a list"):
        help_text(str(tmp_path))
