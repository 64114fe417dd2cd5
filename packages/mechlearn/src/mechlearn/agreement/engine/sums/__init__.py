"""What environments' gradients of one parameter add up to while they stream by: one file a way to take them in."""

from mechlearn.agreement.engine.sums.batched import SideBySide
from mechlearn.agreement.engine.sums.running import LONG, MOST_IN_BYTES, WIDE, RunningSums

__all__ = ["LONG", "MOST_IN_BYTES", "WIDE", "RunningSums", "SideBySide"]
