import pytest

from craik import arguments


@pytest.mark.parametrize(
    ("check", "sentence"),
    [
        (lambda: arguments.whole("n", 0), r"`n` should be an integer of at least 1\. Found 0"),
        (lambda: arguments.whole("n", 2.0), r"`n` should be an integer of at least 1\. Found 2\.0"),
        (lambda: arguments.whole("n", True), r"Found True"),
        (lambda: arguments.whole("n", 1, least=2), r"at least 2\. Found 1"),
        (lambda: arguments.not_negative("lr", -0.1), r"`lr` should be at least 0\. Found -0\.1"),
        (lambda: arguments.not_negative("lr", float("nan")), "Found nan"),
        (lambda: arguments.positive("scale", 0.0), r"`scale` should be positive\. Found 0\.0"),
        (lambda: arguments.share("beta", 1.0), r"`beta` should be in \[0, 1\)\. Found 1\.0"),
        (lambda: arguments.one_of("solver", "lu", ("neumann", "cg")), r"`solver` should be one of neumann, cg\. Found 'lu'"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name_and_value(check, sentence):
    with pytest.raises(ValueError, match=sentence):
        check()


def test_what_can_be_passes():
    arguments.whole("n", 1)
    arguments.whole("n", 0, least=0)
    arguments.not_negative("lr", 0.0)
    arguments.positive("scale", 1e-9)
    arguments.share("beta", 0.0)
    arguments.one_of("solver", "cg", ("neumann", "cg"))
