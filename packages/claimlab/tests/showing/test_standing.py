from claimlab.showing.standing import PAGE, explanations


def test_the_register_says_which_of_four(tmp_path):
    page = tmp_path / PAGE
    page.parent.mkdir(parents=True)
    page.write_text(
        "| result | claim | verdict | its rows |\n|---|---|---|---|\n| open | `a.shown` | holds | `claimlab run a` |\n\n"
        "| is | why | claims |\n|---|---|---|\n"
        "| the texts' mistake | by hand, `a.named` too | `a.one`, `a.two-parts` |\n"
        "| budget | its slope | `b.one` |\n"
        "| open | flat | `c.one` |\n"
        "| open | no curve | `c.two` |\n"
        "| no claim of the texts | ours | `d.one` |\n"
    )
    found = explanations(tmp_path / "results")
    assert found == {
        "a.one": "the texts' mistake",
        "a.two-parts": "the texts' mistake",
        "b.one": "budget",
        "c.one": "open",
        "c.two": "open",
    }


def test_no_register_says_nothing(tmp_path):
    assert explanations(tmp_path / "results") == {}
