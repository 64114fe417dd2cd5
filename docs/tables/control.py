"""Writes the tables of docs/methods/measured.md from the records: `python docs/tables/control.py`.

The first holds, for each experiment of control, what a seed was to cost, and what the recorded run found: its first claims, and
how many of those that it measures hold. The second holds the benchmark's rows of ours beside what was set out.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "methods" / "measured.md"
SECONDS: dict[str, int | None] = {
    "impala-lag": 60,
    "popart-tasks": 30,
    "promp-corners estimators": 5,
    "promp-corners": 60,
    "curiosity-tv": 90,
    "max-chain": 2,
    "empowerment-maze": 10,
    "entropy-landscape": 15,
    "cfgps-levels": 35,
    "cfgps-levels amortised": None,
    "crar-mazes rooms": 40,
    "one-shot-towers": 25,
}
"""CPU seconds a seed, as set out before anything was built, None where nothing was; of a part by its preset, too."""
TARGETS = {
    r"V-trace, T=20,": "2 times torchrl",
    r"V-trace, T=(100|128|1000),": "7 times torchrl",
    r"PopArt": "at most 2 % of a learner's step",
    r"ProMP": "3 times a loop over tasks",
    r"Episodic memory": "at most 0.5 ms",
    r"capacity": "at most 1 s",
    r"disagreement": "at most 60 ms, 10 times the loop",
    r"planner": "at most 30 ms, 20 times the recursion",
    r"posterior": "at most 5 ms",
}
"""Set out for a core that does nothing else."""


def experiments(results: Path = ROOT / "packages" / "zoo" / "results") -> str:
    """Return the table of experiments, a row for each recorded quick run."""
    lines = ["| experiment | set out, CPU s a seed | measured, s a seed | measured by us | claims that hold |"]
    lines.append("|---|---|---|---|---|")
    for path in sorted(results.glob("*/*/*-??????/claims.json")):
        judged = json.loads(path.read_text(encoding="utf-8"))
        name = f"{judged['name']} {path.parent.name[:-7]}".removesuffix(" quick")
        if name not in SECONDS or judged["older"]:
            continue
        claims = [claim for claim in judged["claims"] if claim["measured"] is not None]
        held = sum(claim["verdict"].startswith("holds") for claim in claims)
        first = "; ".join(f"{claim['id'].partition('.')[2]} {said(claim)}" for claim in claims[:3])
        place = f"[{name}](../../packages/zoo/src/mechlearn_zoo/experiments/{path.parts[-4]}/{path.parts[-3]}/README.md)"
        own = judged["seconds"] / len(judged["seeds"])
        lines.append(f"| {place} | {SECONDS[name] or '-'} | {own:.0f} | {first} | {held} of {len(claims)} |")
    return "\n".join(lines) + "\n"


def said(claim: Mapping[str, Any]) -> str:
    """Return a number with its ends."""
    value, low, high = (f"{claim[key]:.3g}" for key in ("measured", "low", "high"))
    return f"{value} [{low}, {high}]" if claim["n"] >= 6 else f"{value} ({low} to {high})"


def benchmark(rows: Path = ROOT / "packages" / "zoo" / "results" / "bench" / "control.jsonl") -> str:
    """Return the table of ours."""
    lines = [
        "| workload | ms | times the literal loop's speed | times torchrl's | values | set out |",
        "|---|---|---|---|---|---|",
    ]
    for line in rows.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["method"] != "mechlearn":
            continue
        peer = f"{1 / row['over_peer']:.3g}" if row.get("over_peer") else "-"
        share = f"; {100 * row['share']:.2g} % of a learner's step" if row.get("share") else ""
        target = next((text for pattern, text in TARGETS.items() if re.match(pattern, row["workload"])), "-")
        ms = f"{1000 * row['seconds']:.3g}{share}"
        lines.append(
            f"| {row['workload']} | {ms} | {1 / row['ratio']:.3g} | {peer} | {'equal' if row['exact'] else '-'} | {target} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Put both tables between their marks."""
    text = PAGE.read_text(encoding="utf-8")
    for name, table in (("experiments", experiments()), ("benchmark", benchmark())):
        marks = rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- end of {name} -->)"
        text = re.sub(marks, lambda found, table=table: f"{found[1]}\n{table}\n{found[2]}", text, flags=re.S)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
