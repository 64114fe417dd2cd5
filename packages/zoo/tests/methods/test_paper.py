from pathlib import Path

import pytest

from mechlearn_zoo import methods
from mechlearn_zoo.methods.paper import papers, table

ROOT = Path(__file__).parents[4]
FOLDER = Path(methods.__file__).parent
FIELDS = sorted(path.name for path in FOLDER.iterdir() if (path / "__init__.py").is_file())


@pytest.mark.parametrize("field", FIELDS)
def test_the_page_has_the_table_of_the_field(field):
    assert table(field) in (ROOT / "docs" / "methods" / f"{field}.md").read_text(), (
        f"docs/methods/{field}.md should have the table of its field. Run `python docs/tables/papers.py`."
    )


@pytest.mark.parametrize("field", FIELDS)
def test_every_paper_is_complete(field):
    for name, paper in papers(field).items():
        assert 1950 <= paper.year <= 2100, name
        assert paper.url.startswith("https://"), name
        assert all([paper.name, paper.reference, paper.cost]), name
