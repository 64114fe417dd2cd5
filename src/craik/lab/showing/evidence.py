"""What stands behind a run, in words: which commits made it, and who has seen it made again."""

from __future__ import annotations

from craik.lab.running.run import Run, Witness, commit_words
from craik.lab.showing.wording import number, numerals


def made_words(run: Run) -> str:
    """The commits that made a run, each with its seeds where there are several."""
    if len(run.made_at) == 1:
        return run.made_at[0]
    seeds = {
        commit: [seed for one in run.made if commit_words(one.code) == commit for seed in one.seeds] for commit in run.made_at
    }
    return ", ".join(f"{commit} (seeds {numerals(sorted(some))})" for commit, some in seeds.items())


def confirmed_words(run: Run) -> str:
    """What the last witness found, "not confirmed since" where there was none."""
    return witness_words(run.confirmed[-1], len(run.seeds)) if run.confirmed else "not confirmed since"


def witness_words(witness: Witness, seeds: int) -> str:
    """What a witness found.

    Args:
        witness: of a run.
        seeds: how many the run has.
    """
    compared, recorded = witness.rows
    counted = f"{len(witness.seeds)} of {seeds} seed{'s' * (seeds != 1)}"
    if compared < recorded:
        counted = f"first {compared} of {recorded} rows of {counted}"
    if witness.outcome == "differs":
        return f"not confirmed at {commit_words(witness.code)} ({counted}, differs: {witness.where})"
    how = "equal" if witness.outcome == "equal" else f"within {number(witness.difference)}"
    return f"confirmed at {commit_words(witness.code)} ({counted}, {how})"


def older_words(run: Run) -> str:
    """Which of the judged seeds another source made than the one that judged, empty where none."""
    return f"seed{'s' * (len(run.older) != 1)} {numerals(run.older)} by an older source" if run.older else ""


def made_commits(run: Run) -> list[str]:
    """The commits that made a run."""
    return list(dict.fromkeys(one.code.commit for one in run.made if one.code.commit))


def confirmed_commits(run: Run) -> list[str]:
    """The commits at which a witness found the run's rows again."""
    found = (one.code.commit for one in run.confirmed if one.outcome != "differs")
    return list(dict.fromkeys(commit for commit in found if commit))
