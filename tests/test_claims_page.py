"""docs/claims.md is what `make docs` makes of the rows recorded under results/."""

from pathlib import Path

from craik.lab.showing.claims import write_claims_markdown

ROOT = Path(__file__).parents[1]


def test_the_claims_page_is_up_to_date(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)  # the page names the folder as it was given
    page = tmp_path / "claims.md"
    write_claims_markdown(Path("results"), page)
    fresh = page.read_text(encoding="utf-8").splitlines()[4:]  # below the line that names the command and its file
    assert (ROOT / "docs/claims.md").read_text(encoding="utf-8").splitlines()[4:] == fresh, "run `make docs`"
