"""The command line: `craik list`, `craik run`, `craik report`, `craik bench`, `craik coinrun`.

Exit status 0 when the command did its work (whatever the verdicts), 2 for bad usage, 1 for a failure, 130 for Ctrl-C.
With `--json` stdout holds exactly one JSON object, that of a failure `{"error": sentence, "status": status}`. What draws
and what computes is imported when it is needed only.

A further command is one entry in `COMMANDS`: a function that declares its options and one that runs them.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from craik.cli.answers import complain, fields_help, print_json, recorded_json, run_json, shown
from craik.cli.benches import folder, measure, names
from craik.cli.benches import load as load_bench
from craik.cli.benchrows import print_rows, summary
from craik.cli.coinrun import collect_coinrun, declare_coinrun
from craik.lab.errors import UsageError, suggestion
from craik.lab.experiment import PACKAGE, listing, load
from craik.lab.fields import parse_overrides, settings_of
from craik.lab.running.execute import execute
from craik.lab.running.plan import plan
from craik.lab.running.provenance import versions
from craik.lab.running.recorded import recorded_runs
from craik.lab.showing.wording import counted
from craik.lab.values import whole_number

OUT = Path("runs")
"""Where runs go, and where the report looks for them, unless told otherwise."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; {self.prog} --help tells more")


def main(argv: Sequence[str] | None = None, package: str = PACKAGE) -> int:
    """Runs one command.

    Args:
        argv: the words after `craik`; those of the process if None.
        package: where the experiments are.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _dispatch(words, package)
        sys.stdout.flush()  # a reader that has left is found here instead of after the last line of Python
    except SystemExit as leaving:  # argparse's way to end --help and --version
        return leaving.code if isinstance(leaving.code, int) else 0
    except BrokenPipeError:  # as in craik list | head -1: nobody reads any more, so there is nothing to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (Exception, KeyboardInterrupt) as error:  # a fault of craik too is a sentence, and JSON where that was asked for
        return complain(error, words)
    return status


def _dispatch(words: list[str], package: str) -> int:
    parser = _Parser(prog="craik", description="Learning mechanistic models: experiments, claims, reports.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"craik {versions()['craik']}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command")
    for name, (declare, _, sentence) in COMMANDS.items():
        command = commands.add_parser(name, help=sentence, description=sentence, add_help=False, allow_abbrev=False)
        command.add_argument("-h", "--help", action="store_true", help="show this and exit")
        command.add_argument("--json", action="store_true", help="print one JSON object instead of text")
        command.add_argument("--traceback", action="store_true", help="show where an error was raised")
        declare(command)
        command.set_defaults(parser=command)
    if words and not words[0].startswith("-") and words[0] not in COMMANDS:
        raise UsageError(f"a command must be one there is, but found {words[0]!r}; {suggestion(words[0], COMMANDS)}")
    options, rest = parser.parse_known_args(words)
    if options.command is None:
        raise UsageError(f"craik needs a command, but found none; {suggestion('', COMMANDS)}")
    return COMMANDS[options.command][1](options, rest, package)


# craik list


def _declare_list(parser: argparse.ArgumentParser) -> None:
    del parser  # it has no options of its own


def _list(options: argparse.Namespace, rest: list[str], package: str) -> int:
    if _helped(options) or _refuse(rest):
        return 0
    found = listing(package)
    if options.json:
        print_json({"experiments": [vars(experiment) for experiment in found]})
        return 0
    width = max((len(experiment.name) for experiment in found), default=0)
    for experiment in found:
        print(f"{experiment.name:<{width}}  {experiment.title}")
    return 0


# craik run


def _declare_run(parser: argparse.ArgumentParser) -> None:
    parser.usage = "craik run NAME [options] [--field value ...]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="an experiment of craik list")
    parser.add_argument("--preset", default="quick", help="quick (minutes on two cores) or paper (its scale); default quick")
    parser.add_argument("--seeds", type=whole_number, metavar="N", help="how many seeds; default: the preset's own number")
    parser.add_argument("--jobs", type=whole_number, metavar="N", help="how many seeds at once; default: one a processor core")
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder of all runs; default {OUT}")


def _run(options: argparse.Namespace, rest: list[str], package: str) -> int:
    if options.name is None:
        if _helped(options):
            return 0
        raise UsageError("craik run needs the name of an experiment, but found none; craik list shows them")
    experiment = load(options.name, package)
    settings = settings_of(experiment.config)
    if _helped(options):
        print(fields_help(experiment))
        return 0
    from craik.lab.showing.terminal import print_verdicts, progress  # noqa: PLC0415  # rich, needed from here on only

    overrides = parse_overrides(settings, rest, experiment.name)
    planned = plan(experiment, options.preset, overrides, options.seeds)
    with progress(experiment.name, len(planned.seeds)) as on_event:
        result = execute(planned, options.out, options.jobs, on_event)
    if options.json:
        print_json(run_json(result))
        return 0
    print_verdicts(result.claims, f"{experiment.name}, preset {planned.preset}, {counted(len(planned.seeds), 'seed')}")
    print(f"\nrun     {shown(result.folder)}\nreport  craik report {shown(options.out)}")
    return 0


# craik report


def _declare_report(parser: argparse.ArgumentParser) -> None:
    parser.usage = "craik report [DIR] [options]"
    parser.add_argument("directory", metavar="DIR", nargs="?", type=Path, default=OUT, help=f"folder of runs; default {OUT}")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the report; default DIR/report.html")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the claims of all experiments as Markdown too")


def _report(options: argparse.Namespace, rest: list[str], package: str) -> int:
    if _helped(options) or _refuse(rest):
        return 0
    from craik.lab.showing.claims import write_claims_markdown  # noqa: PLC0415  # jinja2, needed from here on only
    from craik.lab.showing.report import write_report  # noqa: PLC0415
    from craik.lab.showing.terminal import print_verdicts  # noqa: PLC0415

    path = write_report(options.directory, options.out)
    if options.markdown:
        write_claims_markdown(options.directory, options.markdown, package)
    runs = [run for run in recorded_runs(options.directory) if not run.older]
    if options.json:
        markdown = shown(options.markdown) if options.markdown else None
        print_json({"report": shown(path), "markdown": markdown, "runs": [recorded_json(run) for run in runs]})
        return 0
    for run in runs:
        print_verdicts(run.claims, f"{run.summary['name']}, {run.label}, {counted(len(run.summary['seeds']), 'seed')}")
        print()
    print(f"report  {shown(path)}" + (f"\nclaims  {shown(options.markdown)}" if options.markdown else ""))
    return 0


# craik bench


def _declare_bench(parser: argparse.ArgumentParser) -> None:
    parser.usage = "craik bench NAME [options] [--field value ...]"
    parser.add_argument("name", metavar="NAME", nargs="?", help="a file of the folder benchmarks/, such as agreement")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: tries the benchmark out, its ratios mean nothing")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the rows as JSON lines too")


def _bench(options: argparse.Namespace, rest: list[str], package: str) -> int:
    del package  # benchmarks are no experiments
    if options.name is None:
        if _helped(options):
            return 0
        raise UsageError(f"craik bench needs the name of a benchmark, but found none; {suggestion('', names(folder()))}")
    bench = load_bench(options.name, folder())
    if _helped(options):
        print(fields_help(bench))
        return 0
    rows = measure(bench, "quick" if options.quick else "full", rest, options.out)
    if options.json:
        print_json(summary(bench.name, rows))
    else:
        print_rows(rows)
    return 0


# craik coinrun collect


def _coinrun(options: argparse.Namespace, rest: list[str], package: str) -> int:
    del package  # a collector is no experiment
    if _helped(options) or _refuse(rest):
        return 0
    if options.action != "collect":
        found = repr(options.action) if options.action else "none"
        raise UsageError(f"craik coinrun knows the action collect, but found {found}; craik coinrun collect --to FILE")
    if options.to is None:
        raise UsageError("craik coinrun collect needs a file to write, but found none; add --to FILE")
    about = collect_coinrun(options)
    if options.json:
        print_json({"recording": shown(options.to), **about})
    else:
        print("\n".join(f"{name:<14}{value}" for name, value in about.items()))
        print(f"\nrun  craik run coinrun --recording {shown(options.to)}")
    return 0


_Declare = Callable[[argparse.ArgumentParser], None]
_Execute = Callable[[argparse.Namespace, list[str], str], int]

COMMANDS: dict[str, tuple[_Declare, _Execute, str]] = {
    "list": (_declare_list, _list, "what there is to run"),
    "run": (_declare_run, _run, "compute an experiment, or go on where a run was stopped"),
    "report": (_declare_report, _report, "write the report of a folder of runs"),
    "bench": (_declare_bench, _bench, "measure time and memory beside plain backpropagation and other packages"),
    "coinrun": (declare_coinrun, _coinrun, "record an expert at CoinRun, for the experiment of that name"),
}
"""Name, how its options are declared, how it runs (options, unknown words, package), a sentence."""


def _helped(options: argparse.Namespace) -> bool:
    if options.help:
        print(options.parser.format_help(), end="")
    return options.help


def _refuse(rest: Sequence[str]) -> bool:
    if rest:
        raise UsageError(f"an option must be one there is, but found {rest[0]!r}; --help lists them")
    return False
