"""Every experiment's Config refuses, before any work, numbers below their range and tuples without elements."""

import math
import types
from dataclasses import replace
from typing import Union, get_args, get_origin

import pytest

from claimlab.experiment import listing, load
from claimlab.fields import parse_value, settings_of
from claimlab.values import written

MEANS = {
    ("seed", 0): "",  # a negative seed is refused by `plan`, for all experiments
    ("seed", -1): "",
    ("data_seed", 0): "Seed",
    ("examples", 0): "0 takes all",
    ("shown", 0): "0 for none",
    ("shortcut_dims", 0): "0 for none",
    ("exploration_steps", 0): "0 for no exploration",
    ("drops", ()): "none: it stays",
    ("acts", ()): "() watches",
    ("gan_steps", 0): "0 for none",
    ("evidence", (0,)): "0 for none",
    ("updates", 0): "0 leaves the search out",
    ("neurons", ()): "none: that part is left out",
    ("pads", (0,)): "0 for none",
    ("lamps", 0): "0 for none",
    ("loops", 0): "0 for none",
    ("lags", (0,)): "0 for none",
    ("warm", 0): "0 for none",
    ("temperatures", ()): "none: there is no dream",
    ("in_world", ()): "none: it is left out",
    ("film", 0): "0 for none",
    ("code_steps", 0): "0 leaves it out",
    ("lags", ()): "() leaves it out",
    ("actors", ()): "() leaves them out",
    ("mdps", 0): "0 leaves them out",
    ("taught", ()): "() leaves them out",
    ("three_steps", 0): "0 leaves them out",
    ("channels", ()): "() leaves them out",
    ("vocabulary", 0): "0 leaves it out",
    ("parts", ()): "() leaves them out",
    ("tasks", ()): "() leaves them out",
    ("digit_steps", 0): "0 leaves them out",
    ("depths", (0,)): "0 asks Q alone",
    ("hidden", 0): "0 for a linear one",
    ("environments", ()): "none: the one above",
    ("architectures", ()): "none: the one that is drawn",
    ("floor", -1.0): "log scales' floor",
    ("grid_lr", ()): "none: it trains as a student of LDT does",
}
"""What is below the others' range and taken, with the words of the field's sentence that say what it means."""


def low_values(hint):
    """What a field of this type takes only if it means something."""
    if get_origin(hint) in (Union, types.UnionType):
        return low_values(next(member for member in get_args(hint) if member is not type(None)))
    if get_origin(hint) is tuple:
        return [(), *((value,) for value in low_values(get_args(hint)[0]))]
    return {int: [0, -1], float: [-1.0, math.nan, math.inf]}.get(hint, [])


def parts_of(name):
    """An experiment and its parts, by the first preset of each."""
    experiment = load(name, "mechlearn_zoo.experiments")
    return {next(iter(one.presets)): one for one in (experiment, *experiment.parts)}


@pytest.mark.parametrize("name", [one.name for one in listing("mechlearn_zoo.experiments")])
def test_what_is_out_of_range_is_refused_unless_its_sentence_says_what_it_means(name):
    for preset, experiment in parts_of(name).items():
        for setting in settings_of(experiment.config):
            for value in low_values(setting.type):
                meaning = MEANS.get((setting.name, value))
                if meaning is not None and meaning in setting.help:
                    continue
                with pytest.raises(ValueError, match=setting.name.removesuffix("s")):
                    replace(experiment.presets[preset].config, **{setting.name: value})


TOO_FAR = {
    "distill-ablations": [{"imitations": (1.5,)}, {"variants": ("noise-17",)}, {"variants": ("magic",)}, {"size": "huge"}],
    "distill-board": [{"boards": 2}, {"threshold": 2.0}],
    "distill-life": [
        {"side": 8},
        {"inner_steps": (4,)},
        {"filters": (4, 2)},
        {"meta_lr": (0.0, 1.0)},
        {"validation": (0.1, 1.0)},
    ],
    "distill-mujoco": [{"batch": 4000}, {"grid_batch": (4001,)}],
    "distill-noisy-labels": [{"batch": 501}, {"validation": 1.0}],
    "distill-xor": [{"examples": (16,)}, {"student_widths": (3,)}],
    "environment-surfaces audit": [{"examples": 1025}, {"scored": 1}, {"scored": 20}, {"epsilon": 0.0}],
    "gradient-correlation": [{"batch": 1}],
    "hessians": [{"pairs": 1}, {"decades": 0.0}],
    "label-noise": [{"examples": 10}, {"examples": 79}, {"noise": 0.0}, {"thresholds": (2.0,)}],
    "landscapes": [{"starts": 50, "shown": 51}, {"inconsistencies": (1.0,)}],
    "memorisation": [{"drops": (2.0,)}],
    "merging": [{"base_rows": 501}],
    "patchwork": [{"examples": 1}, {"changed": (1.0,)}],
    "random-gradients": [{"share": 0.4}],
    "skips-capacity": [{"sampling": 2.0}],
    "skips-corrupted": [{"view": "pictures"}, {"exploration": 1.5}],
    "skips-curve": [{"skips": (5,)}],
    "skips-matchings": [{"temperature": 0.0}, {"sampling": 2.0}],
    "skips-options": [{"side": 2}, {"blocked": 1.0}],
    "skips-perturbation": [{"task": "room-runner"}, {"switch": 1.0}, {"checks": 1}],
    "skips-values": [{"discount": 1.5}],
    "spiral-environments": [{"mean_counts": (1,)}, {"mask_counts": (2049,)}, {"per_step": 16_385}],
    "spirals": [{"drops": (-0.5,)}, {"environments": 1}, {"batch": 2000}, {"threshold": 1.5}],
    "spirals-baselines": [{"environments": 1}, {"drops": (1.5,)}],
}
"""What is too large, or does not fit the rest, by the experiment's name; of a part with its preset."""


@pytest.mark.parametrize(("name", "changes"), [(name, one) for name, some in TOO_FAR.items() for one in some])
def test_what_is_too_large_or_does_not_fit_the_rest_is_refused(name, changes):
    experiment, _, preset = name.partition(" ")
    with pytest.raises((TypeError, ValueError), match=r"should .*Found "):
        replace(parts_of(experiment)[preset or "quick"].presets[preset or "quick"].config, **changes)


def test_the_command_line_reads_every_field_of_every_experiment():
    for name in (one.name for one in listing("mechlearn_zoo.experiments")):
        for experiment in parts_of(name).values():
            for setting in settings_of(experiment.config):
                assert parse_value(setting, written(setting.default)) == setting.default
