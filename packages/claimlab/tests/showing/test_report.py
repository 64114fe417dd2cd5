import base64
import re
import shutil
import sys
import time
from html.parser import HTMLParser

import pytest

from claimlab.errors import LabError
from claimlab.running.runfiles import find_runs
from claimlab.showing.judging import checked
from claimlab.showing.report import write_report
from fake_copies import edit, folder_of, forget


def write(directory, package):
    """The report of checked runs."""
    return write_report(directory, found=checked(find_runs(directory), package))


@pytest.fixture
def run(run, package):
    def _run(preset="quick", **overrides):
        forget(package)
        return run(preset, 1, **overrides)

    return _run


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


def test_ten_thousand_rows_take_a_second_or_two(run, tmp_path):
    run(steps=10_000)
    start = time.process_time()
    write_report(tmp_path / "runs")
    assert time.process_time() - start < 3


def test_the_report_opens_with_the_claims_and_shows_the_run(run, package, tmp_path):
    result = run(steps=4)
    page = read(write_report(tmp_path / "runs"))
    text = " ".join(page.text.split())
    for words in (
        "1 does not hold so far",
        "The walk <ends> high. figure 0 · counter.high",
        "It ends low & slow.",
        "What was tried. Smaller <steps>.",
        "Holds if: last value below 0.",
        "Measured 3 (3 to 3), 1 seed.",
        "Counting: a walk that each seed starts elsewhere.",
        "Figure 0 of no thesis.",
        f"claimlab run counter-walk --package {package} --preset quick --seeds 1 --steps 4",
        "made at no commit",
        "not confirmed since",
        "How far each step goes.",
        "4 changed",
        "A walk <of> some & seeds.",
        "counter-walk quick, steps 4",
    ):
        assert words in text, words
    assert text.index("✗ does not hold") < text.index("Figures")
    assert text.count("✓ holds so far") == 2  # in the table and beside its condition, and nowhere by hand
    assert result.folder.name in text


def test_every_run_and_what_was_tried_is_one_step_away(run, tmp_path):
    name = f"{run().recipe.name}-0"
    page = read(write_report(tmp_path / "runs"))
    assert set(page.links) <= {f"#{name}" for name in page.names}
    assert len(page.names) == len(set(page.names))
    assert page.links.count(f"#{name}") == 2  # from the overview and from the table
    assert f"#{name}-counter.low" in page.links
    text = " ".join(page.text.split())
    assert re.search(r"counter-walk ✓ 1 holds so far ✗ 1 does not hold so far \S 1 not measurable here quick", text)
    assert text.index("1 holds so far ✗") < text.index("The walk <ends> high.")


def test_the_report_opens_with_what_each_system_holds_by_which_preset(run, package, tmp_path):
    run()
    run("paper")
    source = (write(tmp_path / "runs", package)).read_text()
    cells = [re.findall(r"<td>(.*?)</td>", row) for row in re.findall(r"<tr>(<td>walks</td>.*?)</tr>", source)]
    # Claims; hold, the texts' own, by `paper`; in part, likewise; fail, likewise; say nothing, open, disputed, on few seeds.
    assert cells == [["walks", "3", *("2", "2"), *("0", "0"), *("1", "0"), *("0", "0", "0", "3")]]
    assert source.index("<td>walks</td>") < source.index('<section id="claims"')
    shutil.rmtree(folder_of(package) / "walks" / "counter")
    forget(package)
    assert "<td>gone</td><td>3</td>" in write(tmp_path / "runs", package).read_text()


def test_of_a_package_that_was_not_named_nothing_is_imported_and_no_verdict_is_checked(run, package, tmp_path):
    run()
    forget(package)
    page = write_report(tmp_path / "runs").read_text()
    assert f"<td>{package}</td><td>3</td>" in page
    assert page.count("recorded, not checked</span>") == 2 * 3
    assert not [name for name in sys.modules if name.partition(".")[0] == package.partition(".")[0]]
    assert "recorded, not checked</span>" not in write(tmp_path / "runs", package).read_text()


def test_a_verdict_that_was_flipped_by_hand_is_computed_from_the_rows(run, package, tmp_path):
    path = run().folder / "claims.json"
    before = path.read_text()
    path.write_text(before.replace('"holds so far"', '"does not hold so far"'))
    assert path.read_text() != before
    (found,) = checked(find_runs(tmp_path / "runs"), package).runs
    assert [one.verdict for one in found.claims] == ["holds so far", "does not hold so far", "not measurable here"]
    assert path.read_text() != before  # a report leaves records as they are


def test_what_no_run_measures_is_open_in_the_table_and_not_measurable_in_the_run(run, package, tmp_path):
    run()
    text = " ".join(read(write(tmp_path / "runs", package)).text.split())
    table, _, article = text.partition("How the verdicts are reached")
    assert "9 \N{EN DASH} - not measured" in table[table.index("It ends far.") :]
    assert "- not measurable here It ends far." in article


def test_the_report_says_how_often_a_condition_changed(run, package, tmp_path):
    edit(
        package,
        "counter/claims.py",
        'condition=condition("last value above 1")',
        'condition=condition("last value above 1"), earlier=("last value above 0. All passed.",)',
    )
    name = f"{run().recipe.name}-0"
    page = read(write_report(tmp_path / "runs"))
    assert page.links.count(f"#{name}-counter.high") == 1
    text = " ".join(page.text.split())
    assert "condition changed once" in text
    assert "Its condition was changed once" in text


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
    assert [found.recipe.label for found in find_runs(tmp_path / "runs")] == ["paper", "quick", "quick, steps 5"]


def test_older_seeds_stand_apart_and_count_nowhere(run, package, tmp_path):
    old = run()
    edit(package, "steps.py", "2 * x", "x + x")
    new = run()
    changed = run(steps=5)
    apart = new.folder / "older" / old.made[0].code.source[:6]
    found = [(one.folder, one.is_older) for one in find_runs(tmp_path / "runs")]
    assert found == [(new.folder, False), (apart, True), (changed.folder, False)]
    page = read(write_report(tmp_path / "runs"))
    text = " ".join(page.text.split())
    assert "✗ 1 does not hold so far" in text
    assert text.index("Older seeds") < text.index(apart.name)
    assert text.index(new.folder.name) < text.index("Older seeds")
    assert {f"counter-walk-{place}" for place in range(3)} <= set(page.names)


def test_runs_of_one_name_in_two_places_have_links_of_their_own(run, tmp_path):
    folder = run().folder
    shutil.copytree(tmp_path / "runs", tmp_path / "both" / "runs")
    shutil.copytree(tmp_path / "runs", tmp_path / "both" / "records")
    found = find_runs(tmp_path / "both")
    assert [one.folder.name for one in found] == [folder.name] * 2
    page = read(write_report(tmp_path / "both"))
    assert len(set(page.names)) == len(page.names)
    assert {"counter-walk-0", "counter-walk-1"} <= set(page.names)
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.names)


@pytest.mark.parametrize(
    ("file", "content", "found"),
    [
        ("claims.json", '{"name": "counter-w', r"claims.json is not \(Unterminated string.*Delete it and run"),
        ("claims.json", "[]", "claims.json is not .it holds a list instead of an object"),
        ("claims.json", '{"claims": []}', "KeyError: 'seeds'"),
        ("run.json", '{"format": 2}', r"run.json is not \(KeyError: 'name'\)\. Delete the folder"),
        ("run.json", '{"format": 1}', "format 1, not 2.*Read it with the release that wrote it"),
        ("run.json", "[]", "run.json is not .it holds a list"),
    ],
)
def test_a_damaged_run_is_named(run, tmp_path, file, content, found):
    (run().folder / file).write_text(content)
    with pytest.raises(LabError, match=rf"files should be readable.*{found}"):
        write_report(tmp_path / "runs")


def test_a_figure_that_was_not_kept_is_drawn_from_the_rows(run, package, tmp_path):
    folder = run().folder
    kept = (folder / "figures" / "walk.svg").read_bytes()
    (folder / "figures" / "walk.svg").unlink()
    page = read(write(tmp_path / "runs", package))
    assert base64.b64decode(page.loaded[0].removeprefix("data:image/svg+xml;base64,")) == kept
    assert not (folder / "figures" / "walk.svg").exists()  # a report leaves records as they are


def test_where_the_experiment_is_gone_the_report_says_so(run, package, tmp_path):
    (run().folder / "figures" / "walk.svg").unlink()
    shutil.rmtree(folder_of(package) / "walks" / "counter")
    forget(package)
    text = " ".join(read(write(tmp_path / "runs", package)).text.split())
    assert "walk: neither recorded nor to be drawn from the rows today" in text
    assert "Found 'counter-walk'" in text
