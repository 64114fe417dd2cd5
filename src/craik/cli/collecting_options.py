"""The options of `craik coinrun collect`."""

from __future__ import annotations

import argparse
from pathlib import Path

from craik.lab.values import whole_number


def declare_coinrun(parser: argparse.ArgumentParser) -> None:
    """Declares them; what they do is in `craik.cli.collecting`, which imports torch."""
    parser.usage = "craik coinrun collect --to FILE [options]"
    parser.add_argument("action", metavar="collect", nargs="?", help="train an expert, let it play, record what it sees")
    parser.add_argument("--to", type=Path, metavar="FILE", help="the recording that craik run coinrun --recording FILE reads")
    parser.add_argument("--expert", type=Path, metavar="FILE", help="a trained expert; made there first if it does not exist")
    parser.add_argument("--further", action="store_true", help="train an expert that is there on, instead of using it as it is")
    parser.add_argument("--minutes", type=float, metavar="M", help="end the expert's training after so long")
    parser.add_argument(
        "--steps", type=whole_number, default=400_000_000, metavar="N", help="of the expert's training; texts: 400M"
    )
    parser.add_argument("--levels", type=whole_number, default=64, metavar="N", help="training levels; default 64")
    parser.add_argument(
        "--states", type=whole_number, default=1000, metavar="N", help="states of each training level; default 1000"
    )
    parser.add_argument(
        "--validation", type=whole_number, default=500, metavar="N", help="held-out levels, a state each; default 500"
    )
    parser.add_argument("--test", type=whole_number, default=2000, metavar="N", help="test levels, a state each; default 2000")
    parser.add_argument("--mode", choices=("easy", "hard"), default="easy", help="Procgen's difficulty; default easy")
    parser.add_argument("--seed", type=whole_number, default=0, metavar="N", help="of expert and recording; default 0")
    parser.add_argument("--python", metavar="PATH", help="a Python 3.10, which Procgen needs; found by itself if left out")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the simulator is installed; default craik's cache")
