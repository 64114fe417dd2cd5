"""Settings of seeds that train nothing, for the experiments' own tests and for those of all of them."""

from dataclasses import replace

from claimlab import load
from mujoco_made_up import TINY as BODIES

SPIRALS = {"environments": 4, "examples": 32, "batch": 8, "hidden": 8, "steps": 3}
WALK = {"steps": 2, "evaluations": 12, "hidden": 8, "episodes": 5, "test_episodes": 2}
SKIPS = {"episodes": 4, "validation_episodes": 2, "evaluations": 80, "kernels": 4, "max_steps": 3}
TEXT = {
    "vocabulary": 6, "length": 5, "sequences": 60, "units": 4, "epochs": 3, "rounds": 4, "samples": 1, "judge_epochs": 1,
    "judge_steps": 1, "temperatures": (0.5, 1.0), "points": 50, "arms": ("mle", "seqgan", "pg-bleu"),
}  # fmt: skip
TEACHING = {"rounds": 3, "inner_steps": 2, "student_steps": 3, "batch": 8, "every": 2}

TINY = {
    "spirals": {"environments": 2, "examples": 16, "shortcut_dims": 2, "hidden": 8, "layers": 1, "batch": 5, "epochs": 3},
    "memorisation": {"examples": 16, "batch": 8, "epochs": 3, "reports": 1, "thresholds": (0.2,)},
    "label-noise": {"examples": 80, "epochs": 2, "thresholds": (0.2,), "learning_rates": (1e-3,)},
    "label-noise early-stopping": {"sizes": (80,), "epochs": 2, "noises": (0.5,), "thresholds": (0.2,), "mask_rates": (1e-3,)},
    "captions": {
        "pictures": 12, "tested": 5, "candidates": 4, "width": 8, "steps": 3, "batch": 4, "channels": 4, "gan_steps": 3,
    },
    "coinrun": {"levels": 3, "states": 4, "validation": 4, "test": 4, "batch": 2, "epochs": 2, "trials": 2, "finalists": 1},
    "conflict-spirals": SPIRALS,
    "coordinates": {
        "side": 16, "steps": 8, "plain_steps": 8, "find_steps": 8, "batch": 4, "width": 8, "digit_steps": 2, "gan_steps": 2,
        "gan_side": 8,
    },
    "decoding": {"neurons": (), "pictures": 40, "tested": 6, "voxels": 30, "steps": 3, "search": 3, "alpha": 30.0},
    "distill-ablations": {"rounds": 1, "temperatures": (2.0,), "imitations": (0.5,)},
    "distill-board": {
        "methods": ("frequent", "asi", "no-teacher", "ldt-asi"), "boards": 16, "steps": 2, "batch": 3, "hidden": 8,
        "rounds": 2, "alone": 1, "inner_steps": 2, "frames": 3, "horizon": 4,
    },
    "distill-equal": {"tasks": ("xor",), "trials": 1, "budget": 12, "looks": 2},
    "distill-life": {
        "examples": (32,), "side": 5, "trials": 2, "steps": 3, "filters": (2, 3), "inner_steps": (1, 2), "student_steps": 1,
        "selection": 20, "test": 20,
    },
    "distill-mujoco": {**BODIES, "rounds": 3, "grid_batch": (6,), "grid_weight": (1.0,), "methods": ("auxiliary", "ldt")},
    "distill-mujoco, stacked": {
        **BODIES, "rounds": 3, "grid_batch": (6, 8), "grid_weight": (1.0, 2.0), "methods": ("auxiliary",), "stacked": True,
    },
    "distill-noisy-labels": {**TEACHING, "examples": 40, "test": 60, "betas": (0.0, 1.0), "widths": (6,)},
    "distill-population": {
        "inputs": 4, "examples": 32, "students": 2, "renewed": 2, "rounds": 2, "inner_steps": 2, "student_steps": 2, "batch": 8,
        "units": 5, "width": 7, "widths": (6,), "teacher_widths": (8,), "fresh": 1, "steps": 4,
        "young": 2,
    },
    "distill-privileged": {"updates": 1, "cells": ("helpful", "useless")},
    "distill-stream": {
        "stages": 2, "rounds": 2, "inner_steps": 2, "inputs": 6, "examples": 24, "batch": 4, "units": 4, "width": 6,
        "steps": 2,
    },
    "distill-xor": {**TEACHING, "inputs": (4, 6), "examples": (32,), "student_widths": (5, 7), "teacher_widths": (8,)},
    "divide-and-conquer": {
        "size": 7, "mazes": 12, "walked": 20, "layers": 1, "channels": 4, "steps": 4, "batch": 8, "problems": 2, "budget": 10,
    },
    "eager": {
        "trained": (1,), "tested": (1, 2), "pads": (0, 2), "steps": 2, "batch": 4, "width": 8, "units": 8, "tests": 3,
        "every": 1,
    },
    "environment-surfaces": {
        "environments": 3, "examples": 8, "shortcuts": 2, "hidden": 6, "batch": 4, "steps": 2, "grid": 3, "lines": 5,
        "compared": 2,
    },
    "equations": {"units": 1, "hidden": 3, "steps": 4, "rounds": 4, "inner_steps": 2, "horizon": 2},
    "forward-models": {
        "episodes": 3, "steps": 8, "batch": 2, "window": 3, "hidden": 4, "teams": 2, "team_episodes": 2, "team_steps": 2,
        "test": 2,
    },
    "grammar": {"size": 10, "minimum": 4, "sources": 2, "draws": 2},
    "ilc-architectures": {
        "starts": ("perceptron",), "methods": ("mean", "and-mask", "untrained"), "initialisations": 1, "sites": 2, "rows": 8,
        "hidden": 2, "steps": 2, "iterations": 1,
    },
    "loss-surface": {
        "hidden": (6,), "train": 32, "epochs": 3, "batches": (4, 16), "directions": 1, "points": 7, "depth": 2, "deep_width": 4,
        "deep_epochs": 1, "grid": 2, "curvature_digits": 8,
    },
    "masked-lm": {
        "modules": 10, "words": 30, "window": 8, "width": 8, "layers": 1, "steps": 3, "labelled": (32,), "tuning": 10,
        "reached": 100.0,
    },
    "own-data-codes": {"grid": ("8x53",), "steps": 2},
    "own-data-codes weak": {"grid": ("8x53", "16x26"), "steps": 2},
    "own-data-linear-units": {"examples": 20, "steps": 1, "trials": 1, "compared": 1, "environments": (3,)},
    "own-data-linear-units units": {"steps": 2, "examples": 20},
    "own-data-trajectories": {
        "boards": ("pendulum", "waiting ball"), "count": 20, "coming": 5, "ahead": 4, "steps": 2, "evaluations": 8, "hidden": 2,
    },
    "particle-language": {"steps": 3, "three_steps": 3, "batch": 4, "test": 40, "time": 3},
    "poisoning": {"train": 30, "shares": (0.1,), "steps": 2, "high": 0.05, "low": 1.0},
    "reprogramming": {"letters": 64, "host_steps": 2, "steps": 2, "batch": 8},
    "sitebench": {"tables": ("nothing 1", "nothing 2"), "rows": 30},
    "skips-accuracy": {**SKIPS, "test_episodes": 2, "methods": ("asi", "fixed-2"), "checks": 2},
    "skips-capacity": {
        "hidden": (2, 4), "episodes": (3,), "evaluations": 20, "batch": 2, "horizon": 3, "test_episodes": 3,
    },
    "skips-corrupted": {**WALK, "methods": ("asi", "fixed-6")},
    "skips-matchings": {**WALK, "horizon": 4, "reader_steps": 2},
    "skips-options": {"steps": 1, "evaluations": 20, "walks": 5, "test_walks": 2, "side": 3, "slides": 2, "horizon": 3,
                      "hidden": 8},
    "skips-parts": {**WALK, "methods": ("parts", "whole")},
    "skips-perturbation": {**SKIPS, "methods": ("asi", "fixed-2"), "checks": 2},
    "skips-search": {"methods": ("asi", "fixed-3"), "evaluations": 40, "episodes": 4, "validation_episodes": 2,
                     "test_episodes": 2},
    "skips-states": {
        "worlds": ("stops",), "steps": 2, "pairs": 4, "rows": 2, "hidden": 4, "fixed": (16,), "horizons": (4,),
        "rates": (1e-3,), "train": 6, "validation": 2, "test": 2,
    },
    "skips-states timing": {"steps": 2, "evaluations": 16, "train": 12, "test": 5, "hidden": 4, "horizon": 4},
    "skips-values": WALK,
    "social-dilemmas": {
        "harvest_height": 7, "harvest_width": 8, "view": 1, "symbols": 2, "hidden": 4, "worlds": 3, "episode": 4, "horizon": 2,
        "updates": 8, "tested": 3,
    },
    "social-dilemmas influence": {"couplings": (0.0, 0.9), "episodes": 4, "model_steps": 2},
    "temperature-sweep": {**TEXT, "arms": ("mle", "seqgan")},
    "temperature-sweep seqgan": TEXT,
    "trellis": {
        "hidden": 4, "levels": 3, "dilations": (1, 2), "epochs": 1, "batch": 400, "code_steps": 2, "modules": 2, "words": 20,
        "window": 5,
    },
    "two-rooms": {"pairs": 500, "states": 4, "steps": 3, "hidden": 8, "plans": 5},
    "winograd": {
        "names": 4, "verbs": 2, "adjectives": 2, "environments": 2, "steps": 3, "batch": 2, "width": 8, "layers": 1, "items": 6,
        "guessers": 3, "public_items": 10, "looks": 1,
    },
    "spirals-sensitivity": {"variants": ("as in quick", "no L2")},
    "spirals-sensitivity needs": SPIRALS,
    "take-cover": {
        "episodes": 20, "steps": 6, "lanes": 20, "widths": (4,), "vision_steps": 2, "most_lost": 100.0, "hidden": 6,
        "memory_steps": 2, "memory_batch": 4, "population": 4, "trials": 2, "generations": 2, "horizon": 12, "tested": 6,
        "film": 5,
    },
}  # fmt: skip
"""By the experiment's name, of a part with its preset."""


def tiny(name):
    """An experiment, or a part of it, and its tiny config."""
    experiment, _, preset = name.partition(",")[0].partition(" ")
    found = load(experiment, "mechlearn_zoo.experiments").at(preset or "quick")
    return found, replace(found.presets[preset or "quick"].config, **TINY[name])
