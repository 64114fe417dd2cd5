import pytest
import torch
from mechlearn_zoo_benchmarks.measuring.devices import awaited, check_device, gpu_peak_level, on_gpu

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


@pytest.mark.parametrize(
    ("device", "sentence"),
    [
        ("gpu", "should be cpu, cuda, or cuda:1 for example. Found 'gpu'"),
        ("meta", "should be cpu or cuda, whose clocks and memory are known. Found 'meta'"),
        ("cuda:99", "'cuda:99' should be one that torch finds. Found"),
    ],
)
def test_what_is_no_device_here_is_refused(device, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_device(device)


def test_a_step_on_the_cpu_is_left_alone():
    check_device("cpu")
    assert not on_gpu("cpu")
    assert on_gpu("cuda:1")
    assert awaited(test_a_step_on_the_cpu_is_left_alone, "cpu") is test_a_step_on_the_cpu_is_left_alone


@needs_gpu
def test_a_level_on_a_gpu_is_what_is_held_and_what_a_step_adds():
    mib, kept = 2**20, []

    def prepare():
        kept.append(torch.empty(32 * mib, dtype=torch.uint8, device="cuda"))
        return lambda: torch.empty(64 * mib, dtype=torch.uint8, device="cuda").fill_(1), lambda: None

    assert gpu_peak_level(prepare, 1, "cuda") == 96 * mib


@needs_gpu
def test_a_step_is_over_when_the_device_is_done():
    matrix = torch.rand(8192, 8192, device="cuda")
    event = torch.cuda.Event()

    def step():
        for _ in range(20):
            matrix @ matrix
        event.record()

    awaited(step, "cuda")()
    assert event.query()
