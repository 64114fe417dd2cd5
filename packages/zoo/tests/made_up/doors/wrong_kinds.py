"""Values of the wrong kind for every argument of public doors: `python wrong_kinds.py` prints what each ended in, as JSON.

A door is a call that works, and its arguments. One argument at a time is replaced by what it is not: None, a list, a class, an
array, a word, 1.5 where an integer belongs. It runs in a process of its own, without the tests' type checker.
"""

import json
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import distill_models as models
import mechlearn
import mechlearn.distill as d
import mechlearn.skips as s
import mechlearn.surfaces as u
from mechlearn import losses, schedules, solvers
from mechlearn.environments import partition
from mechlearn.trajectories import Trajectories
from small_lessons import examples, lesson, make


@dataclass
class Door:
    """A call, its arguments, which of the wrong values each of them may have after all, and what else it must leave alone."""

    name: str
    call: Callable[..., Any]
    good: dict[str, Any]
    legal: dict[str, tuple[str, ...]] = field(default_factory=dict)
    holds: tuple[object, ...] = ()


def wrong_for(good: object) -> dict[str, object]:
    """What is of another kind than a value that is taken."""
    every = {
        "None": None, "a list": [1, 2], "a class": Door, "an array": np.ones(3), "a word": "nonsense", "1.5": 1.5,
        "a dictionary": {},
    }  # fmt: skip
    if isinstance(good, bool):
        return {name: every[name] for name in ("None", "a list", "a word", "1.5", "an array")}
    if isinstance(good, int):
        return {name: one for name, one in every.items() if name != "a dictionary"} | {"True": True, "-3": -3}
    if isinstance(good, float):
        return {name: one for name, one in every.items() if name not in ("1.5", "a dictionary")} | {"NaN": float("nan")}
    if isinstance(good, torch.Tensor):
        return every | {"complex": torch.ones(3, dtype=torch.complex64)}
    return every


def inputs(
    doors: list[Door], wrong: Callable[[object], dict[str, object]] = wrong_for
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each wrong value of each argument of each door, and the calls that are right."""
    for door in doors:
        yield f"{door.name}: right", lambda door=door: door.call(**door.good)
        for name, good in door.good.items():
            for what, value in wrong(good).items():
                if what not in door.legal.get(name, ()):
                    yield (
                        f"{door.name}: {name} {what}",
                        lambda door=door, name=name, value=value: door.call(**{**door.good, name: value}),
                    )


def g() -> torch.Generator:
    """A generator."""
    return torch.Generator().manual_seed(0)


def of_trajectories() -> list[Door]:
    """Batches of frames, and the ways in and out of them."""
    frames, lengths = torch.arange(24.0).reshape(2, 4, 3), torch.tensor([4, 3])
    batch = Trajectories(frames, lengths)
    return [
        Door("Trajectories", Trajectories, {"frames": frames, "lengths": lengths, "scale": 1.0}),
        Door("Trajectories.from_list", Trajectories.from_list, {"trajectories": [torch.ones(3, 2), torch.ones(2, 2)]}),
        Door("Trajectories.from_numpy", Trajectories.from_numpy, {"frames": np.ones((2, 3, 1)), "scale": 1.0}),
        Door("Trajectories.at", batch.at, {"rows": [0, 1], "times": [1, 2]}, {"times": ("a list",)}),
        Door("Trajectories.padded", batch.padded, {"time": 6}),
        Door("Trajectories.to", batch.to, {"dtype": torch.float64}, {"dtype": ("None",)}),
        Door("Trajectories.concatenated", Trajectories.concatenated, {"parts": [batch, batch]}),
        Door("Trajectories[]", batch.__getitem__, {"rows": [0]}),
    ]


def of_skips() -> list[Door]:
    """Dynamics models, matchings, and what is done with them."""
    torch.manual_seed(0)
    model = nn.Linear(3, 3)
    dynamics = s.Dynamics(model, losses.SquaredError())
    frames = torch.randn(2, 6, 3, generator=g())
    batch = Trajectories(frames, torch.tensor([6, 5]))
    greedy, loss = s.Greedy(3), losses.SquaredError()
    matched = s.match(dynamics, batch, greedy, generator=g(), keep_predictions=True)
    rolled = s.rollout(dynamics, frames[:, 0], max_steps=4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    matching: dict[str, Any] = {"dynamics": dynamics, "trajectories": batch, "matching": greedy}
    options = {"teacher_forcing": 0.5, "generator": g(), "average": "steps", "keep_predictions": False}
    parts = s.Parts({"all": s.Part([0, 1], s.Dynamics(lambda x: x, loss))})
    pieces = Trajectories(torch.randn(2, 5, 2, 3, generator=g()), torch.tensor([5, 4]))
    folder = Path(tempfile.mkdtemp())
    s.save(dynamics, folder)
    return [
        Door("Dynamics", s.Dynamics, {"model": model, "loss": loss, "context": None}, {"context": ("None",)}),
        Door("Greedy", s.Greedy, {"horizon": 3, "exploration": 0.1, "ties": "first", "nearest": 1}),
        Door("Greedy scale", s.Greedy, {"horizon": 3, "scale": [1.0, 2.0, 3.0]}, {"scale": ("None", "an array")}),
        Door("Fixed", s.Fixed, {"dt": 2, "last": "drop"}),
        Door("Aligned", s.Aligned, {"horizon": 3, "inputs": "frames", "cost": "mean"}),
        Door("SoftAligned", s.SoftAligned, {"horizon": 3, "temperature": 0.1, "inputs": "frames", "cost": "sum"}),
        Door("SoftGreedy", s.SoftGreedy, {"horizon": 3, "temperature": 0.1, "exploration": 0.1}),
        Door("OrEnd", s.OrEnd, {"greedy": greedy}),
        Door("TimeAgnostic", s.TimeAgnostic, {"preference": torch.abs, "onward": True}, {"preference": ("None",)}),
        Door("match", s.match, matching | options, {"generator": ("None",)}),
        Door("training_step", s.training_step, matching | {"optimizer": optimizer} | options, {"generator": ("None",)}),
        Door(
            "rollout",
            s.rollout,
            {"dynamics": dynamics, "first": frames[:, 0], "max_steps": 3, "stop": None, "fixed_point": 1e-3, "policy": None},
            {"stop": ("None",), "fixed_point": ("None",), "policy": ("None",)},
        ),
        Door(
            "evaluate",
            s.evaluate,
            {"dynamics": dynamics, "trajectories": batch, "max_steps": 3, "fixed_point": 1e-3, "read": None},
            {"read": ("None",), "fixed_point": ("None",)},
        ),
        Door("scored", s.scored, {"rolled": rolled, "trajectories": batch, "read": None}, {"read": ("None",)}),
        Door("candidate_losses", s.candidate_losses, {"matched": matched, "targets": batch, "loss": loss, "horizon": 2}),
        Door("displacement", s.displacement, {"trajectories": batch, "horizon": 2, "loss": loss}, {"loss": ("None",)}),
        Door("encoded", s.encoded, {"trajectories": batch, "encoder": model, "detach": True, "chunk": 2}, {"chunk": ("None",)}),
        Door("Actions", s.Actions, {"values": torch.ones(2, 5, 1), "window": 2}, {"window": ("None",)}),
        Door(
            "Cumulants",
            s.Cumulants,
            {"values": Trajectories(torch.ones(2, 5), torch.tensor([5, 4])), "discount": 0.9, "loss": loss, "weight": 1.0},
            {"values": ("None",)},
        ),
        Door("Memory", s.Memory, {"initial": torch.zeros(4), "frames": 1}),
        Door("Options", s.Options, {"ids": torch.zeros(2, 5, dtype=torch.int64), "count": 2}),
        Door("Sampled", s.Sampled, {"sample": lambda a, b: a, "noise": "normal", "shape": None}, {"shape": ("None", "a list")}),
        Door("Part", s.Part, {"elements": [0, 1], "dynamics": dynamics}),
        Door("Parts", s.Parts, {"parts": {"all": s.Part([0, 1], dynamics)}, "sees": "own"}),
        Door("match_parts", s.match_parts, {"parts": parts, "trajectories": pieces, "matching": greedy}),
        Door("save", s.save, {"dynamics": dynamics, "folder": folder}, {"folder": ("a word",)}),
        Door("load", s.load, {"folder": folder, "model": nn.Linear(3, 3)}),
    ]


def of_distill() -> list[Door]:
    """Lessons, unrollings, and what teaches."""
    given, (batches, validation) = lesson(), models.data()
    unrolling = d.Unrolling(d.SGD(0.1), 4, 6)
    taught = make(given)
    adam = torch.optim.Adam(given.student.parameters(), 0.01)
    folder = Path(tempfile.mkdtemp())
    d.save_student(given.student, folder / "student.safetensors")
    d.save_teacher(given.teacher, folder / "teacher.safetensors")
    network = nn.Linear(4, 5)
    parts: dict[str, Any] = {
        "lesson": given,
        "examples": examples(),
        "split": taught.split,
        "unrolling": unrolling,
        "student_optimizer": taught.student_optimizer,
        "meta_optimizer": taught.meta_optimizer,
        "generator": g(),
    }
    lessons: dict[str, Any] = {
        "student": given.student,
        "teacher": given.teacher,
        "layers": ["0"],
        "label_loss": models.label_loss,
        "alpha": 1.0,
    }
    meta = {"lesson": given, "batches": batches, "validation": validation, "inner": d.SGD(0.1), "strategy": d.Unroll()}
    return [
        Door("SGD", d.SGD, {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.0, "nesterov": False}),
        Door("Adam", d.Adam, {"lr": 0.1, "betas": (0.9, 0.99), "eps": 1e-8, "weight_decay": 0.0, "decoupled": True}),
        Door(
            "Unrolling",
            d.Unrolling,
            {"inner": d.SGD(0.1), "steps": 4, "batch_size": 6, "moments": "fresh", "strategy": d.Unroll(), "clip": 1e8},
            {"clip": ("None",)},
        ),
        Door("Unrolling nonfinite", d.Unrolling, {"inner": d.SGD(0.1), "steps": 4, "batch_size": 6, "nonfinite": "raise"}),
        Door("Checkpoint", d.Checkpoint, {"segments": 2}, {"segments": ("None",)}),
        Door("Truncated", d.Truncated, {"last": 4}),
        Door("Implicit", d.Implicit, {"solver": "neumann", "terms": 4, "scale": 0.01, "damping": 0.0}),
        Door("Adjoint", d.Adjoint, {"compile": False, "backend": "inductor"}, {"backend": ("a word",)}),
        Door("Every", d.Every, {"rounds": 3}),
        Door("WhenSolved", d.WhenSolved, {"loss": 0.1, "least": 2}),
        Door("KullbackLeibler", d.KullbackLeibler, {"temperature": 2.0, "direction": "teacher-student"}),
        Door("GatedSquaredError", d.GatedSquaredError, {"scale": 0.5, "shift": -1.0, "reduction": "mean"}),
        Door("HiddenSquaredError", d.HiddenSquaredError, {"reduction": "mean"}),
        Door("Lesson", d.Lesson, lessons),
        Door("Distillation", d.Distillation, parts),
        Door("meta_gradient", d.meta_gradient, meta),
        Door("forecast_memory", d.forecast_memory, meta),
        Door("split_rows", d.split_rows, {"count": 40, "validation": 0.3, "generator": g(), "splitting": "fixed"}),
        Door(
            "teach",
            d.teach,
            {"lesson": given, "examples": examples(), "optimizer": adam, "steps": 1, "batch_size": 4, "generator": g()},
        ),
        Door(
            "Population",
            d.Population,
            {"students": [given.student], "renew": None, "reset": None, "combine": None, "stacked": True},
            {"renew": ("None",), "reset": ("None",), "combine": ("None",)},
        ),
        Door("UnitsTeacher", d.UnitsTeacher, {"network": network, "units": {"0": 5}, "gated": False}),
        Door("TimeMixture", d.TimeMixture, {"frames": 4, "filters": {"0": 2}, "scale": 1.0, "generator": g()}),
        Door(
            "Hoisting",
            d.Hoisting,
            {"statistics": "per-batch", "chunk": 2, "autocast": None},
            {"chunk": ("None",), "autocast": ("None",)},
        ),
        Door("inner_from", d.inner_from, {"optimizer": adam}),
        Door("state_from", d.state_from, {"optimizer": adam, "student": given.student, "inner": d.Adam(0.01)}),
        Door("calls", d.calls, {"layer": "0", "count": 2}, {"layer": ("a word",)}),
        Door(
            "finite_differences",
            d.finite_differences,
            {
                "compute": lambda teacher: d.meta_gradient(lesson(teacher=teacher), batches, validation, d.SGD(0.1)),
                "teacher": given.teacher,
                "generator": g(),
                "directions": 1,
                "step": 1e-5,
            },
        ),
        Door(
            "save_student", d.save_student, {"student": given.student, "path": folder / "a.safetensors"}, {"path": ("a word",)}
        ),
        Door("load_student", d.load_student, {"student": given.student, "path": folder / "student.safetensors"}),
        Door("load_teacher", d.load_teacher, {"teacher": given.teacher, "path": folder / "teacher.safetensors"}),
        Door("read_card", d.read_card, {"path": folder / "student.safetensors"}),
    ]


def of_surfaces() -> list[Door]:
    """Consistency, slices and curvature."""
    torch.manual_seed(0)
    model, x, y = nn.Linear(2, 1), torch.randn(8, 2), torch.randn(8, 1)
    ids = [0] * 4 + [1] * 4
    batches = [(x, y, ids)]

    def loss(prediction: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return (prediction - target).square()[:, 0]

    functions = [lambda p: p.square().sum(), lambda p: (p - 1).square().sum()]
    landscape = u.landscape_of_functions(functions, torch.zeros(2, dtype=torch.float64))
    params = {"weight": torch.ones(2, 3), "bias": torch.zeros(2)}
    other = {"weight": torch.zeros(2, 3), "bias": torch.ones(2)}

    def of_params(some: dict[str, torch.Tensor]) -> torch.Tensor:
        return sum((one.square().sum() for one in some.values()), torch.zeros(()))

    at = torch.linspace(-1, 1, 3)
    hessian = torch.eye(2, dtype=torch.float64)
    draw = g()
    path = [torch.randn(4, generator=draw) for _ in range(5)]
    stacked = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
    return [
        Door(
            "Consistency",
            u.Consistency,
            {"epsilon": 0.1, "neighbourhood": "within", "subtract": True, "curvature": "hessian", "ridge": 0.0, "walk": False},
        ),
        Door("Consistency search", u.Consistency, {"epsilon": 0.1, "search": u.Exact(), "not_minimum": "warn"}),
        Door("Exact", u.Exact, {"largest": 10}),
        Door("Ascent", u.Ascent, {"starts": 2, "iterations": 3, "largest": 10}),
        Door("Subspace", u.Subspace, {"iterations": 3, "tolerance": 0.1, "basis": 4}),
        Door(
            "audit",
            u.audit,
            {"model": model, "loss": loss, "batches": batches, "consistency": None},
            {"consistency": ("None",)},
        ),
        Door("landscape_of_model", u.landscape_of_model, {"model": model, "loss": loss, "batches": batches}),
        Door("surface_of_model", u.surface_of_model, {"model": model, "loss": loss, "batches": batches}),
        Door("landscape_of_functions", u.landscape_of_functions, {"functions": functions, "point": torch.zeros(2)}),
        Door(
            "inconsistency", u.inconsistency, {"landscape": landscape, "consistency": u.Consistency(0.1, not_minimum="ignore")}
        ),
        Door("between", u.between, {"start": params, "end": other}),
        Door("flat", u.flat, {"parameters": params}),
        Door("from_flat", u.from_flat, {"vector": torch.zeros(8), "parameters": params}),
        Door(
            "random_direction",
            u.random_direction,
            {"parameters": params, "generator": g(), "normalise": "filter", "one_dimensional": "zero"},
        ),
        Door("orthogonal_to", u.orthogonal_to, {"direction": params, "others": [other]}),
        Door("line", u.line, {"loss": of_params, "parameters": params, "direction": other, "at": at, "chunk": 2}),
        Door("plane", u.plane, {"loss": of_params, "parameters": params, "first": params, "second": other, "at": [at, at]}),
        Door("flatness", u.flatness, {"curve": at.square(), "at": at, "rise": 0.1}),
        Door("principal", u.principal, {"path": path, "k": 2}),
        Door("random_walk_explained", u.random_walk_explained, {"path": path, "k": 2}),
        Door(
            "karcher_mean",
            u.karcher_mean,
            {"matrices": torch.stack([hessian, 2 * hessian]), "tolerance": 1e-9, "iterations": 5},
        ),
        Door(
            "proposition_1_bound",
            u.proposition_1_bound,
            {"initial_loss": 1.0, "learning_rate": 0.1, "steps": 3, "smoothness": 1.0},
        ),
        Door("proposition_2_bound", u.proposition_2_bound, {"d": 3, "t": 2, "form": "printed", "sigma": 1.0}),
        Door("proposition_2_rate", u.proposition_2_rate, {"share": 0.5, "form": "printed"}),
        Door("proposition_3_bound", u.proposition_3_bound, {"hessian_a": hessian, "hessian_b": hessian, "epsilon": 1.0}),
        Door(
            "proposition_3_inconsistency",
            u.proposition_3_inconsistency,
            {"hessian_a": hessian, "hessian_b": hessian, "epsilon": 1.0, "subtract": True},
        ),
        Door(
            "extreme_curvature",
            u.extreme_curvature,
            {"loss": of_params, "parameters": params, "generator": g(), "tolerance": 0.01},
        ),
        Door("rescale_units", u.rescale_units, {"model": stacked, "factors": [torch.ones(4)]}),
        Door("balanced", u.balanced, {"model": stacked, "sweeps": 5}),
        Door("ilc_regularised", u.ilc_regularised, {"losses": [[1.0, 2.0]], "ilc": 0.5, "weight": 0.1}),
    ]


def of_ground() -> list[Door]:
    """Losses, schedules, solvers, environments."""

    def operator(vector: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return tuple(2 * one for one in vector)

    vector = [torch.ones(2)]
    solving = {"operator": operator, "vector": vector}
    return [
        Door("SquaredError", losses.SquaredError, {"reduction": "mean", "weight": None}, {"weight": ("None",)}),
        Door("BinaryCrossEntropy", losses.BinaryCrossEntropy, {"reduction": "sum", "epsilon": 1e-6}),
        Door("BinaryCrossEntropyWithLogits", losses.BinaryCrossEntropyWithLogits, {"reduction": "mean"}),
        Door("GaussianNLL", losses.GaussianNLL, {"reduction": "mean"}),
        Door("Constant", schedules.Constant, {"value": 0.1}),
        Door("Inverse", schedules.Inverse, {"steps": 10}, {"steps": ("1.5",)}),
        Door("Linear", schedules.Linear, {"steps": 10, "start": 1.0, "end": 0.0}),
        Door("StepDecay", schedules.StepDecay, {"value": 0.1, "steps": 10, "factor": 0.2, "repeated": True}),
        Door("Linear()", schedules.Linear(10), {"step": 3}),
        Door("conjugate_gradients", solvers.conjugate_gradients, solving | {"iterations": 3, "tolerance": 0.0}),
        Door("neumann_series", solvers.neumann_series, solving | {"terms": 3, "scale": 0.1}),
        Door("partition", lambda environments: partition(environments, 3, torch.device("cpu")), {"environments": [0, 0, 1]}),
    ]


ROOMS = (of_trajectories, of_skips, of_distill, of_surfaces, of_ground)


def tried(name: str, call: Callable[[], Any]) -> dict[str, Any]:
    """What a call ends in."""
    try:
        call()
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        inside = frame.filename.startswith(mechlearn.__path__[0])
        return {"name": name, "error": type(error).__name__, "message": str(error), "ours": inside}
    return {"name": name, "error": None, "message": "", "ours": False}


def report(rooms: tuple[Callable[[], list[Door]], ...], wrong: Callable[[object], dict[str, object]] = wrong_for) -> None:
    """Tries all doors of some rooms."""
    warnings.simplefilter("ignore")
    json.dump([tried(name, call) for room in rooms for name, call in inputs(room(), wrong)], sys.stdout)


if __name__ == "__main__":
    report(ROOMS)
