"""Returns in unseen mazes by arm and depth; what the rooms' arms record at the end needs no measure of its own."""

from claimlab import Rows, Scalar


def at(arm: str, depth: int | None = 6) -> dict[str, Scalar]:
    """Return what an arm's row of a seed holds, planning so many steps ahead."""
    return {"arm": arm, "depth": depth}


def above_others(rows: Rows) -> float | None:
    """Return what planning ahead returns more than the best of a misled planner, chance and acting by Q."""
    own, *others = (rows.where(**one)["return"] for one in (at("crar"), at("misled"), at("random", None), at("crar", 0)))
    return own[0] - max(one[0] for one in others) if own and all(others) else None


def above_others_stopped(rows: Rows) -> float | None:
    """Return the same, early-stopped where something learns; chance, which does not, is unchanged."""
    if not any("stopped_return" in row for row in rows):
        return None
    return above_others(Rows(row | {"return": row.get("stopped_return", row["return"])} for row in rows))
