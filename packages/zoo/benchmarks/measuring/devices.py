"""Where a benchmark computes: a GPU works on while Python goes on, and its memory is what torch's allocator hands out."""

import contextlib
from collections.abc import Callable, Iterator

import torch
from mechlearn_zoo_benchmarks.measuring.timing import Step


def check_device(name: str, clock: str = "wall") -> None:
    """Refuse what is no device, a GPU that is not there, and processor time of a GPU's work.

    Raises:
        ValueError: it is none.
    """
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ValueError(f"device should be cpu, cuda, or cuda:1 for example. Found {name!r}. Use cpu.") from None
    if device.type not in ("cpu", "cuda"):
        raise ValueError(f"device should be cpu or cuda, whose clocks and memory are known. Found {name!r}. Use cpu.")
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(
            f"device {name!r} should be one that torch finds. Found {torch.cuda.device_count()} GPUs. Use cpu, "
            "or install the build of torch for your GPU."
        )
    if device.type == "cuda" and clock == "cpu":
        raise ValueError(f"clock cpu should have device cpu: it sees no other. Found {name}. Use the clock wall.")


def on_gpu(name: str) -> bool:
    """Tell a GPU from the CPU."""
    return torch.device(name).type == "cuda"


def awaited(step: Step, device: str) -> Step:
    """Return a step that is over when the device is done with it."""
    if not on_gpu(device):
        return step

    def whole() -> object:
        found = step()
        torch.cuda.synchronize(device)
        return found

    return whole


@contextlib.contextmanager
def rounding(tf32: bool) -> Iterator[None]:
    """Let cuDNN round factors to TF32 inside the block, or not; it is as before after it."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = tf32
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def gpu_peak_level(prepare: Callable[[], tuple[Step, Step]], warm_ups: int, device: str) -> int:
    """Return the peak level of one step in bytes: what its tensors take on the GPU, model and data among them.

    torch's allocator counts every tensor, workspaces of libraries that it hands out included; what this process held there
    before is in no one's level. Unlike a process's resident memory it is the same in a process that has done other things.

    Args:
        prepare: builds model and data on the device, and returns the step and what cleans up after it.
        warm_ups: how many steps to take before the one that counts.
        device: the GPU.
    """
    torch.cuda.synchronize(device)
    torch.cuda.empty_cache()
    bare = torch.cuda.memory_allocated(device)
    step, clean = prepare()
    for _ in range(warm_ups):
        step()
        clean()
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    step()
    torch.cuda.synchronize(device)
    return torch.cuda.max_memory_allocated(device) - bare
