from mechlearn_zoo.tasks.simulators import version_of


def test_versions_of_what_is_and_what_is_not_there():
    assert version_of("numpy")[0].isdigit()
    assert version_of("no-such-package-anywhere") == ""
