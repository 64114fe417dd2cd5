import pytest

from mechlearn_zoo.tasks.frames.corruption import Corruption


@pytest.mark.usefixtures("as_installed")
def test_kinds_and_levels_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match=r"`kind` should be .* Found 'Missing'"):
        Corruption("Missing", 0.3)
    with pytest.raises(ValueError, match=r"`level` should lie in \[0, 1\]. Found 30"):
        Corruption("missing", 30)


def test_names_say_kind_and_percent():
    assert [Corruption("clean").name, Corruption("noise", 0.3).name] == ["clean", "noise-30"]
