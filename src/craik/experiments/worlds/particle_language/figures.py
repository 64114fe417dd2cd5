"""Distance on the way, and the code."""

import numpy as np
from matplotlib.figure import Figure

from craik.experiments.worlds.particle_language.run import CHANNELS
from craik.lab import COLOURS, Rows, panels


def figures(rows: Rows) -> dict[str, Figure]:
    """Draw both, the code of the first seed."""
    figure, (left, right) = panels(
        2, 1, height=2.9,
        caption="Left: distance to the goal at the end of an episode, with symbols and without, every seed. Right: which "
        "symbol is said last for which colour, one seed; dark is often.",
    )  # fmt: skip
    for channel, role in zip(CHANNELS, ("ours", "baseline"), strict=True):
        for index, group in enumerate(rows.where(kind="curve", channel=channel).by("seed").values()):
            label = ("with symbols" if channel == "symbols" else "without") if index == 0 else None
            left.plot(group["step"], group["distance"], color=COLOURS[role], label=label)
    left.set(xlabel="step", ylabel="distance", ylim=(0, None))
    left.legend()
    code = rows.where(kind="code")
    counts, colours = np.array([int(word) for word in str(code[0]["counts"]).split()]), int(code["colours"][0])
    right.imshow(counts.reshape(colours, -1), cmap="viridis_r", aspect="auto")
    right.set(xlabel="symbol", ylabel="colour meant", yticks=range(colours))
    right.grid(visible=False)
    return {"language": figure}
