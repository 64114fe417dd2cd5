"""Funnel board: a ball falls through rows of sliders and funnels onto one of five platforms (thesis section 2.3.1)."""

from mechlearn_zoo.tasks.frames.funnel_board.boards import FUNNEL_BOARD as FUNNEL_BOARD
from mechlearn_zoo.tasks.frames.funnel_board.labels import ball_in_pixels as ball_in_pixels
from mechlearn_zoo.tasks.frames.funnel_board.labels import read_frames as read_frames
from mechlearn_zoo.tasks.frames.funnel_board.presets import HALF as HALF
from mechlearn_zoo.tasks.frames.funnel_board.presets import PRESETS as PRESETS
from mechlearn_zoo.tasks.frames.funnel_board.presets import PUBLISHED as PUBLISHED
from mechlearn_zoo.tasks.frames.funnel_board.presets import SMALL as SMALL
from mechlearn_zoo.tasks.frames.funnel_board.presets import BallPhysics as BallPhysics
from mechlearn_zoo.tasks.frames.funnel_board.presets import BoardGeometry as BoardGeometry
from mechlearn_zoo.tasks.frames.funnel_board.presets import FallRecording as FallRecording
from mechlearn_zoo.tasks.frames.funnel_board.presets import FunnelBoardSettings as FunnelBoardSettings

generate = FUNNEL_BOARD.generate
"""Draws episodes; see `mechlearn_zoo.tasks.frames.episodes.Simulation.generate`."""
