"""The tests on another device: whatever a test makes is made there, and what the library makes is left alone.

With MECHLEARN_DEVICE in the environment, `conftest.py` turns this on for all tests. "cuda" is a GPU. "pretended" needs none:
tensors stay where they are, and memory is marked as being on a device; what mixes marked and unmarked tensors, or hands marked
ones to numpy, ends as it would on a GPU. Gradients are marked where they are read. What torch.func's transforms return is not
marked, so that tests of functions which use them may fail for nothing.

Factories that the library itself calls are not touched, as they are not where a user keeps model and data on a GPU and the
default device is the CPU: a tensor that it makes in the wrong place shows as an error. Random numbers are drawn by the CPU's
generators that tests hold, and moved, where the library draws beside a tensor too: a user's generator is on the device.
"""

import sys
from pathlib import Path

import beartype
import jaxtyping
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_flatten, tree_unflatten

PACKAGES = Path(__file__).parents[3]
TESTS = tuple(str(PACKAGES / name / "tests") for name in ("mechlearn", "claimlab", "zoo"))
SOURCE = tuple(str(PACKAGES / name / "src") for name in ("mechlearn", "claimlab", "zoo"))
CPU, GPU = torch.device("cpu"), torch.device("cuda")

BETWEEN = ("<@beartype", *(str(Path(package.__file__).parent) for package in (torch, jaxtyping, beartype)))
"""Whose frames stand between two of the library's own."""

BUILDERS = ("as_torch",)
"""Functions that build a model from another package's."""

WORLDS = tuple(
    str(PACKAGES / place)
    for place in (
        "zoo/src/mechlearn_zoo/tasks",
        "zoo/src/mechlearn_zoo/experiments",
        "mechlearn/src/mechlearn/testing/walks.py",
    )
)
"""Modules that make data of their own, and the models that go with it."""

NETWORKS = tuple(str(PACKAGES / place / "nn") for place in ("mechlearn/src/mechlearn", "zoo/src/mechlearn_zoo"))
"""Blocks that draw their weights."""

PASSING = ("__deepcopy__", "copy_", "__set__", "set_", "__setitem__", "_has_compatible_shallow_copy_type")
"""What takes tensors of two devices."""

NUMPYS = ("numpy", "__array__")
"""Ways out of torch, closed to what is on a device; a test may take them nonetheless."""


def asker():
    """Return "test", "maker" or "library" with the name of a function: who is nearest on the stack."""
    frame = sys._getframe(2)
    while frame is not None:
        name = frame.f_code.co_filename
        if name != __file__:
            if name.startswith((*TESTS, "<doctest")):
                return "test", frame.f_code.co_name
            if name.startswith(SOURCE):
                return ("maker" if makes(frame) else "library"), frame.f_code.co_name
        frame = frame.f_back
    return "test", ""


def makes(frame):
    """Tell whether a frame is of a module's constructor, a function that builds a module from numbers, or data of a world."""
    if frame.f_code.co_filename.startswith(WORLDS):
        return True
    while frame is not None and (name := frame.f_code.co_filename).startswith((*SOURCE, *BETWEEN)):
        code, own = frame.f_code, frame.f_locals
        given = [own.get(argument) for argument in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        if name.startswith(SOURCE) and code.co_name == "__init__" and isinstance(own.get("self"), torch.nn.Module):
            return True
        if code.co_name in BUILDERS:
            return True
        builds = name.startswith(NETWORKS) and any(isinstance(value, torch.Generator) for value in given)
        if builds and not any(isinstance(value, torch.Tensor) for value in given) and "self" not in own:
            return True
        frame = frame.f_back
    return False


def moved(value, device):
    """Return a tensor on a device, a leaf if it was one."""
    if not isinstance(value, Tensor) or value.device == device:
        return value
    return value.detach().to(device).requires_grad_(value.requires_grad)


def in_place(func):
    """Tell by its name whether a function writes to its first argument."""
    name = getattr(func, "__name__", "")
    return name.endswith("_") and not name.endswith("__")


def by_the_cpu(kwargs):
    """Tell whether random numbers are asked for from a generator on the CPU."""
    generator = kwargs.get("generator")
    return generator is not None and generator.device.type == "cpu"


class OnDevice(TorchFunctionMode):
    """Puts what tests make on a device.

    Args:
        device: which.
    """

    def __init__(self, device):
        super().__init__()
        self.device = torch.device(device)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        who, what = asker()
        if func == Tensor.device.__get__ and what == "check_generator":
            return CPU
        name = getattr(func, "__name__", "")
        if func in _device_constructors() or (name.endswith("_like") and who == "maker"):
            return self.make(func, args, kwargs, who)
        if name in NUMPYS and args[0].device.type != "cpu" and who == "test":
            return func(args[0].cpu(), *args[1:], **kwargs)
        given, spec = tree_flatten((args, kwargs))
        there = [a for a in given if isinstance(a, Tensor) and a.device.type != "cpu"]
        if by_the_cpu(kwargs) and there:
            own = [a.detach().cpu() if isinstance(a, Tensor) else a for a in given]
            args, kwargs = tree_unflatten(own, spec)
            found = func(*args, **kwargs)
            if not in_place(func):
                return moved(found, there[0].device)
            with torch.no_grad():
                there[0].copy_(found)
            return there[0]
        return func(*args, **kwargs)

    def make(self, func, args, kwargs, who):
        device = kwargs.get("device") or (self.device if who != "library" else None)
        if who == "maker" and str(device) == "cpu":
            device = self.device  # where a model is built, after it was one of no memory
        if device is None or torch.device(device).type == "cpu":
            return func(*args, **kwargs)
        if by_the_cpu(kwargs) or func in (torch.as_tensor, torch.asarray):
            return moved(func(*args, **{**kwargs, "device": None}), torch.device(device))
        return func(*args, **{**kwargs, "device": device})


class Pretended(TorchFunctionMode):
    """Marks what tests make as being on a device that is not there."""

    def __init__(self):
        super().__init__()
        torch.backends.cudnn.is_acceptable = lambda tensor: False  # a layer would ask for a library that is not there

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        if name == "__get__":
            return self.read(func, args)
        if func in _device_constructors() or name.startswith("new_") or name.endswith("_like"):
            return self.make(func, args, kwargs)
        if name in ("to", "cpu", "cuda", "type"):
            return self.move(func, name, args, kwargs)
        if name in NUMPYS and marked(args[0]) and asker()[0] != "test" and not kwargs.get("force"):
            raise TypeError("can't convert cuda:0 device type tensor to numpy (pretended). Use Tensor.cpu() first.")
        own = [a for a in tree_flatten((args, kwargs))[0] if isinstance(a, Tensor)]
        self.check(func, name, own)
        found = func(*args, **kwargs)
        if any(marked(a) for a in own):
            mark(found)
        return found

    def read(self, func, args):
        if func == Tensor.device.__get__:
            return GPU if marked(args[0]) and asker()[1] != "check_generator" else func(*args)
        if func == Tensor.is_cuda.__get__:
            return marked(args[0])
        found = func(*args)
        if marked(args[0]) and isinstance(found, Tensor):
            mark(found)
        return found

    def make(self, func, args, kwargs):
        device, like = kwargs.get("device"), [a for a in args if isinstance(a, Tensor)]
        if device is not None:
            built = str(device) == "cpu" and asker()[0] == "maker"  # after it was a model of no memory
            there = torch.device(device).type == "cuda" or built
            kwargs["device"] = CPU if there else device
        elif like and func is not torch.tensor:
            there = marked(like[0])
        else:
            there = asker()[0] != "library"
        found = func(*args, **kwargs)
        if there and not marked(found):
            known = {id(a.untyped_storage()) for a in like}
            found = mark(found.clone() if id(found.untyped_storage()) in known else found)
        return found

    def move(self, func, name, args, kwargs):
        there = was = marked(args[0])
        rest, kwargs = list(args[1:]), dict(kwargs)
        if name in ("cpu", "cuda"):
            there, func, rest = name == "cuda", Tensor.cpu, []
        for value in (*rest, *kwargs.values()):
            if isinstance(value, Tensor):
                there = marked(value)
            elif isinstance(value, torch.device) or (isinstance(value, str) and name == "to"):
                there = torch.device(value).type == "cuda"
        rest = [CPU if name == "to" and pretended(v) else v for v in rest]
        kwargs = {k: (CPU if k == "device" and pretended(v) else v) for k, v in kwargs.items()}
        found = func(args[0], *rest, **kwargs)
        if there != was and found.untyped_storage() is args[0].untyped_storage():
            found = found.clone()
        return mark(found) if there else found

    def check(self, func, name, own):
        if len(own) < 2 or name in PASSING:
            return
        first, *others = own
        if name == "__getitem__":
            if not marked(first) and any(marked(a) for a in others):
                raise RuntimeError("indices should be on cpu or on the same device as the indexed tensor (cpu) (pretended)")
            return
        there = [marked(a) for a in own]
        here = [a.dim() > 0 and not m for a, m in zip(own, there, strict=True) if m is not None]
        if any(there) and any(here) and None not in there:
            raise RuntimeError(f"Expected all tensors on one device, but found cuda:0 and cpu! (pretended, {name})")


def pretended(device):
    """Tell whether something names the device that is not there."""
    return isinstance(device, torch.device | str) and torch.device(device).type == "cuda"


def marked(tensor):
    """Tell whether a tensor's memory is marked; None where it has none of its own, as inside torch.func's transforms."""
    try:
        return getattr(tensor.untyped_storage(), "mechlearn_marked", False)
    except (RuntimeError, NotImplementedError, AttributeError):
        return None


def mark(found):
    """Mark the memory of all tensors in something."""
    for value in tree_flatten(found)[0]:
        if isinstance(value, Tensor) and marked(value) is False:
            value.untyped_storage().mechlearn_marked = True
    return found
