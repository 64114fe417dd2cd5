"""Procgen's CoinRun behind a pipe. Runs under Python 3.10, alone: it imports nothing of mechlearn and no torch.

Written to stdout, first and after every step, in native byte order: rewards (num) float32, whether an episode begins
(num) uint8, level numbers (num) int32, frames (num, 64, 64, 3) uint8. Read from stdin: actions (num) int32. The end of
stdin ends the process.
"""

import argparse
import os
import sys


def main() -> None:
    """Serve until stdin ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num", type=int, required=True, help="games that are played at once")
    parser.add_argument("--levels", type=int, required=True, help="how many levels there are; 0 for all")
    parser.add_argument("--start", type=int, required=True, help="the first level's number")
    parser.add_argument("--mode", required=True, help="Procgen's distribution_mode, easy or hard")
    parser.add_argument("--seed", type=int, required=True, help="decides the order of the levels")
    options = parser.parse_args()
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever the libraries print must not get between the frames

    import numpy as np  # noqa: PLC0415  # after stdout is out of their reach
    from procgen import ProcgenGym3Env  # noqa: PLC0415  # pyright: ignore[reportMissingImports] # lives in Python 3.10 only

    games = ProcgenGym3Env(
        num=options.num,
        env_name="coinrun",
        num_levels=options.levels,
        start_level=options.start,
        distribution_mode=options.mode,
        rand_seed=options.seed,
    )
    while True:
        rewards, frames, first = games.observe()
        levels = [info["level_seed"] for info in games.get_info()]
        for array, kind in ((rewards, np.float32), (first, np.uint8), (levels, np.int32), (frames["rgb"], np.uint8)):
            out.write(np.ascontiguousarray(array, dtype=kind).tobytes())
        out.flush()
        words = sys.stdin.buffer.read(4 * options.num)
        if len(words) < 4 * options.num:
            return
        games.act(np.frombuffer(words, dtype=np.int32))


if __name__ == "__main__":
    main()
