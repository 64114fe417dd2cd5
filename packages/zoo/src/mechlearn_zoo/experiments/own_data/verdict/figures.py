"""What was said by board, and what was said against what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from claimlab import COLOURS, Rows, colour, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {"helps": 2, "as good": 0, "cannot tell": 3, "harms": 1}
"""And the place of their colour."""
CAPTION = (
    "Left: how often each verdict was given, by board. Right: the gain that eight sites show of the method asked about, "
    "and its gain at twenty sites to come; a point a table, in points of AUC."
)


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both."""
    verdicts = rows.where(kind="verdict")
    figure, (left, right) = panels(2, 1, caption=CAPTION, height=3.0)
    boards = list(dict.fromkeys(str(row["board"]) for row in verdicts))
    for place, board in enumerate(boards):
        start, said = 0.0, verdicts.where(board=board)
        for word, index in WORDS.items():
            width = len(said.where(word=word)) / len(said)
            label = word if place == 0 else None
            left.barh(place, width, left=start, color=colour(index), height=0.6, label=label)
            start += width
        right.plot(said["said"], said["true"], "o", color=colour(place), markersize=3, alpha=0.6, label=board)
    left.set_yticks(range(len(boards)), boards, fontsize=7)
    left.invert_yaxis()
    left.set_xlabel("share of tables", fontsize=8)
    left.legend(fontsize=6, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 1.25))
    right.axline((0, 0), slope=1, color=COLOURS["reference"], linewidth=0.8)
    right.set_xlabel("said, in points", fontsize=8)
    right.set_ylabel("true, in points", fontsize=8)
    right.legend(fontsize=6)
    return {"verdicts": figure}
