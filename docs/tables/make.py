"""Makes the data of docs/own-data.md again: `python docs/tables/make.py`. Needs scikit-learn.

wards.csv is made up: eight wards, six measurements that mean the same everywhere, and a priority code, which each ward gives by
rules of its own. cells.csv is a part of scikit-learn's breast cancer table (UCI, 569 rows): what is measured of all cells,
blurred, and of the worst cells, which a pathologist looked up later. stops.npz is made up: balls in a box that lie still for
some frames wherever they touch a wall.
"""

import csv
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

HERE = Path(__file__).parent


def wards(rows: int = 60) -> None:
    """Write 480 made-up rows."""
    rng = np.random.default_rng(1)
    names = ["age", "pulse", "pressure", "fever", "lactate", "oxygen", "priority"]
    habit = dict(zip("ABCDEFGH", (2.5, -2.5, 2.0, -2.0, 2.5, -1.5, 2.0, -2.5), strict=True))
    with (HERE / "wards.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["ward", *names, "ill"])
        for ward, sign in habit.items():
            for _ in range(rows):
                ill = int(rng.integers(2))
                sound = rng.normal(size=6) + 0.6 * (ill - 0.5) * np.array([1, 1, -1, 1, 1, -1])
                code = rng.normal() + sign * (2 * ill - 1) / 1.5
                writer.writerow([ward, *(f"{value:.2f}" for value in (*sound, code)), ("no", "yes")[ill]])


def cells(rows: int = 120) -> None:
    """Write some rows of the real table."""
    table = load_breast_cancer()
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(table.data))[:rows]
    words = [str(name).replace(" ", "_") for name in table.feature_names]
    blurred = table.data[:, :10] + 1.5 * table.data[:, :10].std(0) * rng.normal(size=(len(table.data), 10))
    with (HERE / "cells.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*words[:10], *words[20:], "diagnosis"])
        for row in chosen:
            values = (*blurred[row], *table.data[row, 20:])
            writer.writerow([*(f"{value:.4g}" for value in values), table.target_names[table.target[row]]])


def stops(count: int = 120, frames: int = 33) -> None:
    """Write trajectories (count, frames, 4) of place and velocity; a ball waits 0 to 5 frames at a wall."""
    rng = np.random.default_rng(2)
    found = np.zeros((count, frames, 4), dtype=np.float32)
    for one in found:
        place, velocity, wait = rng.uniform(0, 1, 2), rng.uniform(-0.08, 0.08, 2), 0
        for frame in one:
            frame[:] = *place, *velocity
            if wait:
                wait -= 1
                continue
            place = place + velocity
            out = (place < 0) | (place > 1)
            velocity, place = np.where(out, -velocity, velocity), place.clip(0, 1)
            wait = int(rng.integers(6)) if out.any() else 0
    np.savez(HERE / "stops.npz", frames=found)


if __name__ == "__main__":
    wards()
    cells()
    stops()
