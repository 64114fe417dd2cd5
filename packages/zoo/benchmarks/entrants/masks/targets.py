"""What the masks may cost, and whether a measured row keeps to it."""

from typing import NamedTuple

from claimlab import Row, Rows
from claimlab.showing.wording import number

DENOMINATOR = "plain backprop"
"""The method that all ratios are to, and no peer."""


class Target(NamedTuple):
    """The most that a step may take over plain backpropagation on a CPU core, torch only.

    Attributes:
        time: ratio of seconds.
        memory: ratio of peak levels.
    """

    time: float
    memory: float


TARGETS = {
    "mlp-34": Target(1.12, 1.3),
    "mlp-3072": Target(1.6, 1.3),
    "resnet20": Target(1.4, 1.3),
    "fastresnet": Target(1.3, 1.3),
    "linear-10 3x30": Target(4.2, 1.3),
    "linear-10 3x10000": Target(1.9, 1.3),
    "mlp-17 9x32": Target(6.8, 1.3),
    "mlp-17 9x256": Target(2.0, 1.3),
    "rms-lm": Target(1.5, 1.3),
    "encoder": Target(1.5, 1.3),
    "llama": Target(1.5, 1.3),
    "vit-tiny": Target(1.6, 1.3),
    "gru": Target(2.0, 1.3),
    "lstm": Target(1.6, 1.3),
    "rms-lm bfloat16": Target(1.5, 2.0),
}
"""By workload; a workload without an entry is measured and not judged."""

LOOPED = frozenset({"linear-10 3x30", "linear-10 3x10000", "mlp-17 9x32", "lstm"})
"""Of these a loop over environments may be the fastest: the limit is 1.1 of the fastest peer's time in the same run and 30
microseconds, and the one above where no peer ran."""

LIMITS = {
    "mechlearn (normalise=model)": Target(2.0, 1.3),
    "mechlearn (normalise=tensor)": Target(2.0, 1.3),
    "mlp-3072, mechlearn (compiled)": Target(1.3, 1.3),
}
"""By method, where another step than the masks' is asked for, or by workload and method."""


def judged(rows: Rows, on_cpu: bool = True) -> Rows:
    """Return a workload's rows with a verdict in each of ours: `meets_time`, `meets_memory`, `fastest` and a remark.

    `fastest` says that no peer measured in the same run is faster; None where none was. What was not measured is not judged.

    Args:
        rows: of one workload.
        on_cpu: elsewhere there are no targets, and a row is held against its peers alone.
    """
    peers = [row for row in rows if _measured(row, "ratio") and not _ours(row) and row["method"] != DENOMINATOR]
    best = min(peers, key=lambda row: row["ratio"], default=None)
    return [_with_verdict(row, best, on_cpu) if _ours(row) and _measured(row, "ratio") else dict(row) for row in rows]


def _with_verdict(row: Row, best: Row | None, on_cpu: bool) -> Row:
    verdicts: Row = {"meets_time": None, "meets_memory": None, "fastest": None}
    said: list[str] = []
    method, workload = str(row["method"]), str(row["workload"])
    target = LIMITS.get(f"{workload}, {method}") or LIMITS.get(method) or TARGETS.get(workload) if on_cpu else None
    if target is not None and best is not None and row["workload"] in LOOPED and _measured(row, "seconds_plain"):
        target = target._replace(time=1.1 * best["ratio"] + 30e-6 / row["seconds_plain"])
    for name, key in (("time", "ratio"), ("memory", "memory_ratio")):
        if target is not None and _measured(row, key):
            limit = getattr(target, name)
            verdicts[f"meets_{name}"] = met = row[key] <= limit
            said.append(f"{name} target {number(limit)} {'met' if met else 'missed'}")
    if best is not None:
        verdicts["fastest"] = fastest = row["ratio"] < best["ratio"]
        said.append(f"{'before' if fastest else 'behind'} {best['method']} ({number(best['ratio'])})")
    return {**row, **verdicts, "note": "; ".join(part for part in (str(row["note"]), ", ".join(said)) if part)}


def _ours(row: Row) -> bool:
    return str(row["method"]).startswith("mechlearn")


def _measured(row: Row, key: str) -> bool:
    return isinstance(row.get(key), float)
