"""Stands in for Python 3.10 with Procgen: takes the simulator's options, plays a game that is easy to predict.

Level numbers go up by one with every episode, from the first on and round again; an episode has three steps; action 7 in its
last step is worth 10. The frame of a level is filled with its number modulo 250.
"""

import struct
import sys


def main():
    words = sys.argv[sys.argv.index("--num") :]
    options = {words[i]: words[i + 1] for i in range(0, len(words), 2)}
    num, levels, start = int(options["--num"]), int(options["--levels"]) or 1_000, int(options["--start"])
    rewards, first, step, episode = [0.0] * num, [1] * num, [0] * num, list(range(num))
    out = sys.stdout.buffer
    while True:
        if options["--seed"] == "13" and episode[0] >= num:
            sys.exit("Exception: the coin fell off the world")
        numbers = [start + one % levels for one in episode]
        out.write(struct.pack(f"{num}f", *rewards) + bytes(first) + struct.pack(f"{num}i", *numbers))
        for number in numbers:
            out.write(bytes([number % 250]) * (64 * 64 * 3))
        out.flush()
        said = sys.stdin.buffer.read(4 * num)
        if len(said) < 4 * num:
            break
        for game, action in enumerate(struct.unpack(f"{num}i", said)):
            step[game] = (step[game] + 1) % 3
            first[game] = int(step[game] == 0)
            rewards[game] = 10.0 * (step[game] == 0 and action == 7)
            episode[game] += num * (step[game] == 0)


if __name__ == "__main__":
    main()
