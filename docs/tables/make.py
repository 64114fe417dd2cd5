"""Makes the two tables of docs/own-data.md again: `python docs/tables/make.py`. Needs scikit-learn.

wards.csv is made up: eight wards, six measurements that mean the same everywhere, and a priority code, which each ward gives by
rules of its own. cells.csv is a part of scikit-learn's breast cancer table (UCI, 569 rows): what is measured of all cells,
blurred, and of the worst cells, which a pathologist looked up later.
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


if __name__ == "__main__":
    wards()
    cells()
