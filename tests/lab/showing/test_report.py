import base64
import json
import re
import sys
from html.parser import HTMLParser

import pytest

from craik.lab.errors import LabError, UsageError
from craik.lab.experiment import load
from craik.lab.running.execute import execute, plan
from craik.lab.running.recorded import recorded_runs
from craik.lab.showing.claims import write_claims_markdown
from craik.lab.showing.report import write_report
from fake_experiments import folder_of


@pytest.fixture
def run(package, tmp_path):
    def _run(preset="quick", **overrides):
        sys.modules.pop(f"{package}.counter_walk", None)
        return execute(plan(load("counter-walk", package), preset, overrides, 1), tmp_path / "runs")

    return _run


def edit_source(package):
    path = folder_of(package) / "_shared" / "deep.py"
    path.write_text(path.read_text().replace("2 * x", "x + x"))


class Reader(HTMLParser):
    """The text of a page, its tags, and every address that it would load."""

    def __init__(self) -> None:
        super().__init__()
        self.text, self.tags, self.loaded, self.open = "", [], [], []
        self.names, self.links = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"meta", "img", "link", "br"}:
            self.open.append(tag)
        self.names += [value for key, value in attrs if key == "id"]
        self.links += [value for key, value in attrs if key == "href"]
        self.loaded += [value for key, value in attrs if key in {"src", "data", "srcset"} or (key == "href" and tag == "link")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += f"{data} "


def read(path) -> Reader:
    reader = Reader()
    reader.feed(path.read_text())
    assert reader.open == []  # every tag is closed, in order
    return reader


def test_the_report_opens_with_the_claims_and_shows_the_run(run, tmp_path):
    result = run(steps=4)
    page = read(write_report(tmp_path / "runs"))
    text = " ".join(page.text.split())
    for words in (
        "1 does not hold",
        "The walk <ends> high. figure 0 · counter.high",
        "It ends low & slow.",
        "What was tried. Smaller <steps>.",
        "Holds if: The median is negative.",
        "Counting: a walk that each seed starts elsewhere.",
        "Figure 0 of no thesis.",
        "craik run counter-walk --preset quick --seeds 1 --steps 4",
        "How far each step goes.",
        "4 changed",
        "A walk <of> some & seeds.",
        "counter-walk quick, steps 4",
    ):
        assert words in text, words
    assert text.index("✗ does not hold") < text.index("Figures")
    assert text.count("✓ holds") == 2  # in the table and beside its condition, and nowhere by hand
    assert result.folder.name in text


def test_every_run_and_what_was_tried_is_one_step_away(run, tmp_path):
    anchor = f"counter-walk-{run().folder.name}"
    page = read(write_report(tmp_path / "runs"))
    assert set(page.links) <= {f"#{name}" for name in page.names}
    assert len(page.names) == len(set(page.names))
    assert page.links.count(f"#{anchor}") == 2  # from the overview and from the table
    assert f"#{anchor}-counter.low" in page.links
    text = " ".join(page.text.split())
    assert re.search(r"counter-walk ✓ 1 holds ✗ 1 does not hold \S 1 not measured quick", text)
    assert text.index("1 holds ✗") < text.index("The walk <ends> high.")


def test_the_report_needs_nothing_else(run, tmp_path):
    result = run()
    page = read(write_report(tmp_path / "runs"))
    assert len(page.loaded) == 1
    assert (
        base64.b64decode(page.loaded[0].removeprefix("data:image/svg+xml;base64,"))
        == (result.folder / "figures" / "walk.svg").read_bytes()
    )
    assert not {"script", "link", "iframe", "ends", "steps", "of"} & set(page.tags)
    source = re.sub(r"base64,[\w+/=]+", "", (tmp_path / "runs" / "report.html").read_text())
    assert "http" not in source.replace("http-equiv", "")
    assert str(tmp_path) not in source


def test_a_report_of_the_same_runs_is_the_same(run, tmp_path):
    run()
    run("paper")
    first = write_report(tmp_path / "runs").read_bytes()
    assert write_report(tmp_path / "runs").read_bytes() == first
    assert [path.name for path in (tmp_path / "runs").iterdir() if path.is_file()] == ["report.html"]


def test_the_paper_comes_first_and_changed_presets_last(run, tmp_path):
    run(steps=5)
    run("paper")
    run()
    assert [found.label for found in recorded_runs(tmp_path / "runs")] == ["paper", "quick", "quick, steps 5"]


def test_older_runs_stand_apart_and_count_nowhere(run, package, tmp_path):
    old = run()
    age(old.folder)
    edit_source(package)
    new = run()
    changed = run(steps=5)
    runs = recorded_runs(tmp_path / "runs")
    assert [(found.folder, found.older) for found in runs] == [
        (new.folder, False),
        (old.folder, True),
        (changed.folder, False),
    ]
    text = " ".join(read(write_report(tmp_path / "runs")).text.split())
    assert "2 do not hold" in text
    assert text.index("Older runs") < text.index(old.folder.name)
    assert text.index(new.folder.name) < text.index("Older runs")


def age(folder):
    """Makes a run a year older than it is."""
    path = folder / "claims.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "time": "2001" + content["time"][4:]}))


def test_no_folder_no_run_no_sense(run, tmp_path):
    with pytest.raises(UsageError, match="nowhere is none"):
        write_report(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="at least one finished run"):
        write_report(tmp_path)


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        ("claims.json", '{"name": "counter-w', "JSONDecodeError"),
        ("claims.json", "[]", "TypeError"),
        ("claims.json", '{"claims": []}', "'command', 'commit', 'figures'"),
        ("config.json", "{}", "'settings'"),
        ("config.json", "[]", "AttributeError"),
    ],
)
def test_a_damaged_run_is_named(run, tmp_path, file, content, found):
    (run().folder / file).write_text(content)
    with pytest.raises(LabError, match=rf"readable.*{found}.*repeat or delete it"):
        write_report(tmp_path / "runs")


def test_a_lost_figure_is_named_with_the_command_that_draws_it(run, tmp_path):
    (run().folder / "figures" / "walk.svg").unlink()
    with pytest.raises(LabError, match=r"walk\.svg is not .*; craik run counter-walk .* draws it again"):
        write_report(tmp_path / "runs")


def test_the_markdown_holds_every_claim_at_every_preset(run, package, tmp_path):
    run()
    run(steps=5)
    (folder_of(package) / "unrun.py").write_text((folder_of(package) / "counter_walk.py").read_text())
    page = tmp_path / "docs" / "claims.md"
    write_claims_markdown(tmp_path / "runs", page, package)
    text = page.read_text()
    assert "Generated by `craik report runs --markdown docs/claims.md`" in text
    assert [line for line in text.splitlines() if line.startswith("#")] == [
        "# Claims",
        "## counter-walk",
        "### paper",
        "### quick",
        "### quick, steps 5",
        "## unrun",
        "### paper",
        "### quick",
    ]
    assert (text.count("✓ holds"), text.count("✗ does not hold"), text.count("- not measured")) == (2, 2, 11)
    assert "The walk &lt;ends&gt; high." in text
    assert "`counter.low` does not hold. Smaller <steps>." in text
    assert str(tmp_path) not in text
    write_claims_markdown(tmp_path / "runs", page, package)
    assert page.read_text() == text


def test_no_word_breaks_a_table_of_the_markdown(run, package, tmp_path):
    path = folder_of(package) / "counter_walk.py"
    path.write_text(path.read_text().replace("It ends low & slow.", "It | ends\\nlow."))
    run()
    write_claims_markdown(tmp_path / "runs", tmp_path / "claims.md", package)
    rows = [line for line in (tmp_path / "claims.md").read_text().splitlines() if line.startswith("| It")]
    assert len(rows) == 4
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
